/* summary: GObjects in odd but right ways: g_object_new that returns another reference on a singleton, a container that floats a child again when it removes it, dispose that takes and gives back a temporary reference, a toggle reference of a wrapper, a reference held by a closure, a value, a qdata, a task never propagated, a GWeakRef and an idle source that never runs
 * track: auto
 * build: gcc -O2 -g -Wall -o OUT valve_bindings.c $(pkg-config --cflags --libs gio-2.0)
 */
#include <gio/gio.h>
#include <stdio.h>

/* ---- a valve: floating until a manifold sinks it ---- */

typedef struct _Manifold Manifold;
typedef struct {
	GInitiallyUnowned parent;
	int opening;
	GObject *meter;         /* a reference */
} Valve;
typedef GInitiallyUnownedClass ValveClass;
G_DEFINE_TYPE(Valve, valve, G_TYPE_INITIALLY_UNOWNED)
enum { PROP_OPENING = 1 };
static int valves;
static guint sig_turned;

static void valve_set_property(GObject *o, guint id, const GValue *v, GParamSpec *p)
{
	Valve *self = (Valve *)o;
	if (self->opening != g_value_get_int(v)) {
		self->opening = g_value_get_int(v);
		g_signal_emit(o, sig_turned, 0);
	}
}

static void valve_get_property(GObject *o, guint id, GValue *v, GParamSpec *p)
{
	g_value_set_int(v, ((Valve *)o)->opening);
}

static void valve_dispose(GObject *o)
{
	g_object_ref(o);                        /* handlers may drop it meanwhile */
	g_object_set(o, "opening", 0, NULL);
	g_clear_object(&((Valve *)o)->meter);
	G_OBJECT_CLASS(valve_parent_class)->dispose(o);
	g_object_unref(o);
}

static void valve_finalize(GObject *o)
{
	valves--;
	G_OBJECT_CLASS(valve_parent_class)->finalize(o);
}

static void valve_class_init(ValveClass *c)
{
	GObjectClass *oc = G_OBJECT_CLASS(c);
	oc->set_property = valve_set_property;
	oc->get_property = valve_get_property;
	oc->dispose = valve_dispose;
	oc->finalize = valve_finalize;
	g_object_class_install_property(oc, PROP_OPENING,
		g_param_spec_int("opening", NULL, NULL, 0, 100, 0, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
	sig_turned = g_signal_new("turned", valve_get_type(), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void valve_init(Valve *v) { valves++; }
static Valve *valve_new(void) { return g_object_new(valve_get_type(), NULL); }

/* ---- the meter: there is one, g_object_new returns it with one reference more ---- */

typedef struct { GObject parent; int readings; } Meter;
typedef GObjectClass MeterClass;
G_DEFINE_TYPE(Meter, meter, G_TYPE_OBJECT)
static Meter *the_meter;

static GObject *meter_constructor(GType t, guint n, GObjectConstructParam *p)
{
	if (the_meter)
		return g_object_ref(G_OBJECT(the_meter));
	GObject *o = G_OBJECT_CLASS(meter_parent_class)->constructor(t, n, p);
	the_meter = (Meter *)o;
	g_object_add_weak_pointer(o, (gpointer *)&the_meter);
	return o;
}

static void meter_class_init(MeterClass *c) { G_OBJECT_CLASS(c)->constructor = meter_constructor; }
static void meter_init(Meter *m) {}

/* ---- the manifold ---- */

struct _Manifold { GObject parent; GPtrArray *valves; };
typedef GObjectClass ManifoldClass;
G_DEFINE_TYPE(Manifold, manifold, G_TYPE_OBJECT)

static void manifold_dispose(GObject *o)
{
	Manifold *m = (Manifold *)o;
	if (m->valves)
		g_ptr_array_set_size(m->valves, 0);
	G_OBJECT_CLASS(manifold_parent_class)->dispose(o);
}

static void manifold_finalize(GObject *o)
{
	g_ptr_array_unref(((Manifold *)o)->valves);
	G_OBJECT_CLASS(manifold_parent_class)->finalize(o);
}

static void manifold_class_init(ManifoldClass *c)
{
	G_OBJECT_CLASS(c)->dispose = manifold_dispose;
	G_OBJECT_CLASS(c)->finalize = manifold_finalize;
}

static void manifold_init(Manifold *m) { m->valves = g_ptr_array_new_with_free_func(g_object_unref); }

static void on_turned(Valve *v, Manifold *m) { if (v->meter) ((Meter *)v->meter)->readings++; }

static void manifold_add(Manifold *m, Valve *v)
{
	g_ptr_array_add(m->valves, g_object_ref_sink(v));
	g_signal_connect_object(v, "turned", G_CALLBACK(on_turned), m, 0);
	if (!v->meter)
		v->meter = g_object_new(meter_get_type(), NULL);
}

/* gives the valve back floating: the container's reference becomes the floating one */
static Valve *manifold_take(Manifold *m, guint i)
{
	Valve *v = g_ptr_array_steal_index(m->valves, i);
	g_signal_handlers_disconnect_by_data(v, m);
	g_object_force_floating(G_OBJECT(v));
	return v;
}

/* ---- a wrapper, as a language binding has it: a toggle reference ---- */

typedef struct { GObject *inner; gboolean strong; int toggles; } Wrapper;

static void wrapper_toggled(gpointer data, GObject *o, gboolean last)
{
	Wrapper *w = data;
	w->strong = !last;
	w->toggles++;
}

static Wrapper *wrap(GObject *o)
{
	Wrapper *w = g_new0(Wrapper, 1);
	w->inner = o;
	g_object_add_toggle_ref(o, wrapper_toggled, w);
	return w;
}

static void wrapper_collect(Wrapper *w)
{
	g_object_remove_toggle_ref(w->inner, wrapper_toggled, w);
	g_free(w);
}

static gboolean never(gpointer v) { return G_SOURCE_REMOVE; }
static void drop_ref(gpointer data, GClosure *c) { g_object_unref(data); }
static void turn_it(Valve *from, Valve *to) { g_object_set(to, "opening", 7, NULL); }

static void measured(GObject *source, GAsyncResult *r, gpointer loop)
{
	g_main_loop_quit(loop);                 /* the result is not propagated: the task frees it */
}

int main(void)
{
	Manifold *m = g_object_new(manifold_get_type(), NULL);
	GWeakRef weak;
	for (int i = 0; i < 6; i++)
		manifold_add(m, valve_new());
	for (guint i = 0; i < m->valves->len; i++)
		g_object_set(m->valves->pdata[i], "opening", 10 + (int)i, NULL);

	/* from one manifold to another one, through a floating reference */
	Manifold *m2 = g_object_new(manifold_get_type(), NULL);
	for (int i = 0; i < 3; i++)
		manifold_add(m2, manifold_take(m, 0));
	g_object_unref(g_object_ref_sink(valve_new()));
	g_object_unref(valve_new());            /* floating to the end */
	Valve *sunk = g_object_take_ref(valve_new());
	g_object_unref(sunk);

	/* a binding, a weak reference that is revived, a closure with the last reference */
	Valve *a = g_object_ref(m2->valves->pdata[0]), *b = g_object_ref_sink(valve_new());
	g_object_bind_property(a, "opening", b, "opening", G_BINDING_SYNC_CREATE | G_BINDING_BIDIRECTIONAL);
	g_weak_ref_init(&weak, b);
	g_signal_connect_data(a, "turned", G_CALLBACK(turn_it), g_object_ref(b), drop_ref, 0);
	g_object_unref(b);
	b = g_weak_ref_get(&weak);
	g_object_set(a, "opening", 55, NULL);
	g_object_set_data_full(G_OBJECT(a), "twin", g_steal_pointer(&b), g_object_unref);
	g_object_set_data_full(G_OBJECT(a), "self", g_object_ref(a), g_object_unref);   /* a circle … */
	GObject *twin = g_object_steal_data(G_OBJECT(a), "twin");
	GValue v = G_VALUE_INIT, copy = G_VALUE_INIT;
	g_value_init(&v, G_TYPE_OBJECT);
	g_value_init(&copy, G_TYPE_OBJECT);
	g_value_take_object(&v, twin);
	g_value_copy(&v, &copy);
	g_object_unref(g_value_dup_object(&copy));
	g_value_unset(&v);
	g_value_reset(&copy);
	b = g_weak_ref_get(&weak);              /* back from the weak reference, once more */
	g_signal_handlers_disconnect_by_func(a, turn_it, b);
	g_object_unref(b);
	g_weak_ref_clear(&weak);
	g_object_set_data(G_OBJECT(a), "self", NULL);                                   /* … opened */

	Wrapper *w = wrap(G_OBJECT(a));
	g_object_unref(a);
	g_ptr_array_remove_index(m2->valves, 0);        /* now the wrapper has the only one */
	gboolean weak_now = !w->strong;
	g_object_ref(w->inner);
	g_object_unref(w->inner);
	int toggles = w->toggles;
	wrapper_collect(w);

	GListStore *store = g_list_store_new(valve_get_type());
	for (guint i = 0; i < m->valves->len; i++)
		g_list_store_append(store, m->valves->pdata[i]);
	g_object_run_dispose(G_OBJECT(m));              /* empties it; m itself goes on */
	GObject *got = g_list_model_get_item(G_LIST_MODEL(store), 1);
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	GTask *task = g_task_new(got, NULL, measured, loop);
	g_task_return_pointer(task, got, g_object_unref);       /* takes got */
	g_object_unref(task);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	g_object_unref(store);
	g_object_unref(m);

	/* held by a source of the default context that has had no turn when the program ends */
	g_idle_add_full(G_PRIORITY_LOW, never, g_object_ref(m2->valves->pdata[0]), g_object_unref);
	g_object_unref(m2);
	printf("%d valve left, %d readings, weak %d, toggles %d\n", valves, the_meter ? the_meter->readings : -1,
	       weak_now, toggles);
	return valves != 1;
}
