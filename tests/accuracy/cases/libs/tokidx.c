/* summary: Index.excerpts appends a new tuple to the result list and does not drop its own reference (PyList_Append takes its own)
 * kind: missing-put
 * counts: surplus
 * objects: 12
 * track: cpython
 * packages: python3-embed
 * build: gcc -O0 -g
 * exit: 0
 */
/*
 * tokidx - a text indexer with an embedded Python for the queries.
 *
 * The C side provides a module "tokidx" with an Index type; the analysts
 * write their queries in Python against it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdio.h>
#include <string.h>

/* Index object: dict word -> list of (document, position) tuples */
typedef struct {
    PyObject_HEAD
    PyObject *postings;
    PyObject *documents;        /* list of str */
    Py_ssize_t tokens;
} IndexObject;

static int Index_init(IndexObject *self, PyObject *args, PyObject *kwds)
{
    static char *names[] = { NULL };

    if (!PyArg_ParseTupleAndKeywords(args, kwds, "", names))
        return -1;
    Py_XSETREF(self->postings, PyDict_New());
    Py_XSETREF(self->documents, PyList_New(0));
    self->tokens = 0;
    return self->postings && self->documents ? 0 : -1;
}

static int Index_traverse(IndexObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->postings);
    Py_VISIT(self->documents);
    return 0;
}

static int Index_clear(IndexObject *self)
{
    Py_CLEAR(self->postings);
    Py_CLEAR(self->documents);
    return 0;
}

static void Index_dealloc(IndexObject *self)
{
    PyTypeObject *tp = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    Index_clear(self);
    tp->tp_free((PyObject *)self);
    Py_DECREF(tp);
}

/* borrowed reference to the list of a word, created on demand */
static PyObject *posting_list(IndexObject *self, PyObject *word)
{
    PyObject *list = PyDict_GetItemWithError(self->postings, word);

    if (list != NULL || PyErr_Occurred())
        return list;
    list = PyList_New(0);
    if (list == NULL)
        return NULL;
    if (PyDict_SetItem(self->postings, word, list) < 0) {
        Py_DECREF(list);
        return NULL;
    }
    Py_DECREF(list);            /* the dict has it now */
    return list;
}

static int add_posting(IndexObject *self, PyObject *word, Py_ssize_t doc, Py_ssize_t pos)
{
    PyObject *list = posting_list(self, word);
    PyObject *entry;
    int rc;

    if (list == NULL)
        return -1;
    entry = Py_BuildValue("(nn)", doc, pos);
    if (entry == NULL)
        return -1;
    rc = PyList_Append(list, entry);
    Py_DECREF(entry);
    self->tokens++;
    return rc;
}

static PyObject *Index_add(IndexObject *self, PyObject *text)
{
    PyObject *words, *lower;
    Py_ssize_t doc, i;

    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "text expected");
        return NULL;
    }
    doc = PyList_GET_SIZE(self->documents);
    if (PyList_Append(self->documents, text) < 0)
        return NULL;
    lower = PyObject_CallMethod(text, "lower", NULL);
    if (lower == NULL)
        return NULL;
    words = PyObject_CallMethod(lower, "split", NULL);
    Py_DECREF(lower);
    if (words == NULL)
        return NULL;
    for (i = 0; i < PyList_GET_SIZE(words); i++) {
        if (add_posting(self, PyList_GET_ITEM(words, i), doc, i) < 0) {
            Py_DECREF(words);
            return NULL;
        }
    }
    Py_DECREF(words);
    return PyLong_FromSsize_t(doc);
}

static PyObject *Index_find(IndexObject *self, PyObject *word)
{
    PyObject *list = PyDict_GetItemWithError(self->postings, word);

    if (list == NULL) {
        if (PyErr_Occurred())
            return NULL;
        return PyTuple_New(0);
    }
    return PyList_AsTuple(list);
}

/* excerpts(word, width): [(document, "... excerpt ..."), ...] */
static PyObject *Index_excerpts(IndexObject *self, PyObject *args)
{
    PyObject *word, *list, *result;
    Py_ssize_t width, i;

    if (!PyArg_ParseTuple(args, "Un", &word, &width))
        return NULL;
    result = PyList_New(0);
    if (result == NULL)
        return NULL;
    list = PyDict_GetItemWithError(self->postings, word);
    for (i = 0; list != NULL && i < PyList_GET_SIZE(list); i++) {
        Py_ssize_t doc = PyLong_AsSsize_t(PyTuple_GET_ITEM(PyList_GET_ITEM(list, i), 0));
        PyObject *text = PyList_GetItem(self->documents, doc);
        PyObject *cut, *row;

        if (text == NULL)
            goto fail;
        cut = PyUnicode_Substring(text, 0, width);
        if (cut == NULL)
            goto fail;
        row = Py_BuildValue("(nN)", doc, cut);
        if (row == NULL)
            goto fail;
#ifdef BUG
        if (PyList_Append(result, row) < 0) /* GUILTY */
            goto fail;
#else
        if (PyList_Append(result, row) < 0) {
            Py_DECREF(row);
            goto fail;
        }
        Py_DECREF(row);
#endif
    }
    if (PyErr_Occurred())
        goto fail;
    return result;
fail:
    Py_DECREF(result);
    return NULL;
}

static PyObject *Index_count(IndexObject *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("(nn)", PyList_GET_SIZE(self->documents), self->tokens);
}

static PyMethodDef Index_methods[] = {
    { "add", (PyCFunction)Index_add, METH_O, NULL },
    { "find", (PyCFunction)Index_find, METH_O, NULL },
    { "excerpts", (PyCFunction)Index_excerpts, METH_VARARGS, NULL },
    { "count", (PyCFunction)Index_count, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL }
};

static PyType_Slot Index_slots[] = {
    { Py_tp_init, Index_init },
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_dealloc, Index_dealloc },
    { Py_tp_traverse, Index_traverse },
    { Py_tp_clear, Index_clear },
    { Py_tp_methods, Index_methods },
    { 0, NULL }
};

static PyType_Spec Index_spec = {
    .name = "tokidx.Index",
    .basicsize = sizeof(IndexObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = Index_slots,
};

static int tokidx_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&Index_spec);

    if (type == NULL || PyModule_AddObjectRef(module, "Index", type) < 0) {
        Py_XDECREF(type);
        return -1;
    }
    Py_DECREF(type);
    return 0;
}

static PyModuleDef_Slot module_slots[] = { { Py_mod_exec, tokidx_exec }, { 0, NULL } };
static struct PyModuleDef tokidx_module = {
    PyModuleDef_HEAD_INIT, .m_name = "tokidx", .m_size = 0, .m_slots = module_slots,
};

static PyObject *init_tokidx(void)
{
    return PyModuleDef_Init(&tokidx_module);
}

static const char script[] =
    "import tokidx\n"
    "def main():\n"
    "    nouns = ['pump', 'valve', 'sensor', 'motor', 'filter', 'relay', 'gasket']\n"
    "    verbs = ['leaks', 'stalls', 'drifts', 'hums', 'trips']\n"
    "    ix = tokidx.Index()\n"
    "    for i in range(300):\n"
    "        ix.add('Unit %d : %s %s near %s' % (i, nouns[i % 7], verbs[i % 5], nouns[i * 3 % 7]))\n"
    "        if i % 25 == 0:\n"
    "            ix.add('Recall notice %d' % (1000 + i))\n"
    "    hits = sum(len(ix.find(n)) for n in nouns)\n"
    "    recall = ix.excerpts('recall', 24)\n"
    "    missing = ix.find('compressor')\n"
    "    print(ix.count(), hits, len(recall), recall[-1][1], len(missing))\n"
    "main()\n";

int main(void)
{
    int rc;

    PyImport_AppendInittab("tokidx", init_tokidx);
    Py_InitializeEx(0);
    rc = PyRun_SimpleString(script);
    if (Py_FinalizeEx() < 0)
        rc = 1;
    return rc != 0;
}
