/*
 * summary: the report on a spoilt negative asks the result for its source object, which is a reference, and keeps it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GObject
 * packages: gio-2.0 gobject-2.0
 * build: gcc -O0 -g
 */
#include <gio/gio.h>

/* ---- a negative that is to be developed ---- */

#define LAB_TYPE_NEGATIVE (lab_negative_get_type())
G_DECLARE_FINAL_TYPE(LabNegative, lab_negative, LAB, NEGATIVE, GObject)

struct _LabNegative {
    GObject parent_instance;
    char *title;
    guint iso;
    guint density; /* what came out of the bath, 0 before */
};

G_DEFINE_TYPE(LabNegative, lab_negative, G_TYPE_OBJECT)

enum { LAB_ERROR_FOGGED, LAB_ERROR_UNDEREXPOSED };

static GQuark lab_error_quark(void)
{
    return g_quark_from_static_string("lab-error");
}

static void lab_negative_finalize(GObject *object)
{
    g_free(LAB_NEGATIVE(object)->title);
    G_OBJECT_CLASS(lab_negative_parent_class)->finalize(object);
}

static void lab_negative_class_init(LabNegativeClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = lab_negative_finalize;
}

static void lab_negative_init(LabNegative *self)
{
    self->iso = 100;
}

static LabNegative *lab_negative_new(const char *title, guint iso)
{
    LabNegative *self = g_object_new(LAB_TYPE_NEGATIVE, NULL);
    self->title = g_strdup(title);
    self->iso = iso;
    return self;
}

/* ---- developing, in a thread of the pool ---- */

typedef struct {
    guint iso;
    guint light; /* lux seconds, times ten */
    gboolean lid_open;
} Bath;

static void bath_work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    LabNegative *negative = source;
    const Bath *bath = data;

    if (g_task_return_error_if_cancelled(task))
        return;
    (void) cancellable;
    if (bath->lid_open) {
        g_task_return_new_error(task, lab_error_quark(), LAB_ERROR_FOGGED, "%s is fogged", negative->title);
        return;
    }
    if (bath->iso * bath->light < 2000) {
        g_task_return_new_error(task, lab_error_quark(), LAB_ERROR_UNDEREXPOSED, "%s has no shadows",
                                negative->title);
        return;
    }
    g_usleep(500);
    g_task_return_int(task, bath->iso * bath->light / 100);
}

static void lab_negative_develop_async(LabNegative *self, guint light, gboolean lid_open, GCancellable *cancellable,
                                       GAsyncReadyCallback callback, gpointer user_data)
{
    GTask *task = g_task_new(self, cancellable, callback, user_data);
    Bath *bath = g_new0(Bath, 1);
    bath->iso = self->iso;
    bath->light = light;
    bath->lid_open = lid_open;
    g_task_set_task_data(task, bath, g_free);
    g_task_set_source_tag(task, lab_negative_develop_async);
    g_task_run_in_thread(task, bath_work);
    g_object_unref(task);
}

static gssize lab_negative_develop_finish(LabNegative *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), -1);
    return g_task_propagate_int(G_TASK(result), error);
}

/* ---- the lab ---- */

typedef struct {
    GMainLoop *loop;
    GQueue dried;   /* LabNegative, owned */
    GString *report;
    guint in_bath;
    guint spoilt;
} Lab;

static void lab_note_spoilt(Lab *lab, GAsyncResult *result, const GError *error)
{
    LabNegative *negative;

#ifdef BUG
    negative = LAB_NEGATIVE(g_async_result_get_source_object(result)); /* GUILTY */
#else
    negative = LAB_NEGATIVE(g_task_get_source_object(G_TASK(result)));
#endif
    lab->spoilt++;
    g_string_append_printf(lab->report, "  %s (ISO %u): %s\n", negative->title, negative->iso, error->message);
}

static void lab_keep(Lab *lab, LabNegative *negative, guint density)
{
    negative->density = density;
    g_queue_push_tail(&lab->dried, g_object_ref(negative));
}

static void lab_developed(GObject *source, GAsyncResult *result, gpointer user_data)
{
    Lab *lab = user_data;
    LabNegative *negative = LAB_NEGATIVE(source);
    GError *error = NULL;
    gssize density = lab_negative_develop_finish(negative, result, &error);

    if (error) {
        lab_note_spoilt(lab, result, error);
        g_error_free(error);
    } else {
        lab_keep(lab, negative, (guint) density);
    }
    if (--lab->in_bath == 0)
        g_main_loop_quit(lab->loop);
}

static gint by_density(gconstpointer a, gconstpointer b, gpointer data)
{
    const LabNegative *one = a, *two = b;
    (void) data;
    if (one->density != two->density)
        return one->density < two->density ? -1 : 1;
    return g_strcmp0(one->title, two->title);
}

/* The thinnest ones are not worth a print. */
static guint lab_sort_out(Lab *lab, guint least)
{
    guint thrown = 0;
    g_queue_sort(&lab->dried, by_density, NULL);
    while (!g_queue_is_empty(&lab->dried)) {
        LabNegative *thinnest = g_queue_peek_head(&lab->dried);
        if (thinnest->density >= least)
            break;
        g_object_unref(g_queue_pop_head(&lab->dried));
        thrown++;
    }
    return thrown;
}

typedef struct {
    const char *title;
    guint iso, light;
    gboolean lid_open;
} Order;

static void lab_take(Lab *lab, const Order *orders, gsize count, GCancellable *cancellable)
{
    for (gsize i = 0; i < count; i++) {
        LabNegative *negative = lab_negative_new(orders[i].title, orders[i].iso);
        lab->in_bath++;
        lab_negative_develop_async(negative, orders[i].light, orders[i].lid_open, cancellable, lab_developed, lab);
        g_object_unref(negative);
    }
}

int main(void)
{
    static const Order monday[] = {
        { "chapel", 100, 90, FALSE }, { "tram depot", 400, 30, FALSE }, { "night market", 400, 3, FALSE },
        { "pier", 100, 60, FALSE },   { "herons", 200, 80, TRUE },      { "stairwell", 800, 12, FALSE },
    };
    static const Order tuesday[] = {
        { "workshop", 400, 28, FALSE }, { "cellar", 100, 8, FALSE }, { "roofs", 200, 70, FALSE },
    };
    Lab lab = { .loop = g_main_loop_new(NULL, FALSE), .report = g_string_new(NULL) };
    GCancellable *cancellable = g_cancellable_new();
    g_queue_init(&lab.dried);

    lab_take(&lab, monday, G_N_ELEMENTS(monday), cancellable);
    g_main_loop_run(lab.loop);
    lab_take(&lab, tuesday, G_N_ELEMENTS(tuesday), cancellable);
    g_main_loop_run(lab.loop);

    guint thrown = lab_sort_out(&lab, 70);
    g_print("%u dried, %u too thin, %u spoilt\n", g_queue_get_length(&lab.dried), thrown, lab.spoilt);
    g_print("spoilt:\n%s", lab.report->str);
    for (GList *at = lab.dried.head; at; at = at->next) {
        LabNegative *negative = at->data;
        g_print("%s: %u\n", negative->title, negative->density);
    }

    g_queue_clear_full(&lab.dried, g_object_unref);
    g_string_free(lab.report, TRUE);
    g_object_unref(cancellable);
    g_main_loop_unref(lab.loop);
    return 0;
}
