/* summary: a granary's rules in an embedded Python: stolen and borrowed references, capsules, weak references, exceptions that are kept
 * track: PyObject
 * build: gcc -O1 -g granary_rules.c -o OUT $(pkg-config --cflags --libs python3-embed)
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdio.h>

/* A type of the program's own: a silo with one grain object, visible to the collector. */
typedef struct {
	PyObject_HEAD
	PyObject *grain;
	PyObject *weak;
	int loads;
} Silo;

static int silos_alive;
static PyTypeObject *silo_type;

static int silo_traverse(Silo *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(self->grain);
	return 0;
}
static int silo_clear(Silo *self)
{
	Py_CLEAR(self->grain);
	return 0;
}
static void silo_dealloc(Silo *self)
{
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	if (self->weak)
		PyObject_ClearWeakRefs((PyObject *)self);
	silo_clear(self);
	silos_alive--;
	type->tp_free(self);
	Py_DECREF(type);                                 /* a heap type: its instances hold it */
}

static PyObject *silo_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)keywords;
	PyObject *grain = NULL;
	if (!PyArg_ParseTuple(args, "|O", &grain))       /* borrowed */
		return NULL;
	Silo *self = (Silo *)type->tp_alloc(type, 0);
	if (!self)
		return NULL;
	silos_alive++;
	self->grain = Py_NewRef(grain ? grain : Py_None);
	return (PyObject *)self;
}

/* Gives back the old grain: its reference goes to the caller, the new one's to the silo. */
static PyObject *silo_refill(Silo *self, PyObject *grain)
{
	PyObject *old = self->grain;
	self->grain = Py_NewRef(grain);
	self->loads++;
	return old ? old : Py_NewRef(Py_None);
}
static PyObject *silo_chain(Silo *self, PyObject *ignored)
{
	(void)ignored;
	self->loads++;
	return Py_NewRef(self);
}

static PyMethodDef silo_methods[] = {
	{ "refill", (PyCFunction)silo_refill, METH_O, NULL },
	{ "chain", (PyCFunction)silo_chain, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
static PyMemberDef silo_members[] = {
	{ "grain", T_OBJECT, offsetof(Silo, grain), 0, NULL },
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(Silo, weak), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};
static PyType_Slot silo_slots[] = {
	{ Py_tp_new, silo_new },
	{ Py_tp_dealloc, silo_dealloc },
	{ Py_tp_traverse, silo_traverse },
	{ Py_tp_clear, silo_clear },
	{ Py_tp_methods, silo_methods },
	{ Py_tp_members, silo_members },
	{ 0, NULL },
};
static PyType_Spec silo_spec = { "granary.Silo", sizeof(Silo), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, silo_slots };

/* A scale of the program's, handed to Python in a capsule that owns it. */
typedef struct { int refs, weighed; } Scale;
static Scale *the_scale;
static void scale_put(Scale *scale)
{
	if (!--scale->refs)
		PyMem_Free(scale);
}
static void capsule_gone(PyObject *capsule)
{
	scale_put(PyCapsule_GetPointer(capsule, "granary.scale"));
}
static PyObject *granary_weigh(PyObject *module, PyObject *args)
{
	(void)module;
	PyObject *capsule, *sacks;
	if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyList_Type, &sacks))
		return NULL;
	Scale *scale = PyCapsule_GetPointer(capsule, "granary.scale");
	if (!scale)
		return NULL;
	long sum = 0;
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sacks); i++) {
		PyObject *sack = PyList_GET_ITEM(sacks, i);      /* borrowed; converting it runs no code of Python's */
		long weight = PyLong_AsLong(sack);
		if (weight == -1 && PyErr_Occurred())
			return NULL;
		sum += weight;
		scale->weighed++;
	}
	return PyLong_FromLong(sum);
}
static PyMethodDef granary_methods[] = { { "weigh", granary_weigh, METH_VARARGS, NULL }, { NULL, NULL, 0, NULL } };
static struct PyModuleDef granary_module = { PyModuleDef_HEAD_INIT, "granary", NULL, -1, granary_methods,
	NULL, NULL, NULL, NULL };

static PyObject *granary_init(void)
{
	PyObject *module = PyModule_Create(&granary_module), *wet = NULL, *type = NULL;
	if (!module)
		return NULL;
	type = PyType_FromSpec(&silo_spec);
	if (!type)
		goto fail;
	silo_type = (PyTypeObject *)Py_NewRef(type);     /* the program's own reference */
	if (PyModule_AddObject(module, "Silo", type) < 0)        /* steals on success alone */
		goto fail;
	type = NULL;
	wet = PyErr_NewException("granary.Wet", NULL, NULL);
	if (!wet || PyModule_AddObjectRef(module, "Wet", wet) < 0)     /* never steals */
		goto fail;
	Py_CLEAR(wet);
	the_scale = PyMem_Malloc(sizeof *the_scale);
	*the_scale = (Scale){ 2, 0 };                    /* ours and the capsule's */
	PyObject *capsule = PyCapsule_New(the_scale, "granary.scale", capsule_gone);
	if (PyModule_AddObject(module, "scale", capsule) < 0) {
		Py_DECREF(capsule);
		goto fail;
	}
	return module;
fail:
	Py_XDECREF(type);
	Py_XDECREF(wet);
	Py_DECREF(module);
	return NULL;
}

static const char script[] =
	"import granary, gc\n"
	"class Sorted(granary.Silo):\n"
	"    pass\n"
	"def check(sacks, silo):\n"
	"    if silo.grain == 'damp':\n"
	"        raise granary.Wet(silo)\n"
	"    return granary.weigh(granary.scale, sacks)\n"
	"def ring():\n"
	"    a, b = Sorted(), Sorted()\n"
	"    a.grain, b.grain = b, a\n"
	"    del a, b\n"
	"    return gc.collect() > 0\n";

static PyObject *sacks_of(int many)
{
	PyObject *sacks = PyList_New(many);
	for (int i = 0; i < many; i++)
		PyList_SET_ITEM(sacks, i, PyLong_FromLong(1000 + i));     /* stolen */
	PyObject *heavy = PyLong_FromLong(5000);
	Py_INCREF(heavy);
	PyList_SetItem(sacks, 0, heavy);                 /* stolen; the old one goes */
	PyList_Append(sacks, heavy);                     /* not stolen */
	Py_DECREF(heavy);
	return sacks;
}

static void run(PyObject *globals)
{
	PyObject *check = PyDict_GetItemString(globals, "check");         /* borrowed */
	PyObject *ring = PyDict_GetItemString(globals, "ring");
	PyObject *module = PyDict_GetItemString(globals, "granary");
	PyObject *wet = PyObject_GetAttrString(module, "Wet");
	PyObject *barley = PyUnicode_FromString("barley, two rows"), *kept = NULL;

	Silo *silo = (Silo *)PyObject_CallFunctionObjArgs((PyObject *)silo_type, barley, NULL);
	PyObject *weak = PyWeakref_NewRef((PyObject *)silo, NULL);
	PyObject *arguments = PyTuple_New(2);
	PyTuple_SetItem(arguments, 0, sacks_of(6));      /* stolen */
	PyTuple_SetItem(arguments, 1, Py_NewRef(silo));
	for (int i = 0; i < 3; i++) {
		PyObject *sum = PyObject_Call(check, arguments, NULL);
		printf("weighed %ld\n", sum ? PyLong_AsLong(sum) : -1);
		Py_XDECREF(sum);
	}
	/* The old grain comes back to us: the same object we had made. */
	PyObject *damp = PyUnicode_FromString("damp"), *old = PyObject_CallMethod((PyObject *)silo, "refill", "O", damp);
	printf("the old one: %s\n", old == barley ? "barley" : "other");
	Py_XDECREF(old);
	Py_DECREF(barley);
	Py_DECREF(damp);

	/* An exception that holds the silo: kept for a while, then set and cleared again. */
	if (!PyObject_Call(check, arguments, NULL) && PyErr_ExceptionMatches(wet)) {
		PyObject *type, *trace;
		PyErr_Fetch(&type, &kept, &trace);
		PyErr_NormalizeException(&type, &kept, &trace);
		if (trace)
			PyException_SetTraceback(kept, trace);
		Py_XDECREF(type);
		Py_XDECREF(trace);
	}
	Py_DECREF(arguments);
	Py_DECREF(silo);
	printf("silo %s\n", PyWeakref_GetObject(weak) == Py_None ? "gone" : "in the exception");
	PyErr_SetObject(wet, kept);
	Py_CLEAR(kept);
	PyErr_Clear();
	printf("silo %s\n", PyWeakref_GetObject(weak) == Py_None ? "gone" : "there");
	Py_DECREF(weak);
	Py_DECREF(wet);

	PyObject *found = PyObject_CallNoArgs(ring);
	printf("ring collected: %d, silos alive %d\n", found == Py_True, silos_alive);
	Py_XDECREF(found);

	/* A dictionary's item is borrowed: kept over the deletion by a reference of ours. */
	PyObject *stock = Py_BuildValue("{s:N,s:i}", "silo", PyObject_CallNoArgs((PyObject *)silo_type), "year", 1999);
	PyObject *inside = PyDict_GetItemString(stock, "silo");
	Py_INCREF(inside);
	PyDict_DelItemString(stock, "silo");
	PyObject *chained = PyObject_CallMethod(inside, "chain", NULL), *result = chained ? Py_NewRef(chained) : NULL;
	Py_SETREF(chained, PyLong_FromLong(((Silo *)inside)->loads));
	printf("loads %ld\n", PyLong_AsLong(chained));
	Py_DECREF(chained);
	Py_XDECREF(result);
	Py_DECREF(inside);
	Py_DECREF(stock);
}

int main(void)
{
	PyImport_AppendInittab("granary", granary_init);
	PyConfig config;
	PyConfig_InitIsolatedConfig(&config);
	config.site_import = 0;
	PyStatus status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	if (PyStatus_Exception(status))
		return 2;
	PyObject *globals = PyDict_New();
	PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());
	PyObject *done = PyRun_String(script, Py_file_input, globals, globals);
	if (!done) {
		PyErr_Print();
		return 2;
	}
	Py_DECREF(done);
	run(globals);
	PyDict_Clear(globals);
	Py_DECREF(globals);
	Py_CLEAR(silo_type);
	int weighed = the_scale->weighed;
	scale_put(the_scale);
	if (Py_FinalizeEx() < 0)
		return 3;
	printf("weighed %d sacks; %d silos alive\n", weighed, silos_alive);
	return silos_alive;
}
