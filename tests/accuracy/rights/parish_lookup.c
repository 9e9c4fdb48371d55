/* summary: a register office looks up entries by GTask: results that nobody collects, sources that end themselves, toggle references
 * track: GObject GSource GMainContext GMainLoop
 * build: clang -O2 -g parish_lookup.c -o OUT $(pkg-config --cflags --libs gio-2.0)
 */
#include <gio/gio.h>
#include <stdio.h>

typedef struct { GObject parent; int year; } Entry;
typedef struct { GObjectClass parent; } EntryClass;
G_DEFINE_TYPE(Entry, entry, G_TYPE_OBJECT)
static gint entries_alive;
static void entry_finalize(GObject *object)
{
	g_atomic_int_add(&entries_alive, -1);
	G_OBJECT_CLASS(entry_parent_class)->finalize(object);
}
static void entry_init(Entry *entry) { (void)entry; g_atomic_int_inc(&entries_alive); }
static void entry_class_init(EntryClass *class) { G_OBJECT_CLASS(class)->finalize = entry_finalize; }
static Entry *entry_new(int year)
{
	Entry *entry = g_object_new(entry_get_type(), NULL);
	entry->year = year;
	return entry;
}

typedef struct { int year; GMutex gate; GCond opened; gboolean open; } Query;

static gint queries_alive;
static void query_free(gpointer data)
{
	Query *query = data;
	g_atomic_int_add(&queries_alive, -1);
	g_mutex_clear(&query->gate);
	g_cond_clear(&query->opened);
	g_free(query);
}

static Query *query_new(int year, gboolean open)
{
	Query *query = g_new0(Query, 1);
	g_atomic_int_inc(&queries_alive);
	query->year = year;
	query->open = open;
	g_mutex_init(&query->gate);
	g_cond_init(&query->opened);
	return query;
}

static void query_open(Query *query)
{
	g_mutex_lock(&query->gate);
	query->open = TRUE;
	g_cond_signal(&query->opened);
	g_mutex_unlock(&query->gate);
}

/* The worker: the entry goes to the task even where the task was cancelled; the task then destroys it. */
static void look_up(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	(void)source; (void)cancellable;
	Query *query = data;
	g_mutex_lock(&query->gate);
	while (!query->open)
		g_cond_wait(&query->opened, &query->gate);
	g_mutex_unlock(&query->gate);
	if (query->year < 1600)
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "no entries before 1600");
	else
		g_task_return_pointer(task, entry_new(query->year), g_object_unref);
}

static void look_up_async(GObject *office, Query *query, gboolean at_once, GCancellable *cancellable,
                          GAsyncReadyCallback done, gpointer data)
{
	GTask *task = g_task_new(office, cancellable, done, data);
	g_task_set_task_data(task, query, query_free);
	g_task_set_return_on_cancel(task, at_once);
	g_task_run_in_thread(task, look_up);
	g_object_unref(task);
}

typedef struct {
	GMainLoop *loop;
	int waiting;
	Entry *newest;
	int failed;
} Desk;

static void desk_done(Desk *desk)
{
	if (!--desk->waiting)
		g_main_loop_quit(desk->loop);
}

static void on_found(GObject *office, GAsyncResult *result, gpointer data)
{
	(void)office;
	Desk *desk = data;
	GError *error = NULL;
	Entry *entry = g_task_propagate_pointer(G_TASK(result), &error);
	if (!entry) {
		desk->failed++;
		g_error_free(error);
	} else if (!desk->newest || desk->newest->year < entry->year) {
		g_clear_object(&desk->newest);
		desk->newest = g_steal_pointer(&entry);
	}
	g_clear_object(&entry);
	desk_done(desk);
}

/* Counts only that it ended: the pointer stays in the task, whose finalizer frees it. */
static void on_ignored(GObject *office, GAsyncResult *result, gpointer data)
{
	(void)office; (void)result;
	desk_done(data);
}

static void on_cancelled(GCancellable *cancellable, gpointer entry)
{
	(void)cancellable;
	((Entry *)entry)->year = 0;
}

static void lookups(GMainContext *context)
{
	Desk desk = { g_main_loop_new(context, FALSE), 0, NULL, 0 };
	GObject *office = g_object_new(G_TYPE_OBJECT, NULL);
	GCancellable *cancellable = g_cancellable_new();

	for (int year = 1500; year < 1900; year += 100, desk.waiting++)
		look_up_async(office, query_new(year, TRUE), FALSE, NULL, on_found, &desk);
	for (int i = 0; i < 2; i++, desk.waiting++)
		look_up_async(office, query_new(1700 + i, TRUE), FALSE, NULL, on_ignored, &desk);

	/* This one answers at once when it is cancelled; its worker ends later, holding the task. */
	Query *late = query_new(1950, FALSE);
	GTask *task = g_task_new(office, cancellable, on_found, &desk);
	desk.waiting++;
	g_task_set_task_data(task, late, query_free);
	g_task_set_return_on_cancel(task, TRUE);
	g_task_run_in_thread(task, look_up);
	Entry *watched = entry_new(1);
	gulong id = g_cancellable_connect(cancellable, G_CALLBACK(on_cancelled), g_object_ref(watched), g_object_unref);
	g_object_unref(office);
	g_cancellable_cancel(cancellable);
	g_cancellable_disconnect(cancellable, id);
	printf("cancelled: entry of the year %d\n", watched->year);
	g_object_unref(watched);
	g_main_loop_run(desk.loop);
	query_open(late);                                    /* our reference to the task keeps the query */
	g_object_unref(task);
	g_object_unref(cancellable);
	printf("newest %d, %d failed\n", desk.newest->year, desk.failed);
	g_object_unref(desk.newest);
	g_main_loop_unref(desk.loop);
}

/* Sources that go from within. */
typedef struct { GMainLoop *loop; GSource *other; int ticks; } Clerk;

static gboolean tick_itself_away(gpointer data)
{
	Clerk *clerk = data;
	if (++clerk->ticks == 3) {
		g_source_destroy(g_main_current_source());
		/* Destroyed already: what is returned does not matter. */
		return clerk->ticks & 1 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
	}
	return G_SOURCE_CONTINUE;
}

static gboolean tick_other_away(gpointer data)
{
	Clerk *clerk = data;
	if (clerk->ticks < 3)
		return G_SOURCE_CONTINUE;
	g_source_destroy(clerk->other);
	g_source_unref(clerk->other);
	clerk->other = NULL;
	g_main_loop_quit(clerk->loop);
	return G_SOURCE_REMOVE;
}

static gboolean never(gpointer data) { return ((Entry *)data)->year >= 0; }

static void sources(GMainContext *context)
{
	Clerk clerk = { g_main_loop_new(context, FALSE), NULL, 0 };
	GSource *own = g_idle_source_new(), *ending = g_idle_source_new();
	g_source_set_callback(own, tick_itself_away, &clerk, NULL);
	g_source_set_callback(ending, tick_other_away, &clerk, NULL);
	clerk.other = g_timeout_source_new_seconds(3600);
	g_source_set_callback(clerk.other, never, entry_new(1700), g_object_unref);
	/* A child goes with its parent. */
	GSource *child = g_timeout_source_new_seconds(7200);
	g_source_set_callback(child, never, entry_new(1701), g_object_unref);
	g_source_add_child_source(clerk.other, child);
	g_source_unref(child);
	g_source_attach(clerk.other, context);
	g_source_attach(own, context);
	g_source_attach(ending, context);
	g_source_unref(own);
	g_source_unref(ending);
	g_main_loop_run(clerk.loop);
	g_main_loop_unref(clerk.loop);
	/* One that is never attached, and one that the context's end destroys. */
	GSource *spare = g_idle_source_new();
	g_source_set_callback(spare, never, entry_new(1702), g_object_unref);
	g_source_unref(spare);
	GSource *remaining = g_timeout_source_new_seconds(7200);
	g_source_set_callback(remaining, never, entry_new(1703), g_object_unref);
	g_source_attach(remaining, context);
	g_source_unref(remaining);
}

/* Proxies: the toggle reference is the proxy's; it is strong only while somebody else has the entry. */
typedef struct { Entry *entry; gboolean strong; int toggles; } Proxy;

static void on_toggle(gpointer data, GObject *object, gboolean is_last)
{
	(void)object;
	Proxy *proxy = data;
	proxy->strong = !is_last;
	proxy->toggles++;
}

static void proxies(void)
{
	Proxy proxy[3] = { { 0 } };
	for (int i = 0; i < 3; i++) {
		proxy[i].entry = entry_new(1800 + i);
		proxy[i].strong = TRUE;
		g_object_add_toggle_ref(G_OBJECT(proxy[i].entry), on_toggle, &proxy[i]);
		g_object_unref(proxy[i].entry);              /* now the toggle reference is the last one */
	}
	for (int round = 0; round < 4; round++) {
		Entry *borrowed = g_object_ref(proxy[round % 3].entry);
		g_object_unref(borrowed);
	}
	int toggles = 0;
	for (int i = 0; i < 3; i++) {
		toggles += proxy[i].toggles;
		g_object_remove_toggle_ref(G_OBJECT(proxy[i].entry), on_toggle, &proxy[i]);
	}
	printf("%d toggles\n", toggles);
}

int main(void)
{
	GMainContext *context = g_main_context_new();
	g_main_context_push_thread_default(context);
	lookups(context);
	sources(context);
	proxies();
	g_main_context_pop_thread_default(context);
	g_main_context_unref(context);
	for (int i = 0; i < 200 && (g_atomic_int_get(&entries_alive) || g_atomic_int_get(&queries_alive)); i++)
		g_usleep(5000);                              /* the cancelled worker's entry and task */
	printf("%d entries alive\n", g_atomic_int_get(&entries_alive));
	return g_atomic_int_get(&entries_alive) != 0;
}
