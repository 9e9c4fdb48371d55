/* summary: the list model of a board hands out its platform headings from get_item() without the reference that the caller gives back
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O2
 * exit: 0
 */
/*
 * departures.c - the departure boards of a railway station.
 *
 * A Board is a list model with a heading for each platform, followed by the trains that leave from it.  Displays know
 * nothing about trains, they take whatever the model has and print it line by line.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define PLATFORMS 4
#define TRAINS 44

typedef struct {
	GObject  parent;
	guint    number;
	gboolean closed;
} Platform;

typedef GObjectClass PlatformClass;

static GType platform_get_type(void);
G_DEFINE_TYPE(Platform, platform, G_TYPE_OBJECT)

static void platform_class_init(PlatformClass *klass)
{
	(void)klass;
}

static void platform_init(Platform *p) { p->closed = FALSE; }

static Platform *platform_new(guint number)
{
	Platform *p = g_object_new(platform_get_type(), NULL);

	p->number = number;
	return p;
}

typedef struct {
	GObject   parent;
	char     *line;
	guint     minute;
	Platform *platform;     /* owned */
} Train;

typedef GObjectClass TrainClass;

static GType train_get_type(void);
G_DEFINE_TYPE(Train, train, G_TYPE_OBJECT)

static void train_set_platform(Train *t, Platform *p)
{
	g_set_object(&t->platform, p);
}

static void train_finalize(GObject *object)
{
	Train *t = (Train *)object;

	g_clear_object(&t->platform);
	g_free(t->line);
	G_OBJECT_CLASS(train_parent_class)->finalize(object);
}

static void train_class_init(TrainClass *klass)
{
	klass->finalize = train_finalize;
}

static void train_init(Train *t) { t->platform = NULL; }

static Train *train_new(guint i, Platform *p)
{
	Train *t = g_object_new(train_get_type(), NULL);

	t->line = g_strdup_printf("%s%u", i % 3 ? "RE" : "IC", 10 + i % 9);
	t->minute = i * 3;
	train_set_platform(t, p);
	return t;
}

struct section {
	Platform  *heading;     /* owned */
	GPtrArray *trains;      /* of Train */
};

typedef struct {
	GObject         parent;
	struct section  sections[PLATFORMS];
	guint           n_sections;
} Board;

typedef GObjectClass BoardClass;

static GType board_get_type(void);
static void board_model_init(GListModelInterface *iface);

G_DEFINE_TYPE_WITH_CODE(Board, board, G_TYPE_OBJECT, G_IMPLEMENT_INTERFACE(G_TYPE_LIST_MODEL, board_model_init))

static GType board_item_type(GListModel *model)
{
	(void)model;
	return G_TYPE_OBJECT;
}

static guint board_n_items(GListModel *model)
{
	Board *b = (Board *)model;
	guint n = b->n_sections;

	for (guint i = 0; i < b->n_sections; i++)
		n += b->sections[i].trains->len;
	return n;
}

static gpointer board_item(GListModel *model, guint position)
{
	Board *b = (Board *)model;

	for (guint i = 0; i < b->n_sections; i++) {
		struct section *s = &b->sections[i];

		if (position == 0)
#ifdef BUG
			return s->heading; /* GUILTY */
#else
			return g_object_ref(s->heading);
#endif
		position--;
		if (position < s->trains->len)
			return g_object_ref(g_ptr_array_index(s->trains, position));
		position -= s->trains->len;
	}
	return NULL;
}

static void board_model_init(GListModelInterface *iface)
{
	iface->get_item_type = board_item_type;
	iface->get_n_items = board_n_items;
	iface->get_item = board_item;
}

static guint board_offset(Board *b, guint section)
{
	guint n = 0;

	for (guint i = 0; i < section; i++)
		n += 1 + b->sections[i].trains->len;
	return n;
}

static void board_add_section(Board *b, Platform *heading)
{
	struct section *s = &b->sections[b->n_sections++];

	s->heading = g_object_ref(heading);
	s->trains = g_ptr_array_new_with_free_func(g_object_unref);
}

static gboolean board_add(Board *b, Train *t)
{
	for (guint i = 0; i < b->n_sections; i++) {
		struct section *s = &b->sections[i];

		if (s->heading != t->platform)
			continue;
		g_ptr_array_add(s->trains, g_object_ref(t));
		g_list_model_items_changed(G_LIST_MODEL(b), board_offset(b, i) + s->trains->len, 0, 1);
		return TRUE;
	}
	return FALSE;
}

static gboolean board_remove(Board *b, Train *t)
{
	for (guint i = 0; i < b->n_sections; i++) {
		guint at;

		if (!g_ptr_array_find(b->sections[i].trains, t, &at))
			continue;
		g_ptr_array_remove_index(b->sections[i].trains, at);
		g_list_model_items_changed(G_LIST_MODEL(b), board_offset(b, i) + 1 + at, 1, 0);
		return TRUE;
	}
	return FALSE;
}

static void board_finalize(GObject *object)
{
	Board *b = (Board *)object;

	for (guint i = 0; i < b->n_sections; i++) {
		g_ptr_array_unref(b->sections[i].trains);
		g_object_unref(b->sections[i].heading);
	}
	G_OBJECT_CLASS(board_parent_class)->finalize(object);
}

static void board_class_init(BoardClass *klass)
{
	klass->finalize = board_finalize;
}

static void board_init(Board *b)
{
	b->n_sections = 0;
}

struct display {
	GListModel *model;      /* owned */
	gulong      handler;
	guint       lines, width, changes;
};

static void display_changed(GListModel *model, guint position, guint removed, guint added, gpointer data)
{
	struct display *d = data;

	(void)model, (void)position;
	d->changes += removed + added;
}

static void display_open(struct display *d, Board *b)
{
	memset(d, 0, sizeof(*d));
	d->model = G_LIST_MODEL(g_object_ref(b));
	d->handler = g_signal_connect(b, "items-changed", G_CALLBACK(display_changed), d);
}

/* Writes all lines; a train that is late gets a second one. */
static void display_draw(struct display *d)
{
	guint n = g_list_model_get_n_items(d->model);

	for (guint i = 0; i < n; i++) {
		GObject *item = g_list_model_get_item(d->model, i); /* ACCEPTED */
		char line[64];

		if (G_TYPE_CHECK_INSTANCE_TYPE(item, platform_get_type())) {
			Platform *p = (Platform *)item;
			snprintf(line, sizeof(line), "-- %u%s --", p->number, p->closed ? " closed" : "");
		} else {
			Train *t = (Train *)item;
			snprintf(line, sizeof(line), "%02u:%02u %s", t->minute / 60, t->minute % 60, t->line);
			d->lines += t->minute % 7 == 6;
		}
		d->lines++;
		d->width = MAX(d->width, (guint)strlen(line));
		g_object_unref(item);
	}
}

static void display_close(struct display *d)
{
	g_signal_handler_disconnect(d->model, d->handler);
	g_clear_object(&d->model);
}

int main(void)
{
	Platform *platforms[PLATFORMS];
	GQueue timetable = G_QUEUE_INIT;
	Board *board = g_object_new(board_get_type(), NULL);
	struct display hall, subway;
	guint left = 0, moved = 0;

	for (guint i = 0; i < PLATFORMS; i++) {
		platforms[i] = platform_new(i + 1);
		board_add_section(board, platforms[i]);
	}
	display_open(&hall, board);
	display_open(&subway, board);
	for (guint i = 0; i < TRAINS; i++) {
		Train *t = train_new(i, platforms[i * 5 % 7 % PLATFORMS]);

		board_add(board, t);
		g_queue_push_tail(&timetable, t);
	}
	display_draw(&hall);
	display_draw(&subway);
	for (guint i = 0; i < TRAINS / 2; i++) {
		Train *t = g_queue_pop_head(&timetable);

		board_remove(board, t);
		if (i % 6 == 4) {
			train_set_platform(t, platforms[i % PLATFORMS]);
			moved += board_add(board, t);
			g_queue_push_tail(&timetable, t);
			continue;
		}
		left++;
		g_object_unref(t);
	}
	platforms[2]->closed = TRUE;
	display_draw(&hall);
	printf("%u left, %u moved, %u to come\n", left, moved, g_queue_get_length(&timetable));
	printf("hall: %u lines of %u, %u changes; subway: %u lines\n", hall.lines, hall.width, hall.changes, subway.lines);
	display_close(&hall);
	display_close(&subway);
	g_queue_clear_full(&timetable, g_object_unref);
	g_object_unref(board);
	for (guint i = 0; i < PLATFORMS; i++)
		g_object_unref(platforms[i]);
	return 0;
}
