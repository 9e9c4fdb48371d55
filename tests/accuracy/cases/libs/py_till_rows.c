/* summary: refund_row() puts the currency that PyDict_GetItemWithError lends it into a tuple, which steals the reference, without Py_INCREF
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: cpython
 * packages: python3-embed
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * The tills of a chain of shops write binary records. The module "till" hands
 * them to the Python program that makes the daily statement.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SALE = 1, REFUND = 2, FLOAT = 3 };

struct record {
	uint16_t shop;
	uint8_t kind;
	char currency[4];
	int32_t cents;
};

/* As they come from the tills. */
static struct record journal[64];
static int njournal;

static const char statement[] =
	"import till\n"
	"\n"
	"class Currency:\n"
	"    def __init__(self, code, digits):\n"
	"        self.code, self.digits = code, digits\n"
	"    def show(self, cents):\n"
	"        return '%.*f' % (self.digits, cents / 10 ** self.digits)\n"
	"\n"
	"currencies = {code: Currency(code, digits)\n"
	"              for code, digits in (('EUR', 2), ('CHF', 2), ('JPY', 0), ('SEK', 2))}\n"
	"\n"
	"class Account:\n"
	"    def __init__(self, shop, currency):\n"
	"        self.shop, self.currency, self.cents, self.refunds = shop, currency, 0, 0\n"
	"\n"
	"accounts = {}\n"
	"\n"
	"def account(shop, currency):\n"
	"    key = shop, currency.code\n"
	"    if key not in accounts:\n"
	"        accounts[key] = Account(shop, currency)\n"
	"    return accounts[key]\n"
	"\n"
	"def day(first, last):\n"
	"    for shop, currency, cents in till.sales(currencies, first, last):\n"
	"        account(shop, currency).cents += cents\n"
	"    for shop, currency, cents, fee in till.refunds(currencies, first, last):\n"
	"        a = account(shop, currency)\n"
	"        a.cents -= cents + fee\n"
	"        a.refunds += 1\n"
	"\n"
	"def report():\n"
	"    sums = {}\n"
	"    for a in accounts.values():\n"
	"        sums[a.currency.code] = sums.get(a.currency.code, 0) + a.cents\n"
	"    return ', '.join('%s %s' % (c, currencies[c].show(sums[c])) for c in sorted(sums))\n"
	"\n"
	"def close():\n"
	"    accounts.clear()\n"
	"    currencies.clear()\n";

/* Lends the currency of a record. */
static PyObject *
find_currency(PyObject *currencies, const struct record *record)
{
	PyObject *code = PyUnicode_FromStringAndSize(record->currency, 3);
	PyObject *currency;

	if (!code)
		return NULL;
	currency = PyDict_GetItemWithError(currencies, code);
	if (!currency && !PyErr_Occurred())
		PyErr_Format(PyExc_KeyError, "shop %d: currency %U", record->shop, code);
	Py_DECREF(code);
	return currency;
}

static PyObject *
sale_row(PyObject *currencies, const struct record *record)
{
	PyObject *currency = find_currency(currencies, record);

	if (!currency)
		return NULL;
	return Py_BuildValue("(iOi)", record->shop, currency, record->cents);
}

static long
refund_fee(const struct record *record)
{
	return record->cents > 5000 ? 0 : 50;
}

static PyObject *
refund_row(PyObject *currencies, const struct record *record)
{
	PyObject *currency, *shop, *cents, *fee, *row;

	currency = find_currency(currencies, record);
	if (!currency)
		return NULL;
	row = PyTuple_New(4);
	if (!row)
		return NULL;
	shop = PyLong_FromLong(record->shop);
	cents = PyLong_FromLong(record->cents);
	fee = PyLong_FromLong(refund_fee(record));
	if (!shop || !cents || !fee) {
		Py_XDECREF(shop);
		Py_XDECREF(cents);
		Py_XDECREF(fee);
		Py_DECREF(row);
		return NULL;
	}
#ifndef BUG
	Py_INCREF(currency);
#endif
	PyTuple_SET_ITEM(row, 0, shop);
	PyTuple_SET_ITEM(row, 1, currency); /* GUILTY */
	PyTuple_SET_ITEM(row, 2, cents);
	PyTuple_SET_ITEM(row, 3, fee);
	return row;
}

static PyObject *
collect(PyObject *args, int kind, PyObject *(*make)(PyObject *, const struct record *))
{
	PyObject *currencies, *rows;
	int first, last, i;

	if (!PyArg_ParseTuple(args, "O!ii", &PyDict_Type, &currencies, &first, &last))
		return NULL;
	if (first < 0 || last > njournal) {
		PyErr_SetString(PyExc_IndexError, "no such records");
		return NULL;
	}
	rows = PyList_New(0);
	if (!rows)
		return NULL;
	for (i = first; i < last; i++) {
		PyObject *row;

		if (journal[i].kind != kind)
			continue;
		row = make(currencies, &journal[i]);
		if (!row || PyList_Append(rows, row) < 0) {
			Py_XDECREF(row);
			Py_DECREF(rows);
			return NULL;
		}
		Py_DECREF(row);
	}
	return rows;
}

static PyObject *
till_sales(PyObject *self, PyObject *args)
{
	(void)self;
	return collect(args, SALE, sale_row);
}

static PyObject *
till_refunds(PyObject *self, PyObject *args)
{
	(void)self;
	return collect(args, REFUND, refund_row);
}

static PyMethodDef till_methods[] = {
	{ "sales", till_sales, METH_VARARGS, "(shop, currency, cents) of the sales" },
	{ "refunds", till_refunds, METH_VARARGS, "(shop, currency, cents, fee) of the refunds" },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef till_module = {
	PyModuleDef_HEAD_INIT, .m_name = "till", .m_size = -1, .m_methods = till_methods,
};

static PyObject *
till_init(void)
{
	return PyModule_Create(&till_module);
}

static void
read_tills(void)
{
	static const char codes[][4] = { "EUR", "CHF", "EUR", "JPY", "SEK", "EUR", "CHF" };
	int i;

	for (i = 0; i < 64; i++) {
		struct record *record = &journal[njournal++];

		record->shop = (uint16_t)(300 + i * 5 % 23);
		record->kind = i % 10 == 9 ? FLOAT : i % 16 == 13 ? REFUND : SALE;
		memcpy(record->currency, codes[i % 7], 4);
		record->cents = 250 + i * 977 % 7000;
	}
}

static int
make_statement(void)
{
	PyObject *module, *dict, *result;
	int first, status = -1;

	module = PyModule_New("statement");
	if (!module)
		return -1;
	dict = PyModule_GetDict(module);
	PyDict_SetItemString(dict, "__builtins__", PyEval_GetBuiltins());
	result = PyRun_String(statement, Py_file_input, dict, dict);
	if (!result)
		goto out;
	Py_DECREF(result);
	for (first = 0; first < njournal; first += 16) {
		result = PyObject_CallMethod(module, "day", "ii", first, first + 16);
		if (!result)
			goto out;
		Py_DECREF(result);
	}
	result = PyObject_CallMethod(module, "report", NULL);
	if (!result)
		goto out;
	printf("%s\n", PyUnicode_AsUTF8(result));
	Py_DECREF(result);
	result = PyObject_CallMethod(module, "close", NULL);
	if (!result)
		goto out;
	Py_DECREF(result);
	status = 0;
out:
	Py_DECREF(module);
	return status;
}

int
main(void)
{
	int status;

	read_tills();
	PyImport_AppendInittab("till", till_init);
	Py_InitializeEx(0);
	status = make_statement();
	if (status < 0)
		PyErr_Print();
	if (Py_FinalizeEx() < 0)
		status = -1;
	return status < 0;
}
