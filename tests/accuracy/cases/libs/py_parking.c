/*
 * summary: settle() leaves its loop without releasing the item when one is no ticket or has not been stamped
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: PyObject
 * packages: python3-embed
 * build: gcc -O1 -g
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdio.h>

typedef struct {
    PyObject_HEAD
    PyObject *plate;
    long entered, left; /* minutes of the day; left is -1 until the ticket is stamped */
    PyObject *notes;
} Ticket;

static long tickets_sold;
static PyObject *ParkingError;
static PyTypeObject TicketType;

/* ---- Ticket ---- */

static PyObject *ticket_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"plate", "entered", NULL};
    PyObject *plate;
    long entered;
    Ticket *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Ul", names, &plate, &entered))
        return NULL;
    self = (Ticket *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    tickets_sold++;
    self->plate = Py_NewRef(plate);
    self->entered = entered;
    self->left = -1;
    self->notes = PyList_New(0);
    if (!self->notes) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void ticket_dealloc(Ticket *self)
{
    Py_XDECREF(self->plate);
    Py_XDECREF(self->notes);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *ticket_stamp(Ticket *self, PyObject *argument)
{
    long left = PyLong_AsLong(argument);

    if (left == -1 && PyErr_Occurred())
        return NULL;
    if (left < self->entered) {
        PyErr_Format(ParkingError, "%U leaves before it came", self->plate);
        return NULL;
    }
    self->left = left;
    return Py_NewRef((PyObject *)self);
}

static PyObject *ticket_note(Ticket *self, PyObject *text)
{
    if (PyList_Append(self->notes, text) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *ticket_get_notes(Ticket *self, void *unused)
{
    (void)unused;
    return PyList_AsTuple(self->notes);
}

static PyMethodDef ticket_methods[] = {
    {"stamp", (PyCFunction)ticket_stamp, METH_O, "Stamps the ticket at the exit."},
    {"note", (PyCFunction)ticket_note, METH_O, "Adds a note of the attendant."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef ticket_members[] = {
    {"plate", T_OBJECT_EX, offsetof(Ticket, plate), READONLY, NULL},
    {"entered", T_LONG, offsetof(Ticket, entered), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef ticket_getset[] = {
    {"notes", (getter)ticket_get_notes, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject TicketType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "parking.Ticket",
    .tp_basicsize = sizeof(Ticket),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = ticket_new,
    .tp_dealloc = (destructor)ticket_dealloc,
    .tp_methods = ticket_methods,
    .tp_members = ticket_members,
    .tp_getset = ticket_getset,
};

/* ---- module parking ---- */

static long price(const Ticket *ticket)
{
    long minutes = ticket->left - ticket->entered;

    return minutes <= 15 ? 0 : (minutes + 59) / 60 * 250;
}

/* Adds the price of a ticket to what its plate owes. */
static int charge(PyObject *accounts, Ticket *ticket)
{
    PyObject *old = PyDict_GetItemWithError(accounts, ticket->plate);
    long cents = price(ticket);
    PyObject *sum;
    int status;

    if (!old && PyErr_Occurred())
        return -1;
    if (old)
        cents += PyLong_AsLong(old);
    sum = PyLong_FromLong(cents);
    if (!sum)
        return -1;
    status = PyDict_SetItem(accounts, ticket->plate, sum);
    Py_DECREF(sum);
    return status;
}

static int check(PyObject *item)
{
    if (!PyObject_TypeCheck(item, &TicketType)) {
        PyErr_Format(PyExc_TypeError, "a ticket is expected, not %.50s", Py_TYPE(item)->tp_name);
        return -1;
    }
    if (((Ticket *)item)->left < 0) {
        PyErr_Format(ParkingError, "%U has not left", ((Ticket *)item)->plate);
        return -1;
    }
    return 0;
}

static PyObject *parking_settle(PyObject *module, PyObject *tickets)
{
    PyObject *accounts = PyDict_New();
    PyObject *iterator, *item;

    (void)module;
    if (!accounts)
        return NULL;
    iterator = PyObject_GetIter(tickets);
    if (!iterator) {
        Py_DECREF(accounts);
        return NULL;
    }
    while ((item = PyIter_Next(iterator))) {
        if (check(item) < 0) {
#ifndef BUG
            Py_DECREF(item);
#endif
            break; /* GUILTY */
        }
        if (charge(accounts, (Ticket *)item) < 0) {
            Py_DECREF(item);
            break;
        }
        Py_DECREF(item);
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred())
        Py_CLEAR(accounts);
    return accounts;
}

static PyObject *parking_longest(PyObject *module, PyObject *tickets)
{
    PyObject *fast = PySequence_Fast(tickets, "a sequence of tickets is expected");
    PyObject *best = NULL;

    (void)module;
    if (!fast)
        return NULL;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(fast, i);
        if (!PyObject_TypeCheck(item, &TicketType))
            continue;
        if (!best || price((Ticket *)item) > price((Ticket *)best))
            Py_XSETREF(best, Py_NewRef(item));
    }
    Py_DECREF(fast);
    if (!best)
        Py_RETURN_NONE;
    return best;
}

static PyMethodDef parking_methods[] = {
    {"settle", parking_settle, METH_O, "What each plate owes for stamped tickets."},
    {"longest", parking_longest, METH_O, "The dearest ticket of a sequence."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef parking_module = {
    PyModuleDef_HEAD_INIT, "parking", NULL, -1, parking_methods, NULL, NULL, NULL, NULL};

static PyObject *init_parking(void)
{
    PyObject *module;

    if (PyType_Ready(&TicketType) < 0)
        return NULL;
    module = PyModule_Create(&parking_module);
    if (!module)
        return NULL;
    ParkingError = PyErr_NewException("parking.Error", NULL, NULL);
    if (PyModule_AddObjectRef(module, "Error", ParkingError) < 0 ||
        PyModule_AddObjectRef(module, "Ticket", (PyObject *)&TicketType) < 0)
        Py_CLEAR(module);
    return module;
}

static const char day[] =
    "import parking\n"
    "def park(plate, came, went=None):\n"
    "    ticket = parking.Ticket(plate, came)\n"
    "    ticket.note('level %d' % (came % 3))\n"
    "    return ticket if went is None else ticket.stamp(went)\n"
    "decks = {\n"
    "    'east': [park('B-AX 1', 480, 545), park('B-CD 7', 500, 510), park('B-AX 1', 700, 900)],\n"
    "    'west': [park('M-QQ 3', 420, 1080), park('M-ZZ 9', 430), park('M-AB 4', 440, 470)],\n"
    "    'roof': [park('K-LM 5', 610, 640), 'lost ticket ' + str(610), park('K-LM 6', 620, 700)],\n"
    "    'yard': [park('S-EE 2', 365, 420), park('S-EE 8', 390), park('S-EE 9', 391)],\n"
    "}\n"
    "for name, tickets in decks.items():\n"
    "    try:\n"
    "        print(name, parking.settle(t for t in tickets))\n"
    "    except (parking.Error, TypeError) as error:\n"
    "        print(name, 'is not settled:', error)\n"
    "    dearest = parking.longest(tickets)\n"
    "    print(name, dearest.plate, dearest.notes)\n"
    "del decks, tickets, dearest\n";

int main(void)
{
    int status;

    PyImport_AppendInittab("parking", init_parking);
    Py_InitializeEx(0);
    status = PyRun_SimpleString(day);
    Py_CLEAR(ParkingError);
    if (Py_FinalizeEx() < 0 || status < 0)
        return 1;
    printf("closed, %ld tickets\n", tickets_sold);
    return 0;
}
