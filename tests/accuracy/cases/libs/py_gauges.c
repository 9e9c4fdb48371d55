/* summary: Gauge.__init__ stores the new label without releasing the old one, and the script calls __init__ again on some gauges
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: cpython
 * packages: python-3.11-embed
 * build: gcc -O1 -g
 * exit: 0
 * source: bug class "tp_init may be called more than once"
 */
/*
 * Gauges of a boiler house for a script: a module "gauges" in C, with the
 * type Gauge, in a program that runs the script.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdio.h>

typedef struct {
	PyObject_HEAD
	PyObject *label;	/* str */
	PyObject *unit;		/* str or None */
	PyObject *readings;	/* list */
	double low, high;
} Gauge;

static int gauge_traverse(Gauge *self, visitproc visit, void *arg)
{
	Py_VISIT(self->label);
	Py_VISIT(self->unit);
	Py_VISIT(self->readings);
	return 0;
}

static int gauge_clear(Gauge *self)
{
	Py_CLEAR(self->label);
	Py_CLEAR(self->unit);
	Py_CLEAR(self->readings);
	return 0;
}

static void gauge_dealloc(Gauge *self)
{
	PyObject_GC_UnTrack(self);
	gauge_clear(self);
	Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *gauge_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	Gauge *self = (Gauge *)type->tp_alloc(type, 0);

	(void)args, (void)kwargs;
	if (!self)
		return NULL;
	self->unit = Py_NewRef(Py_None);
	self->readings = PyList_New(0);
	if (!self->readings) {
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static int gauge_init(Gauge *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "label", "low", "high", "unit", NULL };
	PyObject *label, *unit = NULL, *old;
	double low = 0, high = 100;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|ddO", names, &label, &low, &high, &unit))
		return -1;
	if (low >= high) {
		PyErr_Format(PyExc_ValueError, "empty range for %U", label);
		return -1;
	}
#ifdef BUG
	self->label = Py_NewRef(label);	/* GUILTY */
#else
	old = self->label;
	self->label = Py_NewRef(label);
	Py_XDECREF(old);
#endif
	if (unit) {
		old = self->unit;
		self->unit = Py_NewRef(unit);
		Py_XDECREF(old);
	}
	self->low = low;
	self->high = high;
	return 0;
}

static PyObject *gauge_feed(Gauge *self, PyObject *arg)
{
	PyObject *value = PyNumber_Float(arg);
	int bad;

	if (!value)
		return NULL;
	bad = PyFloat_AS_DOUBLE(value) < self->low || PyFloat_AS_DOUBLE(value) > self->high;
	if (!bad && PyList_Append(self->readings, value) < 0) {
		Py_DECREF(value);
		return NULL;
	}
	Py_DECREF(value);
	return PyBool_FromLong(!bad);
}

static PyObject *gauge_mean(Gauge *self, PyObject *unused)
{
	Py_ssize_t n = PyList_GET_SIZE(self->readings);
	double sum = 0;

	(void)unused;
	if (n == 0)
		Py_RETURN_NONE;
	for (Py_ssize_t i = 0; i < n; i++)
		sum += PyFloat_AsDouble(PyList_GET_ITEM(self->readings, i));
	return PyFloat_FromDouble(sum / (double)n);
}

static PyObject *gauge_get_label(Gauge *self, void *closure)
{
	(void)closure;
	if (!self->label)
		Py_RETURN_NONE;
	return Py_NewRef(self->label);
}

static int gauge_set_unit(Gauge *self, PyObject *value, void *closure)
{
	(void)closure;
	if (!value)
		value = Py_None;
	Py_INCREF(value);
	Py_XSETREF(self->unit, value);
	return 0;
}

static PyObject *gauge_get_unit(Gauge *self, void *closure)
{
	(void)closure;
	return Py_NewRef(self->unit);
}

static PyObject *gauge_repr(Gauge *self)
{
	if (self->unit == Py_None)
		return PyUnicode_FromFormat("<%U>", self->label);
	return PyUnicode_FromFormat("<%U in %S>", self->label, self->unit);
}

static PyMethodDef gauge_methods[] = {
	{ "feed", (PyCFunction)gauge_feed, METH_O, "Adds a reading; False when out of range." },
	{ "mean", (PyCFunction)gauge_mean, METH_NOARGS, "The mean of the readings." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef gauge_getset[] = {
	{ "label", (getter)gauge_get_label, NULL, NULL, NULL },
	{ "unit", (getter)gauge_get_unit, (setter)gauge_set_unit, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyTypeObject gauge_type = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "gauges.Gauge",
	.tp_basicsize = sizeof(Gauge),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.tp_new = gauge_new,
	.tp_init = (initproc)gauge_init,
	.tp_dealloc = (destructor)gauge_dealloc,
	.tp_traverse = (traverseproc)gauge_traverse,
	.tp_clear = (inquiry)gauge_clear,
	.tp_repr = (reprfunc)gauge_repr,
	.tp_methods = gauge_methods,
	.tp_getset = gauge_getset,
};

static struct PyModuleDef gauges_module = {
	PyModuleDef_HEAD_INIT, .m_name = "gauges", .m_size = -1,
};

static PyObject *init_gauges(void)
{
	PyObject *m;

	if (PyType_Ready(&gauge_type) < 0)
		return NULL;
	m = PyModule_Create(&gauges_module);
	if (m && PyModule_AddObjectRef(m, "Gauge", (PyObject *)&gauge_type) < 0)
		Py_CLEAR(m);
	return m;
}

static const char script[] =
	"import gauges\n"
	"class Checked(gauges.Gauge):\n"
	"    def __init__(self, label, *rest):\n"
	"        super().__init__(label, *rest)\n"
	"        self.refused = 0\n"
	"    def feed(self, value):\n"
	"        if not super().feed(value):\n"
	"            self.refused += 1\n"
	"house = [Checked(f'boiler {i} flow', 0, 90) for i in range(20)]\n"
	"house += [gauges.Gauge(f'pump {i} pressure', 0.5, 6, 'bar') for i in range(12)]\n"
	"for turn in range(15):\n"
	"    for i, g in enumerate(house):\n"
	"        g.feed((turn * 7 + i * 3) % 97 if i < 20 else (turn + i) % 7)\n"
	"# After the inspection three flow gauges were replaced by larger ones.\n"
	"for i in (4, 9, 17):\n"
	"    house[i].__init__(f'boiler {i} flow, new', 0, 120)\n"
	"    house[i].unit = 'l/min'\n"
	"try:\n"
	"    house[2].__init__('boiler 2 turned', 9, 1)\n"
	"except ValueError as e:\n"
	"    print('refused:', e)\n"
	"for g in house[3:6] + house[20:22]:\n"
	"    print(g, round(g.mean(), 3))\n"
	"print(sum(g.refused for g in house[:20]), 'out of range')\n"
	"del house, g\n";

int main(void)
{
	PyConfig config;
	PyStatus status;
	int rc;

	PyImport_AppendInittab("gauges", init_gauges);
	PyConfig_InitIsolatedConfig(&config);
	config.site_import = 0;
	status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	if (PyStatus_Exception(status)) {
		fprintf(stderr, "no Python: %s\n", status.err_msg);
		return 1;
	}
	rc = PyRun_SimpleString(script);
	if (Py_FinalizeEx() < 0 || rc < 0)
		return 1;
	return 0;
}
