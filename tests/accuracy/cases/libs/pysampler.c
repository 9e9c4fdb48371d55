/* summary: Channel_init() stores the new ring over the old one when a channel that has one is initialised again, without giving the old one back
 * kind: overwritten
 * counts: surplus
 * objects: 5
 * track: cpython
 * packages: python3-embed
 * build: clang-14 -O1 -g
 * exit: 0
 */
/*
 * pysampler - a measuring program with an embedded Python.  The script sets
 * the channels up, the samples are taken in C: a Channel scales them, passes
 * them through its filter, if there is one, and puts them into its Ring.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define RING_MAX 64

typedef struct {
    PyObject_HEAD
    unsigned size, n;
    double samples[RING_MAX];
} Ring;

typedef struct {
    PyObject_HEAD
    PyObject *name;             /* str */
    Ring *sink;
    PyObject *filter;           /* a callable, or NULL */
    double scale;
    unsigned long taken;
} Channel;

/* ---- Ring ------------------------------------------------------------- */

static int
Ring_init(Ring *self, PyObject *args, PyObject *kwds)
{
    static char *kwlist[] = {"size", NULL};
    unsigned size = 16;

    if (!PyArg_ParseTupleAndKeywords(args, kwds, "|I", kwlist, &size))
        return -1;
    if (size == 0 || size > RING_MAX) {
        PyErr_Format(PyExc_ValueError, "bad size %u", size);
        return -1;
    }
    self->size = size;
    self->n = 0;
    return 0;
}

static PyObject *
Ring_mean(Ring *self, PyObject *Py_UNUSED(args))
{
    unsigned n = self->n < self->size ? self->n : self->size;
    double sum = 0;

    if (n == 0)
        Py_RETURN_NONE;
    for (unsigned i = 0; i < n; i++)
        sum += self->samples[i];
    return PyFloat_FromDouble(sum / n);
}

static PyMethodDef Ring_methods[] = {
    {"mean", (PyCFunction)Ring_mean, METH_NOARGS, "The mean of what is in the ring, or None."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Ring_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "sampler.Ring",
    .tp_basicsize = sizeof(Ring),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)Ring_init,
    .tp_methods = Ring_methods,
};

/* ---- Channel ---------------------------------------------------------- */

static int
Channel_init(Channel *self, PyObject *args, PyObject *kwds)
{
    static char *kwlist[] = {"name", "sink", "scale", NULL};
    PyObject *name, *sink;
    double scale = 1.0;

    if (!PyArg_ParseTupleAndKeywords(args, kwds, "UO!|d", kwlist,
                                     &name, &Ring_Type, &sink, &scale))
        return -1;
    Py_INCREF(name);
    Py_XSETREF(self->name, name);
    Py_INCREF(sink);                                            /* ACCEPTED */
#ifdef BUG
    self->sink = (Ring *)sink;                                  /* GUILTY */
#else
    Py_XSETREF(self->sink, (Ring *)sink);
#endif
    Py_CLEAR(self->filter);
    self->scale = scale;
    return 0;
}

static int
Channel_traverse(Channel *self, visitproc visit, void *arg)
{
    Py_VISIT(self->filter);
    return 0;
}

static int
Channel_clear(Channel *self)
{
    Py_CLEAR(self->filter);
    return 0;
}

static void
Channel_dealloc(Channel *self)
{
    PyObject_GC_UnTrack(self);
    Channel_clear(self);
    Py_XDECREF(self->name);
    Py_XDECREF(self->sink);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
Channel_get_sink(Channel *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(self->sink);
}

static int
Channel_set_sink(Channel *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (!value || !PyObject_TypeCheck(value, &Ring_Type)) {
        PyErr_SetString(PyExc_TypeError, "a sink must be a Ring");
        return -1;
    }
    Py_INCREF(value);
    Py_SETREF(self->sink, (Ring *)value);
    return 0;
}

static PyObject *
Channel_set_filter(Channel *self, PyObject *func)
{
    if (func == Py_None) {
        Py_CLEAR(self->filter);
        Py_RETURN_NONE;
    }
    if (!PyCallable_Check(func)) {
        PyErr_SetString(PyExc_TypeError, "a filter must be callable");
        return NULL;
    }
    Py_INCREF(func);
    Py_XSETREF(self->filter, func);
    Py_RETURN_NONE;
}

static PyObject *
Channel_feed(Channel *self, PyObject *arg)
{
    double val = PyFloat_AsDouble(arg);

    if (val == -1.0 && PyErr_Occurred())
        return NULL;
    val *= self->scale;
    if (self->filter) {
        PyObject *in = PyFloat_FromDouble(val), *out;

        if (!in)
            return NULL;
        out = PyObject_CallOneArg(self->filter, in);
        Py_DECREF(in);
        if (!out)
            return NULL;
        if (out == Py_None) {
            Py_DECREF(out);
            Py_RETURN_FALSE;
        }
        val = PyFloat_AsDouble(out);
        Py_DECREF(out);
        if (val == -1.0 && PyErr_Occurred())
            return NULL;
    }
    self->sink->samples[self->sink->n++ % self->sink->size] = val;
    self->taken++;
    Py_RETURN_TRUE;
}

static PyMethodDef Channel_methods[] = {
    {"feed", (PyCFunction)Channel_feed, METH_O, "Take a sample."},
    {"set_filter", (PyCFunction)Channel_set_filter, METH_O, "Set or clear the filter."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef Channel_members[] = {
    {"name", T_OBJECT, offsetof(Channel, name), READONLY, NULL},
    {"taken", T_ULONG, offsetof(Channel, taken), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef Channel_getset[] = {
    {"sink", (getter)Channel_get_sink, (setter)Channel_set_sink, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Channel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "sampler.Channel",
    .tp_basicsize = sizeof(Channel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)Channel_init,
    .tp_dealloc = (destructor)Channel_dealloc,
    .tp_traverse = (traverseproc)Channel_traverse,
    .tp_clear = (inquiry)Channel_clear,
    .tp_methods = Channel_methods,
    .tp_members = Channel_members,
    .tp_getset = Channel_getset,
};

static struct PyModuleDef sampler_module = {
    PyModuleDef_HEAD_INIT, "sampler", NULL, -1, NULL, NULL, NULL, NULL, NULL,
};

static PyObject *
sampler_init(void)
{
    PyObject *mod = PyModule_Create(&sampler_module);

    if (mod && (PyModule_AddType(mod, &Ring_Type) < 0 || PyModule_AddType(mod, &Channel_Type) < 0))
        Py_CLEAR(mod);
    return mod;
}

static const char script[] =
    "from sampler import Channel, Ring\n"
    "channels, spare, archive = {}, [], {}\n"
    "def plug(name, scale=1.0):\n"
    "    ring = Ring(8 + len(name))\n"
    "    if spare:\n"                       /* keep its counter of samples */
    "        ch = spare.pop()\n"
    "        ch.__init__(name, ring, scale)\n"
    "    else:\n"
    "        ch = Channel(name, ring, scale)\n"
    "    channels[name] = ch\n"
    "def unplug(name):\n"
    "    ch = channels.pop(name)\n"
    "    archive[name] = ch.sink.mean()\n"
    "    spare.append(ch)\n"
    "def measure(rounds):\n"
    "    for r in range(rounds):\n"
    "        for i, ch in enumerate(channels.values()):\n"
    "            ch.feed(20 + i * 0.5 + r % 5)\n"
    "for i in range(28):\n"
    "    plug('t%d' % i, 1 + i % 3)\n"
    "for i in range(0, 28, 4):\n"
    "    channels['t%d' % i].set_filter(lambda v, top=30 + i: v if v < top else None)\n"
    "measure(12)\n"
    "for name in ('t3', 't8', 't9', 't21'):\n"
    "    unplug(name)\n"
    "plug('outside'); plug('cellar', 0.5); plug('roof')\n"
    "for i in range(5, 28, 6):\n"           /* start afresh in a larger ring */
    "    ch = channels['t%d' % i]\n"
    "    archive[ch.name] = ch.sink.mean()\n"
    "    ch.sink = Ring(40)\n"
    "try:\n"
    "    channels['t7'].__init__('t7', [], 2)\n"
    "except TypeError:\n"
    "    unplug('t7')\n"
    "measure(9)\n"
    "plug('pump', 3); plug('valve'); plug('fan')\n"
    "measure(3)\n"
    "print(len(channels), 'channels,', sum(c.taken for c in channels.values()), 'samples, archived',\n"
    "      ' '.join('%s=%s' % (k, v and round(v, 2)) for k, v in sorted(archive.items())))\n";

int
main(void)
{
    PyConfig config;
    PyStatus status;
    int rc;

    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 0;
    PyImport_AppendInittab("sampler", sampler_init);
    status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
    rc = PyRun_SimpleString(script);
    return Py_FinalizeEx() < 0 || rc < 0;
}
