/* summary: month_total() leaves an entry whose account is closed out with continue, and keeps the reference to the account that the attribute's lookup returned
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: cpython
 * packages: python3-embed
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "continue between PyObject_GetAttrString() and Py_DECREF()"
 */
/*
 * Accounts with an embedded Python: Account is a type of this program, entries
 * are made by a script, and the sums are made here.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
	PyObject_HEAD
	long number;
	long balance;
	int closed;
} Account;

static PyTypeObject AccountType;

static PyObject *account_booked(PyObject *self, PyObject *args)
{
	Account *a = (Account *)self;
	long cents;

	if (!PyArg_ParseTuple(args, "l", &cents))
		return NULL;
	a->balance += cents;
	return Py_NewRef(self);
}

static PyObject *account_close(PyObject *self, PyObject *unused)
{
	(void)unused;
	((Account *)self)->closed = 1;
	Py_RETURN_NONE;
}

static PyObject *account_get_number(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromLong(((Account *)self)->number);
}

static int account_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	(void)kwargs;
	return PyArg_ParseTuple(args, "l", &((Account *)self)->number) ? 0 : -1;
}

static PyMethodDef account_methods[] = {
	{ "booked", account_booked, METH_VARARGS, NULL },
	{ "close", account_close, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef account_getset[] = {
	{ "number", account_get_number, NULL, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyTypeObject AccountType = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "books.Account",
	.tp_basicsize = sizeof(Account),
	.tp_flags = Py_TPFLAGS_DEFAULT,
	.tp_new = PyType_GenericNew,
	.tp_init = account_init,
	.tp_methods = account_methods,
	.tp_getset = account_getset,
};

static const char script[] =
	"class Entry:\n"
	"    def __init__(self, account, cents):\n"
	"        self.account = account\n"
	"        self.cents = cents\n"
	"def year():\n"
	"    accounts = [Account(1000 + n) for n in range(24)]\n"
	"    for n in (4, 11, 21):\n"
	"        accounts[n].booked(50).close()\n"
	"    months = []\n"
	"    for m in range(12):\n"
	"        months.append([Entry(accounts[(m * 2 + n) % 24], 100 * m + n)\n"
	"                       for n in range(2)])\n"
	"    return months\n";

static unsigned closed_entries;

/* All that was booked in a month, or -1. */
static long month_total(PyObject *month)
{
	Py_ssize_t n = PyList_Size(month);
	long total = 0;

	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *entry = PyList_GetItem(month, i);
		PyObject *account, *cents;

		account = PyObject_GetAttrString(entry, "account");	/* ACCEPTED */
		if (!account)
			return -1;
		if (Py_TYPE(account) != &AccountType || ((Account *)account)->closed) {
			closed_entries++;
#ifndef BUG
			Py_DECREF(account);
#endif
			continue;	/* GUILTY */
		}
		cents = PyObject_GetAttrString(entry, "cents");
		if (!cents) {
			Py_DECREF(account);
			return -1;
		}
		((Account *)account)->balance += PyLong_AsLong(cents);
		total += PyLong_AsLong(cents);
		Py_DECREF(cents);
		Py_DECREF(account);
	}
	return total;
}

/* The accounts of some months, each once. */
static PyObject *accounts_of(PyObject *year)
{
	PyObject *set = PySet_New(NULL);

	for (Py_ssize_t m = 0; set && m < PyList_Size(year); m++) {
		PyObject *month = PyList_GetItem(year, m);

		for (Py_ssize_t i = 0; i < PyList_Size(month); i++) {
			PyObject *a = PyObject_GetAttrString(PyList_GetItem(month, i), "account");

			if (!a || PySet_Add(set, a) < 0) {
				Py_XDECREF(a);
				Py_CLEAR(set);
				break;
			}
			Py_DECREF(a);
		}
	}
	return set;
}

static long balances(PyObject *set)
{
	PyObject *it = PyObject_GetIter(set), *a;
	long sum = 0;

	if (!it)
		return -1;
	while ((a = PyIter_Next(it))) {
		sum += ((Account *)a)->balance;
		Py_DECREF(a);
	}
	Py_DECREF(it);
	return sum;
}

static int books(void)
{
	PyObject *globals, *done, *year, *set;

	if (PyType_Ready(&AccountType) < 0)
		return 1;
	globals = PyDict_New();
	if (!globals || PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) < 0 ||
	    PyDict_SetItemString(globals, "Account", (PyObject *)&AccountType) < 0)
		return 1;
	done = PyRun_String(script, Py_file_input, globals, globals);
	if (!done)
		return 1;
	Py_DECREF(done);
	year = PyObject_CallNoArgs(PyDict_GetItemString(globals, "year"));
	if (!year)
		return 1;
	for (Py_ssize_t m = 0; m < PyList_Size(year); m++)
		printf("month %zd: %ld\n", m + 1, month_total(PyList_GetItem(year, m)));
	set = accounts_of(year);
	if (!set)
		return 1;
	printf("%zd accounts, balance %ld\n", PySet_Size(set), balances(set));
	Py_DECREF(set);
	Py_DECREF(year);
	PyDict_Clear(globals);
	Py_DECREF(globals);
	printf("%u entries on closed accounts\n", closed_entries);
	return 0;
}

int main(void)
{
	int rc;

	Py_InitializeEx(0);
	rc = books();
	if (rc)
		PyErr_Print();
	return Py_FinalizeEx() < 0 ? 1 : rc;
}
