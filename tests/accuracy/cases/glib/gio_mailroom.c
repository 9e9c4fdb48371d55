/* summary: mailroom_collect() goes on to the next row without unreffing what g_list_model_get_item() gave it when the letter is held at customs
 * kind: missing-put
 * counts: surplus
 * objects: 7
 * track: GObject
 * packages: gio-2.0
 * build: gcc -Og -g
 * exit: 0
 */
/*
 * The mailroom of an office: a list of letters that windows can show, rounds
 * that take letters to the floors, and a count of what has been changed.
 */
#include <gio/gio.h>
#include <stdio.h>

#define TYPE_LETTER (letter_get_type())
G_DECLARE_FINAL_TYPE(Letter, letter, MAILROOM, LETTER, GObject)

struct _Letter {
	GObject parent;
	char *to;
	int floor;
	int grams;
	gboolean customs;
	int days;
};

enum { PROP_0, PROP_CUSTOMS, N_PROPS };

static GParamSpec *letter_props[N_PROPS];

G_DEFINE_TYPE(Letter, letter, G_TYPE_OBJECT)

static void
letter_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
	Letter *self = MAILROOM_LETTER(object);

	if (id == PROP_CUSTOMS)
		self->customs = g_value_get_boolean(value);
	else
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void
letter_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
	Letter *self = MAILROOM_LETTER(object);

	if (id == PROP_CUSTOMS)
		g_value_set_boolean(value, self->customs);
	else
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void
letter_finalize(GObject *object)
{
	Letter *self = MAILROOM_LETTER(object);

	g_free(self->to);
	G_OBJECT_CLASS(letter_parent_class)->finalize(object);
}

static void
letter_class_init(LetterClass *klass)
{
	GObjectClass *object_class = G_OBJECT_CLASS(klass);

	object_class->set_property = letter_set_property;
	object_class->get_property = letter_get_property;
	object_class->finalize = letter_finalize;
	letter_props[PROP_CUSTOMS] = g_param_spec_boolean("customs", NULL, NULL, FALSE,
							  G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
	g_object_class_install_properties(object_class, N_PROPS, letter_props);
}

static void
letter_init(Letter *self)
{
	self->floor = -1;
}

static Letter *
letter_new(const char *to, int floor, int grams)
{
	Letter *self = g_object_new(TYPE_LETTER, NULL);

	self->to = g_strdup(to);
	self->floor = floor;
	self->grams = grams;
	return self;
}

/* ---------------------------------------------------------------- mailroom */

typedef struct {
	GListStore *letters;
	guint added, removed;
	int rounds;
	int delivered;
	int held;
} Mailroom;

static void
on_items_changed(GListModel *model, guint position, guint removed, guint added, gpointer data)
{
	Mailroom *room = data;

	(void)model;
	(void)position;
	room->added += added;
	room->removed += removed;
}

static void
mailroom_open(Mailroom *room)
{
	room->letters = g_list_store_new(TYPE_LETTER);
	g_signal_connect(room->letters, "items-changed", G_CALLBACK(on_items_changed), room);
}

static void
mailroom_close(Mailroom *room)
{
	g_signal_handlers_disconnect_by_data(room->letters, room);
	g_clear_object(&room->letters);
}

static gint
by_floor(gconstpointer a, gconstpointer b, gpointer data)
{
	const Letter *x = a, *y = b;

	(void)data;
	return x->floor != y->floor ? x->floor - y->floor : g_strcmp0(x->to, y->to);
}

static void
mailroom_arrive(Mailroom *room, const char *to, int floor, int grams, gboolean customs)
{
	Letter *letter = letter_new(to, floor, grams);

	g_object_set(letter, "customs", customs, NULL);
	g_list_store_insert_sorted(room->letters, letter, by_floor, NULL);
	g_object_unref(letter);
}

/* The heaviest letter, for the trolley. A new reference, or NULL. */
static Letter *
mailroom_heaviest(Mailroom *room)
{
	GListModel *model = G_LIST_MODEL(room->letters);
	Letter *best = NULL;
	guint i;

	for (i = 0; i < g_list_model_get_n_items(model); i++) {
		Letter *letter = g_list_model_get_item(model, i);

		if (!best || letter->grams > best->grams)
			g_set_object(&best, letter);
		g_object_unref(letter);
	}
	return best;
}

/* The letters for one floor, taken out of the list. */
static GPtrArray *
mailroom_collect(Mailroom *room, int floor)
{
	GListModel *model = G_LIST_MODEL(room->letters);
	GPtrArray *bag = g_ptr_array_new_with_free_func(g_object_unref);
	guint i = 0;

	while (i < g_list_model_get_n_items(model)) {
		Letter *letter = g_list_model_get_item(model, i);

		if (letter->floor != floor) {
			g_object_unref(letter);
			i++;
			continue;
		}
		if (letter->customs) {
			room->held++;
			i++;
#ifndef BUG
			g_object_unref(letter);
#endif
			continue; /* GUILTY */
		}
		g_ptr_array_add(bag, letter);
		g_list_store_remove(room->letters, i);
	}
	return bag;
}

static void
mailroom_round(Mailroom *room, int floor)
{
	GPtrArray *bag = mailroom_collect(room, floor);
	guint i;

	for (i = 0; i < bag->len; i++) {
		Letter *letter = g_ptr_array_index(bag, i);

		if (letter->days > 2)
			printf("%s had to wait %d days\n", letter->to, letter->days);
	}
	room->delivered += (int)bag->len;
	room->rounds++;
	g_ptr_array_unref(bag);
}

/* The customs let go what they have had for two days. */
static void
mailroom_night(Mailroom *room)
{
	GListModel *model = G_LIST_MODEL(room->letters);
	guint i, n = g_list_model_get_n_items(model);

	for (i = 0; i < n; i++) {
		g_autoptr(Letter) letter = g_list_model_get_item(model, i);

		letter->days++;
		if (letter->customs && letter->days >= 2)
			g_object_set(letter, "customs", FALSE, NULL);
	}
}

int
main(void)
{
	static const char *const people[] = { "Adele", "Boris", "Chiara", "Dragan", "Elif" };
	Mailroom room = { 0 };
	int day, i, grams = 0;

	mailroom_open(&room);
	for (day = 0; day < 9; day++) {
		for (i = 0; i < 7; i++) {
			int n = day * 7 + i;

			mailroom_arrive(&room, people[n % 5], n % 4, 20 + n * 37 % 400, n % 8 == 5);
		}
		Letter *heavy = mailroom_heaviest(&room);
		if (heavy) {
			grams += heavy->grams;
			g_object_unref(heavy);
		}
		mailroom_round(&room, day % 4);
		mailroom_round(&room, (day + 1) % 4);
		mailroom_night(&room);
	}
	printf("%d rounds, %d delivered, %d held, %u left, %u/%u changes, %d grams\n", room.rounds, room.delivered,
	       room.held, g_list_model_get_n_items(G_LIST_MODEL(room.letters)), room.added, room.removed, grams);
	mailroom_close(&room);
	return 0;
}
