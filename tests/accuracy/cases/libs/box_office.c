/* summary: hall_place() gives the booking back when PyList_SetItem() fails, which has discarded it already
 * kind: extra-put
 * counts: deficit
 * objects: 15
 * track: cpython
 * packages: python3-embed
 * build: gcc -O1 -g
 * exit: 0
 */
/*
 * box_office - sells the seats of a theatre's halls.  A script of the house
 * says which seat an order gets and what it costs; halls, seats and the books
 * are kept here.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NHALLS 3
#define NPARTS 24
#define NORDERS 90

typedef struct {
    PyObject_HEAD
    PyObject *guest;            /* str */
    PyObject *note;             /* whatever the script attaches, or NULL */
    Py_ssize_t seat;
    double parts[NPARTS];       /* the price, part by part */
    int nparts;
} Booking;

struct hall {
    const char *name;
    Py_ssize_t size;
    PyObject *seats;            /* list of bookings and None, owned */
    int sold, refused, moved;
};

static const char script[] =
    "import box_office\n"
    "SURNAMES = ('Adler', 'Brandt', 'Conrad', 'Dietz', 'Ebert', 'Falk', 'Gruber')\n"
    "HALLS = ('main', 'studio', 'cellar')\n"
    "class Rate:\n"
    "    def __init__(self, base, extras):\n"
    "        self.base, self.extras = base, extras\n"
    "        self.used = 0\n"
    "    def parts(self, n):\n"
    "        self.used += 1\n"
    "        return [self.base] + [e for k, e in enumerate(self.extras) if n % (k + 2) == 0]\n"
    "RATES = {'main': Rate(42.0, [3.5, 1.25]), 'studio': Rate(25.0, [2.0]), 'cellar': Rate(12.5, [])}\n"
    "notes = []\n"
    "def order(n):\n"
    "    hall = HALLS[n % 3 if n % 7 else 0]\n"
    "    if n % 19 == 4:\n"
    "        return None\n"
    "    seat = n // 3 if n % 4 else -n - 1\n"
    "    guest = SURNAMES[n % len(SURNAMES)] + ' ' + str(n)\n"
    "    return hall, seat, guest, RATES[hall].parts(n)\n"
    "def placed(hall, booking):\n"
    "    if booking.total() > 44:\n"
    "        booking.note = [hall, 'programme']\n"
    "        notes.append(booking.guest)\n"
    "def evening(hall, count):\n"
    "    for seat in range(0, count, 5):\n"
    "        try:\n"
    "            box_office.move(hall, seat, seat + 9)\n"
    "        except (IndexError, LookupError):\n"
    "            pass\n"
    "    return sum(r.used for r in RATES.values()) + len(notes)\n";

static struct hall halls[NHALLS] = {
    { "main", 34, NULL, 0, 0, 0 },
    { "studio", 22, NULL, 0, 0, 0 },
    { "cellar", 16, NULL, 0, 0, 0 },
};
static PyTypeObject *booking_type;      /* owned */

/* ---- bookings ---------------------------------------------------------- */

static int Booking_traverse(Booking *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->guest);
    Py_VISIT(self->note);
    return 0;
}

static int Booking_clear(Booking *self)
{
    Py_CLEAR(self->guest);
    Py_CLEAR(self->note);
    return 0;
}

static void Booking_dealloc(Booking *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    Booking_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *Booking_total(Booking *self, PyObject *Py_UNUSED(ignored))
{
    double sum = 0;

    for (int i = 0; i < self->nparts; i++)
        sum += self->parts[i];
    return PyFloat_FromDouble(sum);
}

static PyMethodDef Booking_methods[] = {
    { "total", (PyCFunction)Booking_total, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyMemberDef Booking_members[] = {
    { "guest", T_OBJECT_EX, offsetof(Booking, guest), READONLY, NULL },
    { "note", T_OBJECT, offsetof(Booking, note), 0, NULL },
    { "seat", T_PYSSIZET, offsetof(Booking, seat), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

static PyType_Slot Booking_slots[] = {
    { Py_tp_dealloc, Booking_dealloc }, { Py_tp_traverse, Booking_traverse }, { Py_tp_clear, Booking_clear },
    { Py_tp_methods, Booking_methods }, { Py_tp_members, Booking_members },   { 0, NULL },
};

static PyType_Spec Booking_spec = {
    "box_office.Booking", sizeof(Booking), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, Booking_slots,
};

/* A booking for an order of the script: (hall, seat, guest, parts). */
static Booking *booking_new(PyObject *order)
{
    Booking *b = (Booking *)booking_type->tp_alloc(booking_type, 0);
    PyObject *parts = PyTuple_GET_ITEM(order, 3);
    Py_ssize_t n = PyList_GET_SIZE(parts);

    if (!b)
        return NULL;
    b->seat = PyLong_AsSsize_t(PyTuple_GET_ITEM(order, 1));
    b->guest = Py_NewRef(PyTuple_GET_ITEM(order, 2));
    for (Py_ssize_t i = 0; i < n && i < NPARTS; i++)
        b->parts[b->nparts++] = PyFloat_AsDouble(PyList_GET_ITEM(parts, i));
    if (PyErr_Occurred()) {
        Py_DECREF(b);
        return NULL;
    }
    return b;
}

/* ---- halls ------------------------------------------------------------- */

static struct hall *find_hall(const char *name)
{
    for (int i = 0; i < NHALLS; i++)
        if (name && !strcmp(halls[i].name, name))
            return &halls[i];
    return NULL;
}

static int hall_open(struct hall *h)
{
    h->seats = PyList_New(h->size);
    if (!h->seats)
        return -1;
    for (Py_ssize_t i = 0; i < h->size; i++)
        PyList_SET_ITEM(h->seats, i, Py_NewRef(Py_None));
    return 0;
}

/* Takes the booking over, whether there is such a seat or not. */
static int hall_place(struct hall *h, Booking *b, Py_ssize_t seat)
{
    if (seat < 0)
        seat = h->size + (seat % 5 - 1) * 2;    /* any seat at the back */
    b->seat = seat;
    if (PyList_SetItem(h->seats, seat, (PyObject *)b) < 0) {    /* ACCEPTED */
        PyErr_Clear();
        h->refused++;
#ifdef BUG
        Py_DECREF(b);   /* GUILTY */
#endif
        return -1;
    }
    h->sold++;
    return 0;
}

static PyObject *office_move(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_ssize_t from, to;
    const char *name;
    struct hall *h;
    PyObject *b;

    if (!PyArg_ParseTuple(args, "snn", &name, &from, &to))
        return NULL;
    h = find_hall(name);
    if (!h)
        return PyErr_Format(PyExc_LookupError, "no hall %s", name);
    b = PyList_GetItem(h->seats, from);
    if (!b)
        return NULL;
    if (PyList_SetItem(h->seats, to, Py_NewRef(b)) < 0)
        return NULL;
    if (b != Py_None)
        ((Booking *)b)->seat = to;
    PyList_SetItem(h->seats, from, Py_NewRef(Py_None));
    h->moved++;
    Py_RETURN_NONE;
}

static PyMethodDef office_methods[] = {
    { "move", office_move, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef office_module = {
    PyModuleDef_HEAD_INIT, "box_office", NULL, -1, office_methods, NULL, NULL, NULL, NULL,
};

static PyObject *office_init(void)
{
    PyObject *m = PyModule_Create(&office_module);

    if (!m)
        return NULL;
    booking_type = (PyTypeObject *)PyType_FromSpec(&Booking_spec);
    if (!booking_type || PyModule_AddObjectRef(m, "Booking", (PyObject *)booking_type) < 0) {
        Py_DECREF(m);
        return NULL;
    }
    return m;
}

/* ---- the day ----------------------------------------------------------- */

/* 1 if sold, 0 if there was nothing to sell or no such seat, -1 on error. */
static int handle_order(PyObject *globals, int n)
{
    PyObject *order, *r;
    struct hall *h;
    Booking *b;

    order = PyObject_CallFunction(PyDict_GetItemString(globals, "order"), "i", n);
    if (!order)
        return -1;
    if (order == Py_None) {
        Py_DECREF(order);
        return 0;
    }
    h = find_hall(PyUnicode_AsUTF8(PyTuple_GET_ITEM(order, 0)));
    b = h ? booking_new(order) : NULL;
    Py_DECREF(order);
    if (!b)
        return -1;
    if (hall_place(h, b, b->seat) < 0)
        return 0;
    r = PyObject_CallFunction(PyDict_GetItemString(globals, "placed"), "sO", h->name, b);
    Py_XDECREF(r);
    return r ? 1 : -1;
}

static int run_day(PyObject *globals)
{
    int sold = 0;

    for (int n = 0; n < NORDERS; n++) {
        int r = handle_order(globals, n);

        if (r < 0)
            return -1;
        sold += r;
    }
    for (int i = 0; i < NHALLS; i++) {
        PyObject *sum = PyObject_CallFunction(PyDict_GetItemString(globals, "evening"), "si", halls[i].name, 20);

        if (!sum)
            return -1;
        printf("%s: sold %d refused %d moved %d, evening %ld\n", halls[i].name, halls[i].sold, halls[i].refused,
               halls[i].moved, PyLong_AsLong(sum));
        Py_DECREF(sum);
    }
    return sold;
}

int main(void)
{
    PyObject *globals, *r;
    PyConfig config;
    int sold = -1;

    PyImport_AppendInittab("box_office", office_init);
    PyConfig_InitPythonConfig(&config);
    config.site_import = 0;
    config.use_hash_seed = 1;
    config.hash_seed = 7;
    if (PyStatus_Exception(Py_InitializeFromConfig(&config)))
        return 1;
    PyConfig_Clear(&config);
    globals = PyDict_New();
    PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins());
    r = PyRun_String(script, Py_file_input, globals, globals);
    if (r && hall_open(&halls[0]) == 0 && hall_open(&halls[1]) == 0 && hall_open(&halls[2]) == 0)
        sold = run_day(globals);
    if (PyErr_Occurred())
        PyErr_Print();
    Py_XDECREF(r);
    for (int i = 0; i < NHALLS; i++)
        Py_CLEAR(halls[i].seats);
    Py_DECREF(globals);
    Py_CLEAR(booking_type);
    printf("sold %d\n", sold);
    return Py_FinalizeEx() < 0 || sold < 0;
}
