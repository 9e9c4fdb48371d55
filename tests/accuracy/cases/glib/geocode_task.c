/* summary: geocoder_work() goes on to the next task when one was cancelled, without dropping its reference of the task
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * A geocoder: names of places to coordinates, asynchronously, a few at a time
 * whenever the main loop is idle.
 */
#include <gio/gio.h>
#include <stdio.h>

#define GEO_TYPE_CODER (geo_coder_get_type())
G_DECLARE_FINAL_TYPE(GeoCoder, geo_coder, GEO, CODER, GObject)

typedef struct {
	double lat, lon;
} GeoPoint;

typedef struct {
	char *place;
	guint rounds;		/* how often the server has to be asked */
} Query;

struct _GeoCoder {
	GObject parent;
	GHashTable *known;	/* name -> GeoPoint */
	GQueue waiting;		/* of GTask, owned */
	guint idle_id;
	guint asked, cancelled;
};

G_DEFINE_TYPE(GeoCoder, geo_coder, G_TYPE_OBJECT)

static void query_free(gpointer data)
{
	Query *q = data;

	g_free(q->place);
	g_free(q);
}

static void geo_coder_dispose(GObject *o)
{
	GeoCoder *self = GEO_CODER(o);

	g_clear_handle_id(&self->idle_id, g_source_remove);
	g_queue_clear_full(&self->waiting, g_object_unref);
	G_OBJECT_CLASS(geo_coder_parent_class)->dispose(o);
}

static void geo_coder_finalize(GObject *o)
{
	g_hash_table_unref(GEO_CODER(o)->known);
	G_OBJECT_CLASS(geo_coder_parent_class)->finalize(o);
}

static void geo_coder_class_init(GeoCoderClass *klass)
{
	G_OBJECT_CLASS(klass)->dispose = geo_coder_dispose;
	G_OBJECT_CLASS(klass)->finalize = geo_coder_finalize;
}

static void geo_coder_init(GeoCoder *self)
{
	self->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_queue_init(&self->waiting);
}

static void geo_coder_learn(GeoCoder *self, const char *place, double lat, double lon)
{
	GeoPoint *p = g_new(GeoPoint, 1);

	p->lat = lat;
	p->lon = lon;
	g_hash_table_insert(self->known, g_strdup(place), p);
}

/* True when the answer of the server is complete. */
static gboolean geo_coder_ask(GeoCoder *self, Query *q)
{
	self->asked++;
	if (q->rounds > 0)
		q->rounds--;
	return q->rounds == 0;
}

static void geo_coder_answer(GeoCoder *self, GTask *task)
{
	Query *q = g_task_get_task_data(task);
	GeoPoint *p = g_hash_table_lookup(self->known, q->place);

	if (p != NULL)
		g_task_return_pointer(task, g_memdup2(p, sizeof(*p)), g_free);
	else
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "no place %s", q->place);
}

/* At most four tasks in one go. */
static gboolean geocoder_work(gpointer data)
{
	GeoCoder *self = data;

	for (int n = 0; n < 4; n++) {
		GTask *task = g_queue_pop_head(&self->waiting);

		if (task == NULL)
			break;
		if (g_task_return_error_if_cancelled(task)) {	/* ACCEPTED */
			self->cancelled++;	/* GUILTY */
#ifndef BUG
			g_object_unref(task);
#endif
			continue;
		}
		if (!geo_coder_ask(self, g_task_get_task_data(task))) {
			g_queue_push_tail(&self->waiting, task);
			continue;
		}
		geo_coder_answer(self, task);
		g_object_unref(task);
	}
	if (!g_queue_is_empty(&self->waiting))
		return G_SOURCE_CONTINUE;
	self->idle_id = 0;
	return G_SOURCE_REMOVE;
}

static void geo_coder_lookup_async(GeoCoder *self, const char *place, GCancellable *cancellable,
				   GAsyncReadyCallback callback, gpointer user_data)
{
	GTask *task = g_task_new(self, cancellable, callback, user_data);
	Query *q;

	g_task_set_source_tag(task, geo_coder_lookup_async);
	if (place[0] == '\0') {
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "empty");
		g_object_unref(task);
		return;
	}
	q = g_new0(Query, 1);
	q->place = g_ascii_strdown(place, -1);
	q->rounds = 1 + (guint)strlen(place) % 3;
	g_task_set_task_data(task, q, query_free);
	g_queue_push_tail(&self->waiting, task);
	if (self->idle_id == 0)
		self->idle_id = g_idle_add(geocoder_work, self);
}

static GeoPoint *geo_coder_lookup_finish(GeoCoder *self, GAsyncResult *result, GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, self), NULL);
	return g_task_propagate_pointer(G_TASK(result), error);
}

/* The user of it */

typedef struct {
	guint pending, found, cancelled, failed;
	double north;
	GCancellable *page;	/* cancelled when the user leaves the page */
	guint leave_after;
} Map;

static void map_got_place(GObject *source, GAsyncResult *result, gpointer user_data)
{
	Map *map = user_data;
	GError *error = NULL;
	GeoPoint *p = geo_coder_lookup_finish(GEO_CODER(source), result, &error);

	map->pending--;
	if (p != NULL) {
		map->found++;
		map->north = MAX(map->north, p->lat);
		g_free(p);
	} else if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		map->cancelled++;
	} else {
		map->failed++;
	}
	g_clear_error(&error);
	if (map->found == map->leave_after)
		g_cancellable_cancel(map->page);
}

static void map_show(Map *map, GeoCoder *coder, const char *const *places, guint leave_after)
{
	map->page = g_cancellable_new();
	map->leave_after = map->found + leave_after;
	for (; *places != NULL; places++) {
		geo_coder_lookup_async(coder, *places, map->page, map_got_place, map);
		map->pending++;
	}
	while (map->pending > 0)
		g_main_context_iteration(NULL, TRUE);
	g_clear_object(&map->page);
}

int main(void)
{
	static const char *const north[] = { "Oslo", "Bergen", "Tromso", "", "Narvik", "Alta", NULL };
	static const char *const south[] = { "Rome", "Naples", "Atlantis", "Bari", "Palermo", "Lecce", "Matera", NULL };
	static const char *const both[] = { "Oslo", "Rome", "Bari", NULL };
	GeoCoder *coder = g_object_new(GEO_TYPE_CODER, NULL);
	Map map = { 0 };

	geo_coder_learn(coder, "oslo", 59.9, 10.7);
	geo_coder_learn(coder, "bergen", 60.4, 5.3);
	geo_coder_learn(coder, "tromso", 69.6, 18.9);
	geo_coder_learn(coder, "narvik", 68.4, 17.4);
	geo_coder_learn(coder, "rome", 41.9, 12.5);
	geo_coder_learn(coder, "naples", 40.9, 14.3);
	geo_coder_learn(coder, "bari", 41.1, 16.9);
	geo_coder_learn(coder, "palermo", 38.1, 13.4);
	geo_coder_learn(coder, "lecce", 40.4, 18.2);

	map_show(&map, coder, north, 100);
	map_show(&map, coder, south, 3);
	map_show(&map, coder, both, 100);
	printf("%u found, %u cancelled, %u failed, asked %u times, north %.1f\n",
	       map.found, map.cancelled, map.failed, coder->asked, map.north);
	g_object_unref(coder);
	return 0;
}
