/* summary: the search for a large taxi keeps the result of g_weak_ref_get() of the best one so far and replaces it by a nearer one without unreffing it
 * kind: overwritten
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O0 -g
 * exit: 0
 * source: bug class "best candidate so far not released when a better one is found"
 */
/*
 * A taxi dispatcher. Companies own their taxis; the dispatcher only has weak
 * references, since a taxi may leave at any time.
 */
#include <glib-object.h>
#include <stdio.h>
#include <stdlib.h>

#define TYPE_TAXI (taxi_get_type())
G_DECLARE_FINAL_TYPE(Taxi, taxi, RANK, TAXI, GObject)

struct _Taxi {
	GObject parent;
	int number;
	int x, y;
	int seats;
	gboolean busy;
	int trips;
};

enum { PROP_NUMBER = 1, PROP_SEATS };

G_DEFINE_TYPE(Taxi, taxi, G_TYPE_OBJECT)

static void taxi_set_property(GObject *o, guint id, const GValue *v, GParamSpec *ps)
{
	Taxi *self = RANK_TAXI(o);

	switch (id) {
	case PROP_NUMBER:
		self->number = g_value_get_int(v);
		break;
	case PROP_SEATS:
		self->seats = g_value_get_int(v);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(o, id, ps);
	}
}

static void taxi_class_init(TaxiClass *klass)
{
	GObjectClass *oc = G_OBJECT_CLASS(klass);
	const GParamFlags flags = G_PARAM_WRITABLE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

	oc->set_property = taxi_set_property;
	g_object_class_install_property(oc, PROP_NUMBER,
		g_param_spec_int("number", NULL, NULL, 0, 9999, 0, flags));
	g_object_class_install_property(oc, PROP_SEATS,
		g_param_spec_int("seats", NULL, NULL, 1, 9, 4, flags));
}

static void taxi_init(Taxi *self)
{
	self->busy = FALSE;
}

static Taxi *taxi_new(int number, int seats, int x, int y)
{
	Taxi *t = g_object_new(TYPE_TAXI, "number", number, "seats", seats, NULL);

	t->x = x;
	t->y = y;
	return t;
}

/* The dispatcher */

typedef struct {
	GPtrArray *known;	/* of GWeakRef * */
	GQueue rides;		/* of owned Taxi, oldest first */
	int refused;
} Dispatcher;

static void weak_free(gpointer data)
{
	g_weak_ref_clear(data);
	g_free(data);
}

static void dispatcher_init(Dispatcher *d)
{
	d->known = g_ptr_array_new_with_free_func(weak_free);
	g_queue_init(&d->rides);
	d->refused = 0;
}

static void dispatcher_register(Dispatcher *d, Taxi *t)
{
	GWeakRef *w = g_new(GWeakRef, 1);

	g_weak_ref_init(w, t);
	g_ptr_array_add(d->known, w);
}

static int distance(const Taxi *t, int x, int y)
{
	return abs(t->x - x) + abs(t->y - y);
}

/* The nearest free taxi, as a new reference. */
static Taxi *find_any(Dispatcher *d, int x, int y)
{
	Taxi *best = NULL;

	for (guint i = 0; i < d->known->len; i++) {
		Taxi *t = g_weak_ref_get(g_ptr_array_index(d->known, i));

		if (t == NULL)
			continue;
		if (!t->busy && (best == NULL || distance(t, x, y) < distance(best, x, y)))
			g_set_object(&best, t);
		g_object_unref(t);
	}
	return best;
}

/* The same for a number of people that needs a large one. */
static Taxi *find_large(Dispatcher *d, int x, int y, int people)
{
	Taxi *best = NULL;
	int nearest = G_MAXINT;

	for (guint i = 0; i < d->known->len; i++) {
		Taxi *t = g_weak_ref_get(g_ptr_array_index(d->known, i));	/* ACCEPTED */
		int far;

		if (t == NULL)
			continue;
		far = distance(t, x, y);
		if (t->busy || t->seats < people || far >= nearest) {
			g_object_unref(t);
			continue;
		}
#ifndef BUG
		g_clear_object(&best);
#endif
		best = t;	/* GUILTY */
		nearest = far;
	}
	return best;
}

static gboolean dispatcher_call(Dispatcher *d, int x, int y, int people)
{
	Taxi *t = people > 4 ? find_large(d, x, y, people) : find_any(d, x, y);

	if (t == NULL) {
		d->refused++;
		return FALSE;
	}
	t->busy = TRUE;
	t->x = x;
	t->y = y;
	g_queue_push_tail(&d->rides, t);
	return TRUE;
}

static void dispatcher_arrive(Dispatcher *d, int x, int y)
{
	Taxi *t = g_queue_pop_head(&d->rides);

	if (t == NULL)
		return;
	t->busy = FALSE;
	t->trips++;
	t->x = x;
	t->y = y;
	g_object_unref(t);
}

/* Weak references of taxis that are gone. */
static int dispatcher_prune(Dispatcher *d)
{
	int gone = 0;

	for (guint i = d->known->len; i-- > 0;) {
		Taxi *t = g_weak_ref_get(g_ptr_array_index(d->known, i));

		if (t != NULL) {
			g_object_unref(t);
			continue;
		}
		g_ptr_array_remove_index(d->known, i);
		gone++;
	}
	return gone;
}

static void dispatcher_clear(Dispatcher *d)
{
	g_queue_clear_full(&d->rides, g_object_unref);
	g_ptr_array_unref(d->known);
}

static GPtrArray *company_open(Dispatcher *d, int first, int n, int large_every)
{
	GPtrArray *taxis = g_ptr_array_new_with_free_func(g_object_unref);

	for (int i = 0; i < n; i++) {
		int k = first + i;
		Taxi *t = taxi_new(k, i % large_every == large_every - 1 ? 7 : 4,
				   (k * 37) % 101, (k * 53) % 97);

		g_ptr_array_add(taxis, t);
		dispatcher_register(d, t);
	}
	return taxis;
}

static int company_trips(const GPtrArray *taxis)
{
	int trips = 0;

	for (guint i = 0; i < taxis->len; i++)
		trips += RANK_TAXI(taxis->pdata[i])->trips;
	return trips;
}

int main(void)
{
	Dispatcher d;
	GPtrArray *city, *airport;
	int served = 0;

	dispatcher_init(&d);
	city = company_open(&d, 100, 24, 8);
	airport = company_open(&d, 500, 12, 6);

	for (int i = 0; i < 60; i++) {
		int people = i % 15 == 14 ? 6 : 1 + i % 4;

		served += dispatcher_call(&d, (i * 29) % 101, (i * 71) % 97, people);
		if (i >= 10)
			dispatcher_arrive(&d, (i * 13) % 101, (i * 19) % 97);
	}
	printf("served %d, refused %d\n", served, d.refused);
	printf("trips: city %d, airport %d\n", company_trips(city), company_trips(airport));

	g_ptr_array_unref(airport);	/* closes; its taxis leave after their ride */
	while (!g_queue_is_empty(&d.rides))
		dispatcher_arrive(&d, 0, 0);
	dispatcher_prune(&d);
	printf("trips: city %d\n", company_trips(city));
	dispatcher_clear(&d);
	g_ptr_array_unref(city);
	return 0;
}
