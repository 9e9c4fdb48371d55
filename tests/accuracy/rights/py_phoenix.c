/* summary: CPython embedded: a tp_finalize that revives its object into a stack of spare ones which is handed out again, stealing calls (PyTuple_SET_ITEM, PyModule_AddObject, PyErr_Restore), capsules that own, borrowed references, a static type, a worker with PyGILState, and an exit without Py_Finalize while globals own objects
 * track: cpython
 * build: gcc -O2 -g -Wall py_phoenix.c -o OUT $(pkg-config --cflags --libs python3-embed) -pthread
 */
/*
 * py_phoenix - pricing rules in Python, called from a C server.
 *
 * Making a Line opens a lot of things, so that a Line which nobody refers to
 * any more is not freed: its finalizer puts it on a stack of spare lines.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>

typedef struct {
	PyObject_HEAD
	long lives;
	PyObject *item;                 /* owned, or NULL */
} Line;

#define SPARES 4
static Line *spares[SPARES];            /* owned */
static int n_spares;
static long made, revived, freed;

static void line_finalize(PyObject *self)
{
	Line *line = (Line *)self;
	PyObject *type, *value, *trace;

	PyErr_Fetch(&type, &value, &trace);     /* an error may be on its way */
	Py_CLEAR(line->item);
	if (n_spares < SPARES) {
		Py_INCREF(self);        /* from the edge */
		spares[n_spares++] = line;
		revived++;
	}
	PyErr_Restore(type, value, trace);
}

static void line_dealloc(PyObject *self)
{
	if (PyObject_CallFinalizerFromDealloc(self) < 0)
		return;                 /* lives again */
	Py_XDECREF(((Line *)self)->item);
	freed++;
	PyObject_Free(self);
}

static PyObject *line_total(PyObject *self, PyObject *args)
{
	PyObject *item = ((Line *)self)->item;
	long count;

	if (!PyArg_ParseTuple(args, "l", &count))
		return NULL;
	if (!item)
		Py_RETURN_NONE;
	/* both are borrowed from the tuple */
	PyObject *name = PyTuple_GET_ITEM(item, 0), *price = PyTuple_GET_ITEM(item, 1);
	return Py_BuildValue("(ONl)", name, PyLong_FromLong(PyLong_AsLong(price) * count), ((Line *)self)->lives);
}

static PyMethodDef line_methods[] = { { "total", line_total, METH_VARARGS, NULL }, { NULL } };

static PyTypeObject Line_Type = {       /* never freed, however it is counted */
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "pricing.Line",
	.tp_basicsize = sizeof(Line),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_methods = line_methods,
	.tp_dealloc = line_dealloc,
	.tp_finalize = line_finalize,
};

/* Takes the reference to the item. */
static PyObject *line_new(PyObject *item)
{
	Line *line;

	if (n_spares) {
		line = spares[--n_spares];      /* with the stack's reference */
		/* It can die again: types without GC do not mark what was finalized. */
	} else {
		line = PyObject_New(Line, &Line_Type);
		if (!line) {
			Py_DECREF(item);
			return NULL;
		}
		line->lives = 0;
		line->item = NULL;
		made++;
	}
	line->lives++;
	Py_XSETREF(line->item, item);
	return (PyObject *)line;
}

/* ---- the module ------------------------------------------------------------- */

static PyObject *pricing_line(PyObject *self, PyObject *args)
{
	PyObject *name;
	long price;

	if (!PyArg_ParseTuple(args, "Ul", &name, &price))
		return NULL;
	if (price < 0)
		return PyErr_Format(PyExc_ValueError, "price of %U", name);
	PyObject *item = PyTuple_New(2);
	Py_INCREF(name);
	PyUnicode_InternInPlace(&name);                         /* may put ours, and get another one */
	PyTuple_SET_ITEM(item, 0, name);                        /* steals */
	PyTuple_SET_ITEM(item, 1, PyLong_FromLong(price));
	return line_new(item);
}

static void capsule_done(PyObject *capsule)
{
	Py_DECREF((PyObject *)PyCapsule_GetPointer(capsule, "pricing.rates"));
}

/* A capsule that owns a list, for other C code. */
static PyObject *pricing_rates(PyObject *self, PyObject *args)
{
	PyObject *list = PyList_New(5);
	for (int i = 0; i < 5; i++)
		PyList_SET_ITEM(list, i, PyFloat_FromDouble(i / 4.0));
	return PyCapsule_New(list, "pricing.rates", capsule_done);
}

static PyMethodDef functions[] = {
	{ "line", pricing_line, METH_VARARGS, NULL },
	{ "rates", pricing_rates, METH_NOARGS, NULL },
	{ NULL },
};
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "pricing", NULL, -1, functions };

static PyObject *init_pricing(void)
{
	PyObject *self = PyModule_Create(&module);

	if (!self || PyType_Ready(&Line_Type) < 0)
		return NULL;
	Py_INCREF(&Line_Type);
	if (PyModule_AddObject(self, "Line", (PyObject *)&Line_Type) < 0) {     /* steals if it succeeds */
		Py_DECREF(&Line_Type);
		Py_DECREF(self);
		return NULL;
	}
	return self;
}

/* ---- the server ------------------------------------------------------------- */

static PyObject *rule;                  /* owned until the process ends */
static PyObject *last_bill;             /* owned, too */

static const char rules[] =
	"import pricing\n"
	"keep = []\n"
	"def rule(n):\n"
	"    lines = [pricing.line('item%d' % (n % 3), k - (n == 9 and k == 3) * 9) for k in range(n % 6 + 1)]\n"
	"    if n % 4 == 0:\n"
	"        keep.append(lines.pop())\n"
	"        del keep[:-2]\n"
	"    rates = pricing.rates()\n"
	"    return [line.total(n) for line in lines]\n";

/* Returns how long the bill is, -1 if the rule failed. */
static long price(long n)
{
	PyObject *args = Py_BuildValue("(l)", n);
	PyObject *bill = PyObject_CallObject(rule, args);

	Py_DECREF(args);
	if (!bill) {
		PyErr_Clear();
		return -1;
	}
	long length = (long)PyList_GET_SIZE(bill);
	Py_XSETREF(last_bill, bill);            /* moved */
	return length;
}

struct work { long from, lines, failed; };

static void *worker(void *data)
{
	struct work *work = data;

	for (long n = work->from; n < work->from + 12; n++) {
		PyGILState_STATE state = PyGILState_Ensure();
		long length = price(n % 12);
		if (length < 0)
			work->failed++;
		else
			work->lines += length;
		PyGILState_Release(state);
	}
	return NULL;
}

int main(void)
{
	struct work work[2] = { { 0 }, { 6 } };
	pthread_t threads[2];

	PyImport_AppendInittab("pricing", init_pricing);
	Py_InitializeEx(0);
	PyObject *globals = PyDict_New();
	PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());    /* borrowed; the dict takes its own */
	PyObject *done = PyRun_String(rules, Py_file_input, globals, globals);
	if (!done) {
		PyErr_Print();
		return 1;
	}
	Py_DECREF(done);
	rule = Py_NewRef(PyDict_GetItemString(globals, "rule"));                /* borrowed, made ours */
	Py_DECREF(globals);                                                     /* the function has them */

	PyThreadState *saved = PyEval_SaveThread();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, worker, &work[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	PyEval_RestoreThread(saved);
	printf("%ld lines, %ld rules failed, %s\n", work[0].lines + work[1].lines, work[0].failed + work[1].failed,
	       PyUnicode_AsUTF8(PyTuple_GET_ITEM(PyList_GET_ITEM(last_bill, 0), 0)));
	printf("%ld made, %ld revived, %ld freed, %d spare\n", made, revived, freed, n_spares);
	fflush(stdout);
	/* No Py_Finalize: the rules may have started threads of their own. */
	return work[0].failed + work[1].failed != 2 || made - freed - n_spares != 2;
}
