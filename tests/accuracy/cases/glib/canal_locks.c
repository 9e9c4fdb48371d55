/*
 * summary: looking up a lock's row in the timetable leaves the iteration at the match, with the row of the iterator unreleased
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GVariant GObject
 * packages: gio-2.0
 * build: clang -O2 -g
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

/* A day's timetable of a canal: who may pass which lock, by lock: a(ssv). The value is a(ii): hour, boats. */

typedef struct _Convoy Convoy;
#define TYPE_CONVOY convoy_get_type()
G_DECLARE_FINAL_TYPE(Convoy, convoy, CANAL, CONVOY, GObject)

struct _Convoy {
    GObject parent_instance;
    char *flag;
    GPtrArray *stops;    /* char * */
    guint boats;
    guint slots;
};

G_DEFINE_TYPE(Convoy, convoy, G_TYPE_OBJECT)

static void convoy_finalize(GObject *object)
{
    Convoy *self = CANAL_CONVOY(object);

    g_free(self->flag);
    g_ptr_array_unref(self->stops);
    G_OBJECT_CLASS(convoy_parent_class)->finalize(object);
}

static void convoy_class_init(ConvoyClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = convoy_finalize;
}

static void convoy_init(Convoy *self)
{
    self->stops = g_ptr_array_new_with_free_func(g_free);
}

static Convoy *convoy_new(const char *flag, guint boats)
{
    Convoy *self = g_object_new(TYPE_CONVOY, NULL);

    self->flag = g_strdup(flag);
    self->boats = boats;
    return self;
}

typedef struct {
    GVariant *timetable;
    GHashTable *closures;    /* lock -> GVariant of type s */
    GMainLoop *loop;
    guint pending;
} Canal;

static const char *const lock_names[] = { "Aldwater", "Brook Hill", "Cinder Gate", "Dunham", "Elm Bridge", "Fallow" };

static GVariant *make_slots(guint first)
{
    GVariantBuilder slots;

    g_variant_builder_init(&slots, G_VARIANT_TYPE("a(ii)"));
    for (guint i = 0; i < 3; i++)
        g_variant_builder_add(&slots, "(ii)", 6 + (int)(first + 4 * i) % 12, 2 + (int)((first + i) % 3));
    return g_variant_builder_end(&slots);
}

static GVariant *make_timetable(void)
{
    GVariantBuilder rows;

    g_variant_builder_init(&rows, G_VARIANT_TYPE("a(ssv)"));
    for (guint i = 0; i < G_N_ELEMENTS(lock_names); i++)
        g_variant_builder_add(&rows, "(ssv)", lock_names[i], i % 2 ? "keeper" : "automatic", make_slots(i));
    return g_variant_ref_sink(g_variant_builder_end(&rows));
}

static void canal_close_lock(Canal *canal, const char *lock, const char *reason)
{
    g_hash_table_replace(canal->closures, g_strdup(lock), g_variant_ref_sink(g_variant_new_string(reason)));
}

static gboolean canal_is_closed(Canal *canal, const char *lock, const char **reason)
{
    GVariant *note = g_hash_table_lookup(canal->closures, lock);

    if (note == NULL)
        return FALSE;
    *reason = g_variant_get_string(note, NULL);
    return TRUE;
}

static guint slots_for(GVariant *slots, guint boats)
{
    GVariantIter iter;
    gint32 hour, room;
    guint fitting = 0;

    g_variant_iter_init(&iter, slots);
    while (g_variant_iter_next(&iter, "(ii)", &hour, &room)) {
        if (hour >= 7 && hour <= 18 && (guint)room >= MIN(boats, 2))
            fitting++;
    }
    return fitting;
}

static guint canal_rows_staffed(Canal *canal)
{
    GVariantIter iter;
    GVariant *row;
    guint staffed = 0;

    g_variant_iter_init(&iter, canal->timetable);
    while ((row = g_variant_iter_next_value(&iter)) != NULL) {
        const char *staff;

        g_variant_get_child(row, 1, "&s", &staff);
        if (strcmp(staff, "keeper") == 0)
            staffed++;
        g_variant_unref(row);
    }
    return staffed;
}

static gboolean canal_find_slots(Canal *canal, const char *lock, guint boats, guint *fitting)
{
    GVariantIter iter;
    GVariant *row;
    gboolean found = FALSE;

    g_variant_iter_init(&iter, canal->timetable);
    while ((row = g_variant_iter_next_value(&iter)) != NULL) {
        const char *name;

        g_variant_get_child(row, 0, "&s", &name);
        if (strcmp(name, lock) == 0) {
            GVariant *boxed = g_variant_get_child_value(row, 2);
            GVariant *slots = g_variant_get_variant(boxed);

            *fitting = slots_for(slots, boats);
            found = TRUE;
            g_variant_unref(slots);
            g_variant_unref(boxed);
#ifndef BUG
            g_variant_unref(row);
#endif
            break; /* GUILTY */
        }
        g_variant_unref(row);
    }
    return found;
}

static void convoy_route(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    Convoy *convoy = CANAL_CONVOY(source);
    Canal *canal = data;
    guint total = 0;

    (void)cancellable;
    for (guint i = 0; i < convoy->stops->len; i++) {
        const char *lock = g_ptr_array_index(convoy->stops, i);
        const char *reason;
        guint fitting;

        if (canal_is_closed(canal, lock, &reason)) {
            g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_BUSY, "%s is closed: %s", lock, reason);
            return;
        }
        if (!canal_find_slots(canal, lock, convoy->boats, &fitting)) {
            g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "there is no lock %s", lock);
            return;
        }
        total += fitting;
    }
    g_task_return_int(task, total);
}

static void convoy_routed(GObject *source, GAsyncResult *result, gpointer data)
{
    Canal *canal = data;
    Convoy *convoy = CANAL_CONVOY(source);
    GError *error = NULL;
    gssize slots = g_task_propagate_int(G_TASK(result), &error);

    if (error != NULL) {
        printf("%s: %s\n", convoy->flag, error->message);
        g_error_free(error);
    } else {
        convoy->slots = (guint)slots;
        printf("%s: %u slots on the way\n", convoy->flag, convoy->slots);
    }
    if (--canal->pending == 0)
        g_main_loop_quit(canal->loop);
}

static void canal_submit(Canal *canal, Convoy *convoy)
{
    GTask *task = g_task_new(convoy, NULL, convoy_routed, canal);

    canal->pending++;
    g_task_set_task_data(task, canal, NULL);
    g_task_run_in_thread(task, convoy_route);
    g_object_unref(task);
}

static Convoy *plan_convoy(const char *flag, guint boats, const char *const *stops)
{
    Convoy *convoy = convoy_new(flag, boats);

    for (; *stops != NULL; stops++)
        g_ptr_array_add(convoy->stops, g_strdup(*stops));
    return convoy;
}

int main(void)
{
    static const char *const upper[] = { "Aldwater", "Cinder Gate", NULL };
    static const char *const closed[] = { "Fallow", NULL };
    static const char *const wrong[] = { "Nowhere", NULL };
    static const char *const lower[] = { "Dunham", "Fallow", NULL };
    Canal canal = { .pending = 0 };
    GPtrArray *convoys = g_ptr_array_new_with_free_func(g_object_unref);

    canal.timetable = make_timetable();
    canal.closures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_variant_unref);
    canal.loop = g_main_loop_new(NULL, FALSE);
    canal_close_lock(&canal, "Fallow", "low water");
    canal_close_lock(&canal, "Elm Bridge", "paint");
    canal_close_lock(&canal, "Fallow", "gate repairs");

    g_ptr_array_add(convoys, plan_convoy("Heron", 2, upper));
    g_ptr_array_add(convoys, plan_convoy("Otter", 4, closed));
    g_ptr_array_add(convoys, plan_convoy("Swift", 1, wrong));
    g_ptr_array_add(convoys, plan_convoy("Pike", 3, lower));
    for (guint i = 0; i < convoys->len; i++)
        canal_submit(&canal, g_ptr_array_index(convoys, i));
    g_main_loop_run(canal.loop);

    printf("%u locks are staffed\n", canal_rows_staffed(&canal));
    g_ptr_array_unref(convoys);
    g_hash_table_unref(canal.closures);
    g_variant_unref(canal.timetable);
    g_main_loop_unref(canal.loop);
    return 0;
}
