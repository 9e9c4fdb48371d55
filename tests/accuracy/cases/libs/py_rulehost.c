/*
 * summary: a muted rule returns before the exception that was fetched from the interpreter is given back
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: PyObject
 * packages: python3-embed
 * build: gcc -O2 -g
 */
/* Alarm rules of a pumping station: the operators write them as Python expressions, this host evaluates them
 * against the readings of each cycle. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RULES = 8, MAX_FAULTS = 2, LOG_LINES = 16 };

struct rule {
	char name[32];
	PyObject *code;
	PyObject *action; /* callable or NULL */
	unsigned fired, faults;
	bool muted;
};

struct host {
	struct rule rules[MAX_RULES];
	size_t count;
	PyObject *globals;
	char log[LOG_LINES][120];
	size_t lines;
	unsigned swallowed;
};

static void host_log(struct host *h, const char *who, const char *what)
{
	if (h->lines < LOG_LINES)
		snprintf(h->log[h->lines++], sizeof(h->log[0]), "%s: %s", who, what);
}

/* Takes the pending exception away from the interpreter and notes it. */
static void rule_fault(struct host *h, struct rule *r)
{
	PyObject *type, *value, *tb, *text;
	const char *utf8;

	PyErr_Fetch(&type, &value, &tb);
	if (!type)
		return;
	PyErr_NormalizeException(&type, &value, &tb);
	r->faults++;
	if (r->muted) {
		h->swallowed++;
		Py_XDECREF(tb);
		Py_DECREF(type); /* ACCEPTED */
#ifndef BUG
		Py_DECREF(value);
#endif
		return; /* GUILTY */
	}
	text = PyObject_Str(value);
	utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
	if (!utf8)
		PyErr_Clear();
	host_log(h, r->name, utf8 ? utf8 : ((PyTypeObject *)type)->tp_name);
	if (r->faults >= MAX_FAULTS) {
		r->muted = true;
		host_log(h, r->name, "muted");
	}
	Py_XDECREF(text);
	Py_XDECREF(tb);
	Py_DECREF(value);
	Py_DECREF(type);
}

static bool host_open(struct host *h, const char *prelude)
{
	PyObject *result, *builtins;

	memset(h, 0, sizeof(*h));
	h->globals = PyDict_New();
	if (!h->globals)
		return false;
	builtins = PyEval_GetBuiltins();
	if (PyDict_SetItemString(h->globals, "__builtins__", builtins) < 0)
		goto fail;
	result = PyRun_String(prelude, Py_file_input, h->globals, h->globals);
	if (!result)
		goto fail;
	Py_DECREF(result);
	return true;
fail:
	PyErr_Print();
	Py_CLEAR(h->globals);
	return false;
}

static struct rule *host_add(struct host *h, const char *name, const char *expression, const char *action)
{
	struct rule *r = &h->rules[h->count];
	PyObject *callable = NULL;

	if (h->count == MAX_RULES)
		return NULL;
	memset(r, 0, sizeof(*r));
	snprintf(r->name, sizeof(r->name), "%s", name);
	r->code = Py_CompileString(expression, name, Py_eval_input);
	if (!r->code) {
		rule_fault(h, r);
		return NULL;
	}
	if (action) {
		callable = PyDict_GetItemString(h->globals, action);
		if (!callable || !PyCallable_Check(callable)) {
			host_log(h, name, "no such action");
			Py_CLEAR(r->code);
			return NULL;
		}
		Py_INCREF(callable);
	}
	r->action = callable;
	h->count++;
	return r;
}

static PyObject *readings_dict(const double *levels, size_t n, int flow)
{
	PyObject *d = PyDict_New(), *list = PyList_New((Py_ssize_t)n), *number;

	if (!d || !list)
		goto fail;
	for (size_t i = 0; i < n; i++) {
		number = PyFloat_FromDouble(levels[i]);
		if (!number)
			goto fail;
		PyList_SET_ITEM(list, (Py_ssize_t)i, number);
	}
	if (PyDict_SetItemString(d, "levels", list) < 0)
		goto fail;
	number = PyLong_FromLong(flow);
	if (!number || PyDict_SetItemString(d, "flow", number) < 0) {
		Py_XDECREF(number);
		goto fail;
	}
	Py_DECREF(number);
	Py_DECREF(list);
	return d;
fail:
	Py_XDECREF(list);
	Py_XDECREF(d);
	return NULL;
}

static void rule_fire(struct host *h, struct rule *r, PyObject *readings)
{
	PyObject *args, *result;

	r->fired++;
	if (!r->action)
		return;
	args = Py_BuildValue("(sO)", r->name, readings);
	if (!args) {
		rule_fault(h, r);
		return;
	}
	result = PyObject_CallObject(r->action, args);
	Py_DECREF(args);
	if (!result) {
		rule_fault(h, r);
		return;
	}
	if (PyUnicode_Check(result))
		host_log(h, r->name, PyUnicode_AsUTF8(result));
	Py_DECREF(result);
}

static unsigned host_cycle(struct host *h, const double *levels, size_t n, int flow)
{
	PyObject *readings = readings_dict(levels, n, flow);
	unsigned fired = 0;

	if (!readings) {
		PyErr_Print();
		return 0;
	}
	for (size_t i = 0; i < h->count; i++) {
		struct rule *r = &h->rules[i];
		PyObject *result = PyEval_EvalCode(r->code, h->globals, readings);
		int truth;

		if (!result) {
			rule_fault(h, r);
			continue;
		}
		truth = PyObject_IsTrue(result);
		Py_DECREF(result);
		if (truth < 0) {
			rule_fault(h, r);
		} else if (truth) {
			rule_fire(h, r, readings);
			fired++;
		}
	}
	Py_DECREF(readings);
	return fired;
}

static void host_close(struct host *h)
{
	for (size_t i = 0; i < h->count; i++) {
		Py_CLEAR(h->rules[i].code);
		Py_CLEAR(h->rules[i].action);
	}
	h->count = 0;
	Py_CLEAR(h->globals);
}

static const char prelude[] =
	"def dry(levels):\n"
	"    return [i for i, v in enumerate(levels) if v < 0.2]\n"
	"def ring(name, readings):\n"
	"    return name + ' at flow ' + str(readings['flow'])\n"
	"def page(name, readings):\n"
	"    raise RuntimeError('pager is not connected')\n";

int main(void)
{
	static const double cycles[][3] = { { 1.4, 0.9, 2.2 }, { 1.3, 0.1, 2.3 }, { 0.0, 0.1, 2.5 }, { 1.0, 0.8, 2.0 }, { 1.1, 0.9, 2.1 } };
	static const int flows[] = { 40, 0, 0, 35, 0 };
	static const char *const bad = "max(levels) >";
	struct host host;
	unsigned fired = 0;
	bool ok;

	Py_InitializeEx(0);
	if (!host_open(&host, prelude))
		return 1;
	host_add(&host, "dry well", "dry(levels)", "ring");
	host_add(&host, "spread", "max(levels) - min(levels) > 2", "page");
	host_add(&host, "specific", "sum(levels) / flow > 0.5", "ring");
	host_add(&host, "pressure", "pressure > 4", NULL);
	host_add(&host, "syntax", bad, NULL);
	host_add(&host, "siren", "flow > 100", "siren");
	for (size_t i = 0; i < 5; i++)
		fired += host_cycle(&host, cycles[i], 3, flows[i]);
	for (size_t i = 0; i < host.lines; i++)
		puts(host.log[i]);
	printf("%u fired, %u faults swallowed\n", fired, host.swallowed);
	ok = host.count == 4 && host.swallowed == 4;
	host_close(&host);
	if (Py_FinalizeEx() < 0)
		return 1;
	return ok ? 0 : 1;
}
