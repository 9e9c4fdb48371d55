/*
 * summary: the renewal hands the desk's own reference to the task that returns the permit, without a reference for the caller
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: GObject
 * packages: gio-2.0
 * build: clang -O2 -g
 */
#include <gio/gio.h>
#include <stdio.h>

/* A building permit as the archive has it. */

#define DESK_TYPE_PERMIT (desk_permit_get_type())
G_DECLARE_FINAL_TYPE(DeskPermit, desk_permit, DESK, PERMIT, GObject)

typedef struct
{
    gint number;
    gint valid_until;
    gint renewals;
    gchar holder[32];
} DeskPermitPrivate;

struct _DeskPermit
{
    GObject parent;
};

G_DEFINE_TYPE_WITH_PRIVATE(DeskPermit, desk_permit, G_TYPE_OBJECT)

static void desk_permit_class_init(DeskPermitClass *klass)
{
    (void)klass;
}

static void desk_permit_init(DeskPermit *self)
{
    (void)self;
}

static DeskPermitPrivate *permit_data(DeskPermit *self)
{
    return desk_permit_get_instance_private(self);
}

static DeskPermit *desk_permit_new(gint number, const gchar *holder, gint valid_until)
{
    DeskPermit *self = g_object_new(DESK_TYPE_PERMIT, NULL);
    DeskPermitPrivate *data = permit_data(self);

    data->number = number;
    data->valid_until = valid_until;
    g_strlcpy(data->holder, holder, sizeof data->holder);
    return self;
}

/* The desk: fetches permits from the archive in a thread and keeps them. */

#define DESK_TYPE_DESK (desk_desk_get_type())
G_DECLARE_FINAL_TYPE(DeskDesk, desk_desk, DESK, DESK, GObject)

struct _DeskDesk
{
    GObject parent;
    GHashTable *permits; /* number to DeskPermit */
    GHashTable *waiters; /* number to GPtrArray of GTask */
    guint fetched;
};

G_DEFINE_TYPE(DeskDesk, desk_desk, G_TYPE_OBJECT)

static void desk_desk_dispose(GObject *object)
{
    DeskDesk *self = DESK_DESK(object);

    g_hash_table_remove_all(self->waiters);
    g_hash_table_remove_all(self->permits);
    G_OBJECT_CLASS(desk_desk_parent_class)->dispose(object);
}

static void desk_desk_finalize(GObject *object)
{
    DeskDesk *self = DESK_DESK(object);

    g_hash_table_unref(self->waiters);
    g_hash_table_unref(self->permits);
    G_OBJECT_CLASS(desk_desk_parent_class)->finalize(object);
}

static void desk_desk_class_init(DeskDeskClass *klass)
{
    G_OBJECT_CLASS(klass)->dispose = desk_desk_dispose;
    G_OBJECT_CLASS(klass)->finalize = desk_desk_finalize;
}

static void desk_desk_init(DeskDesk *self)
{
    self->permits = g_hash_table_new_full(NULL, NULL, NULL, g_object_unref);
    self->waiters = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
}

static const struct
{
    gint number;
    const gchar *holder;
    gint valid_until;
} archive[] = {
    {401, "Amsel & Sons", 2024}, {402, "Birch Roofing", 2025}, {407, "Cooper", 2023},
    {411, "Dahl Scaffolds", 2026}, {415, "Erlen Parish", 2024}, {420, "Falk", 2022},
};

static void fetch_in_thread(GTask *task, gpointer source, gpointer task_data, GCancellable *cancellable)
{
    const gint number = GPOINTER_TO_INT(task_data);

    (void)source;
    (void)cancellable;
    for (guint i = 0; i < G_N_ELEMENTS(archive); i++) {
        if (archive[i].number == number) {
            g_task_return_pointer(task, desk_permit_new(number, archive[i].holder, archive[i].valid_until), g_object_unref);
            return;
        }
    }
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "no permit %d", number);
}

static void fetch_done(GObject *source, GAsyncResult *result, gpointer user_data)
{
    DeskDesk *self = DESK_DESK(source);
    gpointer key = g_task_get_task_data(G_TASK(result));
    GPtrArray *waiting = g_ptr_array_ref(g_hash_table_lookup(self->waiters, key));
    GError *error = NULL;
    DeskPermit *permit = g_task_propagate_pointer(G_TASK(result), &error);

    (void)user_data;
    g_hash_table_remove(self->waiters, key);
    for (guint i = 0; i < waiting->len; i++) {
        GTask *task = g_ptr_array_index(waiting, i);

        if (permit == NULL)
            g_task_return_error(task, g_error_copy(error));
        else
            g_task_return_pointer(task, g_object_ref(permit), g_object_unref);
    }
    if (permit != NULL) {
        self->fetched++;
        g_hash_table_insert(self->permits, key, permit);
    }
    g_clear_error(&error);
    g_ptr_array_unref(waiting);
}

static void desk_lookup_async(DeskDesk *self, gint number, GAsyncReadyCallback callback, gpointer user_data)
{
    GTask *task = g_task_new(self, NULL, callback, user_data);
    gpointer key = GINT_TO_POINTER(number);
    DeskPermit *permit = g_hash_table_lookup(self->permits, key);
    GPtrArray *waiting = g_hash_table_lookup(self->waiters, key);

    if (permit != NULL) {
        g_task_return_pointer(task, g_object_ref(permit), g_object_unref);
        g_object_unref(task);
        return;
    }
    if (waiting != NULL) {
        g_ptr_array_add(waiting, task);
        return;
    }
    waiting = g_ptr_array_new_with_free_func(g_object_unref);
    g_ptr_array_add(waiting, task);
    g_hash_table_insert(self->waiters, key, waiting);

    GTask *fetch = g_task_new(self, NULL, fetch_done, NULL);
    g_task_set_task_data(fetch, key, NULL);
    g_task_run_in_thread(fetch, fetch_in_thread);
    g_object_unref(fetch);
}

static void desk_renew_async(DeskDesk *self, gint number, gint years, GAsyncReadyCallback callback, gpointer user_data)
{
    GTask *task = g_task_new(self, NULL, callback, user_data);
    DeskPermit *permit = g_hash_table_lookup(self->permits, GINT_TO_POINTER(number));

    if (permit == NULL) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "permit %d is not at the desk", number);
    } else if (permit_data(permit)->renewals > 1) {
        g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED, "permit %d was renewed twice", number);
    } else {
        permit_data(permit)->valid_until += years;
        permit_data(permit)->renewals++;
#ifndef BUG
        g_object_ref(permit);
#endif
        g_task_return_pointer(task, permit, g_object_unref); /* GUILTY */
    }
    g_object_unref(task);
}

static DeskPermit *desk_finish(GAsyncResult *result, GError **error)
{
    return g_task_propagate_pointer(G_TASK(result), error);
}

/* The counter: a dossier holds what an applicant has asked for. */

typedef struct
{
    GMainLoop *loop;
    GPtrArray *dossier;
    guint open;
    guint refused;
} Counter;

static void counter_done(Counter *counter)
{
    if (--counter->open == 0)
        g_main_loop_quit(counter->loop);
}

static void counter_looked_up(GObject *source, GAsyncResult *result, gpointer user_data)
{
    Counter *counter = user_data;
    GError *error = NULL;
    DeskPermit *permit = desk_finish(result, &error);

    (void)source;
    if (permit != NULL) {
        g_ptr_array_add(counter->dossier, permit);
    } else {
        printf("refused: %s\n", error->message);
        counter->refused++;
        g_clear_error(&error);
    }
    counter_done(counter);
}

static void counter_renewed(GObject *source, GAsyncResult *result, gpointer user_data)
{
    Counter *counter = user_data;
    GError *error = NULL;
    DeskPermit *permit = desk_finish(result, &error);

    (void)source;
    if (permit != NULL) {
        printf("permit %d of %s now valid until %d\n", permit_data(permit)->number, permit_data(permit)->holder,
               permit_data(permit)->valid_until);
        g_object_unref(permit);
    } else {
        printf("not renewed: %s\n", error->message);
        counter->refused++;
        g_clear_error(&error);
    }
    counter_done(counter);
}

int main(void)
{
    static const gint asked[] = {401, 402, 407, 402, 999, 411, 415};
    DeskDesk *desk = g_object_new(DESK_TYPE_DESK, NULL);
    Counter counter = {g_main_loop_new(NULL, FALSE), g_ptr_array_new_with_free_func(g_object_unref), 0, 0};

    for (guint i = 0; i < G_N_ELEMENTS(asked); i++, counter.open++)
        desk_lookup_async(desk, asked[i], counter_looked_up, &counter);
    g_main_loop_run(counter.loop);

    counter.open = 3;
    desk_lookup_async(desk, 401, counter_looked_up, &counter);
    desk_renew_async(desk, 407, 2, counter_renewed, &counter);
    desk_renew_async(desk, 420, 1, counter_renewed, &counter);
    g_main_loop_run(counter.loop);

    printf("%u permits in the dossier, %u fetched, %u refused\n", counter.dossier->len, desk->fetched, counter.refused);
    g_ptr_array_unref(counter.dossier);
    g_object_unref(desk);
    g_main_loop_unref(counter.loop);
    return 0;
}
