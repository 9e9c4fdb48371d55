/* summary: a stage that is started again removes its old deadline, whose callback data was a reference to the stage
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O0 -g
 */

/* The runner of a continuous integration server: stages of a pipeline run one after the other in time slices of the main
 * loop. A stage that exceeds its deadline fails the pipeline, a stage whose script fails is started again a few times. */

#include <gio/gio.h>

#define CI_TYPE_STAGE (ci_stage_get_type())
G_DECLARE_FINAL_TYPE(CiStage, ci_stage, CI, STAGE, GObject)

typedef enum { STAGE_WAITING, STAGE_RUNNING, STAGE_PASSED, STAGE_FAILED, STAGE_SKIPPED } StageState;

struct _CiStage {
    GObject parent_instance;
    char *name;
    int slices;                 /* how many time slices the script takes */
    int bad_runs;               /* how often it fails before it passes */
    guint deadline_ms;
    StageState state;
    int progress;
    int starts;
    guint deadline_id;
};

enum { SIGNAL_FINISHED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_TYPE(CiStage, ci_stage, G_TYPE_OBJECT)

static void ci_stage_finalize(GObject *object)
{
    g_free(CI_STAGE(object)->name);
    G_OBJECT_CLASS(ci_stage_parent_class)->finalize(object);
}

static void ci_stage_class_init(CiStageClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = ci_stage_finalize;
    signals[SIGNAL_FINISHED] = g_signal_new("finished", CI_TYPE_STAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE,
                                            1, G_TYPE_BOOLEAN);
}

static void ci_stage_init(CiStage *self)
{
    self->state = STAGE_WAITING;
}

static CiStage *ci_stage_new(const char *name, int slices, int bad_runs, guint deadline_ms)
{
    CiStage *self = g_object_new(CI_TYPE_STAGE, NULL);

    self->name = g_strdup(name);
    self->slices = slices;
    self->bad_runs = bad_runs;
    self->deadline_ms = deadline_ms;
    return self;
}

static void ci_stage_finish(CiStage *self, StageState state)
{
    if (self->deadline_id) {
        g_source_remove(self->deadline_id);
        self->deadline_id = 0;
        g_object_unref(self);
    }
    self->state = state;
    g_signal_emit(self, signals[SIGNAL_FINISHED], 0, state == STAGE_PASSED);
}

static gboolean on_deadline(gpointer data)
{
    CiStage *self = data;

    self->deadline_id = 0;
    g_print("%s: no result after %u ms\n", self->name, self->deadline_ms);
    ci_stage_finish(self, STAGE_FAILED);
    g_object_unref(self);
    return G_SOURCE_REMOVE;
}

static void ci_stage_start(CiStage *self)
{
    self->starts++;
    self->progress = 0;
    self->state = STAGE_RUNNING;
    self->deadline_id = g_timeout_add(self->deadline_ms, on_deadline, g_object_ref(self));      /* ACCEPTED */
}

static void ci_stage_restart(CiStage *self)
{
    g_source_remove(self->deadline_id);                                                         /* GUILTY */
#ifndef BUG
    g_object_unref(self);
#endif
    self->deadline_id = 0;
    ci_stage_start(self);
}

/* One time slice of the script. A script that hangs makes no progress. */
static void ci_stage_slice(CiStage *self)
{
    if (self->slices < 0 || ++self->progress < self->slices)
        return;
    if (self->starts > self->bad_runs)
        ci_stage_finish(self, STAGE_PASSED);
    else if (self->starts < 4)
        ci_stage_restart(self);
    else
        ci_stage_finish(self, STAGE_FAILED);
}

typedef struct {
    char *name;
    GListStore *stages;
    CiStage *current;
    guint next;
    gboolean failed;
    struct Runner *runner;
} Pipeline;

typedef struct Runner {
    GMainLoop *loop;
    GPtrArray *pipelines;
    guint busy;
} Runner;

static void pipeline_advance(Pipeline *p);

static void on_stage_finished(CiStage *stage, gboolean passed, gpointer data)
{
    Pipeline *p = data;

    g_print("%s/%s: %s, %d start(s)\n", p->name, stage->name, passed ? "passed" : "failed", stage->starts);
    p->failed |= !passed;
    g_clear_object(&p->current);
    pipeline_advance(p);
}

static void pipeline_skip_rest(Pipeline *p)
{
    guint n = g_list_model_get_n_items(G_LIST_MODEL(p->stages));

    while (p->next < n) {
        CiStage *stage = g_list_model_get_item(G_LIST_MODEL(p->stages), p->next++);

        stage->state = STAGE_SKIPPED;
        g_object_unref(stage);
    }
}

static void pipeline_advance(Pipeline *p)
{
    if (p->failed)
        pipeline_skip_rest(p);
    p->current = g_list_model_get_item(G_LIST_MODEL(p->stages), p->next);
    if (p->current) {
        p->next++;
        ci_stage_start(p->current);
    } else if (--p->runner->busy == 0) {
        g_main_loop_quit(p->runner->loop);
    }
}

static gboolean on_slice(gpointer data)
{
    Runner *runner = data;

    for (guint i = 0; i < runner->pipelines->len; i++) {
        Pipeline *p = g_ptr_array_index(runner->pipelines, i);

        if (p->current) {
            CiStage *stage = g_object_ref(p->current);

            ci_stage_slice(stage);
            g_object_unref(stage);
        }
    }
    return G_SOURCE_CONTINUE;
}

static void pipeline_free(gpointer data)
{
    Pipeline *p = data;

    g_clear_object(&p->current);
    g_object_unref(p->stages);
    g_free(p->name);
    g_free(p);
}

static Pipeline *pipeline_new(Runner *runner, const char *name)
{
    Pipeline *p = g_new0(Pipeline, 1);

    p->name = g_strdup(name);
    p->stages = g_list_store_new(CI_TYPE_STAGE);
    p->runner = runner;
    g_ptr_array_add(runner->pipelines, p);
    return p;
}

static void pipeline_add(Pipeline *p, const char *name, int slices, int bad_runs, guint deadline_ms)
{
    CiStage *stage = ci_stage_new(name, slices, bad_runs, deadline_ms);

    g_signal_connect(stage, "finished", G_CALLBACK(on_stage_finished), p);
    g_list_store_append(p->stages, stage);
    g_object_unref(stage);
}

static void print_summary(Runner *runner)
{
    for (guint i = 0; i < runner->pipelines->len; i++) {
        Pipeline *p = g_ptr_array_index(runner->pipelines, i);
        GListModel *model = G_LIST_MODEL(p->stages);
        guint skipped = 0;

        for (guint k = 0; k < g_list_model_get_n_items(model); k++) {
            g_autoptr(CiStage) stage = g_list_model_get_item(model, k);

            skipped += stage->state == STAGE_SKIPPED;
        }
        g_print("%s: %s, %u of %u stages skipped\n", p->name, p->failed ? "failed" : "passed", skipped,
                g_list_model_get_n_items(model));
    }
}

int main(void)
{
    Runner runner = { g_main_loop_new(NULL, FALSE), g_ptr_array_new_with_free_func(pipeline_free), 0 };
    Pipeline *app = pipeline_new(&runner, "app");
    Pipeline *site = pipeline_new(&runner, "site");
    guint slice_id;

    pipeline_add(app, "checkout", 2, 0, 5000);
    pipeline_add(app, "compile", 5, 0, 5000);
    pipeline_add(app, "unit tests", 4, 2, 5000);
    pipeline_add(app, "package", 2, 0, 5000);
    pipeline_add(site, "checkout", 1, 1, 5000);
    pipeline_add(site, "link check", -1, 0, 150);
    pipeline_add(site, "render", 3, 0, 5000);
    pipeline_add(site, "publish", 1, 0, 5000);

    runner.busy = runner.pipelines->len;
    slice_id = g_timeout_add(5, on_slice, &runner);
    pipeline_advance(app);
    pipeline_advance(site);
    g_main_loop_run(runner.loop);
    print_summary(&runner);

    g_source_remove(slice_id);
    g_ptr_array_unref(runner.pipelines);
    g_main_loop_unref(runner.loop);
    return 0;
}
