/* summary: an apiary's inspection: floating frames, hives that survive their own dispose, closures that die with an object
 * track: GObject GClosure
 * build: gcc -O2 -g apiary_hives.c -o OUT $(pkg-config --cflags --libs gobject-2.0)
 */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

/* A comb frame is made floating: whoever puts it into a hive owns it. */
typedef struct { GInitiallyUnowned parent; int number; int grams; } Frame;
typedef struct { GInitiallyUnownedClass parent; } FrameClass;
G_DEFINE_TYPE(Frame, frame, G_TYPE_INITIALLY_UNOWNED)

static int frames_alive;
static void frame_finalize(GObject *object)
{
	frames_alive--;
	G_OBJECT_CLASS(frame_parent_class)->finalize(object);
}
static void frame_init(Frame *frame) { frame->grams = 100; frames_alive++; }
static void frame_class_init(FrameClass *class) { G_OBJECT_CLASS(class)->finalize = frame_finalize; }

static Frame *frame_new(int number)
{
	Frame *frame = g_object_new(frame_get_type(), NULL);
	frame->number = number;
	return frame;
}

typedef struct {
	GObject parent;
	char *name;
	GList *frames;
	GObject *queen;
	gboolean winters;               /* the first dispose sends it to the winter store instead */
} Hive;
typedef struct { GObjectClass parent; } HiveClass;
G_DEFINE_TYPE(Hive, hive, G_TYPE_OBJECT)

static GQueue winter_store = G_QUEUE_INIT;
static guint signal_swarmed;
static int hives_alive, disposals;

static void hive_dispose(GObject *object)
{
	Hive *hive = (Hive *)object;
	disposals++;
	if (hive->winters) {
		hive->winters = FALSE;
		/* Revived: the store's reference outlives the last put. */
		g_queue_push_tail(&winter_store, g_object_ref(hive));
		return;
	}
	g_list_free_full(g_steal_pointer(&hive->frames), g_object_unref);
	g_clear_object(&hive->queen);
	G_OBJECT_CLASS(hive_parent_class)->dispose(object);
}

static void hive_finalize(GObject *object)
{
	g_free(((Hive *)object)->name);
	hives_alive--;
	G_OBJECT_CLASS(hive_parent_class)->finalize(object);
}

static void hive_init(Hive *hive) { (void)hive; hives_alive++; }

static void hive_class_init(HiveClass *class)
{
	G_OBJECT_CLASS(class)->dispose = hive_dispose;
	G_OBJECT_CLASS(class)->finalize = hive_finalize;
	signal_swarmed = g_signal_new("swarmed", hive_get_type(), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
	                              G_TYPE_NONE, 1, frame_get_type());
}

static Hive *hive_new(const char *name)
{
	Hive *hive = g_object_new(hive_get_type(), NULL);
	hive->name = g_strdup(name);
	return hive;
}

/* Sinks a floating frame, or takes another reference to one that is owned already. */
static void hive_add(Hive *hive, Frame *frame)
{
	hive->frames = g_list_append(hive->frames, g_object_ref_sink(frame));
}

/* Transfers the hive's own reference to the caller. */
static Frame *hive_take(Hive *hive, int number)
{
	for (GList *at = hive->frames; at; at = at->next) {
		Frame *frame = at->data;
		if (frame->number == number) {
			hive->frames = g_list_delete_link(hive->frames, at);
			return frame;
		}
	}
	return NULL;
}

/* Returns a frame as if it had just been made: floating, the way bindings hand one on. */
static Frame *hive_take_floating(Hive *hive, int number)
{
	Frame *frame = hive_take(hive, number);
	if (frame)
		g_object_force_floating(G_OBJECT(frame));
	return frame;
}

typedef struct { GObject parent; int swarms; Frame *last; } Keeper;
typedef struct { GObjectClass parent; } KeeperClass;
G_DEFINE_TYPE(Keeper, keeper, G_TYPE_OBJECT)
static void keeper_dispose(GObject *object)
{
	g_clear_object(&((Keeper *)object)->last);
	G_OBJECT_CLASS(keeper_parent_class)->dispose(object);
}
static void keeper_init(Keeper *keeper) { (void)keeper; }
static void keeper_class_init(KeeperClass *class) { G_OBJECT_CLASS(class)->dispose = keeper_dispose; }

static void on_swarmed(Hive *hive, Frame *frame, Keeper *keeper)
{
	(void)hive;
	keeper->swarms++;
	g_set_object(&keeper->last, frame);
}

static void on_swarmed_log(Hive *hive, Frame *frame, GString *log)
{
	g_string_append_printf(log, "%s/%d ", hive->name, frame->number);
}

/* The handler lets its own hive's caller go: the emission keeps the hive until it returns. */
static void on_swarmed_abandon(Hive *hive, Frame *frame, Hive **slot)
{
	(void)frame;
	if (*slot == hive)
		g_clear_object(slot);
}

static void log_free(gpointer log, GClosure *closure)
{
	(void)closure;
	printf("log: %s\n", ((GString *)log)->str);
	g_string_free(log, TRUE);
}

static void inspect(void)
{
	Hive *hive = hive_new("north"), *viewed = NULL;
	Keeper *keeper = g_object_new(keeper_get_type(), NULL);
	GWeakRef weak;
	gulong handler;

	g_weak_ref_init(&weak, hive);
	g_set_weak_pointer(&viewed, hive);
	for (int i = 0; i < 4; i++)
		hive_add(hive, frame_new(i));

	/* Two closures: one that the keeper's death invalidates, one whose data the last unref frees. */
	g_signal_connect_object(hive, "swarmed", G_CALLBACK(on_swarmed), keeper, 0);
	GClosure *logging = g_cclosure_new(G_CALLBACK(on_swarmed_log), g_string_new(NULL), log_free);
	g_closure_ref(logging);
	g_closure_sink(logging);
	handler = g_signal_connect_closure(hive, "swarmed", logging, FALSE);

	g_signal_emit(hive, signal_swarmed, 0, hive->frames->data);
	g_object_unref(keeper);                              /* its closure goes; the handler with it */
	g_signal_emit(hive, signal_swarmed, 0, hive->frames->next->data);
	g_signal_handler_disconnect(hive, handler);
	g_closure_unref(logging);

	/* A frame goes from one hive to another, once owned and once floating. */
	Hive *south = hive_new("south");
	Frame *moved = hive_take(hive, 2);
	hive_add(south, moved);
	g_object_unref(moved);
	hive_add(south, hive_take_floating(hive, 3));

	/* A queen that stands in the data list of another object, and is stolen from it. */
	hive->queen = g_object_new(G_TYPE_OBJECT, NULL);
	g_object_set_data_full(G_OBJECT(south), "queen", g_object_ref(hive->queen), g_object_unref);
	g_object_set_data_full(G_OBJECT(south), "old-queen", g_object_new(G_TYPE_OBJECT, NULL), g_object_unref);
	south->queen = g_object_steal_data(G_OBJECT(south), "queen");

	/* Emptied while it is referenced: dispose runs now, and again at the last put. */
	g_object_run_dispose(G_OBJECT(hive));
	printf("after run_dispose: %d frames, queen %s, view %s\n", g_list_length(hive->frames),
	       hive->queen ? "there" : "gone", viewed ? "there" : "gone");
	Hive *again = g_weak_ref_get(&weak);
	printf("weak reference: %s\n", again ? again->name : "gone");
	g_clear_object(&again);
	g_object_unref(hive);
	again = g_weak_ref_get(&weak);
	printf("at the end: %s, view %s\n", again ? "there" : "gone", viewed ? "there" : "gone");
	g_weak_ref_clear(&weak);
	g_object_unref(south);
}

static void winter(void)
{
	Hive *hive = hive_new("east");
	hive_add(hive, frame_new(10));
	hive->winters = TRUE;
	g_object_unref(hive);                                /* goes into the store */
	printf("store holds %u\n", winter_store.length);

	Hive *spring;
	while ((spring = g_queue_pop_head(&winter_store))) {
		printf("woke %s with %u frames\n", spring->name, g_list_length(spring->frames));
		g_object_unref(spring);
	}
}

static void abandon(void)
{
	Hive *slot = hive_new("west");
	hive_add(slot, frame_new(20));
	g_signal_connect(slot, "swarmed", G_CALLBACK(on_swarmed_abandon), &slot);
	Frame *frame = g_object_ref(slot->frames->data);
	g_signal_emit(slot, signal_swarmed, 0, frame);
	printf("abandoned: %s, frame %d still here\n", slot ? "no" : "yes", frame->number);
	g_object_unref(frame);
}

/* A floating frame that nobody wanted is sunk by the one who throws it away. */
static void reject(int grams)
{
	Frame *frame = frame_new(99);
	frame->grams = grams;
	if (frame->grams < 50) {
		g_object_ref_sink(frame);
		g_object_unref(frame);
		return;
	}
	g_autoptr(GObject) owned = G_OBJECT(g_object_ref_sink(frame));
	GValue value = G_VALUE_INIT;
	g_value_init(&value, frame_get_type());
	g_value_take_object(&value, g_object_ref(owned));
	GObject *copy = g_value_dup_object(&value);
	g_value_unset(&value);
	g_object_unref(copy);
}

int main(void)
{
	inspect();
	winter();
	abandon();
	for (int i = 0; i < 6; i++)
		reject(20 * i);
	/* Never owned by anybody: unref of a floating reference is as good. */
	g_object_unref(frame_new(7));
	printf("alive: %d hives, %d frames; %d disposals\n", hives_alive, frames_alive, disposals);
	return hives_alive || frames_alive;
}
