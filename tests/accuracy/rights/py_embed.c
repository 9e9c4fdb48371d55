/* summary: embedded CPython: a static type with a free list, a heap type subclassed in Python, generators, chained exceptions, interned strings, references kept past Py_Finalize
 * track: cpython
 * build: gcc -O2 -g -o OUT py_embed.c $(pkg-config --cflags --libs python3-embed)
 */
/*
 * py_embed: a stock-keeping host with CPython inside.  It offers a module "stock"
 * (types, an exception, a sub-module), and drives the generators of a script.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

static PyObject *OutOfStock;		/* the exception; owned by us and the module */
static PyObject *str_name, *str_reorder;	/* interned, kept for the process */

/* ---- Item: small and short-lived, so it has a free list ----------------- */

typedef struct {
	PyObject_HEAD
	PyObject *name;
	long count;
} Item;

#define ITEM_MAXFREE 8
static Item *item_free[ITEM_MAXFREE];
static int item_numfree;
static PyTypeObject ItemType;

static PyObject *
item_make(PyObject *name, long count)
{
	Item *self;

	if (item_numfree > 0) {
		self = item_free[--item_numfree];
		PyObject_Init((PyObject *)self, &ItemType);
	} else {
		if ((self = PyObject_New(Item, &ItemType)) == NULL)
			return NULL;
	}
	Py_INCREF(name);
	PyUnicode_InternInPlace(&name);		/* may swap the reference */
	self->name = name;
	self->count = count;
	return (PyObject *)self;
}

static PyObject *
item_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *keywords[] = { "name", "count", NULL };
	PyObject *name;
	long count = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|l:Item", keywords, &name, &count))
		return NULL;
	return item_make(name, count);
}

static void
item_dealloc(Item *self)
{
	Py_CLEAR(self->name);
	if (item_numfree == ITEM_MAXFREE)
		PyObject_Free(self);
	else
		item_free[item_numfree++] = self;
}

static PyMemberDef item_members[] = {
	{ "name", T_OBJECT_EX, offsetof(Item, name), READONLY, NULL },
	{ "count", T_LONG, offsetof(Item, count), 0, NULL },
	{ NULL }
};

static PyTypeObject ItemType = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "stock.Item",
	.tp_basicsize = sizeof(Item),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_new = item_new,
	.tp_dealloc = (destructor)item_dealloc,
	.tp_members = item_members,
};

/* ---- Shelf: a container, so the cycle collector must see into it -------- */

typedef struct {
	PyObject_HEAD
	PyObject *items;		/* list */
	PyObject *owner;		/* anything, often back to us */
	PyObject *weaklist;
} Shelf;

static int
shelf_traverse(Shelf *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(self->items);
	Py_VISIT(self->owner);
	return 0;
}

static int
shelf_clear(Shelf *self)
{
	Py_CLEAR(self->items);
	Py_CLEAR(self->owner);
	return 0;
}

static void
shelf_dealloc(Shelf *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	if (self->weaklist != NULL)
		PyObject_ClearWeakRefs((PyObject *)self);
	shelf_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

static int
shelf_init(Shelf *self, PyObject *args, PyObject *kwargs)
{
	PyObject *owner = Py_None, *list;

	if (!PyArg_ParseTuple(args, "|O:Shelf", &owner) || (list = PyList_New(0)) == NULL)
		return -1;
	Py_XSETREF(self->items, list);
	Py_INCREF(owner);
	Py_XSETREF(self->owner, owner);
	return 0;
}

static PyObject *
shelf_put(Shelf *self, PyObject *args)
{
	PyObject *name, *item;
	long count;

	if (!PyArg_ParseTuple(args, "Ul:put", &name, &count) || (item = item_make(name, count)) == NULL)
		return NULL;
	if (PyList_Append(self->items, item) < 0) {
		Py_DECREF(item);
		return NULL;
	}
	return item;
}

static PyObject *
shelf_take(Shelf *self, PyObject *name)
{
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(self->items); i++) {
		Item *item = (Item *)PyList_GET_ITEM(self->items, i);	/* borrowed */
		int same = PyObject_RichCompareBool(item->name, name, Py_EQ);

		if (same < 0)
			return NULL;
		if (!same)
			continue;
		Py_INCREF(item);
		if (PyList_SetSlice(self->items, i, i + 1, NULL) < 0)
			Py_CLEAR(item);
		return (PyObject *)item;
	}
	PyErr_Format(OutOfStock, "no %U left", name);
	return NULL;
}

static PyMethodDef shelf_methods[] = {
	{ "put", (PyCFunction)shelf_put, METH_VARARGS, NULL },
	{ "take", (PyCFunction)shelf_take, METH_O, NULL },
	{ NULL }
};

static PyMemberDef shelf_members[] = {
	{ "owner", T_OBJECT, offsetof(Shelf, owner), 0, NULL },
	{ "items", T_OBJECT_EX, offsetof(Shelf, items), READONLY, NULL },
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(Shelf, weaklist), READONLY, NULL },
	{ NULL }
};

static PyType_Slot shelf_slots[] = {
	{ Py_tp_init, shelf_init }, { Py_tp_dealloc, shelf_dealloc }, { Py_tp_traverse, shelf_traverse },
	{ Py_tp_clear, shelf_clear }, { Py_tp_methods, shelf_methods },
	{ Py_tp_members, shelf_members }, { 0, NULL }
};

static PyType_Spec shelf_spec = {
	"stock.Shelf", sizeof(Shelf), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, shelf_slots
};

/* ---- the modules -------------------------------------------------------- */

static PyObject *
units_convert(PyObject *module, PyObject *args)
{
	PyObject *table = PyObject_GetAttrString(module, "TABLE"), *factor, *result = NULL;
	const char *unit;
	double amount;

	if (table == NULL)
		return NULL;
	if (PyArg_ParseTuple(args, "sd:convert", &unit, &amount)) {
		factor = PyDict_GetItemString(table, unit);	/* borrowed */
		if (factor == NULL)
			PyErr_Format(PyExc_KeyError, "unit %s", unit);
		else
			result = Py_BuildValue("(dN)", amount * PyFloat_AsDouble(factor), PyUnicode_FromString("kg"));
	}
	Py_DECREF(table);
	return result;
}

static PyMethodDef units_methods[] = { { "convert", units_convert, METH_VARARGS, NULL }, { NULL } };
static PyModuleDef units_def = { PyModuleDef_HEAD_INIT, "stock.units", NULL, -1, units_methods };
static PyModuleDef stock_def = { PyModuleDef_HEAD_INIT, "stock", NULL, -1, NULL };

static PyObject *
init_stock(void)
{
	PyObject *module = PyModule_Create(&stock_def), *units = PyModule_Create(&units_def);
	PyObject *shelf = PyType_FromSpec(&shelf_spec);

	OutOfStock = PyErr_NewException("stock.OutOfStock", PyExc_LookupError, NULL);
	if (!module || !units || !shelf || !OutOfStock || PyType_Ready(&ItemType) < 0)
		Py_FatalError("stock");
	PyModule_AddObjectRef(module, "OutOfStock", OutOfStock);
	PyModule_AddObjectRef(module, "Item", (PyObject *)&ItemType);
	PyModule_AddObject(module, "Shelf", shelf);	/* steals */
	PyModule_AddObject(units, "TABLE", Py_BuildValue("{s:d,s:d}", "lb", 0.5, "t", 1000.0));
	PyDict_SetItemString(PyImport_GetModuleDict(), "stock.units", units);
	PyModule_AddObject(module, "units", units);
	return module;
}

/* ---- the host ----------------------------------------------------------- */

static const char script[] =
    "import stock, stock.units\n"
    "class Bin(stock.Shelf):\n"
    "    def __init__(self, name):\n"
    "        super().__init__(self)\n"			/* a cycle through C */
    "        self.name, self.log = name, []\n"
    "    def reorder(self, what, n):\n"
    "        return self.log.append(what) or self.put(what, n).count\n"
    "bins = [Bin(f'bin{i}') for i in range(4)]\n"
    "def fill():\n"
    "    for b in bins:\n"
    "        for i, n in enumerate('bolt nut screw nut'.split()):\n"
    "            got = yield b.put(n + str(i), i)\n"
    "            if got: b.log.append(got)\n"
    "    return sum(x.count for b in bins for x in b.items)\n"
    "def drain(b):\n"
    "    try:\n"
    "        while True:\n"
    "            yield b.take('nut1')\n"
    "    except stock.OutOfStock as e:\n"
    "        raise ValueError(b.name) from e\n"
    "weight = stock.units.convert('t', 2)\n";

static PyObject *
must(PyObject *object)
{
	if (object == NULL)
		PyErr_Print(), exit(1);
	return object;
}

/* Sends every third item's name back into the generator; the sum it returns. */
static long
drive_fill(PyObject *globals)
{
	PyObject *generator = must(PyObject_CallNoArgs(PyDict_GetItemString(globals, "fill")));
	PyObject *send = Py_NewRef(Py_None), *result;
	int n = 0;

	while (PyIter_Send(generator, send, &result) == PYGEN_NEXT) {
		Py_SETREF(send, ++n % 3 == 0 ? Py_NewRef(((Item *)result)->name) : Py_NewRef(Py_None));
		Py_DECREF(result);
	}
	Py_DECREF(send);
	Py_DECREF(generator);
	n = (int)PyLong_AsLong(must(result));
	Py_DECREF(result);
	return n;
}

/* Runs a generator into its exception; returns the name of the cause's type. */
static PyObject *
drive_drain(PyObject *globals, PyObject *bin)
{
	PyObject *generator = must(PyObject_CallOneArg(PyDict_GetItemString(globals, "drain"), bin));
	PyObject *item, *type, *value, *traceback, *cause, *name;

	while ((item = PyIter_Next(generator)) != NULL)
		Py_DECREF(item);
	Py_DECREF(generator);
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	cause = PyException_GetCause(value);
	name = PyObject_GetAttr((PyObject *)Py_TYPE(cause), str_name);
	Py_XDECREF(traceback);
	Py_DECREF(cause);
	Py_DECREF(value);
	Py_DECREF(type);
	return must(name);
}

int
main(void)
{
	PyObject *main_module, *globals, *bins, *bin, *ref, *name, *count, *again;
	PyConfig config;

	PyImport_AppendInittab("stock", init_stock);
	PyConfig_InitPythonConfig(&config);
	PyConfig_SetString(&config, &config.program_name, L"/usr/bin/python3");
	config.site_import = 0;
	if (PyStatus_Exception(Py_InitializeFromConfig(&config)))
		return 1;
	PyConfig_Clear(&config);
	str_name = PyUnicode_InternFromString("__name__");
	str_reorder = PyUnicode_InternFromString("reorder");

	main_module = PyImport_AddModule("__main__");		/* borrowed */
	globals = PyModule_GetDict(main_module);		/* borrowed */
	Py_DECREF(must(PyRun_String(script, Py_file_input, globals, globals)));
	printf("filled: %ld\n", drive_fill(globals));

	bins = Py_NewRef(PyDict_GetItemString(globals, "bins"));
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(bins); i++) {
		bin = PyList_GET_ITEM(bins, i);
		name = drive_drain(globals, bin);
		count = must(PyObject_CallMethod(bin, "reorder", "sl", "washer", (long)i + 1000));
		again = must(PyObject_CallMethodObjArgs(bin, str_reorder, name, count, NULL));
		printf("bin %zd: %s, reordered %ld\n", i, PyUnicode_AsUTF8(name), PyLong_AsLong(again));
		Py_DECREF(again);
		Py_DECREF(count);
		Py_DECREF(name);
	}

	ref = must(PyWeakref_NewRef(PyList_GET_ITEM(bins, 0), NULL));
	PyList_SetSlice(bins, 0, 1, NULL);			/* now held by its cycle alone */
	PyGC_Collect();
	printf("first bin gone: %s\n", PyWeakref_GetObject(ref) == Py_None ? "yes" : "no");
	Py_DECREF(ref);
	Py_DECREF(bins);
	return Py_FinalizeEx() < 0;
}
