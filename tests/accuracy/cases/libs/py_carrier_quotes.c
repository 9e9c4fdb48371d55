/* summary: cheapest() goes to the next carrier without Py_DECREF of the quote when a carrier has no price for the parcel
 * kind: missing-put
 * counts: surplus
 * objects: 6
 * track: cpython
 * packages: python3-embed
 * build: gcc -Og -g
 * exit: 0
 */
/*
 * Chooses the cheapest carrier for the parcels of a shop. Carriers are written
 * in Python by the people who know their price lists; this is the part of the
 * order system that asks them.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>
#include <string.h>

static const char rules[] =
	"class Quote:\n"
	"    def __init__(self, carrier, price, days):\n"
	"        self.carrier = carrier\n"
	"        self.price = price\n"
	"        self.days = days\n"
	"\n"
	"class Carrier:\n"
	"    def __init__(self, name, base, per_kg, most):\n"
	"        self.name, self.base, self.per_kg, self.most = name, base, per_kg, most\n"
	"        self.booked = []\n"
	"    def quote(self, zone, grams):\n"
	"        if grams > self.most:\n"
	"            return Quote(self.name, None, 0)\n"
	"        return Quote(self.name, self.base + grams * self.per_kg // 1000 + 90 * zone, 1 + zone)\n"
	"    def book(self, order, quote):\n"
	"        if quote.days > 3:\n"
	"            raise ValueError('too slow for order %d' % order)\n"
	"        self.booked.append((order, quote.price))\n"
	"\n"
	"class Island(Carrier):\n"
	"    def quote(self, zone, grams):\n"
	"        if zone < 2:\n"
	"            return None\n"
	"        return super().quote(zone - 2, grams)\n"
	"\n"
	"carriers = [\n"
	"    Carrier('post', 390, 120, 10000),\n"
	"    Carrier('bike', 250, 600, 4000),\n"
	"    Island('ferry', 700, 80, 30000),\n"
	"    Carrier('truck', 1250, 40, 100000),\n"
	"]\n";

struct parcel {
	int order;
	int zone;
	int grams;
};

struct desk {
	PyObject *module;
	PyObject *carriers;	/* the list of the module */
	long total;
	int booked;
	int refused;
	int none;
};

/* An int attribute. -1 with the exception set if there is none. */
static int
attr_long(PyObject *object, const char *name, long *value)
{
	PyObject *attr = PyObject_GetAttrString(object, name);

	if (!attr)
		return -1;
	*value = PyLong_AsLong(attr);
	Py_DECREF(attr);
	if (*value == -1 && PyErr_Occurred())
		return -1;
	return 0;
}

static int
desk_open(struct desk *desk)
{
	PyObject *dict, *result;

	memset(desk, 0, sizeof(*desk));
	desk->module = PyModule_New("carriers");
	if (!desk->module)
		return -1;
	dict = PyModule_GetDict(desk->module);
	if (PyDict_SetItemString(dict, "__builtins__", PyEval_GetBuiltins()) < 0)
		return -1;
	result = PyRun_String(rules, Py_file_input, dict, dict);
	if (!result)
		return -1;
	Py_DECREF(result);
	desk->carriers = PyObject_GetAttrString(desk->module, "carriers");
	if (!desk->carriers || !PyList_Check(desk->carriers))
		return -1;
	return 0;
}

static void
desk_close(struct desk *desk)
{
	Py_CLEAR(desk->carriers);
	Py_CLEAR(desk->module);
}

/*
 * The best quote and its carrier, two new references. 1 if there is one, 0 if
 * nobody takes the parcel, -1 with an exception.
 */
static int
cheapest(struct desk *desk, const struct parcel *parcel, PyObject **carrier_out, PyObject **quote_out)
{
	PyObject *best = NULL, *best_carrier = NULL;
	long best_price = 0;
	Py_ssize_t i;

	for (i = 0; i < PyList_GET_SIZE(desk->carriers); i++) {
		PyObject *carrier = PyList_GET_ITEM(desk->carriers, i);
		PyObject *quote, *price;
		long cents;

		quote = PyObject_CallMethod(carrier, "quote", "ii", parcel->zone, parcel->grams);
		if (!quote)
			goto fail;
		if (quote == Py_None) {
			Py_DECREF(quote);
			continue;
		}
		price = PyObject_GetAttrString(quote, "price");
		if (!price) {
			Py_DECREF(quote);
			goto fail;
		}
		if (price == Py_None) {
			Py_DECREF(price);
#ifndef BUG
			Py_DECREF(quote);
#endif
			continue; /* GUILTY */
		}
		cents = PyLong_AsLong(price);
		Py_DECREF(price);
		if (cents == -1 && PyErr_Occurred()) {
			Py_DECREF(quote);
			goto fail;
		}
		if (best && cents >= best_price) {
			Py_DECREF(quote);
			continue;
		}
		Py_XSETREF(best, quote);
		Py_INCREF(carrier);
		Py_XSETREF(best_carrier, carrier);
		best_price = cents;
	}
	if (!best)
		return 0;
	*quote_out = best;
	*carrier_out = best_carrier;
	return 1;

fail:
	Py_XDECREF(best);
	Py_XDECREF(best_carrier);
	return -1;
}

static int
book(struct desk *desk, const struct parcel *parcel)
{
	PyObject *carrier, *quote, *result;
	long price;
	int found = cheapest(desk, parcel, &carrier, &quote);

	if (found < 0)
		return -1;
	if (!found) {
		desk->none++;
		return 0;
	}

	result = PyObject_CallMethod(carrier, "book", "iO", parcel->order, quote);
	Py_DECREF(carrier);
	if (!result) {
		Py_DECREF(quote);
		if (!PyErr_ExceptionMatches(PyExc_ValueError))
			return -1;
		PyErr_Clear();
		desk->refused++;
		return 0;
	}
	Py_DECREF(result);
	if (attr_long(quote, "price", &price) < 0) {
		Py_DECREF(quote);
		return -1;
	}
	Py_DECREF(quote);
	desk->total += price;
	desk->booked++;
	return 0;
}

static int
report(struct desk *desk)
{
	Py_ssize_t i;

	for (i = 0; i < PyList_GET_SIZE(desk->carriers); i++) {
		PyObject *carrier = PyList_GET_ITEM(desk->carriers, i);
		PyObject *name = PyObject_GetAttrString(carrier, "name");
		PyObject *booked = PyObject_GetAttrString(carrier, "booked");

		if (!name || !booked) {
			Py_XDECREF(name);
			Py_XDECREF(booked);
			return -1;
		}
		printf("%-6s %zd\n", PyUnicode_AsUTF8(name), PyObject_Length(booked));
		Py_DECREF(name);
		Py_DECREF(booked);
	}
	printf("%d booked for %ld, %d refused, %d without a carrier\n",
	       desk->booked, desk->total, desk->refused, desk->none);
	return 0;
}

int
main(void)
{
	struct desk desk;
	int i, status = 0;

	Py_InitializeEx(0);
	if (desk_open(&desk) < 0)
		status = 1;
	for (i = 0; !status && i < 30; i++) {
		struct parcel parcel = { 1000 + i, i % 5, 300 + i * 731 % 4200 };

		if (i % 9 == 7)
			parcel.grams *= 4;
		if (book(&desk, &parcel) < 0)
			status = 1;
	}
	if (!status && report(&desk) < 0)
		status = 1;
	if (status)
		PyErr_Print();
	desk_close(&desk);
	if (Py_FinalizeEx() < 0)
		status = 1;
	return status;
}
