/* summary: evicting removes the entry from the dict (often its last reference) and only then shows the borrowed pointer to the hooks
 * kind: use-after-put
 * counts: none
 * objects: 93
 * track: cpython
 * packages: python3-embed
 * build: gcc -O2 -g
 * exit: 0
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdio.h>

/* ---- thumbs.Entry --------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *key;
    PyObject *pixels;
    Py_ssize_t size;
    int hits;
} Entry;

static void entry_dealloc(Entry *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_CLEAR(self->key);
    Py_CLEAR(self->pixels);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef entry_members[] = {
    {"key", T_OBJECT, offsetof(Entry, key), READONLY, NULL},
    {"pixels", T_OBJECT, offsetof(Entry, pixels), READONLY, NULL},
    {"size", T_PYSSIZET, offsetof(Entry, size), READONLY, NULL},
    {"hits", T_INT, offsetof(Entry, hits), READONLY, NULL},
    {NULL}
};

static PyType_Slot entry_slots[] = {
    {Py_tp_dealloc, entry_dealloc},
    {Py_tp_members, entry_members},
    {0, NULL}
};

static PyType_Spec entry_spec = {
    .name = "thumbs.Entry",
    .basicsize = sizeof(Entry),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = entry_slots,
};

/* ---- the cache ------------------------------------------------------ */

struct cache;

typedef void (*evict_hook)(struct cache *c, Entry *e);

struct cache {
    PyTypeObject *entry_type;
    PyObject *by_key;           /* dict: key -> Entry */
    PyObject *order;            /* list of keys, oldest first */
    Py_ssize_t capacity;
    const evict_hook *hooks;
    /* filled by the hooks */
    Py_ssize_t bytes;
    int evicted, evicted_cold;
    Py_ssize_t biggest_evicted;
};

static void hook_account(struct cache *c, Entry *e)
{
    c->bytes -= e->size;
    c->evicted++;
}

static void hook_cold(struct cache *c, Entry *e)
{
    if (e->hits == 0)
        c->evicted_cold++;
}

static void hook_biggest(struct cache *c, Entry *e)
{
    if (e->size > c->biggest_evicted)
        c->biggest_evicted = e->size;
}

static const evict_hook standard_hooks[] = { hook_account, hook_cold, hook_biggest, NULL };

static struct cache the_cache = { .capacity = 40, .hooks = standard_hooks };

static void run_hooks(struct cache *c, Entry *e)
{
    for (const evict_hook *h = c->hooks; *h; h++)
        (*h)(c, e);
}

static int cache_evict_oldest(struct cache *c)
{
    PyObject *key = PyList_GetItem(c->order, 0);            /* borrowed, as is the entry */
    Entry *victim;

    if (!key)
        return -1;
    victim = (Entry *)PyDict_GetItemWithError(c->by_key, key);
    if (!victim)
        return -1;
#ifdef BUG
    if (PyDict_DelItem(c->by_key, key) < 0)                 /* GUILTY */
        return -1;
    run_hooks(c, victim);                                   /* ACCEPTED */
#else
    run_hooks(c, victim);
    if (PyDict_DelItem(c->by_key, key) < 0)
        return -1;
#endif
    return PySequence_DelItem(c->order, 0);
}

static Entry *entry_new(struct cache *c, PyObject *key, PyObject *pixels)
{
    Entry *e = PyObject_New(Entry, c->entry_type);

    if (!e)
        return NULL;
    e->key = Py_NewRef(key);
    e->pixels = Py_NewRef(pixels);
    e->size = PyBytes_GET_SIZE(pixels);
    e->hits = 0;
    return e;
}

/* Moves a key to the young end. */
static int cache_touch(struct cache *c, PyObject *key)
{
    Py_ssize_t i = PySequence_Index(c->order, key);
    PyObject *held;
    int rc;

    if (i < 0)
        return -1;
    held = Py_NewRef(PyList_GET_ITEM(c->order, i));
    rc = PySequence_DelItem(c->order, i);
    if (rc == 0)
        rc = PyList_Append(c->order, held);
    Py_DECREF(held);
    return rc;
}

/* ---- module functions ----------------------------------------------- */

static PyObject *thumbs_put(PyObject *mod, PyObject *args)
{
    struct cache *c = &the_cache;
    PyObject *key, *pixels;
    Entry *e;
    int known;

    if (!PyArg_ParseTuple(args, "UO!:put", &key, &PyBytes_Type, &pixels))
        return NULL;
    known = PyDict_Contains(c->by_key, key);
    if (known < 0)
        return NULL;
    if (known) {
        PyErr_SetObject(PyExc_KeyError, key);
        return NULL;
    }
    while (PyList_GET_SIZE(c->order) >= c->capacity)
        if (cache_evict_oldest(c) < 0)
            return NULL;
    e = entry_new(c, key, pixels);
    if (!e)
        return NULL;
    if (PyDict_SetItem(c->by_key, key, (PyObject *)e) < 0 || PyList_Append(c->order, key) < 0) {
        Py_DECREF(e);
        return NULL;
    }
    c->bytes += e->size;
    return (PyObject *)e;
}

static PyObject *thumbs_get(PyObject *mod, PyObject *key)
{
    struct cache *c = &the_cache;
    PyObject *e = PyDict_GetItemWithError(c->by_key, key);

    if (!e) {
        if (PyErr_Occurred())
            return NULL;
        Py_RETURN_NONE;
    }
    ((Entry *)e)->hits++;
    if (cache_touch(c, key) < 0)
        return NULL;
    return Py_NewRef(e);
}

static PyObject *thumbs_stats(PyObject *mod, PyObject *unused)
{
    struct cache *c = &the_cache;

    return Py_BuildValue("{s:n,s:n,s:i,s:i,s:n}", "entries", PyDict_Size(c->by_key),
                         "bytes", c->bytes, "evicted", c->evicted,
                         "cold", c->evicted_cold, "biggest", c->biggest_evicted);
}

static void thumbs_free(void *mod)
{
    Py_CLEAR(the_cache.by_key);
    Py_CLEAR(the_cache.order);
    Py_CLEAR(the_cache.entry_type);
}

static PyMethodDef thumbs_methods[] = {
    {"put", thumbs_put, METH_VARARGS, NULL},
    {"get", thumbs_get, METH_O, NULL},
    {"stats", thumbs_stats, METH_NOARGS, NULL},
    {NULL}
};

static struct PyModuleDef thumbs_module = {
    PyModuleDef_HEAD_INIT, .m_name = "thumbs", .m_size = 0,
    .m_methods = thumbs_methods, .m_free = thumbs_free,
};

PyMODINIT_FUNC PyInit_thumbs(void)
{
    PyObject *mod = PyModule_Create(&thumbs_module);

    if (!mod)
        return NULL;
    the_cache.entry_type = (PyTypeObject *)PyType_FromSpec(&entry_spec);
    the_cache.by_key = PyDict_New();
    the_cache.order = PyList_New(0);
    if (!the_cache.entry_type || !the_cache.by_key || !the_cache.order
        || PyModule_AddObjectRef(mod, "Entry", (PyObject *)the_cache.entry_type) < 0) {
        Py_DECREF(mod);
        return NULL;
    }
    return mod;
}

static const char script[] =
    "import thumbs\n"
    "pinned, found = [], 0\n"
    "for i in range(140):\n"
    "    e = thumbs.put('img%03d.png' % i, bytes(64 + (i * 53) % 400))\n"
    "    if i % 17 == 0:\n"
    "        pinned.append(e)\n"
    "    if i % 5 == 4 and thumbs.get('img%03d.png' % (i - 30)):\n"
    "        found += 1\n"
    "print(found, 'hits,', len(pinned), 'pinned,', pinned[0].key, 'still has', len(pinned[0].pixels))\n"
    "print(sorted(thumbs.stats().items()))\n"
    "del e, pinned\n";

int main(void)
{
    int rc;

    PyImport_AppendInittab("thumbs", PyInit_thumbs);
    Py_InitializeEx(0);
    rc = PyRun_SimpleString(script);
    return Py_FinalizeEx() < 0 || rc != 0;
}
