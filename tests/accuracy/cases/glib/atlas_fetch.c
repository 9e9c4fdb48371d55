/*
 * summary: the registry of map sheets takes a plain reference to a sheet whose last one is already gone and that is being finalised
 * kind: late-get
 * counts: none
 * objects: 1
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2 -g
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define BATCH 4

typedef struct _Sheet Sheet;
#define TYPE_SHEET sheet_get_type()
G_DECLARE_FINAL_TYPE(Sheet, sheet, ATLAS, SHEET, GObject)

typedef enum { JOB_READ, JOB_WRITE, JOB_QUIT } JobKind;

typedef struct {
    JobKind kind;
    GTask *task;         /* JOB_READ */
    const char *name;    /* JOB_WRITE */
    gboolean *written;   /* JOB_WRITE */
} Job;

typedef struct {
    Sheet *sheet;
    GWeakRef weak;
} Slot;

static struct {
    GAsyncQueue *jobs;
    GMutex lock;         /* slots */
    GHashTable *slots;   /* name -> Slot */
    GMutex done_lock;
    GCond done;
    guint loaded, flushed;
} atlas;

struct _Sheet {
    GObject parent_instance;
    char *name;
    guint scale;
    gboolean dirty;
};

G_DEFINE_TYPE(Sheet, sheet, G_TYPE_OBJECT)

static void slot_free(gpointer data)
{
    Slot *slot = data;

    g_weak_ref_clear(&slot->weak);
    g_free(slot);
}

static void submit(JobKind kind, GTask *task, const char *name, gboolean *written)
{
    Job *job = g_new0(Job, 1);

    job->kind = kind;
    job->task = task;
    job->name = name;
    job->written = written;
    g_async_queue_push(atlas.jobs, job);
}

/* Waits until the changes of a sheet are on disk. */
static void flush_changes(const char *name)
{
    gboolean written = FALSE;

    submit(JOB_WRITE, NULL, name, &written);
    g_mutex_lock(&atlas.done_lock);
    while (!written)
        g_cond_wait(&atlas.done, &atlas.done_lock);
    g_mutex_unlock(&atlas.done_lock);
}

static void sheet_finalize(GObject *object)
{
    Sheet *self = ATLAS_SHEET(object);
    Slot *slot;

    if (self->dirty)
        flush_changes(self->name);
    g_mutex_lock(&atlas.lock);
    slot = g_hash_table_lookup(atlas.slots, self->name);
    if (slot && slot->sheet == self)
        g_hash_table_remove(atlas.slots, self->name);
    g_mutex_unlock(&atlas.lock);
    g_free(self->name);
    G_OBJECT_CLASS(sheet_parent_class)->finalize(object);
}

static void sheet_class_init(SheetClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = sheet_finalize;
}

static void sheet_init(Sheet *self)
{
    self->scale = 25000;
}

static Sheet *sheet_load(const char *name)
{
    Sheet *sheet = g_object_new(TYPE_SHEET, NULL);

    sheet->name = g_strdup(name);
    sheet->scale = g_str_has_prefix(name, "coast") ? 50000 : 25000;
    atlas.loaded++;
    return sheet;
}

static Sheet *sheet_open(const char *name, GError **error)
{
    Sheet *sheet = NULL;
    Slot *slot;

    if (strchr(name, '/')) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_FILENAME, "no sheet %s", name);
        return NULL;
    }
    g_mutex_lock(&atlas.lock);
    slot = g_hash_table_lookup(atlas.slots, name);
    if (slot) {
#ifdef BUG
        sheet = slot->sheet;
        g_object_ref(sheet); /* GUILTY */
#else
        sheet = g_weak_ref_get(&slot->weak);
#endif
    }
    if (!sheet) {
        sheet = sheet_load(name);
        slot = g_new0(Slot, 1);
        slot->sheet = sheet;
        g_weak_ref_init(&slot->weak, sheet);
        g_hash_table_replace(atlas.slots, g_strdup(name), slot);
    }
    g_mutex_unlock(&atlas.lock);
    return sheet;
}

static void serve_read(Job *job)
{
    GError *error = NULL;
    Sheet *sheet;

    if (!g_task_return_error_if_cancelled(job->task)) {
        sheet = sheet_open(g_task_get_task_data(job->task), &error);
        if (sheet)
            g_task_return_pointer(job->task, sheet, g_object_unref);
        else
            g_task_return_error(job->task, error);
    }
    g_object_unref(job->task);
}

static void serve_write(Job *job)
{
    printf("writing %s\n", job->name);
    g_mutex_lock(&atlas.done_lock);
    atlas.flushed++;
    *job->written = TRUE;
    g_cond_broadcast(&atlas.done);
    g_mutex_unlock(&atlas.done_lock);
}

/* Collects requests up to a write or a full batch; the disk likes reads first. */
static gpointer disk_thread(gpointer unused)
{
    gboolean running = TRUE;

    (void)unused;
    while (running) {
        Job *batch[BATCH];
        guint n = 0;

        do {
            batch[n] = g_async_queue_pop(atlas.jobs);
        } while (batch[n++]->kind == JOB_READ && n < BATCH);
        for (guint i = 0; i < n; i++)
            if (batch[i]->kind == JOB_READ)
                serve_read(batch[i]);
        for (guint i = 0; i < n; i++) {
            if (batch[i]->kind == JOB_WRITE)
                serve_write(batch[i]);
            running = running && batch[i]->kind != JOB_QUIT;
            g_free(batch[i]);
        }
    }
    return NULL;
}

static void sheet_open_async(const char *name, GCancellable *cancellable, GAsyncReadyCallback ready, gpointer data)
{
    GTask *task = g_task_new(NULL, cancellable, ready, data);

    g_task_set_task_data(task, g_strdup(name), g_free);
    submit(JOB_READ, task, NULL, NULL);
}

typedef struct {
    GPtrArray *sheets;
    guint pending, failed;
} View;

static void on_opened(GObject *source, GAsyncResult *result, gpointer data)
{
    GError *error = NULL;
    Sheet *sheet = g_task_propagate_pointer(G_TASK(result), &error);
    View *view = data;

    (void)source;
    view->pending--;
    if (sheet) {
        g_ptr_array_add(view->sheets, sheet);
    } else {
        printf("%s\n", error->message);
        view->failed++;
        g_error_free(error);
    }
}

static void view_show(View *view, const char *const *names, guint n, GCancellable *cancellable)
{
    for (guint i = 0; i < n; i++) {
        view->pending++;
        sheet_open_async(names[i], cancellable, on_opened, view);
    }
}

static void view_wait(View *view)
{
    while (view->pending)
        g_main_context_iteration(NULL, TRUE);
}

static void view_close(View *view)
{
    g_ptr_array_unref(view->sheets);
}

int main(void)
{
    static const char *const first[] = {"coast-1", "coast-2", "hill-7", "hill-8"};
    static const char *const second[] = {"hill-7", "a/b", "coast-1", "hill-9"};
    static const char *const third[] = {"coast-2", "hill-8"};
    View left = {g_ptr_array_new_with_free_func(g_object_unref), 0, 0};
    View right = {g_ptr_array_new_with_free_func(g_object_unref), 0, 0};
    GThread *disk;

    atlas.jobs = g_async_queue_new();
    atlas.slots = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, slot_free);
    disk = g_thread_new("disk", disk_thread, NULL);
    view_show(&left, first, G_N_ELEMENTS(first), NULL);
    view_wait(&left);
    view_show(&right, second, G_N_ELEMENTS(second), NULL);
    view_wait(&right);
    for (guint i = 0; i < left.sheets->len; i++) {
        Sheet *sheet = g_ptr_array_index(left.sheets, i);
        sheet->dirty = g_str_equal(sheet->name, "coast-2");
    }
    view_show(&right, third, G_N_ELEMENTS(third), NULL);
    g_ptr_array_remove_index(left.sheets, 1);
    view_wait(&right);
    printf("left %u, right %u, failed %u\n", left.sheets->len, right.sheets->len, left.failed + right.failed);
    view_close(&right);
    view_close(&left);
    submit(JOB_QUIT, NULL, NULL, NULL);
    g_thread_join(disk);
    printf("loaded %u, flushed %u\n", atlas.loaded, atlas.flushed);
    g_hash_table_unref(atlas.slots);
    g_async_queue_unref(atlas.jobs);
    return 0;
}
