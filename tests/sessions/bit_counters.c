// Counters that are bit-fields: their neighbours in the word change while references are held.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

APART void checkpoint(void) { __asm__ volatile(""); }
static inline void touch(void *anything) { __asm__ volatile("" : : "r"(anything) : "memory"); }

/// The lower bits of the word.
struct entry {
  unsigned refs : 24;
  unsigned kind : 8;
  int value;
};
APART struct entry *entry_new(unsigned kind) {
  struct entry *made = malloc(sizeof *made);
  made->refs = 1;
  made->kind = 0xc0 | kind;
  made->value = 7;
  return made;
}
APART struct entry *entry_get(struct entry *entry) {
  entry->refs++;
  return entry;
}
APART void entry_put(struct entry *entry) {
  if (--entry->refs == 0) free(entry);
}

/// The upper ones; inlined everywhere.
struct symbol {
  char name[8];
  unsigned flags : 6;
  unsigned uses : 26;
};
static inline struct symbol *symbol_new(unsigned flags) {
  struct symbol *made = calloc(1, sizeof *made);
  made->uses = 1;
  made->flags = flags;
  return made;
}
static inline struct symbol *symbol_take(struct symbol *symbol) {
  symbol->uses++;
  return symbol;
}
static inline void symbol_leave(struct symbol *symbol) {
  if (--symbol->uses == 0) free(symbol);
}

static int look_up(struct entry *entry, int wrong) {
  struct entry *mine = entry_get(entry);
  mine->kind ^= 1;
  int value = mine->value;
  if (wrong) entry_put(mine);  // the put too many
  entry_put(mine);
  return value;
}

static int entries(int wrong) {
  struct entry *table[5];
  int sum = 0;
  for (int i = 0; i < 5; i++) table[i] = entry_new((unsigned)i);
  for (int i = 0; i < 5; i++) sum += look_up(table[i], wrong && i == 3);
  for (int i = 0; i < 5; i++) entry_put(table[i]);
  return sum;
}

static int symbols(int wrong) {
  int sum = 0;
  for (int i = 0; i < 5; i++) {
    struct symbol *symbol = symbol_new((unsigned)i);
    touch(symbol);
    struct symbol *mine = symbol_take(symbol);
    touch(mine);
    mine->flags |= 32;
    sum += (int)mine->flags;
    touch(mine);
    if (!wrong || i != 2) symbol_leave(mine);  // the leak
    touch(symbol);
    symbol_leave(symbol);
  }
  return sum;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  printf("%d\n", entries(strcmp(what, "entry") == 0) + symbols(strcmp(what, "symbol") == 0));
  checkpoint();
  return 0;
}
