/* summary: a longer bake destroys the oven's old timer source and stores the new one without dropping the old reference
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: glib
 * packages: glib-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
#include <glib.h>
#include <stdio.h>

#define OVENS 6

/* Sources that get ready by the bakery's own clock, which counts minutes. */
typedef struct {
    GSource source;
    guint due;
} MinuteSource;

typedef struct Bakery Bakery;

typedef struct {
    Bakery *bakery;
    guint number;
    const char *bread;
    guint loaves;
    gboolean hot;
    GSource *bake;  /* ends the bake */
    GSource *steam; /* opens the steam valve */
    GSource *light; /* switches the lamp off */
} Oven;

struct Bakery {
    GMainContext *context;
    GMainLoop *loop;
    Oven ovens[OVENS];
    GHashTable *sold; /* bread to number */
    guint closing;
};

static guint now;

static gboolean minute_prepare(GSource *source, gint *timeout)
{
    *timeout = 0;
    return ((MinuteSource *) source)->due <= now;
}

static gboolean minute_check(GSource *source)
{
    return ((MinuteSource *) source)->due <= now;
}

static gboolean minute_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void) source;
    return callback ? callback(data) : G_SOURCE_REMOVE;
}

static GSourceFuncs minute_funcs = { .prepare = minute_prepare, .check = minute_check, .dispatch = minute_dispatch };

/* A new reference, besides the one of the context. */
static GSource *minute_source_new(Bakery *bakery, guint minutes, const char *name, GSourceFunc callback, gpointer data)
{
    GSource *source = g_source_new(&minute_funcs, sizeof(MinuteSource));

    ((MinuteSource *) source)->due = now + minutes;
    g_source_set_name(source, name);
    g_source_set_callback(source, callback, data, NULL);
    g_source_attach(source, bakery->context);
    return source;
}

static void stop_timer(GSource **timer)
{
    if (!*timer)
        return;
    g_source_destroy(*timer);
    g_source_unref(*timer);
    *timer = NULL;
}

static gboolean on_light(gpointer data)
{
    Oven *oven = data;

    g_source_unref(oven->light);
    oven->light = NULL;
    return G_SOURCE_REMOVE;
}

static gboolean on_steam(gpointer data)
{
    Oven *oven = data;

    g_source_unref(oven->steam);
    oven->steam = NULL;
    if (oven->light)
        stop_timer(&oven->light);
    oven->light = minute_source_new(oven->bakery, 3, "light", on_light, oven);
    return G_SOURCE_REMOVE;
}

static gboolean on_baked(gpointer data)
{
    Oven *oven = data;
    guint sold = GPOINTER_TO_UINT(g_hash_table_lookup(oven->bakery->sold, oven->bread));

    g_hash_table_insert(oven->bakery->sold, g_strdup(oven->bread), GUINT_TO_POINTER(sold + oven->loaves));
    printf("%3u: oven %u gives %u %s\n", now, oven->number, oven->loaves, oven->bread);
    oven->hot = FALSE;
    g_source_unref(oven->bake);
    oven->bake = NULL;
    stop_timer(&oven->steam);
    return G_SOURCE_REMOVE;
}

static void oven_start(Oven *oven, const char *bread, guint loaves, guint minutes)
{
    if (oven->hot)
        return;
    oven->hot = TRUE;
    oven->bread = bread;
    oven->loaves = loaves;
    oven->bake = minute_source_new(oven->bakery, minutes, "bake", on_baked, oven);
    if (oven->steam)
        stop_timer(&oven->steam);
    oven->steam = minute_source_new(oven->bakery, minutes / 2, "steam", on_steam, oven);
}

/* Somebody opened the door: steam starts again. */
static void oven_restart_steam(Oven *oven, guint minutes)
{
    if (!oven->hot)
        return;
    stop_timer(&oven->steam);
    oven->steam = minute_source_new(oven->bakery, minutes, "steam", on_steam, oven);
}

static void oven_bake_longer(Oven *oven, guint minutes)
{
    guint left;

    if (!oven->bake)
        return;
    left = ((MinuteSource *) oven->bake)->due - now;
#ifdef BUG
    g_source_destroy(oven->bake); /* ACCEPTED */
    oven->bake = minute_source_new(oven->bakery, left + minutes, "bake", on_baked, oven); /* GUILTY */
#else
    stop_timer(&oven->bake);
    oven->bake = minute_source_new(oven->bakery, left + minutes, "bake", on_baked, oven);
#endif
}

static void oven_shut_down(Oven *oven)
{
    stop_timer(&oven->bake);
    stop_timer(&oven->steam);
    stop_timer(&oven->light);
    oven->hot = FALSE;
}

static void bakery_work(Bakery *bakery)
{
    static const struct {
        guint at, oven;
        const char *bread;
        guint loaves, minutes;
    } plan[] = {
        { 1, 0, "rye", 40, 12 },    { 1, 1, "wheat", 60, 9 }, { 2, 2, "spelt", 30, 10 }, { 3, 3, "rolls", 200, 6 },
        { 12, 3, "rolls", 180, 6 }, { 14, 1, "rye", 40, 12 }, { 16, 0, "oat", 20, 14 },  { 20, 4, "wheat", 60, 9 },
        { 26, 3, "rolls", 220, 6 }, { 30, 5, "cake", 8, 20 },
    };

    for (guint i = 0; i < G_N_ELEMENTS(plan); i++) {
        if (plan[i].at == now)
            oven_start(&bakery->ovens[plan[i].oven], plan[i].bread, plan[i].loaves, plan[i].minutes);
    }
    if (now % 8 == 5)
        oven_restart_steam(&bakery->ovens[now % OVENS], 2);
    if (now == 7 || now == 22)
        oven_bake_longer(&bakery->ovens[2], 4);
    if (now == 19)
        oven_bake_longer(&bakery->ovens[0], 5);
    if (now == 8)
        oven_bake_longer(&bakery->ovens[1], 1);
}

/* The clock has the lowest priority: whatever is due comes first. */
static gboolean on_minute(gpointer data)
{
    Bakery *bakery = data;

    now++;
    bakery_work(bakery);
    if (now < bakery->closing)
        return G_SOURCE_CONTINUE;
    g_main_loop_quit(bakery->loop);
    return G_SOURCE_REMOVE;
}

static void bakery_open(Bakery *bakery, guint closing)
{
    GSource *clock = g_idle_source_new();

    bakery->context = g_main_context_new();
    bakery->loop = g_main_loop_new(bakery->context, FALSE);
    bakery->sold = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bakery->closing = closing;
    for (guint i = 0; i < OVENS; i++) {
        bakery->ovens[i].bakery = bakery;
        bakery->ovens[i].number = i + 1;
    }
    g_source_set_callback(clock, on_minute, bakery, NULL);
    g_source_set_priority(clock, G_PRIORITY_LOW);
    g_source_attach(clock, bakery->context);
    g_source_unref(clock);
}

static void bakery_close(Bakery *bakery)
{
    for (guint i = 0; i < OVENS; i++)
        oven_shut_down(&bakery->ovens[i]);
    g_hash_table_unref(bakery->sold);
    g_main_loop_unref(bakery->loop);
    g_main_context_unref(bakery->context);
}

int main(void)
{
    static const char *const breads[] = { "cake", "oat", "rolls", "rye", "spelt", "wheat" };
    Bakery bakery = { 0 };

    bakery_open(&bakery, 45);
    g_main_loop_run(bakery.loop);
    for (guint i = 0; i < G_N_ELEMENTS(breads); i++)
        printf("%s: %u\n", breads[i], GPOINTER_TO_UINT(g_hash_table_lookup(bakery.sold, breads[i])));
    bakery_close(&bakery);
    return 0;
}
