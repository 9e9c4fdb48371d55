/* summary: GObjects owned by GValues that are moved with memcpy and realloc, stolen out of qdata and arrays, taken floating into a list;
 *          transfer-full and borrowed results of one list side by side
 * track: GObject GPtrArray
 * build: clang -O1 -g value_shelves.c -o OUT $(pkg-config --cflags --libs gobject-2.0 gio-2.0)
 */
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>

#define BOOK_TYPE (book_get_type())
G_DECLARE_FINAL_TYPE(Book, book, SHELF, BOOK, GInitiallyUnowned)

struct _Book {
    GInitiallyUnowned parent;
    int number;
    Book *sequel;
};

static int books_made, books_gone;

G_DEFINE_TYPE(Book, book, G_TYPE_INITIALLY_UNOWNED)

static void book_dispose(GObject *object)
{
    g_clear_object(&SHELF_BOOK(object)->sequel);
    G_OBJECT_CLASS(book_parent_class)->dispose(object);
}

static void book_finalize(GObject *object)
{
    books_gone++;
    G_OBJECT_CLASS(book_parent_class)->finalize(object);
}

static void book_class_init(BookClass *class)
{
    G_OBJECT_CLASS(class)->dispose = book_dispose;
    G_OBJECT_CLASS(class)->finalize = book_finalize;
}

static void book_init(Book *book)
{
    (void)book;
    books_made++;
}

/* Floating. */
static Book *book_new(int number)
{
    Book *book = g_object_new(BOOK_TYPE, NULL);
    book->number = number;
    return book;
}

/* ---- a shelf: GValues in one block, moved as bytes ---- */

typedef struct {
    GValue *place;
    guint used, room;
} Shelf;

static void shelf_make_room(Shelf *shelf)
{
    if (shelf->used < shelf->room)
        return;
    guint room = shelf->room ? shelf->room * 2 : 2;
    GValue *place = g_new0(GValue, room);           /* a block elsewhere on purpose; the old one goes without g_value_unset() */
    if (shelf->used)
        memcpy(place, shelf->place, shelf->used * sizeof *place);
    g_free(shelf->place);
    shelf->place = place;
    shelf->room = room;
}

/* The caller keeps its reference. */
static void shelf_add(Shelf *shelf, Book *book)
{
    shelf_make_room(shelf);
    GValue *value = &shelf->place[shelf->used++];
    memset(value, 0, sizeof *value);
    g_value_init(value, BOOK_TYPE);
    g_value_set_object(value, book);
}

/* A new, floating book becomes the value's: set_object would add one to the floating reference, take_object takes the sunk one. */
static void shelf_add_new(Shelf *shelf, int number)
{
    shelf_make_room(shelf);
    GValue *value = &shelf->place[shelf->used++];
    memset(value, 0, sizeof *value);
    g_value_init(value, BOOK_TYPE);
    g_value_take_object(value, g_object_ref_sink(book_new(number)));
}

static Book *shelf_peek(const Shelf *shelf, guint i)
{
    return g_value_get_object(&shelf->place[i]);
}

/* The reference in the value becomes the caller's; the gap is closed by moving bytes. */
static Book *shelf_take(Shelf *shelf, guint i)
{
    Book *book = g_value_get_object(&shelf->place[i]);
    memmove(&shelf->place[i], &shelf->place[i + 1], (shelf->used - i - 1) * sizeof *shelf->place);
    shelf->used--;
    return book;
}

static int by_number(const void *a, const void *b)
{
    const Book *left = g_value_get_object(a), *right = g_value_get_object(b);
    return (left->number > right->number) - (left->number < right->number);
}

static void shelf_sort(Shelf *shelf)
{
    qsort(shelf->place, shelf->used, sizeof *shelf->place, by_number);
}

static void shelf_clear(Shelf *shelf)
{
    for (guint i = 0; i < shelf->used; i++)
        g_value_unset(&shelf->place[i]);
    g_free(shelf->place);
    *shelf = (Shelf){ 0 };
}

/* Half of a shelf onto another one, as bytes. */
static void shelf_split(Shelf *from, Shelf *to)
{
    guint half = from->used / 2;
    while (to->room < to->used + half)
        to->room = to->room ? to->room * 2 : 2;
    to->place = g_realloc_n(to->place, to->room, sizeof *to->place);
    memcpy(&to->place[to->used], &from->place[from->used - half], half * sizeof *to->place);
    to->used += half;
    from->used -= half;
}

/* ---- the lending desk ---- */

static void desk_mark(GObject *desk, Book *book)
{
    g_object_set_data_full(desk, "marked", g_object_ref(book), g_object_unref);
}

static Book *desk_unmark(GObject *desk)
{
    return g_object_steal_data(desk, "marked");
}

/* The list takes references of its own to what is in the array; the array goes with those it was built with. */
static void desk_receive(GListStore *store, Shelf *shelf)
{
    GPtrArray *batch = g_ptr_array_new_with_free_func(g_object_unref);
    while (shelf->used)
        g_ptr_array_add(batch, shelf_take(shelf, shelf->used - 1));
    g_list_store_splice(store, 0, g_list_model_get_n_items(G_LIST_MODEL(store)), batch->pdata, batch->len);
    Book *last = g_ptr_array_steal_index_fast(batch, 0);
    g_ptr_array_unref(batch);
    g_object_unref(last);
}

static int desk_sum(GListModel *list)
{
    int sum = 0;
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(Book) book = g_list_model_get_item(list, i);
        sum += book->number;
        if (book->number % 2)
            continue;                               /* the cleanup attribute puts on this way as well */
        sum += book->sequel ? 1000 : 0;
    }
    return sum;
}

static void link_sequels(GListModel *list)
{
    for (guint i = 1; i < g_list_model_get_n_items(list); i += 2) {
        g_autoptr(Book) before = g_list_model_get_item(list, i - 1);
        g_set_object(&before->sequel, NULL);
        before->sequel = g_list_model_get_item(list, i);
    }
}

int main(void)
{
    Shelf shelf = { 0 }, annex = { 0 };
    GListStore *desk = g_list_store_new(BOOK_TYPE);
    GObject *clerk = g_object_new(G_TYPE_OBJECT, NULL);

    for (int number = 9; number > 0; number--)
        shelf_add_new(&shelf, number);
    shelf_add(&shelf, shelf_peek(&shelf, 4));       /* twice on the shelf */
    shelf_sort(&shelf);
    shelf_split(&shelf, &annex);

    desk_mark(clerk, shelf_peek(&shelf, 1));
    desk_mark(clerk, shelf_peek(&annex, 0));        /* setting puts the earlier one */
    desk_receive(desk, &shelf);
    link_sequels(G_LIST_MODEL(desk));
    int sum = desk_sum(G_LIST_MODEL(desk));

    Book *taken = shelf_take(&annex, 1);
    Book *marked = desk_unmark(clerk);
    GValue copy = G_VALUE_INIT;
    g_value_init(&copy, G_TYPE_OBJECT);
    g_value_copy(&annex.place[2], &copy);
    Book *third = g_value_dup_object(&copy);
    g_value_unset(&copy);
    sum += 10000 * taken->number + 100000 * marked->number + third->number;

    g_list_store_append(desk, marked);
    g_object_unref(marked);
    desk_mark(clerk, taken);                        /* goes with the clerk */
    g_object_unref(clerk);
    g_list_store_remove_all(desk);
    shelf_clear(&annex);
    shelf_clear(&shelf);
    if (G_OBJECT(taken)->ref_count != 1 || G_OBJECT(third)->ref_count != 1 || g_object_is_floating(third))
        return 1;
    g_object_unref(third);
    g_object_unref(taken);
    g_object_unref(desk);

    g_print("sum %d, %d books made, %d gone\n", sum, books_made, books_gone);
    return books_made == 9 && books_gone == 9 ? 0 : 1;
}
