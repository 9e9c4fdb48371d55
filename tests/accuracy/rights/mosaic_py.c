/* summary: mosaics in an embedded Python: a heap type that its instances hold, buffers whose views hold the exporter, cycles that the collector ends, tuples filled by stealing, threads that bring references home
 * track: PyObject
 * build: gcc -O2 -g -pthread mosaic_py.c -o OUT $(pkg-config --cflags --libs python3-embed)
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pthread.h>
#include <stddef.h>
#include <structmember.h>

typedef struct {
	PyObject_HEAD
	PyObject *neighbour;                         /* owned; may make a cycle */
	PyObject *weak_list;
	unsigned char colour[16];
} Tile;

static int tiles_made, tiles_gone;

static PyObject *tile_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	int colour = 0;
	(void)kwargs;
	if (!PyArg_ParseTuple(args, "|i", &colour))
		return NULL;
	Tile *tile = (Tile *)type->tp_alloc(type, 0);        /* takes one on the type */
	if (tile) {
		memset(tile->colour, colour, sizeof tile->colour);
		tiles_made++;
	}
	return (PyObject *)tile;
}

static int tile_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((Tile *)self)->neighbour);
	return 0;
}

static int tile_clear(PyObject *self)
{
	Py_CLEAR(((Tile *)self)->neighbour);
	return 0;
}

static void tile_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	PyObject_GC_UnTrack(self);
	if (((Tile *)self)->weak_list)
		PyObject_ClearWeakRefs(self);
	tile_clear(self);
	type->tp_free(self);
	tiles_gone++;
	Py_DECREF(type);                             /* what tp_alloc took */
}

/* The view gets a reference to the tile, which PyBuffer_Release gives back. */
static int tile_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	return PyBuffer_FillInfo(view, self, ((Tile *)self)->colour, sizeof ((Tile *)self)->colour, 0, flags);
}

static PyObject *tile_join(PyObject *self, PyObject *other)
{
	Py_INCREF(other);
	Py_XSETREF(((Tile *)self)->neighbour, other);
	return Py_NewRef(self);                      /* so that calls can be strung together */
}

static PyObject *tile_split(PyObject *self, PyObject *Py_UNUSED(none))
{
	PyObject *neighbour = ((Tile *)self)->neighbour;
	((Tile *)self)->neighbour = NULL;
	return neighbour ? neighbour : Py_NewRef(Py_None);   /* the member's goes to the caller */
}

static PyMethodDef tile_methods[] = {
	{ "join", tile_join, METH_O, NULL }, { "split", tile_split, METH_NOARGS, NULL }, { NULL, NULL, 0, NULL },
};
static PyMemberDef tile_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(Tile, weak_list), READONLY, NULL }, { NULL, 0, 0, 0, NULL },
};

static PyType_Slot tile_slots[] = {
	{ Py_tp_new, tile_new }, { Py_tp_dealloc, tile_dealloc }, { Py_tp_traverse, tile_traverse }, { Py_tp_clear, tile_clear },
	{ Py_tp_methods, tile_methods }, { Py_tp_members, tile_members },
	{ Py_bf_getbuffer, tile_getbuffer }, { 0, NULL },
};

static PyType_Spec tile_spec = { "mosaic.Tile", sizeof(Tile), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, tile_slots };

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "mosaic: %s\n", what);
		if (PyErr_Occurred())
			PyErr_Print();
		exit(2);
	}
}

/* A row is a tuple that steals; on failure what is in it goes with it. */
static PyObject *make_row(PyObject *type, int many)
{
	PyObject *row = PyTuple_New(many);
	for (int i = 0; row && i < many; i++) {
		PyObject *tile = PyObject_CallFunction(type, "i", i);
		if (!tile) {
			Py_CLEAR(row);
			break;
		}
		PyTuple_SET_ITEM(row, i, tile);
	}
	return row;
}

/* Views outlive the names of what they show; a raw buffer is moved by its bytes. */
static int views(PyObject *type)
{
	int sum = 0;
	PyObject *tile = PyObject_CallFunction(type, "i", 7);
	PyObject *view = PyMemoryView_FromObject(tile);
	PyObject *part = PySequence_GetSlice(view, 4, 8);    /* the same managed buffer: its own count */
	Py_buffer raw, *moved = PyMem_Malloc(sizeof *moved);
	check(moved && PyObject_GetBuffer(tile, &raw, PyBUF_SIMPLE) == 0, "buffer");
	memcpy(moved, &raw, sizeof raw);             /* the reference is in the copy now */
	Py_DECREF(tile);
	sum += ((unsigned char *)moved->buf)[3] + (int)moved->len;
	Py_DECREF(view);
	PyBuffer_Release(moved);
	PyMem_Free(moved);
	PyObject *item = PySequence_GetItem(part, 0);
	sum += (int)PyLong_AsLong(item);
	Py_DECREF(item);
	Py_DECREF(part);                             /* the tile goes here */
	return sum;
}

/* Rings of tiles that nobody has any more: the collector is their last put. */
static void rings(PyObject *type)
{
	for (int length = 1; length <= 4; length++) {
		PyObject *row = make_row(type, length);
		check(row != NULL, "row");
		for (int i = 0; i < length; i++) {
			PyObject *self = PyObject_CallMethod(PyTuple_GET_ITEM(row, i), "join", "O", PyTuple_GET_ITEM(row, (i + 1) % length));
			check(self != NULL, "join");
			Py_DECREF(self);
		}
		if (length == 3) {                   /* one is cut open by hand */
			PyObject *next = PyObject_CallMethod(PyTuple_GET_ITEM(row, 0), "split", NULL);
			Py_XDECREF(next);
		}
		Py_DECREF(row);
	}
	PyGC_Collect();
}

/* Vectorcall: arguments are borrowed, the place in front of them is the callee's to use. */
static int calls(PyObject *type)
{
	PyObject *names = PyDict_New(), *list = PyList_New(0);
	PyObject *append = PyObject_GetAttrString(list, "append");
	PyObject *arguments[3] = { NULL, NULL, NULL };
	for (int i = 0; i < 5; i++) {
		arguments[1] = PyObject_CallNoArgs(type);
		PyObject *none = PyObject_Vectorcall(append, &arguments[1], 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
		check(none == Py_None, "append");
		Py_DECREF(none);
		PyObject *key = PyUnicode_FromFormat("tile%d", i);
		PyDict_SetItem(names, key, arguments[1]);    /* takes both; SetDefault gives a borrowed one */
		check(PyDict_SetDefault(names, key, list) == arguments[1], "default");
		Py_DECREF(key);
		Py_DECREF(arguments[1]);
	}
	Py_DECREF(append);
	/* Each item's removal from the dict puts it while we have a borrowed one from the list. */
	Py_ssize_t at = 0;
	PyObject *key, *value;
	int many = 0;
	while (PyDict_Next(names, &at, &key, &value))
		many += Py_REFCNT(value) == 2;
	PyDict_Clear(names);
	PyObject *iterator = PyObject_GetIter(list);
	Py_DECREF(list);                             /* the iterator has it */
	while ((value = PyIter_Next(iterator))) {
		many++;
		Py_DECREF(value);
	}
	Py_DECREF(iterator);
	Py_DECREF(names);
	return many;
}

struct parcel {
	PyObject *type, *row;                        /* row is handed to main, as it is */
	PyObject *weak;
};

static void *carrier(void *data)
{
	struct parcel *parcel = data;
	PyGILState_STATE state = PyGILState_Ensure();
	parcel->row = make_row(parcel->type, 4);
	parcel->weak = parcel->row ? PyWeakref_NewRef(PyTuple_GET_ITEM(parcel->row, 2), NULL) : NULL;
	Py_CLEAR(parcel->type);                      /* the thread's */
	PyGILState_Release(state);
	return NULL;
}

static int carry_home(PyObject *type)
{
	int alive = 0;
	struct parcel parcels[2];
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) {
		parcels[i].type = Py_NewRef(type);
		pthread_create(&threads[i], NULL, carrier, &parcels[i]);
	}
	Py_BEGIN_ALLOW_THREADS
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	Py_END_ALLOW_THREADS
	for (int i = 0; i < 2; i++) {
		check(parcels[i].row && parcels[i].weak, "parcel");
		PyObject *tile = Py_NewRef(PyWeakref_GetObject(parcels[i].weak));   /* borrowed, kept */
		Py_DECREF(parcels[i].row);
		alive += PyWeakref_GetObject(parcels[i].weak) == tile;
		Py_DECREF(tile);
		alive += PyWeakref_GetObject(parcels[i].weak) == Py_None;
		Py_DECREF(parcels[i].weak);
	}
	return alive;
}

int main(void)
{
	PyConfig config;
	PyConfig_InitIsolatedConfig(&config);
	config.site_import = 0;
	PyStatus status = Py_InitializeFromConfig(&config);
	PyConfig_Clear(&config);
	if (PyStatus_Exception(status))
		return 1;
	PyObject *type = PyType_FromSpec(&tile_spec);
	check(type != NULL, "type");
	int sum = views(type);
	rings(type);
	int many = calls(type), alive = carry_home(type);
	PyObject *last = PyObject_CallNoArgs(type);
	Py_DECREF(type);                             /* the last tile has its type */
	Py_DECREF(last);
	printf("sum %d, %d calls, %d alive, %d made, %d gone\n", sum, many, alive, tiles_made, tiles_gone);
	int bad = sum != 30 || alive != 4 || many != 10 || tiles_made != tiles_gone;
	return Py_FinalizeEx() < 0 || bad;
}
