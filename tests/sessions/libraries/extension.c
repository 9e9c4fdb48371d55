// An extension module of CPython, whose Py_INCREF and Py_DECREF are inlined. It counts them itself.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define MOST 16

static long gets, puts_done;
static PyObject *kept[MOST];
static int count;

__attribute__((noinline)) static void take(PyObject *object) {
  Py_INCREF(object);
  gets++;
}

__attribute__((noinline)) static void give_back(PyObject *object) {
  puts_done++;
  Py_DECREF(object);
}

/// use(object, times): takes and gives back, and returns the object.
static PyObject *use(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *object;
  int times;
  if (!PyArg_ParseTuple(arguments, "Oi", &object, &times)) return NULL;
  for (int i = 0; i < times; i++) {
    take(object);
    give_back(object);
  }
  Py_INCREF(object);
  gets++;
  return object;
}

/// keep(object): takes a reference.
static PyObject *keep(PyObject *module, PyObject *object) {
  (void)module;
  if (count == MOST) return PyErr_NoMemory();
  take(object);
  kept[count++] = object;
  return PyLong_FromLong(count);
}

/// drop(): gives back what was kept last.
static PyObject *drop(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  if (count > 0) give_back(kept[--count]);
  return PyLong_FromLong(count);
}

static PyObject *counts(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  return Py_BuildValue("ll", gets, puts_done);
}

/// An object of the module's own type.
typedef struct {
  PyObject_HEAD long number;
} Posting;
static void posting_free(PyObject *posting) { PyObject_Free(posting); }
static PyTypeObject posting_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "session_extension.Posting",
                                    .tp_basicsize = sizeof(Posting), .tp_dealloc = posting_free,
                                    .tp_flags = Py_TPFLAGS_DEFAULT};

/// post(number): a Posting. Every fifth one is lost on the error path.
static PyObject *post(PyObject *module, PyObject *number) {
  (void)module;
  Posting *posting = PyObject_New(Posting, &posting_type);
  if (posting == NULL) return NULL;
  posting->number = PyLong_AsLong(number);
  if (posting->number % 5 == 4) {
    PyErr_SetString(PyExc_ValueError, "no posting of that number");
    return NULL;
  }
  return (PyObject *)posting;
}

static PyMethodDef methods[] = {
    {"post", post, METH_O, ""},      {"use", use, METH_VARARGS, ""},      {"keep", keep, METH_O, ""},
    {"drop", drop, METH_NOARGS, ""}, {"counts", counts, METH_NOARGS, ""}, {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "session_extension", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_session_extension(void) {
  return PyType_Ready(&posting_type) < 0 ? NULL : PyModule_Create(&definition);
}
