/*
 * summary: assign() returns the overflow berth, which the harbour owns, without a reference for the caller
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: PyObject
 * packages: python3-embed
 * build: gcc -O1 -g
 */
/* Berths of two harbours as Python objects: the dispatchers' scripts assign ships to them. There is a fixed
 * number of berths, and whoever has a Python object of one has its place in the table below. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <structmember.h>

enum { BERTHS = 32 };

typedef struct {
	PyObject_HEAD
	PyObject *name;
	PyObject *ship; /* None while it is free */
	int length;
} BerthObject;

typedef struct {
	PyObject_HEAD
	PyObject *berths; /* dict: name -> Berth */
	BerthObject *overflow;
	int refused;
} HarbourObject;

static BerthObject table[BERTHS];
static int table_used;

static PyObject *berth_alloc(PyTypeObject *type, Py_ssize_t items)
{
	(void)items;
	if (table_used == BERTHS)
		return PyErr_NoMemory();
	return PyObject_Init((PyObject *)&table[table_used++], type);
}

static void berth_free(void *memory)
{
	BerthObject *b = memory;

	b->length = 0;
}

static void berth_dealloc(BerthObject *self)
{
	Py_CLEAR(self->name);
	Py_CLEAR(self->ship);
	Py_TYPE(self)->tp_free(self);
}

static PyObject *berth_leave(BerthObject *self, PyObject *unused)
{
	PyObject *ship = self->ship;

	(void)unused;
	Py_INCREF(Py_None);
	self->ship = Py_None;
	return ship;
}

static PyMemberDef berth_members[] = {
	{ "name", T_OBJECT, offsetof(BerthObject, name), READONLY, NULL },
	{ "ship", T_OBJECT, offsetof(BerthObject, ship), READONLY, NULL },
	{ "length", T_INT, offsetof(BerthObject, length), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static PyMethodDef berth_methods[] = {
	{ "leave", (PyCFunction)berth_leave, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyTypeObject BerthType = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "port.Berth",
	.tp_basicsize = sizeof(BerthObject),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_alloc = berth_alloc,
	.tp_free = berth_free,
	.tp_dealloc = (destructor)berth_dealloc,
	.tp_members = berth_members,
	.tp_methods = berth_methods,
};

static BerthObject *berth_new(PyObject *name, int length)
{
	BerthObject *b = (BerthObject *)BerthType.tp_alloc(&BerthType, 0);

	if (!b)
		return NULL;
	Py_INCREF(name);
	b->name = name;
	Py_INCREF(Py_None);
	b->ship = Py_None;
	b->length = length;
	return b;
}

static PyObject *harbour_add(HarbourObject *self, PyObject *args, PyObject *kw)
{
	static char *names[] = { "name", "length", "overflow", NULL };
	PyObject *name;
	int length, overflow = 0;
	BerthObject *b;

	if (!PyArg_ParseTupleAndKeywords(args, kw, "Ui|p", names, &name, &length, &overflow))
		return NULL;
	b = berth_new(name, length);
	if (!b)
		return NULL;
	if (PyDict_SetItem(self->berths, name, (PyObject *)b) < 0) {
		Py_DECREF(b);
		return NULL;
	}
	if (overflow) {
		Py_INCREF(b);
		Py_XSETREF(self->overflow, b);
	}
	return (PyObject *)b;
}

/* The shortest free berth that the ship fits into; borrowed. */
static BerthObject *harbour_search(HarbourObject *self, int length)
{
	BerthObject *best = NULL;
	PyObject *value;
	Py_ssize_t pos = 0;

	while (PyDict_Next(self->berths, &pos, NULL, &value)) {
		BerthObject *b = (BerthObject *)value;

		if (b == self->overflow || b->ship != Py_None || b->length < length)
			continue;
		if (!best || b->length < best->length)
			best = b;
	}
	return best;
}

static PyObject *harbour_assign(HarbourObject *self, PyObject *args)
{
	PyObject *ship;
	int length;
	BerthObject *b;

	if (!PyArg_ParseTuple(args, "Ui", &ship, &length))
		return NULL;
	b = harbour_search(self, length);
	if (b) {
		Py_INCREF(ship);
		Py_SETREF(b->ship, ship);
		Py_INCREF(b);
		return (PyObject *)b;
	}
	if (!self->overflow || self->overflow->length < length || self->overflow->ship != Py_None) {
		self->refused++;
		Py_RETURN_NONE;
	}
	Py_INCREF(ship);
	Py_SETREF(self->overflow->ship, ship); /* ACCEPTED */
#ifndef BUG
	Py_INCREF(self->overflow);
#endif
	return (PyObject *)self->overflow; /* GUILTY */
}

static PyObject *harbour_find(HarbourObject *self, PyObject *ship)
{
	PyObject *value;
	Py_ssize_t pos = 0;

	while (PyDict_Next(self->berths, &pos, NULL, &value)) {
		int same = PyObject_RichCompareBool(((BerthObject *)value)->ship, ship, Py_EQ);

		if (same < 0)
			return NULL;
		if (same) {
			Py_INCREF(value);
			return value;
		}
	}
	Py_RETURN_NONE;
}

static int harbour_init(HarbourObject *self, PyObject *args, PyObject *kw)
{
	PyObject *berths = PyDict_New();

	(void)args;
	(void)kw;
	if (!berths)
		return -1;
	Py_XSETREF(self->berths, berths);
	return 0;
}

static void harbour_dealloc(HarbourObject *self)
{
	Py_CLEAR(self->overflow);
	Py_CLEAR(self->berths);
	Py_TYPE(self)->tp_free(self);
}

static PyMemberDef harbour_members[] = {
	{ "refused", T_INT, offsetof(HarbourObject, refused), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static PyMethodDef harbour_methods[] = {
	{ "add", (PyCFunction)(void (*)(void))harbour_add, METH_VARARGS | METH_KEYWORDS, NULL },
	{ "assign", (PyCFunction)harbour_assign, METH_VARARGS, NULL },
	{ "find", (PyCFunction)harbour_find, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyTypeObject HarbourType = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "port.Harbour",
	.tp_basicsize = sizeof(HarbourObject),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_new = PyType_GenericNew,
	.tp_init = (initproc)harbour_init,
	.tp_dealloc = (destructor)harbour_dealloc,
	.tp_members = harbour_members,
	.tp_methods = harbour_methods,
};

static struct PyModuleDef port_module = { PyModuleDef_HEAD_INIT, .m_name = "port", .m_size = -1 };

static PyObject *port_create(void)
{
	PyObject *m;

	if (PyType_Ready(&BerthType) < 0 || PyType_Ready(&HarbourType) < 0)
		return NULL;
	m = PyModule_Create(&port_module);
	if (m && PyModule_AddObjectRef(m, "Harbour", (PyObject *)&HarbourType) < 0)
		Py_CLEAR(m);
	return m;
}

static const char day[] =
	"import port\n"
	"def work(names, long, ships):\n"
	"    h = port.Harbour()\n"
	"    for i, n in enumerate(names):\n"
	"        h.add(n, 120 + 40 * i)\n"
	"    h.add(long, 400, overflow=True)\n"
	"    for ship, length in ships:\n"
	"        b = h.assign(ship, length)\n"
	"        assert b is None or b.ship == ship\n"
	"    b = h.find(ships[1][0])\n"
	"    assert b.leave() == ships[1][0] and b.ship is None\n"
	"    return h.refused\n"
	"refused = work(['E1', 'E2', 'E3'], 'roads', [('Alma', 110), ('Bea', 190), ('Cleo', 390), ('Dora', 399)])\n"
	"refused += work(['W1', 'W2'], 'buoy', [('Else', 90), ('Fee', 100), ('Gila', 80)])\n"
	"assert refused == 1, refused\n";

int main(void)
{
	int failed;

	PyImport_AppendInittab("port", port_create);
	Py_InitializeEx(0);
	failed = PyRun_SimpleString(day);
	printf("%d berths, %s\n", table_used, failed ? "failed" : "ok");
	return Py_FinalizeEx() < 0 || failed ? 1 : 0;
}
