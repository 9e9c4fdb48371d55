/*
 * summary: the tick of a hold that was paid meanwhile leaves with the strong reference that it got from the weak one
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: clang -O1 -g
 */
#include <glib-object.h>
#include <stdio.h>

#define BATH_TYPE_HOLD (hold_get_type())
G_DECLARE_FINAL_TYPE(Hold, hold, BATH, HOLD, GObject)

typedef enum {
    HOLD_WAITING,
    HOLD_PAID,
    HOLD_EXPIRED
} HoldState;

struct _Hold {
    GObject parent_instance;
    guint locker;
    guint ticks_left;
    HoldState state;
    char *guest;
};

G_DEFINE_TYPE(Hold, hold, G_TYPE_OBJECT)

/* What a timer knows of its hold; the hold may go first. */
typedef struct {
    GWeakRef hold;
    struct _Desk *desk;
} Watch;

typedef struct _Desk {
    GHashTable *holds; /* number of the locker -> Hold */
    GMainLoop *loop;
    guint timers;
    guint paid, expired, given_up;
} Desk;


static void hold_finalize(GObject *object)
{
    Hold *hold = BATH_HOLD(object);

    g_free(hold->guest);
    G_OBJECT_CLASS(hold_parent_class)->finalize(object);
}

static void hold_class_init(HoldClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = hold_finalize;
}

static void hold_init(Hold *hold)
{
    hold->state = HOLD_WAITING;
}

static Hold *hold_new(guint locker, const char *guest, guint ticks)
{
    Hold *hold = g_object_new(BATH_TYPE_HOLD, NULL);

    hold->locker = locker;
    hold->guest = g_strdup(guest);
    hold->ticks_left = ticks;
    return hold;
}

static Watch *watch_new(Desk *desk, Hold *hold)
{
    Watch *watch = g_new0(Watch, 1);

    g_weak_ref_init(&watch->hold, hold);
    watch->desk = desk;
    desk->timers++;
    return watch;
}

static void watch_free(gpointer data)
{
    Watch *watch = data;

    watch->desk->timers--;
    g_weak_ref_clear(&watch->hold);
    g_free(watch);
}

static void desk_expire(Desk *desk, Hold *hold)
{
    hold->state = HOLD_EXPIRED;
    desk->expired++;
    printf("locker %u: the hold of %s has expired\n", hold->locker, hold->guest);
    g_hash_table_remove(desk->holds, GUINT_TO_POINTER(hold->locker));
}

static gboolean on_tick(gpointer data)
{
    Watch *watch = data;
    Hold *hold = g_weak_ref_get(&watch->hold);
    gboolean again = G_SOURCE_CONTINUE;

    if (!hold)
        return G_SOURCE_REMOVE;
    if (hold->state == HOLD_PAID) {
#ifndef BUG
        g_object_unref(hold);
#endif
        return G_SOURCE_REMOVE; /* GUILTY */
    }
    if (hold->ticks_left > 0)
        hold->ticks_left--;
    if (hold->ticks_left == 0) {
        desk_expire(watch->desk, hold);
        again = G_SOURCE_REMOVE;
    }
    g_object_unref(hold);
    return again;
}

static gboolean desk_hold(Desk *desk, guint locker, const char *guest, guint ticks)
{
    gpointer key = GUINT_TO_POINTER(locker);
    Hold *hold;

    if (g_hash_table_contains(desk->holds, key))
        return FALSE;
    hold = hold_new(locker, guest, ticks);
    g_hash_table_insert(desk->holds, key, hold);
    g_timeout_add_full(G_PRIORITY_DEFAULT, 2, on_tick, watch_new(desk, hold), watch_free);
    return TRUE;
}

/* A paid locker stays in the table until the guest leaves. */
static gboolean desk_pay(Desk *desk, guint locker)
{
    Hold *hold = g_hash_table_lookup(desk->holds, GUINT_TO_POINTER(locker));

    if (!hold || hold->state != HOLD_WAITING)
        return FALSE;
    hold->state = HOLD_PAID;
    desk->paid++;
    return TRUE;
}

static gboolean desk_give_up(Desk *desk, guint locker)
{
    if (!g_hash_table_remove(desk->holds, GUINT_TO_POINTER(locker)))
        return FALSE;
    desk->given_up++;
    return TRUE;
}

static gboolean desk_extend(Desk *desk, const char *guest, guint ticks)
{
    GHashTableIter iter;
    gpointer value;
    Hold *found = NULL;

    g_hash_table_iter_init(&iter, desk->holds);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        Hold *hold = value;

        if (hold->state == HOLD_WAITING && g_str_equal(hold->guest, guest)) {
            found = g_object_ref(hold);
            break;
        }
    }
    if (!found)
        return FALSE;
    found->ticks_left += ticks;
    g_object_unref(found);
    return TRUE;
}

static gboolean on_idle_check(gpointer data)
{
    Desk *desk = data;

    if (desk->timers > 0)
        return G_SOURCE_CONTINUE;
    g_main_loop_quit(desk->loop);
    return G_SOURCE_REMOVE;
}

static void desk_open(Desk *desk)
{
    *desk = (Desk) { 0 };
    desk->holds = g_hash_table_new_full(NULL, NULL, NULL, g_object_unref);
    desk->loop = g_main_loop_new(NULL, FALSE);
}

static void desk_run(Desk *desk)
{
    g_timeout_add(5, on_idle_check, desk);
    g_main_loop_run(desk->loop);
}

static guint desk_close(Desk *desk)
{
    guint occupied = g_hash_table_size(desk->holds);

    g_hash_table_unref(desk->holds);
    g_main_loop_unref(desk->loop);
    return occupied;
}

int main(void)
{
    static const struct {
        guint locker;
        const char *guest;
        guint ticks;
    } requests[] = {
        { 101, "Ilse", 3 }, { 102, "Bram", 4 }, { 103, "Noor", 50 }, { 101, "Timo", 3 }, { 110, "Ruth", 2 },
        { 111, "Sven", 50 }, { 112, "Anouk", 5 }, { 120, "Kees", 50 },
    };
    Desk desk;
    guint refused = 0, occupied;

    desk_open(&desk);
    for (guint i = 0; i < G_N_ELEMENTS(requests); i++) {
        if (!desk_hold(&desk, requests[i].locker, requests[i].guest, requests[i].ticks)) {
            printf("locker %u is taken, %s has to choose another one\n", requests[i].locker, requests[i].guest);
            refused++;
        }
    }
    if (!desk_pay(&desk, 103) || !desk_pay(&desk, 111))
        return 1;
    desk_give_up(&desk, 120);
    desk_extend(&desk, "Anouk", 3);
    if (!desk_extend(&desk, "Timo", 3))
        printf("no hold of Timo\n");

    desk_run(&desk);
    occupied = desk_close(&desk);
    printf("%u paid, %u expired, %u given up, %u refused, %u occupied\n", desk.paid, desk.expired, desk.given_up,
           refused, occupied);
    return 0;
}
