/* summary: mean() leaves out a sample that is flagged as invalid with a continue, and keeps the reference that PySequence_GetItem gave
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: cpython
 * packages: python3-embed
 * build: g++ -std=c++17 -O1 -g
 */
// sampleext - a module for samples of a sensor, and a program that has it built in.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdio>

namespace
{

struct Sample
{
    PyObject_HEAD
    PyObject *label;
    double value;
    bool valid;
};

// Owns one reference.
class Own
{
public:
    explicit Own(PyObject *object) : m_object(object) {}
    Own(const Own &) = delete;
    Own &operator=(const Own &) = delete;
    ~Own() { Py_XDECREF(m_object); }
    PyObject *get() const { return m_object; }
    explicit operator bool() const { return m_object; }

private:
    PyObject *m_object;
};

int sampleInit(PyObject *self, PyObject *args, PyObject *)
{
    auto *sample = reinterpret_cast<Sample *>(self);
    PyObject *label;
    int valid = 1;

    if (!PyArg_ParseTuple(args, "Ud|p", &label, &sample->value, &valid))
        return -1;
    Py_INCREF(label);
    Py_XSETREF(sample->label, label);
    sample->valid = valid;
    return 0;
}

void sampleDealloc(PyObject *self)
{
    Py_CLEAR(reinterpret_cast<Sample *>(self)->label);
    Py_TYPE(self)->tp_free(self);
}

PyObject *sampleLabel(PyObject *self, void *)
{
    PyObject *label = reinterpret_cast<Sample *>(self)->label;
    Py_INCREF(label);
    return label;
}

PyObject *sampleValue(PyObject *self, void *)
{
    return PyFloat_FromDouble(reinterpret_cast<Sample *>(self)->value);
}

PyGetSetDef sampleGetSet[] = {
    {"label", sampleLabel, nullptr, nullptr, nullptr},
    {"value", sampleValue, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject sampleType = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject *mean(PyObject *, PyObject *list)
{
    Py_ssize_t size = PySequence_Size(list);
    double sum = 0;
    int used = 0;

    if (size < 0)
        return nullptr;
    for (Py_ssize_t i = 0; i < size; ++i)
    {
        PyObject *item = PySequence_GetItem(list, i);  // ACCEPTED
        if (!item)
            return nullptr;
        if (!PyObject_TypeCheck(item, &sampleType))
        {
            Py_DECREF(item);
            PyErr_SetString(PyExc_TypeError, "not a sample");
            return nullptr;
        }
        auto *sample = reinterpret_cast<Sample *>(item);
        if (!sample->valid)  // ACCEPTED
        {
#ifndef BUG
            Py_DECREF(item);
#endif
            continue;  // GUILTY
        }
        sum += sample->value;
        ++used;
        Py_DECREF(item);
    }
    return PyFloat_FromDouble(used ? sum / used : 0);
}

// {label: [sample, ...]}
PyObject *group(PyObject *, PyObject *iterable)
{
    Own iterator(PyObject_GetIter(iterable));
    PyObject *groups = PyDict_New();

    if (!iterator || !groups)
        goto fail;
    while (PyObject *next = PyIter_Next(iterator.get()))
    {
        Own item(next);
        Own label(PyObject_GetAttrString(item.get(), "label"));
        if (!label)
            goto fail;
        PyObject *known = PyDict_GetItemWithError(groups, label.get());  // borrowed
        if (!known)
        {
            Own fresh(PyList_New(0));
            if (!fresh || PyDict_SetItem(groups, label.get(), fresh.get()) < 0)
                goto fail;
            known = fresh.get();
        }
        if (PyList_Append(known, item.get()) < 0)
            goto fail;
    }
    if (!PyErr_Occurred())
        return groups;
fail:
    Py_XDECREF(groups);
    return nullptr;
}

PyMethodDef methods[] = {
    {"mean", mean, METH_O, "the mean of the valid samples"},
    {"group", group, METH_O, "samples by their label"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sensor", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyObject *createModule()
{
    sampleType.tp_name = "sensor.Sample";
    sampleType.tp_basicsize = sizeof(Sample);
    sampleType.tp_flags = Py_TPFLAGS_DEFAULT;
    sampleType.tp_new = PyType_GenericNew;
    sampleType.tp_init = sampleInit;
    sampleType.tp_dealloc = sampleDealloc;
    sampleType.tp_getset = sampleGetSet;
    if (PyType_Ready(&sampleType) < 0)
        return nullptr;
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "Sample", reinterpret_cast<PyObject *>(&sampleType)) < 0)
        Py_CLEAR(module);
    return module;
}

const char script[] = R"(
import sensor

def series(n, bad=()):
    return [sensor.Sample("abc"[i % 3] + str(n), i * 1.5 + n, i not in bad) for i in range(12)]

for n in range(8):
    samples = series(n, (4, 9) if n in (2, 5) else ())
    groups = sensor.group(reversed(samples))
    best = max(samples, key=lambda s: s.value)
    print(n, "%.3f" % sensor.mean(samples), sorted(groups), best.label)
try:
    sensor.mean(series(9) + [None])
except TypeError as error:
    print(error)
)";

}

int main()
{
    PyImport_AppendInittab("sensor", createModule);
    Py_InitializeEx(0);
    int rc = PyRun_SimpleString(script);
    if (Py_FinalizeEx() < 0)
        rc = 1;
    return rc ? 1 : 0;
}
