/* summary: an abbey's library in list models: weak references upgraded in another thread, bindings and signal groups that die with their ends, data that owns, an object that refs itself in dispose
 * track: GObject GClosure GParamSpec
 * build: clang -O0 -g abbey_models.c -o OUT $(pkg-config --cflags --libs gio-2.0)
 */
#include <gio/gio.h>
#include <stdio.h>

typedef struct {
	GObject parent;
	gchar *title;
	guint loans;
	GObject *shelf;                              /* cleared in dispose */
} Volume;

typedef struct {
	GObjectClass parent;
} VolumeClass;

enum { TITLE = 1, LOANS, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];
static guint lent_signal;
static gint finalized;

GType volume_get_type(void);
G_DEFINE_TYPE(Volume, volume, G_TYPE_OBJECT)

static void volume_set(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
	Volume *volume = (Volume *)object;
	(void)spec;
	if (id == TITLE) {
		g_free(volume->title);
		volume->title = g_value_dup_string(value);
	} else if (volume->loans != g_value_get_uint(value)) {
		volume->loans = g_value_get_uint(value);
		g_object_notify_by_pspec(object, properties[LOANS]);
	}
}

static void volume_get(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	Volume *volume = (Volume *)object;
	(void)spec;
	if (id == TITLE)
		g_value_set_string(value, volume->title);
	else
		g_value_set_uint(value, volume->loans);
}

/* Runs twice or more: with run_dispose, and at the last unref. Takes and puts itself around what it tells others. */
static void volume_dispose(GObject *object)
{
	Volume *volume = (Volume *)object;
	g_object_ref(object);
	g_signal_emit(object, lent_signal, 0);
	g_clear_object(&volume->shelf);
	G_OBJECT_CLASS(volume_parent_class)->dispose(object);
	g_object_unref(object);
}

static void volume_finalize(GObject *object)
{
	g_free(((Volume *)object)->title);
	g_atomic_int_inc(&finalized);
	G_OBJECT_CLASS(volume_parent_class)->finalize(object);
}

static void volume_class_init(VolumeClass *class)
{
	GObjectClass *object = G_OBJECT_CLASS(class);
	object->set_property = volume_set;
	object->get_property = volume_get;
	object->dispose = volume_dispose;
	object->finalize = volume_finalize;
	properties[TITLE] = g_param_spec_string("title", NULL, NULL, NULL, G_PARAM_READWRITE);
	properties[LOANS] = g_param_spec_uint("loans", NULL, NULL, 0, 999, 0, G_PARAM_READWRITE | G_PARAM_EXPLICIT_NOTIFY);
	g_object_class_install_properties(object, N_PROPERTIES, properties);    /* the class has them until the end */
	lent_signal = g_signal_new("lent", volume_get_type(), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void volume_init(Volume *volume)
{
	volume->loans = 0;
}

static Volume *volume_new(const char *title, GObject *shelf)
{
	Volume *volume = g_object_new(volume_get_type(), "title", title, NULL);
	g_set_object(&volume->shelf, shelf);
	return volume;
}

static gboolean is_lent(gpointer item, gpointer data)
{
	(void)data;
	return ((Volume *)item)->loans > 0;
}

/* A model owns its items, get_item gives one more, the filter's constructor takes what it is given. */
static int shelves(void)
{
	int seen = 0;
	GListStore *store = g_list_store_new(volume_get_type());
	for (int i = 0; i < 6; i++) {
		Volume *volume = volume_new("Rule", G_OBJECT(store));    /* an item that has its store: a cycle until dispose */
		volume->loans = (guint)i % 3;
		g_list_store_append(store, volume);
		g_object_unref(volume);
	}
	gpointer additions[2] = { volume_new("Psalter", NULL), volume_new("Herbal", NULL) };
	g_list_store_splice(store, 1, 2, additions, 2);
	g_object_unref(additions[0]);
	g_object_unref(additions[1]);
	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(store)); i++) {
		Volume *volume = g_list_model_get_item(G_LIST_MODEL(store), i);
		seen += is_lent(volume, NULL);
		g_clear_object(&volume->shelf);      /* here the cycle ends */
		g_object_unref(volume);
	}
	Volume *first = g_list_model_get_item(G_LIST_MODEL(store), 0);
	g_list_store_remove_all(store);
	g_object_unref(store);
	g_object_unref(first);
	return seen;
}

/* A binding is owned by its two ends and by nobody else; either's end is its own. */
static int bindings(void)
{
	Volume *book = volume_new("Annals", NULL), *copy = volume_new("Copy", NULL), *other = volume_new("Other", NULL);
	GBinding *binding = g_object_bind_property(book, "loans", copy, "loans", G_BINDING_SYNC_CREATE | G_BINDING_BIDIRECTIONAL);
	GBinding *kept = g_object_ref(g_object_bind_property(book, "loans", other, "loans", 0));
	g_object_set(book, "loans", 4u, NULL);
	int loans = (int)copy->loans;
	GObject *source = g_binding_dup_source(binding);
	g_object_unref(copy);                        /* and the first binding with it */
	g_object_unref(source);
	g_binding_unbind(kept);                      /* puts the ends' reference, ours is left */
	source = g_binding_dup_source(kept);
	loans += source == NULL;
	g_object_unref(kept);
	g_object_unref(book);
	g_object_unref(other);
	return loans;
}

static void count_lent(Volume *volume, gpointer data)
{
	(void)volume;
	++*(int *)data;
}

/* A watched closure has no reference to what it watches; a data pointer has one by its notify. */
static int closures(void)
{
	int lent = 0;
	Volume *book = volume_new("Ledger", NULL), *reader = volume_new("Reader", NULL);
	GClosure *closure = g_cclosure_new(G_CALLBACK(count_lent), &lent, NULL);
	g_closure_ref(closure);
	g_closure_sink(closure);
	g_object_watch_closure(G_OBJECT(reader), closure);
	g_signal_connect_closure(book, "lent", closure, FALSE);
	g_signal_connect_object(book, "lent", G_CALLBACK(count_lent), reader, G_CONNECT_SWAPPED | G_CONNECT_AFTER);
	g_signal_handlers_disconnect_by_func(book, count_lent, reader);
	g_signal_emit(book, lent_signal, 0);
	g_object_unref(reader);                      /* invalidates the closure, which we still have */
	g_signal_emit(book, lent_signal, 0);
	g_closure_unref(closure);

	GSignalGroup *group = g_signal_group_new(volume_get_type());
	g_signal_group_connect(group, "lent", G_CALLBACK(count_lent), &lent);
	g_signal_group_set_target(group, book);      /* weakly */
	g_signal_emit(book, lent_signal, 0);
	Volume *note = volume_new("Note", NULL);
	g_object_set_data_full(G_OBJECT(book), "note", g_object_ref(note), g_object_unref);
	g_object_set_data_full(G_OBJECT(book), "note", g_object_ref(note), g_object_unref);
	GObject *stolen = g_object_steal_data(G_OBJECT(book), "note");
	g_object_run_dispose(G_OBJECT(book));        /* clears data and signals, the object lives */
	g_object_unref(stolen);
	g_object_unref(note);
	g_object_unref(book);
	g_object_unref(group);
	GParamSpec *spec = g_param_spec_ref_sink(g_param_spec_int("age", NULL, NULL, 0, 9, 0, G_PARAM_READWRITE));
	GValue value = G_VALUE_INIT;
	g_value_init(&value, G_TYPE_PARAM);
	g_value_take_param(&value, spec);
	g_value_unset(&value);
	return lent;
}

static GWeakRef weak;
static gint upgrades;

/* From weak to strong until the main thread has let go. */
static gpointer reader_thread(gpointer data)
{
	Volume *volume;
	(void)data;
	while ((volume = g_weak_ref_get(&weak))) {
		g_atomic_int_inc(&upgrades);
		g_object_unref(volume);              /* may well be the last one */
	}
	return NULL;
}

int main(void)
{
	int seen = shelves(), loans = bindings(), lent = closures();
	Volume *volume = volume_new("Chronicle", NULL);
	g_weak_ref_init(&weak, volume);
	GThread *threads[2];
	for (int i = 0; i < 2; i++)
		threads[i] = g_thread_new("reader", reader_thread, NULL);
	while (g_atomic_int_get(&upgrades) < 50)
		g_thread_yield();
	g_object_unref(volume);
	for (int i = 0; i < 2; i++)
		g_thread_join(threads[i]);
	g_weak_ref_clear(&weak);
	printf("%d lent out, %d loans, %d signals, %d finalized\n", seen, loans, lent, g_atomic_int_get(&finalized));
	return g_atomic_int_get(&finalized) != 15 || loans != 5;
}
