/*
 * summary: the report passes over a gauge without readings and forgets the reference that the iterator has returned
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: PyObject
 * packages: python3-embed
 * build: gcc -O2 -g
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>
#include <string.h>
#include <structmember.h>

/* The module "weirs": gauges of a river and what the duty officer wants to know of them. The script below uses it. */

typedef struct {
    PyObject_HEAD
    PyObject *name;
    PyObject *readings; /* list of floats, in metres */
    double datum;
} Gauge;

static PyTypeObject gauge_type;
static PyObject *watcher; /* called with each gauge that is too high */

static PyObject *gauge_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"name", "datum", NULL};
    PyObject *name;
    double datum = 0;
    Gauge *self;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "U|d", names, &name, &datum))
        return NULL;
    self = (Gauge *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->readings = PyList_New(0);
    if (self->readings == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    Py_INCREF(name);
    self->name = name;
    self->datum = datum;
    return (PyObject *)self;
}

static void gauge_dealloc(Gauge *self)
{
    Py_XDECREF(self->name);
    Py_XDECREF(self->readings);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *gauge_add(Gauge *self, PyObject *argument)
{
    const double level = PyFloat_AsDouble(argument);
    PyObject *reading;
    int failed;

    if (level == -1.0 && PyErr_Occurred())
        return NULL;
    reading = PyFloat_FromDouble(level - self->datum);
    if (reading == NULL)
        return NULL;
    failed = PyList_Append(self->readings, reading);
    Py_DECREF(reading);
    if (failed != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *gauge_last(Gauge *self, PyObject *unused)
{
    const Py_ssize_t count = PyList_GET_SIZE(self->readings);
    PyObject *reading;

    (void)unused;
    if (count == 0)
        Py_RETURN_NONE;
    reading = PyList_GET_ITEM(self->readings, count - 1);
    Py_INCREF(reading);
    return reading;
}

static PyMethodDef gauge_methods[] = {
    {"add", (PyCFunction)gauge_add, METH_O, "adds a level above the datum"},
    {"last", (PyCFunction)gauge_last, METH_NOARGS, "the newest level, or None"},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef gauge_members[] = {
    {"name", T_OBJECT, offsetof(Gauge, name), READONLY, NULL},
    {"readings", T_OBJECT, offsetof(Gauge, readings), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject gauge_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "weirs.Gauge",
    .tp_basicsize = sizeof(Gauge),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = gauge_new,
    .tp_dealloc = (destructor)gauge_dealloc,
    .tp_methods = gauge_methods,
    .tp_members = gauge_members,
};

static int gauge_extent(Gauge *gauge, double *mean, double *highest)
{
    const Py_ssize_t count = PyList_GET_SIZE(gauge->readings);
    double sum = 0;

    *highest = -1e9;
    for (Py_ssize_t i = 0; i < count; i++) {
        const double level = PyFloat_AsDouble(PyList_GET_ITEM(gauge->readings, i));

        if (level == -1.0 && PyErr_Occurred())
            return -1;
        sum += level;
        if (level > *highest)
            *highest = level;
    }
    *mean = sum / (double)count;
    return 0;
}

static int call_watcher(Gauge *gauge, double highest)
{
    PyObject *answer;

    if (watcher == NULL)
        return 0;
    answer = PyObject_CallFunction(watcher, "Od", (PyObject *)gauge, highest);
    if (answer == NULL)
        return -1;
    Py_DECREF(answer);
    return 0;
}

/* report(gauges, limit): a dictionary of name to (mean, highest). */
static PyObject *weirs_report(PyObject *module, PyObject *args)
{
    PyObject *gauges, *iterator, *item, *result;
    double limit, mean, highest;

    (void)module;
    if (!PyArg_ParseTuple(args, "Od", &gauges, &limit))
        return NULL;
    iterator = PyObject_GetIter(gauges);
    if (iterator == NULL)
        return NULL;
    result = PyDict_New();
    if (result == NULL) {
        Py_DECREF(iterator);
        return NULL;
    }
    while ((item = PyIter_Next(iterator)) != NULL) {
        Gauge *gauge = (Gauge *)item;
        PyObject *line;
        int failed;

        if (!PyObject_TypeCheck(item, &gauge_type)) {
            PyErr_Format(PyExc_TypeError, "a gauge is expected, not %s", Py_TYPE(item)->tp_name);
            Py_DECREF(item);
            break;
        }
        if (PyList_GET_SIZE(gauge->readings) == 0) {
#ifndef BUG
            Py_DECREF(item);
#endif
            continue; /* GUILTY */
        }
        failed = gauge_extent(gauge, &mean, &highest);
        if (failed == 0 && highest > limit)
            failed = call_watcher(gauge, highest);
        if (failed == 0) {
            line = Py_BuildValue("(dd)", mean, highest);
            failed = line == NULL ? -1 : PyDict_SetItem(result, gauge->name, line);
            Py_XDECREF(line);
        }
        Py_DECREF(item);
        if (failed != 0)
            break;
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred())
        Py_CLEAR(result);
    return result;
}

/* watch(callable or None) */
static PyObject *weirs_watch(PyObject *module, PyObject *callable)
{
    (void)module;
    if (callable == Py_None) {
        Py_CLEAR(watcher);
        Py_RETURN_NONE;
    }
    if (!PyCallable_Check(callable)) {
        PyErr_SetString(PyExc_TypeError, "a callable is expected");
        return NULL;
    }
    Py_INCREF(callable);
    Py_XSETREF(watcher, callable);
    Py_RETURN_NONE;
}

static PyMethodDef weirs_methods[] = {
    {"report", weirs_report, METH_VARARGS, "mean and highest level of each gauge"},
    {"watch", weirs_watch, METH_O, "whom to call about high water"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef weirs_module = {PyModuleDef_HEAD_INIT, .m_name = "weirs", .m_size = -1, .m_methods = weirs_methods};

static PyObject *weirs_init(void)
{
    PyObject *module;

    if (PyType_Ready(&gauge_type) < 0)
        return NULL;
    module = PyModule_Create(&weirs_module);
    if (module != NULL && PyModule_AddObjectRef(module, "Gauge", (PyObject *)&gauge_type) < 0)
        Py_CLEAR(module);
    return module;
}

static const char script[] =
    "import weirs\n"
    "def river():\n"
    "    upper, mill, lock, ford, mouth = (weirs.Gauge(n, d) for n, d in\n"
    "        (('upper', 41.0), ('mill', 38.5), ('lock', 36.0), ('ford', 35.2), ('mouth', 33.9)))\n"
    "    for level in (42.1, 42.4, 43.0): upper.add(level)\n"
    "    for level in (39.0, 41.9): mill.add(level)\n"
    "    mouth.add(34.4)\n"
    "    return [upper, mill, lock, ford, mouth]\n"
    "calls = []\n"
    "gauges = river()\n"
    "weirs.watch(lambda gauge, level: calls.append((gauge.name, level)))\n"
    "for name, (mean, highest) in weirs.report(gauges, 2.5).items():\n"
    "    print('%-6s %.2f %.2f' % (name, mean, highest))\n"
    "try:\n"
    "    weirs.report(gauges[:2] + ['dam'], 3.0)\n"
    "except TypeError as error:\n"
    "    print(error)\n"
    "print(len(calls), 'calls, last of mouth', gauges[-1].last(), 'of lock', gauges[2].last())\n"
    "weirs.watch(None)\n"
    "del gauges, calls\n";

int main(void)
{
    int failed;

    if (PyImport_AppendInittab("weirs", weirs_init) != 0)
        return 1;
    Py_InitializeEx(0);
    failed = PyRun_SimpleString(script);
    if (Py_FinalizeEx() != 0)
        return 1;
    return failed == 0 ? 0 : 1;
}
