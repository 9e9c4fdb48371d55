/* summary: Tariff.__init__ puts the new rules over the ones of an earlier __init__ of the same object, without a decref for those
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: cpython
 * packages: python3-embed
 * build: g++ -std=c++17 -O0 -g
 * exit: 0
 */
// tariffs - an extension module with the tariffs of an energy supplier, in a
// program that has the module built in and runs a script with it.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <cstdio>

namespace
{

// Holds a reference while a function is at work.
class Ref
{
public:
    explicit Ref(PyObject *owned = nullptr) : p_(owned) {}
    ~Ref() { Py_XDECREF(p_); }
    Ref(const Ref &) = delete;
    Ref &operator=(const Ref &) = delete;

    PyObject *get() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

    PyObject *release()
    {
        PyObject *p = p_;
        p_ = nullptr;
        return p;
    }

private:
    PyObject *p_;
};

// ---- Rules: steps of consumption with the price for each ----

struct Rules
{
    PyObject_HEAD
    PyObject *steps;  // tuple of (kWh, cents)
};

void rules_dealloc(PyObject *self)
{
    Py_XDECREF(reinterpret_cast<Rules *>(self)->steps);
    Py_TYPE(self)->tp_free(self);
}

PyObject *rules_new(PyTypeObject *type, PyObject *args, PyObject *)
{
    Ref steps(PySequence_Tuple(args));

    if (!steps)
        return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps.get()); ++i)
        if (!PyTuple_Check(PyTuple_GET_ITEM(steps.get(), i)))
        {
            PyErr_SetString(PyExc_TypeError, "a step is a tuple of kWh and cents");
            return nullptr;
        }
    Rules *self = reinterpret_cast<Rules *>(type->tp_alloc(type, 0));
    if (self)
        self->steps = steps.release();
    return reinterpret_cast<PyObject *>(self);
}

PyTypeObject RulesType = {PyVarObject_HEAD_INIT(nullptr, 0)};

// ---- Tariff: a name, rules, and a note which any object may be ----

struct Tariff
{
    PyObject_HEAD
    PyObject *name;
    PyObject *rules;
    PyObject *note;
};

Tariff *as_tariff(PyObject *self) { return reinterpret_cast<Tariff *>(self); }

PyObject *tariff_new(PyTypeObject *type, PyObject *, PyObject *)
{
    Tariff *self = reinterpret_cast<Tariff *>(type->tp_alloc(type, 0));

    if (!self)
        return nullptr;
    self->name = PyUnicode_FromString("?");
    Py_INCREF(Py_None);
    self->note = Py_None;
    return reinterpret_cast<PyObject *>(self);
}

int tariff_init(PyObject *object, PyObject *args, PyObject *kwds)
{
    static const char *keywords[] = {"name", "rules", "note", nullptr};
    Tariff *self = as_tariff(object);
    PyObject *name = nullptr, *rules = nullptr, *note = Py_None, *old;

    if (!PyArg_ParseTupleAndKeywords(args, kwds, "UO!|O", const_cast<char **>(keywords), &name, &RulesType, &rules,
                                     &note))
        return -1;

    old = self->name;
    Py_INCREF(name);
    self->name = name;
    Py_XDECREF(old);

#ifndef BUG
    Py_CLEAR(self->rules);
#endif
    Py_INCREF(rules);  // ACCEPTED
    self->rules = rules;  // GUILTY

    old = self->note;
    Py_INCREF(note);
    self->note = note;
    Py_XDECREF(old);
    return 0;
}

void tariff_dealloc(PyObject *object)
{
    Tariff *self = as_tariff(object);

    Py_XDECREF(self->name);
    Py_XDECREF(self->rules);
    Py_XDECREF(self->note);
    Py_TYPE(object)->tp_free(object);
}

PyObject *tariff_price(PyObject *object, PyObject *arg)
{
    Tariff *self = as_tariff(object);
    long kwh = PyLong_AsLong(arg), cents = 0, from = 0;

    if (kwh == -1 && PyErr_Occurred())
        return nullptr;
    if (!self->rules)
        Py_RETURN_NONE;
    PyObject *steps = reinterpret_cast<Rules *>(self->rules)->steps;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); ++i)
    {
        long upto, each;

        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, i), "ll", &upto, &each))
            return nullptr;
        if (kwh > from)
            cents += ((kwh < upto ? kwh : upto) - from) * each;
        from = upto;
    }
    return PyLong_FromLong(cents);
}

PyObject *tariff_get_name(PyObject *self, void *)
{
    Py_INCREF(as_tariff(self)->name);
    return as_tariff(self)->name;
}

PyObject *tariff_get_rules(PyObject *self, void *)
{
    PyObject *rules = as_tariff(self)->rules;

    if (!rules)
        rules = Py_None;
    Py_INCREF(rules);
    return rules;
}

// The setter has always let go of the old rules.
int tariff_set_rules(PyObject *self, PyObject *value, void *)
{
    if (!value || !PyObject_TypeCheck(value, &RulesType))
    {
        PyErr_SetString(PyExc_TypeError, "rules expected");
        return -1;
    }
    Py_INCREF(value);
    Py_XSETREF(as_tariff(self)->rules, value);
    return 0;
}

PyMethodDef tariff_methods[] = {
    {"price", tariff_price, METH_O, "what that many kWh cost"},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef tariff_getset[] = {
    {"name", tariff_get_name, nullptr, nullptr, nullptr},
    {"rules", tariff_get_rules, tariff_set_rules, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject TariffType = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyModuleDef module_def = {PyModuleDef_HEAD_INIT, "tariffs", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

int add_type(PyObject *module, const char *name, PyTypeObject *type)
{
    if (PyType_Ready(type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject *>(type));
}

PyMODINIT_FUNC init_tariffs()
{
    RulesType.tp_name = "tariffs.Rules";
    RulesType.tp_basicsize = sizeof(Rules);
    RulesType.tp_flags = Py_TPFLAGS_DEFAULT;
    RulesType.tp_new = rules_new;
    RulesType.tp_dealloc = rules_dealloc;

    TariffType.tp_name = "tariffs.Tariff";
    TariffType.tp_basicsize = sizeof(Tariff);
    TariffType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    TariffType.tp_new = tariff_new;
    TariffType.tp_init = tariff_init;
    TariffType.tp_dealloc = tariff_dealloc;
    TariffType.tp_methods = tariff_methods;
    TariffType.tp_getset = tariff_getset;

    Ref module(PyModule_Create(&module_def));
    if (!module || add_type(module.get(), "Rules", &RulesType) < 0 || add_type(module.get(), "Tariff", &TariffType) < 0)
        return nullptr;
    return module.release();
}

const char script[] = R"(
from tariffs import Rules, Tariff

class Green(Tariff):
    def price(self, kwh):
        return super().price(kwh) - kwh

def make(n):
    rules = Rules((100 + n, 31), (500 + n, 27), (10000, 22 + n % 5))
    return (Green if n % 3 == 0 else Tariff)('T%d' % n, rules, n if n % 2 else None)

book = [make(n) for n in range(40)]
bill = sum(t.price(90 * i % 1300) for i, t in enumerate(book))

for t in book[::4]:             # cheaper from now on
    t.rules = Rules((400, 25), (10000, 20))
for n in (7, 18, 33):           # what the regulator has struck down
    book[n].__init__('T%d (revised)' % n, Rules((10000, 24 + n % 3)), 'revised')
same = book[5].rules
for t in book[30:32]:
    t.rules = same
del book[10:14]
try:
    Tariff('wrong', 3)
except TypeError:
    pass
bill += sum(t.price(70 * i % 1100) for i, t in enumerate(book))
print(len(book), 'tariffs, bill', bill, ', '.join(t.name for t in book if 'revised' in t.name))
)";

}  // namespace

int main()
{
    PyImport_AppendInittab("tariffs", init_tariffs);
    Py_InitializeEx(0);
    int rc = PyRun_SimpleString(script);
    if (Py_FinalizeEx() < 0 || rc)
        return 1;
    return 0;
}
