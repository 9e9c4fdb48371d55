/* summary: Tariff.quote returns for an offer that a rule has made void without giving the offer back that the rule answered with
 * kind: missing-put
 * counts: surplus
 * objects: 9
 * track: cpython
 * packages: python3-embed
 * build: gcc -O0 -g
 * exit: 0
 */
/*
 * pyrates - prices for parcels. The traders write rules in Python, each is a
 * callable that gets an Offer and answers with an Offer or with None.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>
#include <string.h>

/* -- Offer ----------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *zone;
    double price;
    int valid;
} OfferObject;

static PyTypeObject *offer_type;
static int offers_live;

static PyObject *offer_create(PyObject *zone, double price)
{
    OfferObject *offer = PyObject_New(OfferObject, offer_type);

    if (offer == NULL)
        return NULL;
    offer->zone = Py_NewRef(zone);
    offer->price = price;
    offer->valid = 1;
    offers_live++;
    return (PyObject *)offer;
}

static void Offer_dealloc(OfferObject *self)
{
    PyTypeObject *tp = Py_TYPE(self);

    offers_live--;
    Py_XDECREF(self->zone);
    PyObject_Free(self);
    Py_DECREF(tp);
}

static PyObject *Offer_times(OfferObject *self, PyObject *arg)
{
    double factor = PyFloat_AsDouble(arg);

    if (factor == -1.0 && PyErr_Occurred())
        return NULL;
    return offer_create(self->zone, self->price * factor);
}

static PyObject *Offer_void(OfferObject *self, PyObject *unused)
{
    PyObject *offer = offer_create(self->zone, self->price);

    (void)unused;
    if (offer != NULL)
        ((OfferObject *)offer)->valid = 0;
    return offer;
}

static PyObject *Offer_get_zone(OfferObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(self->zone);
}

static PyObject *Offer_get_price(OfferObject *self, void *unused)
{
    (void)unused;
    return PyFloat_FromDouble(self->price);
}

static PyMethodDef Offer_methods[] = {
    { "times", (PyCFunction)Offer_times, METH_O, NULL },
    { "void", (PyCFunction)Offer_void, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL }
};

static PyGetSetDef Offer_getset[] = {
    { "zone", (getter)Offer_get_zone, NULL, NULL, NULL },
    { "price", (getter)Offer_get_price, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot Offer_slots[] = {
    { Py_tp_dealloc, Offer_dealloc },
    { Py_tp_methods, Offer_methods },
    { Py_tp_getset, Offer_getset },
    { 0, NULL }
};

static PyType_Spec Offer_spec = {
    .name = "pyrates.Offer",
    .basicsize = sizeof(OfferObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = Offer_slots,
};

/* -- Tariff ---------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *rules;    /* list of callables */
    PyObject *base;     /* dict zone -> float */
    Py_ssize_t refused;
} TariffObject;

static int Tariff_init(TariffObject *self, PyObject *args, PyObject *kwds)
{
    static char *names[] = { "base", NULL };
    PyObject *base;

    if (!PyArg_ParseTupleAndKeywords(args, kwds, "O!", names, &PyDict_Type, &base))
        return -1;
    Py_XSETREF(self->base, Py_NewRef(base));
    Py_XSETREF(self->rules, PyList_New(0));
    self->refused = 0;
    return self->rules != NULL ? 0 : -1;
}

static int Tariff_traverse(TariffObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->rules);
    Py_VISIT(self->base);
    return 0;
}

static int Tariff_clear(TariffObject *self)
{
    Py_CLEAR(self->rules);
    Py_CLEAR(self->base);
    return 0;
}

static void Tariff_dealloc(TariffObject *self)
{
    PyTypeObject *tp = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    Tariff_clear(self);
    tp->tp_free((PyObject *)self);
    Py_DECREF(tp);
}

static PyObject *Tariff_rule(TariffObject *self, PyObject *rule)
{
    if (!PyCallable_Check(rule)) {
        PyErr_SetString(PyExc_TypeError, "a rule must be callable");
        return NULL;
    }
    if (PyList_Append(self->rules, rule) < 0)
        return NULL;
    return Py_NewRef(rule);     /* so that it serves as a decorator */
}

/* quote(zone, weight): an Offer, or None if there is no offer */
static PyObject *Tariff_quote(TariffObject *self, PyObject *args)
{
    PyObject *zone, *base, *offer;
    double weight;

    if (!PyArg_ParseTuple(args, "Ud", &zone, &weight))
        return NULL;
    base = PyDict_GetItemWithError(self->base, zone);   /* borrowed */
    if (base == NULL) {
        if (PyErr_Occurred())
            return NULL;
        self->refused++;
        Py_RETURN_NONE;
    }
    offer = offer_create(zone, PyFloat_AsDouble(base) + weight * 0.8);
    for (Py_ssize_t i = 0; offer != NULL && i < PyList_GET_SIZE(self->rules); i++) {
        PyObject *next = PyObject_CallOneArg(PyList_GET_ITEM(self->rules, i), offer); /* ACCEPTED */

        if (next == NULL) {
            Py_DECREF(offer);
            return NULL;
        }
        if (next == Py_None) {          /* the rule does not apply */
            Py_DECREF(next);
            continue;
        }
        if (!Py_IS_TYPE(next, offer_type)) {
            PyErr_Format(PyExc_TypeError, "rule answered with %R", next);
            Py_DECREF(next);
            Py_DECREF(offer);
            return NULL;
        }
        if (!((OfferObject *)next)->valid) {
            self->refused++;
            Py_DECREF(offer);
#ifdef BUG
            Py_RETURN_NONE;             /* GUILTY */
#else
            Py_DECREF(next);
            Py_RETURN_NONE;
#endif
        }
        Py_SETREF(offer, next);
    }
    return offer;
}

static PyObject *Tariff_get_refused(TariffObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(self->refused);
}

static PyMethodDef Tariff_methods[] = {
    { "rule", (PyCFunction)Tariff_rule, METH_O, NULL },
    { "quote", (PyCFunction)Tariff_quote, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL }
};

static PyGetSetDef Tariff_getset[] = {
    { "refused", (getter)Tariff_get_refused, NULL, NULL, NULL },
    { NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot Tariff_slots[] = {
    { Py_tp_init, Tariff_init },
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_dealloc, Tariff_dealloc },
    { Py_tp_traverse, Tariff_traverse },
    { Py_tp_clear, Tariff_clear },
    { Py_tp_methods, Tariff_methods },
    { Py_tp_getset, Tariff_getset },
    { 0, NULL }
};

static PyType_Spec Tariff_spec = {
    .name = "pyrates.Tariff",
    .basicsize = sizeof(TariffObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = Tariff_slots,
};

static int pyrates_exec(PyObject *module)
{
    PyObject *tariff = PyType_FromSpec(&Tariff_spec);

    if (tariff == NULL)
        return -1;
    offer_type = (PyTypeObject *)PyType_FromSpec(&Offer_spec);
    if (offer_type == NULL || PyModule_AddObjectRef(module, "Tariff", tariff) < 0) {
        Py_DECREF(tariff);
        return -1;
    }
    Py_DECREF(tariff);
    return 0;
}

static PyModuleDef_Slot module_slots[] = { { Py_mod_exec, pyrates_exec }, { 0, NULL } };
static struct PyModuleDef pyrates_module = {
    PyModuleDef_HEAD_INIT, .m_name = "pyrates", .m_size = 0, .m_slots = module_slots,
};

static PyObject *init_pyrates(void)
{
    return PyModuleDef_Init(&pyrates_module);
}

static const char script[] =
    "import pyrates\n"
    "def main():\n"
    "    t = pyrates.Tariff({'city': 4.5, 'country': 6.0, 'island': 11.0, 'abroad': 14.0})\n"
    "    @t.rule\n"
    "    def islands(o):\n"
    "        if o.zone == 'island':\n"
    "            return o.void() if o.price > 33 else o.times(1.25)\n"
    "    @t.rule\n"
    "    def summer(o):\n"
    "        return o.times(0.95) if o.zone == 'country' else None\n"
    "    @t.rule\n"
    "    def broken(o):\n"
    "        return 'ask me' if o.price > 41 else None\n"
    "    zones = ['city', 'country', 'island', 'abroad', 'moon']\n"
    "    best, errors = {}, 0\n"
    "    for n in range(120):\n"
    "        zone = zones[n * 3 % 5]\n"
    "        try:\n"
    "            o = t.quote(zone, n % 40 + n % 7 * 0.25)\n"
    "        except TypeError:\n"
    "            errors += 1\n"
    "            continue\n"
    "        if o is not None and (zone not in best or o.price < best[zone].price):\n"
    "            best[zone] = o\n"
    "    print({z: round(o.price, 2) for z, o in best.items()}, t.refused, errors)\n"
    "main()\n";

int main(void)
{
    int rc;

    PyImport_AppendInittab("pyrates", init_pyrates);
    Py_InitializeEx(0);
    rc = PyRun_SimpleString(script);
    if (Py_FinalizeEx() < 0)
        rc = 1;
#ifdef TRUTH
    printf("left: %d offers\n", offers_live);
#endif
    return rc != 0;
}
