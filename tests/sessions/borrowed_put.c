// A function gives back what is not its own, in one way of several; the first argument says in which. A get
// looks its object up by name and returns it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL __attribute__((noinline))
#define COUNT 24

struct book {
  char name[16];
  long refs;
  int pages;
};

struct shelf {
  struct book *books[COUNT];
};

static struct shelf shelf;
static struct shelf spare;
static struct shelf *used = &spare;
static const char *way = "";

static int is_way(const char *name, int i) { return i % 6 == 4 && strcmp(way, name) == 0; }

CALL struct book *book_new(int number) {
  struct book *book = calloc(1, sizeof *book);
  snprintf(book->name, sizeof book->name, "book %d", number);
  book->refs = 1;
  book->pages = number + 10;
  return book;
}

CALL void book_put(struct book *book) {
  if (book == NULL) return;
  if (--book->refs == 0) free(book);
}

// A reference for the caller.
CALL struct book *book_get(const char *name) {
  for (int i = 0; i < COUNT; ++i) {
    struct book *book = used->books[i];
    if (book == NULL || strcmp(book->name, name) != 0) continue;
    book->refs++;
    return book;
  }
  return NULL;
}

// None.
CALL struct book *shelf_book(const struct shelf *of, int number) { return of->books[number]; }

// Takes the reference over.
CALL void shelf_set0_book(struct shelf *of, struct book *book, int number) { of->books[number] = book; }

CALL int pages_of(int number) {
  struct book *book = shelf_book(used, number);
  const int pages = book->pages;
  if (is_way("lent", number)) book_put(book);  // lent
  return pages;
}

CALL int lend(int number) {
  char name[16];
  snprintf(name, sizeof name, "book %d", number);
  struct book *book = book_get(name);
  if (book == NULL) return 0;
  const int pages = book->pages;
  book_put(book);
  if (is_way("again", number)) book_put(book);  // again
  return pages;
}

CALL void add(int number) {
  struct book *book = book_new(number);
  shelf_set0_book(used, book, number);
  if (is_way("handed", number)) book_put(book);  // handed
}

CALL void clear(void) {
  for (int i = 0; i < COUNT; ++i) {
    book_put(used->books[i]);
    used->books[i] = NULL;
  }
}

int main(int argc, char **argv) {
  int pages = 0;
  if (argc > 1) way = argv[1];
  if (argc < 9) used = &shelf;
  for (int i = 0; i < COUNT; ++i) add(i);
  for (int i = 0; i < COUNT; ++i) pages += pages_of(i) + (strcmp(way, "handed") == 0 ? 0 : lend(i));
  clear();
  printf("%d pages\n", pages);
  return 0;
}
