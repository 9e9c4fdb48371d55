/* summary: a slip without hours of its own gets the standard week in its tuple, which steals, without a reference
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: cpython
 * packages: python3-embed
 * build: gcc -O2 -g
 * exit: 0
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdio.h>

typedef struct {
    PyObject_HEAD
    long cents; /* for an hour */
    long hours;
    PyObject *label;
} WageObject;

typedef struct {
    PyObject *staff;    /* list of (name, Wage or None, hours) */
    PyObject *standard; /* Wage for who has none of his own */
    PyObject *bonus;    /* dict: name to Wage */
} Payroll;

static Payroll payroll;

static void wage_dealloc(WageObject *self)
{
    Py_XDECREF(self->label);
    Py_TYPE(self)->tp_free((PyObject *) self);
}

static PyObject *wage_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = { "cents", "label", NULL };
    long cents;
    PyObject *label = NULL;
    WageObject *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "l|U", keywords, &cents, &label))
        return NULL;
    if (cents <= 0) {
        PyErr_SetString(PyExc_ValueError, "nobody works for nothing");
        return NULL;
    }
    self = (WageObject *) type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->cents = cents;
    self->hours = 38;
    self->label = label ? Py_NewRef(label) : PyUnicode_FromString("tariff");
    return (PyObject *) self;
}

static PyObject *wage_week(WageObject *self, PyObject *args)
{
    long hours = self->hours;

    if (!PyArg_ParseTuple(args, "|l", &hours))
        return NULL;
    return PyLong_FromLong(self->cents * hours);
}

static PyMethodDef wage_methods[] = {
    { "week", (PyCFunction) wage_week, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef wage_members[] = {
    { "cents", T_LONG, offsetof(WageObject, cents), READONLY, NULL },
    { "label", T_OBJECT, offsetof(WageObject, label), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyTypeObject WageType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "payroll.Wage",
    .tp_basicsize = sizeof(WageObject),
    .tp_dealloc = (destructor) wage_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = wage_methods,
    .tp_members = wage_members,
    .tp_new = wage_new,
};

/* The tuple (name, wage, hours) of a slip. */
static PyObject *slip_from(PyObject *name, PyObject *wage, PyObject *hours)
{
    PyObject *slip = PyTuple_New(3);

    if (!slip)
        return NULL;
    PyTuple_SET_ITEM(slip, 0, Py_NewRef(name));
    if (wage == Py_None) {
#ifdef BUG
        PyTuple_SET_ITEM(slip, 1, payroll.standard); /* GUILTY */
#else
        PyTuple_SET_ITEM(slip, 1, Py_NewRef(payroll.standard));
#endif
    } else {
        PyTuple_SET_ITEM(slip, 1, Py_NewRef(wage));
    }
    if (PyLong_Check(hours))
        PyTuple_SET_ITEM(slip, 2, Py_NewRef(hours));
    else
        PyTuple_SET_ITEM(slip, 2, PyLong_FromLong(38));
    return slip;
}

static PyObject *payroll_hire(PyObject *module, PyObject *args)
{
    PyObject *name, *wage = Py_None, *hours = Py_None, *entry;
    int failed;

    (void) module;
    if (!PyArg_ParseTuple(args, "U|OO", &name, &wage, &hours))
        return NULL;
    if (wage != Py_None && !PyObject_TypeCheck(wage, &WageType)) {
        PyErr_Format(PyExc_TypeError, "%U needs a wage", name);
        return NULL;
    }
    entry = PyTuple_Pack(3, name, wage, hours);
    if (!entry)
        return NULL;
    failed = PyList_Append(payroll.staff, entry);
    Py_DECREF(entry);
    if (failed < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *payroll_reward(PyObject *module, PyObject *args)
{
    PyObject *name, *wage;

    (void) module;
    if (!PyArg_ParseTuple(args, "UO!", &name, &WageType, &wage))
        return NULL;
    if (PyDict_SetItem(payroll.bonus, name, wage) < 0)
        return NULL;
    return PyLong_FromSsize_t(PyDict_Size(payroll.bonus));
}

static PyObject *payroll_slips(PyObject *module, PyObject *unused)
{
    Py_ssize_t length = PyList_Size(payroll.staff);
    PyObject *slips = PyList_New(length);

    (void) module;
    (void) unused;
    if (!slips)
        return NULL;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *entry = PyList_GetItem(payroll.staff, i);
        PyObject *name = PyTuple_GET_ITEM(entry, 0);
        PyObject *wage = PyDict_GetItem(payroll.bonus, name);
        PyObject *slip = slip_from(name, wage ? wage : PyTuple_GET_ITEM(entry, 1), PyTuple_GET_ITEM(entry, 2));

        if (!slip) {
            Py_DECREF(slips);
            return NULL;
        }
        PyList_SET_ITEM(slips, i, slip);
    }
    return slips;
}

static PyObject *payroll_standard(PyObject *module, PyObject *unused)
{
    (void) module;
    (void) unused;
    return Py_NewRef(payroll.standard);
}

static PyMethodDef methods[] = {
    { "hire", payroll_hire, METH_VARARGS, NULL },
    { "reward", payroll_reward, METH_VARARGS, NULL },
    { "slips", payroll_slips, METH_NOARGS, NULL },
    { "standard", payroll_standard, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "payroll", .m_size = -1,
                                         .m_methods = methods };

static PyObject *init_payroll(void)
{
    PyObject *module;

    if (PyType_Ready(&WageType) < 0)
        return NULL;
    module = PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "Wage", (PyObject *) &WageType) < 0)
        Py_CLEAR(module);
    return module;
}

static const char script[] =
    "import payroll\n"
    "wages = [payroll.Wage(2100 + 150 * i, 'group %d' % i) for i in range(6)]\n"
    "for i, name in enumerate(['Anke', 'Bodo', 'Carla', 'Dirk', 'Elif', 'Fred', 'Greta', 'Heiko', 'Ilse']):\n"
    "    payroll.hire(name, wages[i % 6], 20 + i * 2)\n"
    "payroll.hire('Jutta')\n"
    "payroll.hire('Klaus', wages[2])\n"
    "for name in ['Maren', 'Nils', 'Olga', 'Pavel', 'Rosa', 'Sven']:\n"
    "    payroll.hire(name, payroll.standard(), 35)\n"
    "try:\n"
    "    payroll.hire('Lars', 12)\n"
    "except TypeError as error:\n"
    "    print(error)\n"
    "try:\n"
    "    payroll.Wage(0)\n"
    "except ValueError as error:\n"
    "    print(error)\n"
    "payroll.reward('Dirk', payroll.Wage(9900, 'bonus'))\n"
    "payroll.reward('Ilse', wages[5])\n"
    "total = 0\n"
    "for month in range(2):\n"
    "    for name, wage, hours in payroll.slips():\n"
    "        total += wage.week(hours)\n"
    "print(len(payroll.slips()), 'slips,', total, 'cents')\n"
    "print(payroll.standard().label)\n"
    "del wages, wage, name, hours\n";

int main(void)
{
    int status = 0;

    PyImport_AppendInittab("payroll", init_payroll);
    Py_Initialize();
    if (PyType_Ready(&WageType) < 0)
        return 1;
    payroll.staff = PyList_New(0);
    payroll.bonus = PyDict_New();
    payroll.standard = PyObject_CallFunction((PyObject *) &WageType, "ls", 2400L, "standard");
    if (!payroll.staff || !payroll.bonus || !payroll.standard || PyRun_SimpleString(script) < 0)
        status = 1;
    Py_CLEAR(payroll.staff);
    Py_CLEAR(payroll.bonus);
    Py_CLEAR(payroll.standard);
    return Py_FinalizeEx() < 0 ? 1 : status;
}
