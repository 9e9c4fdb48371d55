/* summary: an embedded Python whose C code steals, borrows and gives references in the ways of its API: a type with a free list, an instance that is a static variable, finalisers that revive an object once, capsules that own a plainly counted struct, BuildValue "N", sets of tuples and lists that steal, a thread with its own state, objects left to Py_Finalize
 * track: own cpython
 * build: gcc -O1 -g -Wall -o OUT bell_capsules.c $(pkg-config --cflags --libs python3-embed)
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stddef.h>

/* ---- bronze: counted from 0 ("further owners"), not Python's ---- */

struct bronze {
	long weight;
	unsigned char kind;
	short others;           /* owners beside the first one */
};
static int bronzes;

static struct bronze *bronze_cast(long weight)
{
	struct bronze *b = calloc(1, sizeof *b);
	b->weight = weight;
	bronzes++;
	return b;
}

static struct bronze *bronze_share(struct bronze *b)
{
	b->others++;
	return b;
}

static void bronze_melt(struct bronze *b)
{
	if (b && b->others-- == 0) {
		bronzes--;
		free(b);
	}
}

/* ---- the type bell.Bell ---- */

typedef struct {
	PyObject_HEAD
	struct bronze *metal;
	PyObject *clapper;              /* any object */
	PyObject *weakrefs;
	int revived;
} Bell;

static PyTypeObject BellType;
static Bell *free_bells[4];             /* memory of dead bells, without a count */
static int n_free, keep = 4;
static PyObject *museum;                /* a list: where revived bells go */

static Bell *bell_alloc(struct bronze *metal)   /* takes metal */
{
	Bell *b;
	if (n_free) {
		b = free_bells[--n_free];
		(void)PyObject_Init((PyObject *)b, &BellType);
	} else {
		b = PyObject_GC_New(Bell, &BellType);
	}
	b->metal = metal;
	b->clapper = b->weakrefs = NULL;
	b->revived = 0;
	PyObject_GC_Track(b);
	return b;
}

static PyObject *bell_new(PyTypeObject *t, PyObject *args, PyObject *kw)
{
	long weight = 10;
	PyObject *clapper = Py_None;
	if (!PyArg_ParseTuple(args, "|lO", &weight, &clapper))
		return NULL;
	Bell *b = bell_alloc(bronze_cast(weight));
	Py_INCREF(clapper);
	b->clapper = clapper;
	return (PyObject *)b;
}

static int bell_traverse(Bell *b, visitproc visit, void *arg)
{
	Py_VISIT(b->clapper);
	return 0;
}

static int bell_clear(Bell *b)
{
	Py_CLEAR(b->clapper);
	return 0;
}

static void bell_finalize(PyObject *o)
{
	Bell *b = (Bell *)o;
	if (museum && b->metal && b->metal->weight > 900 && !b->revived) {
		b->revived = 1;
		PyList_Append(museum, o);       /* alive again */
	}
}

static void bell_dealloc(Bell *b)
{
	if (PyObject_CallFinalizerFromDealloc((PyObject *)b) < 0)
		return;
	PyObject_GC_UnTrack(b);
	Py_TRASHCAN_BEGIN(b, bell_dealloc)
	if (b->weakrefs)
		PyObject_ClearWeakRefs((PyObject *)b);
	Py_CLEAR(b->clapper);
	bronze_melt(b->metal);
	b->metal = NULL;
	if (n_free < keep && !b->revived)
		free_bells[n_free++] = b;
	else
		PyObject_GC_Del(b);
	Py_TRASHCAN_END
}

static void metal_gone(PyObject *capsule)
{
	bronze_melt(PyCapsule_GetPointer(capsule, "bell.bronze"));
}

static PyObject *bell_metal(PyObject *o, PyObject *unused)
{
	return PyCapsule_New(bronze_share(((Bell *)o)->metal), "bell.bronze", metal_gone);
}

static PyObject *bell_twin(PyObject *o, PyObject *unused)
{
	Bell *b = (Bell *)o, *t = bell_alloc(bronze_share(b->metal));
	t->clapper = Py_NewRef(o);
	return Py_BuildValue("(NOi)", t, o, (int)b->metal->weight);     /* N: takes t */
}

static PyMethodDef bell_methods[] = {
	{ "metal", bell_metal, METH_NOARGS, NULL },
	{ "twin", bell_twin, METH_NOARGS, NULL },
	{ NULL }
};

static PyTypeObject BellType = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "bell.Bell",
	.tp_basicsize = sizeof(Bell),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.tp_new = bell_new,
	.tp_dealloc = (destructor)bell_dealloc,
	.tp_finalize = bell_finalize,
	.tp_traverse = (traverseproc)bell_traverse,
	.tp_clear = (inquiry)bell_clear,
	.tp_methods = bell_methods,
	.tp_weaklistoffset = offsetof(Bell, weakrefs),
};

/* ---- bell.Silence: its one instance is a static variable with one reference for ever ---- */

static PyTypeObject SilenceType = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "bell.Silence",
	.tp_basicsize = sizeof(PyObject),
	.tp_flags = Py_TPFLAGS_DEFAULT,
};
static PyObject silence = { _PyObject_EXTRA_INIT 1, &SilenceType };

/* a list of bells; every item is stolen by the list */
static PyObject *mod_chime(PyObject *m, PyObject *args)
{
	int n;
	if (!PyArg_ParseTuple(args, "i", &n))
		return NULL;
	PyObject *l = PyList_New(n), *t = PyTuple_New(2);
	for (int i = 0; i < n; i++) {
		if (i % 3 == 0) {
			PyList_SET_ITEM(l, i, Py_NewRef(&silence));
		} else {
			PyList_SET_ITEM(l, i, (PyObject *)bell_alloc(bronze_cast(i)));
		}
	}
	for (int i = 0; i < n; i += 4)          /* frees what was there, takes the new one */
		PyList_SetItem(l, i, PyUnicode_FromFormat("bell %d of %d", i, n));
	PyTuple_SET_ITEM(t, 0, l);
	PyTuple_SET_ITEM(t, 1, PyList_GetSlice(l, 0, 2));
	PyObject *first = PyList_GetItem(l, 0);         /* borrowed */
	Py_INCREF(first);
	PyList_SetSlice(l, 0, 1, NULL);
	PyObject *d = PyDict_New();
	PyDict_SetItem(d, first, t);                    /* its own references */
	Py_DECREF(first);
	Py_DECREF(t);
	PyObject *b = PyDict_GetItemWithError(d, first);        /* borrowed from d, as first is now */
	return Py_BuildValue("NO", d, b);
}

static PyMethodDef mod_methods[] = {
	{ "chime", mod_chime, METH_VARARGS, NULL },
	{ NULL }
};
static struct PyModuleDef mod_def = { PyModuleDef_HEAD_INIT, "bell", NULL, -1, mod_methods };

PyMODINIT_FUNC PyInit_bell(void)
{
	if (PyType_Ready(&BellType) < 0 || PyType_Ready(&SilenceType) < 0)
		return NULL;
	PyObject *m = PyModule_Create(&mod_def);
	Py_INCREF(&BellType);
	if (PyModule_AddObject(m, "Bell", (PyObject *)&BellType) < 0) {         /* steals, if it succeeds */
		Py_DECREF(&BellType);
		Py_DECREF(m);
		return NULL;
	}
	PyModule_AddObjectRef(m, "silence", &silence);
	museum = PyList_New(0);
	PyModule_AddObjectRef(m, "museum", museum);
	return m;
}

static void *ringer(void *arg)
{
	PyGILState_STATE g = PyGILState_Ensure();
	PyObject *r = PyObject_CallMethod(arg, "twin", NULL);
	Py_XDECREF(r);
	Py_DECREF((PyObject *)arg);             /* came with the thread */
	PyGILState_Release(g);
	return NULL;
}

static const char script[] =
	"import bell, weakref, gc\n"
	"b = bell.Bell(950, ['rope'])\n"
	"w = weakref.ref(b)\n"
	"del b\n"
	"assert w() is None or w() is bell.museum[0]\n"
	"m = bell.museum[0].metal()\n"
	"bell.museum.clear()\n"
	"twins = [bell.Bell(i).twin() for i in range(6)]\n"
	"ring = [bell.Bell(1), None]; ring[1] = bell.Bell(2, ring); del ring\n"
	"chain = None\n"
	"for i in range(300): chain = bell.Bell(3, chain)\n"
	"chain = None\n"
	"d, t = bell.chime(9)\n"
	"quiet = [bell.silence] * 5\n"
	"def peal():\n"
	"    try:\n"
	"        x = bell.Bell(4); yield x; raise ValueError(x)\n"
	"    finally: quiet.append(x)\n"
	"g = peal(); last = next(g)\n"
	"try: next(g)\n"
	"except ValueError as e: kept = e.args\n"
	"gc.collect()\n";

int main(void)
{
	pthread_t t;
	PyImport_AppendInittab("bell", PyInit_bell);
	PyConfig c;
	PyConfig_InitIsolatedConfig(&c);
	c.site_import = 0;
	PyStatus s = Py_InitializeFromConfig(&c);
	PyConfig_Clear(&c);
	if (PyStatus_Exception(s) || PyRun_SimpleString(script))
		return 1;
	PyObject *b = PyObject_CallFunction((PyObject *)&BellType, "l", 33L);
	PyThreadState *save;
	Py_INCREF(b);
	pthread_create(&t, NULL, ringer, b);
	save = PyEval_SaveThread();
	pthread_join(t, NULL);
	PyEval_RestoreThread(save);
	Py_SETREF(b, PyObject_CallMethod(b, "metal", NULL));    /* the capsule in place of the bell */
	Py_CLEAR(b);
	Py_CLEAR(museum);
	keep = 0;
	while (n_free)
		PyObject_GC_Del(free_bells[--n_free]);
	int left = Py_FinalizeEx();             /* the script's globals go here */
	printf("%d, bronzes %d, silence %d\n", left, bronzes, (int)silence.ob_refcnt);
	return bronzes;
}
