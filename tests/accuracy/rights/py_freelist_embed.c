/* summary: embedded CPython, extension type with a free list (dealloc does not free; reborn with PyObject_Init), tp_finalize that resurrects once, stolen and borrowed references, weakrefs, gc cycle, static immortal instance
 * track: cpython
 * build: gcc -O3 -g py_freelist_embed.c -o OUT $(pkg-config --cflags --libs python3-embed)
 */
/* Embedded CPython with an own extension type: a free list in tp_dealloc
 * (dead objects are born again by _Py_NewReference through PyObject_Init), a
 * tp_finalize that resurrects once, weak references, references stolen by
 * PyTuple_SET_ITEM / PyList_SET_ITEM / PyModule_AddObject, borrowed ones from
 * PyList_GET_ITEM and PyDict_GetItem, a static type and a static singleton
 * whose count never comes to 0, and a cyclic pair collected by the GC.       */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdio.h>

typedef struct {
	PyObject_HEAD
	PyObject *payload;
	PyObject *weak;
	int tries;
} Cell;

#define MAXFREE 16
static Cell *freelist[MAXFREE];
static int nfree, freelist_open = 1;
static long born, reborn, to_list, gone, resurrected;
static PyObject *morgue;                /* list of resurrected cells */

static int cell_traverse(Cell *c, visitproc visit, void *arg)
{
	Py_VISIT(c->payload);
	return 0;
}
static int cell_clear(Cell *c)
{
	Py_CLEAR(c->payload);
	return 0;
}
static void cell_finalize(PyObject *o)
{
	Cell *c = (Cell *)o;
	if (c->tries > 0 && morgue) {   /* comes back to life, once */
		c->tries--;
		resurrected++;
		PyList_Append(morgue, o);
	}
}
static PyTypeObject CellType;

static void cell_dealloc(PyObject *o)
{
	Cell *c = (Cell *)o;
	if (c->tries > 0 && PyObject_CallFinalizerFromDealloc(o) < 0)
		return;                 /* resurrected */
	PyObject_GC_UnTrack(o);
	if (c->weak)
		PyObject_ClearWeakRefs(o);
	cell_clear(c);
	if (Py_TYPE(o) == &CellType && freelist_open && nfree < MAXFREE && !PyObject_GC_IsFinalized(o)) {
		freelist[nfree++] = c;
		to_list++;
	} else {
		gone++;
		PyObject_GC_Del(o);
	}
}
static PyObject *cell_make(PyObject *payload, int tries)
{
	Cell *c;
	if (nfree) {
		c = freelist[--nfree];
		PyObject_Init((PyObject *)c, &CellType);        /* count 0 -> 1 */
		reborn++;
	} else {
		c = PyObject_GC_New(Cell, &CellType);
		if (!c) return NULL;
		born++;
	}
	c->payload = Py_XNewRef(payload);
	c->weak = NULL;
	c->tries = tries;
	PyObject_GC_Track(c);
	return (PyObject *)c;
}
static PyObject *cell_new(PyTypeObject *t, PyObject *args, PyObject *kw)
{
	PyObject *p = Py_None;
	int tries = 0;
	(void)t; (void)kw;
	if (!PyArg_ParseTuple(args, "|Oi", &p, &tries)) return NULL;
	return cell_make(p, tries);
}
static PyMemberDef cell_members[] = {
	{ "payload", T_OBJECT, offsetof(Cell, payload), 0, NULL }, { 0 }
};
static PyTypeObject CellType = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "cells.Cell",
	.tp_basicsize = sizeof(Cell),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	.tp_dealloc = cell_dealloc,
	.tp_traverse = (traverseproc)cell_traverse,
	.tp_clear = (inquiry)cell_clear,
	.tp_finalize = cell_finalize,
	.tp_weaklistoffset = offsetof(Cell, weak),
	.tp_members = cell_members,
	.tp_new = cell_new,
};
/* A static instance: the count starts at 1, which nobody ever gives back. */
static PyTypeObject NoneType2 = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "cells.Nothing", .tp_basicsize = sizeof(PyObject),
	.tp_flags = Py_TPFLAGS_DEFAULT,
};
static PyObject nothing = { _PyObject_EXTRA_INIT 1, &NoneType2 };

static PyObject *mod_nothing(PyObject *m, PyObject *a)
{
	(void)m; (void)a;
	return Py_NewRef(&nothing);
}
static PyObject *mod_tuple(PyObject *m, PyObject *arg)
{
	(void)m;
	PyObject *t = PyTuple_New(4);
	for (int i = 0; i < 4; i++)
		PyTuple_SET_ITEM(t, i, cell_make(arg, 0));      /* stolen */
	return t;
}
static PyMethodDef methods[] = {
	{ "nothing", mod_nothing, METH_NOARGS, NULL },
	{ "tuple", mod_tuple, METH_O, NULL }, { 0 }
};
static PyModuleDef def = { PyModuleDef_HEAD_INIT, .m_name = "cells", .m_size = -1, .m_methods = methods };
PyMODINIT_FUNC init_cells(void)
{
	if (PyType_Ready(&CellType) < 0 || PyType_Ready(&NoneType2) < 0) return NULL;
	PyObject *m = PyModule_Create(&def);
	Py_INCREF(&CellType);
	PyModule_AddObject(m, "Cell", (PyObject *)&CellType);   /* steals */
	morgue = PyList_New(0);
	PyModule_AddObject(m, "morgue", Py_NewRef(morgue));
	return m;
}

static const char script[] =
	"import cells, weakref, gc\n"
	"w = []\n"
	"for i in range(300):\n"
	"    c = cells.Cell([i])\n"
	"    w.append(weakref.ref(c))\n"
	"    t = cells.tuple(c)\n"
	"    n = [cells.nothing() for _ in range(5)]\n"
	"    del t\n"
	"assert sum(r() is None for r in w) == 299\n"
	"for i in range(60):\n"
	"    cells.Cell(i, 1)\n"                /* resurrects at once */
	"assert len(cells.morgue) == 60\n"
	"cells.morgue.clear()\n"
	"for i in range(50):\n"
	"    a = cells.Cell(); b = cells.Cell(a); a.payload = b\n"
	"del a, b\n"
	"gc.collect()\n";

int main(void)
{
	PyImport_AppendInittab("cells", init_cells);
	PyConfig cfg;
	PyConfig_InitIsolatedConfig(&cfg);
	cfg.site_import = 0;
	Py_InitializeFromConfig(&cfg);
	PyConfig_Clear(&cfg);
	if (PyRun_SimpleString(script) < 0) return 2;

	PyObject *l = PyList_New(0);
	for (int i = 0; i < 100; i++) {
		PyObject *c = cell_make(Py_None, 0);
		PyList_Append(l, c);            /* takes its own */
		Py_DECREF(c);
	}
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(l); i++) {
		Cell *c = (Cell *)PyList_GET_ITEM(l, i);        /* borrowed */
		Py_SETREF(c->payload, PyLong_FromSsize_t(i + 1000));
	}
	PyObject *it = PyObject_GetIter(l), *x;
	while ((x = PyIter_Next(it)))
		Py_DECREF(x);
	Py_DECREF(it);
	Py_DECREF(l);
	Py_CLEAR(morgue);
	while (nfree) {                         /* as PyXXX_ClearFreeList did */
		gone++;
		PyObject_GC_Del(freelist[--nfree]);
	}
	freelist_open = 0;                      /* what dies later is freed */
	int bad = Py_FinalizeEx();
	printf("born %ld reborn %ld listed %ld gone %ld resurrected %ld\n", born, reborn, to_list, gone, resurrected);
	return bad || gone > born ? 1 : 0;
}
