/* summary: the getter of the property `depot` hands the van's own reference to the GValue (take instead of set)
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O0 -g
 */
/* Parcel service: vans belong to depots, change them, and depots are given up. */
#include <glib-object.h>
#include <stdio.h>

#define TYPE_DEPOT (depot_get_type())
G_DECLARE_FINAL_TYPE(Depot, depot, PARCEL, DEPOT, GObject)

struct _Depot {
	GObject parent_instance;
	char *town;
	guint gates;
	guint departures;
};

G_DEFINE_TYPE(Depot, depot, G_TYPE_OBJECT)

static void depot_finalize(GObject *object)
{
	Depot *self = PARCEL_DEPOT(object);

	g_clear_pointer(&self->town, g_free);
	G_OBJECT_CLASS(depot_parent_class)->finalize(object);
}

static void depot_class_init(DepotClass *klass)
{
	G_OBJECT_CLASS(klass)->finalize = depot_finalize;
}

static void depot_init(Depot *self)
{
	self->gates = 1;
}

static Depot *depot_new(const char *town, guint gates)
{
	Depot *self = g_object_new(TYPE_DEPOT, NULL);

	self->town = g_strdup(town);
	self->gates = gates;
	return self;
}

#define TYPE_VAN (van_get_type())
G_DECLARE_FINAL_TYPE(Van, van, PARCEL, VAN, GObject)

struct _Van {
	GObject parent_instance;
	char *plate;
	Depot *depot;
	guint tours;
};

enum { PROP_0, PROP_PLATE, PROP_DEPOT, N_PROPS };
static GParamSpec *van_props[N_PROPS];
static guint van_moved_signal;

G_DEFINE_TYPE(Van, van, G_TYPE_OBJECT)

static void van_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
	Van *self = PARCEL_VAN(object);

	switch (id) {
	case PROP_PLATE:
		g_value_set_string(value, self->plate);
		break;
	case PROP_DEPOT:
#ifdef BUG
		g_value_take_object(value, self->depot); /* GUILTY */
#else
		g_value_set_object(value, self->depot);
#endif
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
	}
}

static void van_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
	Van *self = PARCEL_VAN(object);

	switch (id) {
	case PROP_PLATE:
		g_free(self->plate);
		self->plate = g_value_dup_string(value);
		break;
	case PROP_DEPOT:
		if (g_set_object(&self->depot, g_value_get_object(value)))
			g_object_notify_by_pspec(object, pspec);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
	}
}

static void van_dispose(GObject *object)
{
	g_clear_object(&PARCEL_VAN(object)->depot);
	G_OBJECT_CLASS(van_parent_class)->dispose(object);
}

static void van_finalize(GObject *object)
{
	g_free(PARCEL_VAN(object)->plate);
	G_OBJECT_CLASS(van_parent_class)->finalize(object);
}

static void van_class_init(VanClass *klass)
{
	GObjectClass *object_class = G_OBJECT_CLASS(klass);

	object_class->get_property = van_get_property;
	object_class->set_property = van_set_property;
	object_class->dispose = van_dispose;
	object_class->finalize = van_finalize;
	van_props[PROP_PLATE] = g_param_spec_string("plate", NULL, NULL, NULL, G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY);
	van_props[PROP_DEPOT] = g_param_spec_object("depot", NULL, NULL, TYPE_DEPOT,
						    G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY);
	g_object_class_install_properties(object_class, N_PROPS, van_props);
	van_moved_signal = g_signal_new("moved", TYPE_VAN, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 2, TYPE_DEPOT,
					TYPE_DEPOT);
}

static void van_init(Van *self)
{
	self->tours = 0;
}

typedef struct {
	GHashTable *depots;        /* town to Depot */
	GPtrArray *vans;
	guint moves;
} Fleet;

static void fleet_on_moved(Van *van, Depot *from, Depot *to, gpointer user_data)
{
	Fleet *fleet = user_data;

	fleet->moves++;
	printf("%s goes from %s to %s\n", van->plate, from->town, to->town);
}

static void fleet_add_depot(Fleet *fleet, const char *town, guint gates)
{
	g_hash_table_insert(fleet->depots, g_strdup(town), depot_new(town, gates));
}

static Van *fleet_add_van(Fleet *fleet, const char *plate, const char *town)
{
	Van *van = g_object_new(TYPE_VAN, "plate", plate, "depot", g_hash_table_lookup(fleet->depots, town), NULL);

	g_signal_connect(van, "moved", G_CALLBACK(fleet_on_moved), fleet);
	g_ptr_array_add(fleet->vans, van);
	return van;
}

static void fleet_tour(Fleet *fleet, guint round)
{
	for (guint i = 0; i < fleet->vans->len; i++) {
		Van *van = g_ptr_array_index(fleet->vans, i);

		if ((i + round) % 3 == 0 || !van->depot)
			continue;
		van->tours++;
		van->depot->departures++;
	}
}

static gboolean fleet_move_van(Fleet *fleet, Van *van, const char *town)
{
	Depot *to = g_hash_table_lookup(fleet->depots, town);
	Depot *from = NULL;

	if (!to)
		return FALSE;
	g_object_get(van, "depot", &from, NULL);
	g_object_set(van, "depot", to, NULL);
	if (from) {
		g_signal_emit(van, van_moved_signal, 0, from, to);
		g_object_unref(from);
	}
	return TRUE;
}

/* The depot gets no more vans; those that are there stay until they are moved. */
static gboolean fleet_give_up(Fleet *fleet, const char *town)
{
	return g_hash_table_remove(fleet->depots, town);
}

static void fleet_print(Fleet *fleet)
{
	for (guint i = 0; i < fleet->vans->len; i++) {
		Van *van = g_ptr_array_index(fleet->vans, i);

		printf("%s: %u tours, departures of its depot: %u\n", van->plate, van->tours, van->depot ? van->depot->departures : 0);
	}
}

int main(void)
{
	Fleet fleet = { 0 };
	Van *spare;

	fleet.depots = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
	fleet.vans = g_ptr_array_new_with_free_func(g_object_unref);
	fleet_add_depot(&fleet, "Aalen", 12);
	fleet_add_depot(&fleet, "Bruchsal", 30);
	fleet_add_depot(&fleet, "Calw", 8);
	fleet_add_depot(&fleet, "Dornstadt", 24);
	fleet_add_depot(&fleet, "Ettlingen", 6);
	fleet_add_van(&fleet, "AA-P 17", "Aalen");
	fleet_add_van(&fleet, "BR-P 03", "Bruchsal");
	spare = fleet_add_van(&fleet, "BR-P 04", "Bruchsal");
	fleet_add_van(&fleet, "CW-P 21", "Calw");
	fleet_add_van(&fleet, "UL-P 88", "Dornstadt");
	fleet_add_van(&fleet, "KA-P 40", "Ettlingen");

	for (guint round = 0; round < 3; round++)
		fleet_tour(&fleet, round);
	fleet_give_up(&fleet, "Calw");
	if (!fleet_move_van(&fleet, spare, "Ettlingen") || fleet_move_van(&fleet, spare, "Calw"))
		return 1;
	fleet_tour(&fleet, 3);
	fleet_give_up(&fleet, "Bruchsal");
	fleet_tour(&fleet, 4);
	fleet_print(&fleet);
	printf("%u moves\n", fleet.moves);
	g_ptr_array_unref(fleet.vans);
	g_hash_table_unref(fleet.depots);
	return 0;
}
