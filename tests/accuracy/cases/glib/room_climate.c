/* summary: the transform closure of a GBinding gets a reference to the room, which itself owns the thermostat that the binding lives on
 * kind: cycle
 * counts: surplus
 * objects: 3
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "strong reference to self in the user data of a property binding"
 */
/*
 * The climate of a hotel. A room owns a thermostat; what it measures (in
 * Celsius) is bound to the "shown" property of a display, which the room
 * shares with the corridor's panel. Some wings want Fahrenheit and a
 * correction per room.
 */
#include <glib-object.h>
#include <stdio.h>

/* Thermostat: one writable property. */

#define TYPE_THERMOSTAT (thermostat_get_type())
G_DECLARE_FINAL_TYPE(Thermostat, thermostat, HOTEL, THERMOSTAT, GObject)

struct _Thermostat {
	GObject parent;
	double celsius;
};

G_DEFINE_TYPE(Thermostat, thermostat, G_TYPE_OBJECT)

static void thermostat_set_property(GObject *o, guint id, const GValue *v, GParamSpec *ps)
{
	(void)id, (void)ps;
	HOTEL_THERMOSTAT(o)->celsius = g_value_get_double(v);
}

static void thermostat_get_property(GObject *o, guint id, GValue *v, GParamSpec *ps)
{
	(void)id, (void)ps;
	g_value_set_double(v, HOTEL_THERMOSTAT(o)->celsius);
}

static void thermostat_class_init(ThermostatClass *klass)
{
	GObjectClass *oc = G_OBJECT_CLASS(klass);

	oc->set_property = thermostat_set_property;
	oc->get_property = thermostat_get_property;
	g_object_class_install_property(oc, 1,
		g_param_spec_double("celsius", NULL, NULL, -40, 60, 20,
				    G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
}

static void thermostat_init(Thermostat *self)
{
	self->celsius = 20;
}

/* Display: shows a number. */

#define TYPE_DISPLAY (display_get_type())
G_DECLARE_FINAL_TYPE(Display, display, HOTEL, DISPLAY, GObject)

struct _Display {
	GObject parent;
	double shown;
	int updates;
};

G_DEFINE_TYPE(Display, display, G_TYPE_OBJECT)

static void display_set_property(GObject *o, guint id, const GValue *v, GParamSpec *ps)
{
	Display *self = HOTEL_DISPLAY(o);

	(void)id, (void)ps;
	self->shown = g_value_get_double(v);
	self->updates++;
}

static void display_class_init(DisplayClass *klass)
{
	GObjectClass *oc = G_OBJECT_CLASS(klass);

	oc->set_property = display_set_property;
	g_object_class_install_property(oc, 1,
		g_param_spec_double("shown", NULL, NULL, -100, 200, 0,
				    G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
}

static void display_init(Display *self)
{
	self->shown = 0;
}

/* Room */

#define TYPE_ROOM (room_get_type())
G_DECLARE_FINAL_TYPE(Room, room, HOTEL, ROOM, GObject)

struct _Room {
	GObject parent;
	int number;
	double correction;
	Thermostat *thermostat;
	Display *display;
};

G_DEFINE_TYPE(Room, room, G_TYPE_OBJECT)

static int rooms_closed;

static void room_dispose(GObject *o)
{
	Room *self = HOTEL_ROOM(o);

	g_clear_object(&self->thermostat);
	g_clear_object(&self->display);
	G_OBJECT_CLASS(room_parent_class)->dispose(o);
}

static void room_finalize(GObject *o)
{
	rooms_closed++;
	G_OBJECT_CLASS(room_parent_class)->finalize(o);
}

static void room_class_init(RoomClass *klass)
{
	G_OBJECT_CLASS(klass)->dispose = room_dispose;
	G_OBJECT_CLASS(klass)->finalize = room_finalize;
}

static void room_init(Room *self)
{
	self->thermostat = g_object_new(TYPE_THERMOSTAT, NULL);
}

/* Fahrenheit, with the correction of the room whose sensor it is. */
static gboolean to_fahrenheit(GBinding *binding, const GValue *from, GValue *to, gpointer data)
{
	Room *room = data;

	(void)binding;
	g_value_set_double(to, (g_value_get_double(from) + room->correction) * 9 / 5 + 32);
	return TRUE;
}

/* The binding goes away with the thermostat, and that with the room. */
static void room_show_on(Room *self, Display *display, gboolean fahrenheit)
{
	g_set_object(&self->display, display);
	if (!fahrenheit) {
		g_object_bind_property(self->thermostat, "celsius", display, "shown",
				       G_BINDING_SYNC_CREATE);
		return;
	}
#ifdef BUG
	g_object_bind_property_full(self->thermostat, "celsius", display, "shown",	/* ACCEPTED */
				    G_BINDING_SYNC_CREATE, to_fahrenheit, NULL,
				    g_object_ref(self), g_object_unref);	/* GUILTY */
#else
	g_object_bind_property_full(self->thermostat, "celsius", display, "shown",
				    G_BINDING_SYNC_CREATE, to_fahrenheit, NULL,
				    self, NULL);
#endif
}

static Room *room_new(int number, double correction)
{
	Room *self = g_object_new(TYPE_ROOM, NULL);

	self->number = number;
	self->correction = correction;
	return self;
}

/* The hotel */

typedef struct {
	GPtrArray *rooms;	/* owned */
	GHashTable *by_number;	/* number -> borrowed */
	GPtrArray *corridor;	/* displays, owned */
} Hotel;

static void hotel_open(Hotel *h)
{
	h->rooms = g_ptr_array_new_with_free_func(g_object_unref);
	h->by_number = g_hash_table_new(NULL, NULL);
	h->corridor = g_ptr_array_new_with_free_func(g_object_unref);
}

static void hotel_add(Hotel *h, int number, double correction, gboolean american)
{
	Room *room = room_new(number, correction);
	Display *display = g_object_new(TYPE_DISPLAY, NULL);

	room_show_on(room, display, american);
	g_ptr_array_add(h->rooms, room);
	g_hash_table_insert(h->by_number, GINT_TO_POINTER(number), room);
	if (number % 2 == 0)
		g_ptr_array_add(h->corridor, g_object_ref(display));
	g_object_unref(display);
}

static void hotel_measure(Hotel *h, int number, double celsius)
{
	Room *room = g_hash_table_lookup(h->by_number, GINT_TO_POINTER(number));

	if (room == NULL)
		return;
	g_object_ref(room);	/* a handler could close it */
	g_object_set(room->thermostat, "celsius", celsius, NULL);
	g_object_unref(room);
}

static void hotel_close(Hotel *h)
{
	g_hash_table_unref(h->by_number);
	g_ptr_array_unref(h->rooms);
	g_ptr_array_unref(h->corridor);
}

static void hotel_report(const Hotel *h)
{
	int updates = 0;
	double sum = 0;

	for (guint i = 0; i < h->rooms->len; i++) {
		const Room *room = g_ptr_array_index(h->rooms, i);

		updates += room->display->updates;
		sum += room->display->shown;
	}
	printf("%u rooms, %u corridor displays: %d updates, sum %.1f\n",
	       h->rooms->len, h->corridor->len, updates, sum);
}

int main(void)
{
	Hotel h;

	hotel_open(&h);
	for (int floor = 1; floor <= 4; floor++)
		for (int door = 1; door <= 12; door++)
			hotel_add(&h, floor * 100 + door, door / 10.0, floor == 3 && door % 4 == 0);
	for (int day = 0; day < 5; day++)
		for (int n = 101; n < 413; n += 3)
			hotel_measure(&h, n, 17 + (n * 7 + day * 5) % 9);
	hotel_report(&h);
	hotel_close(&h);
	printf("closed\n");
	return rooms_closed > 0 ? 0 : 1;
}
