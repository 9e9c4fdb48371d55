/* summary: table_hand() returns the hand of a player who sits out as PyList_GetItem() lends it, while its callers give every hand back
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: cpython
 * packages: python3-embed
 * build: clang-14 -O3 -g
 * exit: 0
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A card table for a script: the hands are lists of a list, a player's score is worked out by the host. */

#define SEATS 5

typedef struct {
    PyObject *hands;    /* owned, list of lists */
    PyObject *names;    /* owned, tuple of str */
    int sits_out[SEATS];
    unsigned long rng;
} Table;

static unsigned
table_random(Table *t, unsigned n)
{
    t->rng = t->rng * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(t->rng >> 33) % n;
}

static int
table_init(Table *t)
{
    memset(t, 0, sizeof(*t));
    t->rng = 12;
    t->names = Py_BuildValue("(sssss)", "Anna", "Bela", "Cleo", "Dora", "Emil");
    t->hands = PyList_New(0);
    if (t->names == NULL || t->hands == NULL)
        return -1;
    for (int i = 0; i < SEATS; i++) {
        PyObject *hand = PyList_New(0);
        int rc;

        if (hand == NULL)
            return -1;
        rc = PyList_Append(t->hands, hand);
        Py_DECREF(hand);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static void
table_clear(Table *t)
{
    Py_CLEAR(t->hands);
    Py_CLEAR(t->names);
}

/* The hand of a seat as a new reference. Who sits out shows it face down,
   for everybody else the cards are put in order first. */
static PyObject *
table_hand(Table *t, int seat)
{
    PyObject *hand;

    if (t->sits_out[seat]) {
#ifdef BUG
        return PyList_GetItem(t->hands, seat);  /* GUILTY */
#else
        hand = PyList_GetItem(t->hands, seat);
        Py_XINCREF(hand);
        return hand;
#endif
    }
    hand = PySequence_GetItem(t->hands, seat);
    if (hand == NULL)
        return NULL;
    if (PyList_Sort(hand) < 0) {
        Py_DECREF(hand);
        return NULL;
    }
    return hand;
}

static int
table_deal(Table *t, int seat)
{
    PyObject *hand, *card;
    int rc;

    hand = PyList_GetItem(t->hands, seat);      /* borrowed */
    if (hand == NULL)
        return -1;
    card = Py_BuildValue("(is)", (int)table_random(t, 13) + 2, table_random(t, 2) ? "clubs" : "hearts");
    if (card == NULL)
        return -1;
    rc = PyList_Append(hand, card);
    Py_DECREF(card);
    return rc;
}

/* Points of a hand: its cards, and ten for a pair. */
static long
table_score(Table *t, int seat)
{
    PyObject *hand = table_hand(t, seat);
    long score = 0, before = -1;

    if (hand == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hand); i++) {
        PyObject *rank = PyTuple_GetItem(PyList_GET_ITEM(hand, i), 0);
        long value = rank != NULL ? PyLong_AsLong(rank) : -1;

        if (value < 0) {
            Py_DECREF(hand);
            return -1;
        }
        score += value;
        if (value == before)
            score += 10;
        before = value;
    }
    Py_DECREF(hand);    /* ACCEPTED */
    return score;
}

static int
table_fold(Table *t, int seat)
{
    PyObject *hand = table_hand(t, seat);
    int rc;

    if (hand == NULL)
        return -1;
    rc = PyList_SetSlice(hand, 0, PyList_GET_SIZE(hand), NULL);
    Py_DECREF(hand);
    return rc;
}

static int
table_print(Table *t, long *total)
{
    for (int seat = 0; seat < SEATS; seat++)
        printf("%s %ld%s\n", PyUnicode_AsUTF8(PyTuple_GET_ITEM(t->names, seat)), total[seat],
               t->sits_out[seat] ? " (sits out)" : "");
    return 0;
}

int
main(void)
{
    Table table;
    long total[SEATS] = { 0 };
    int failed = 0;

    Py_Initialize();
    if (table_init(&table) < 0)
        goto error;
    for (int round = 0; round < 8; round++) {
        for (int k = 0; k < 4; k++)
            for (int seat = 0; seat < SEATS; seat++)
                if (table_deal(&table, seat) < 0)
                    goto error;
        if (round == 7)
            table.sits_out[1] = table.sits_out[4] = 1;
        for (int seat = 0; seat < SEATS; seat++) {
            long score = table_score(&table, seat);

            if (score < 0)
                goto error;
            total[seat] += score;
        }
        for (int seat = 0; seat < SEATS && round < 7; seat++)
            if (total[seat] % 3 == 0 && table_fold(&table, seat) < 0)
                goto error;
    }
    table_print(&table, total);
    goto done;
error:
    PyErr_Print();
    failed = 1;
done:
    table_clear(&table);
    Py_Finalize();
    return failed;
}
