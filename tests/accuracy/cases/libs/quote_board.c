/* summary: index_drop stops after the first sector, an instrument listed in two sectors stays in the second for ever
 * kind: held
 * counts: surplus
 * objects: 3
 * track: json_object
 * packages: json-c
 * build: gcc -O2 -flto -g
 * exit: 0
 */
/* A board of instruments. The board owns the newest document of each; a sector index and the list of the
 * biggest movers hold references of their own. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NSECTORS 5
#define BOARD 64
#define NMOVERS 4

struct quote {
  char symbol[8];
  struct json_object *doc; /* owned */
};

struct entry {
  struct json_object *doc; /* owned */
  struct entry *next;
};

static struct quote board[BOARD];
static struct entry *sectors[NSECTORS];
static struct json_object *movers[NMOVERS];  /* owned */
static struct json_object *unknown_document; /* owned, handed out for symbols that are not listed; lives to the end */
static int listed, delisted, amended;

static struct quote *find(const char *symbol) {
  for (int i = 0; i < BOARD; i++)
    if (board[i].doc && !strcmp(board[i].symbol, symbol))
      return &board[i];
  return NULL;
}

static void index_add(struct json_object *doc) {
  struct json_object *list;

  if (!json_object_object_get_ex(doc, "sectors", &list))
    return;
  for (size_t i = 0; i < json_object_array_length(list); i++) {
    int s = json_object_get_int(json_object_array_get_idx(list, i));
    struct entry *e;

    if (s < 0 || s >= NSECTORS)
      continue;
    e = malloc(sizeof(*e));
    e->doc = json_object_get(doc);
    e->next = sectors[s];
    sectors[s] = e;
  }
}

static int unlink_from(struct entry **p, struct json_object *doc) {
  for (; *p; p = &(*p)->next)
    if ((*p)->doc == doc) {
      struct entry *e = *p;

      *p = e->next;
      json_object_put(e->doc);
      free(e);
      return 1;
    }
  return 0;
}

static void index_drop(struct json_object *doc) {
  for (int s = 0; s < NSECTORS; s++) {
#ifdef BUG
    if (unlink_from(&sectors[s], doc)) /* ACCEPTED */
      break;                           /* GUILTY */
#else
    unlink_from(&sectors[s], doc);
#endif
  }
}

/* Newer documents come with the same symbol; the index is told only if the sectors changed. */
static void index_replace(struct json_object *old, struct json_object *doc) {
  for (int s = 0; s < NSECTORS; s++)
    for (struct entry *e = sectors[s]; e; e = e->next)
      if (e->doc == old) {
        e->doc = json_object_get(doc);
        json_object_put(old);
      }
}

static void movers_note(struct json_object *doc) {
  static int pos;

  json_object_put(movers[pos]);
  movers[pos] = json_object_get(doc);
  pos = (pos + 1) % NMOVERS;
}

static void movers_forget(struct json_object *doc) {
  for (int i = 0; i < NMOVERS; i++)
    if (movers[i] == doc) {
      movers[i] = NULL;
      json_object_put(doc);
    }
}

static void list_quote(const char *text) {
  struct json_object *doc = json_tokener_parse(text), *symbol;
  struct quote *q;

  if (!json_object_object_get_ex(doc, "symbol", &symbol)) {
    json_object_put(doc);
    return;
  }
  q = find(json_object_get_string(symbol));
  if (q) {
    index_replace(q->doc, doc);
    movers_note(doc);
    movers_forget(q->doc);
    json_object_put(q->doc);
    q->doc = doc;
    amended++;
    return;
  }
  for (q = board; q < board + BOARD && q->doc; q++)
    ;
  if (q == board + BOARD) {
    json_object_put(doc);
    return;
  }
  snprintf(q->symbol, sizeof(q->symbol), "%s", json_object_get_string(symbol));
  q->doc = doc;
  index_add(doc);
  listed++;
}

static int delist(const char *symbol) {
  struct quote *q = find(symbol);

  if (!q)
    return -1;
  index_drop(q->doc);
  movers_forget(q->doc);
  json_object_put(q->doc);
  q->doc = NULL;
  delisted++;
  return 0;
}

/* Returns a reference, never NULL. */
static struct json_object *quote_get(const char *symbol) {
  struct quote *q = find(symbol);

  return json_object_get(q ? q->doc : unknown_document);
}

int main(void) {
  char text[160], symbol[8];
  long cents = 0;

  unknown_document = json_tokener_parse("{\"symbol\":\"?\",\"cents\":0}");
  for (int i = 0; i < 30; i++) {
    int n = snprintf(text, sizeof(text), "{\"symbol\":\"Q%02d\",\"cents\":%d,\"sectors\":[%d", i, 1000 + i * 7,
                     i % NSECTORS);

    if (i == 6 || i == 13 || i == 24)
      n += snprintf(text + n, sizeof(text) - n, ",%d", (i + 2) % NSECTORS);
    snprintf(text + n, sizeof(text) - n, "]}");
    list_quote(text);
  }
  list_quote("{\"cents\":1}");
  for (int i = 0; i < 30; i += 4) {
    snprintf(text, sizeof(text), "{\"symbol\":\"Q%02d\",\"cents\":%d,\"sectors\":[%d]}", i, 990 + i, i % NSECTORS);
    list_quote(text);
  }
  for (int i = 0; i < 33; i++) {
    struct json_object *doc, *c;

    snprintf(symbol, sizeof(symbol), "Q%02d", i);
    doc = quote_get(symbol);
    if (json_object_object_get_ex(doc, "cents", &c))
      cents += json_object_get_int(c);
    if (i % 3 == 0)
      movers_note(doc);
    json_object_put(doc);
  }
  for (int i = 0; i < 33; i++) {
    snprintf(symbol, sizeof(symbol), "Q%02d", (i * 7) % 33);
    delist(symbol);
  }
  for (int i = 0; i < NMOVERS; i++) {
    json_object_put(movers[i]);
    movers[i] = NULL;
  }
#ifdef TRUTH
  int left = 0;

  for (int s = 0; s < NSECTORS; s++)
    for (struct entry *e = sectors[s]; e; e = e->next)
      left++;
  printf("left in the index: %d\n", left);
#endif
  printf("listed %d amended %d delisted %d cents %ld\n", listed, amended, delisted, cents);
  return 0;
}
