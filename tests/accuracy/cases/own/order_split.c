/* summary: order_split() copies the account pointer into the new order without a reference; order_free() gives one back later
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O0
 * exit: 0
 * source: bug class "structure copied by hand, counted member not taken"
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NACCOUNTS 22
#define NORDERS 80

/* A customer. The book owns one reference, every order and every invoice run owns more. */
struct account {
  char name[64];
  long balance;
  int refs;
  int vip;
};

struct order {
  struct order *next;
  struct account *account;
  struct account *payer; /* NULL: the account itself */
  int amount;
  int parts;
};

static struct account *book[NACCOUNTS];
static struct order *open_orders;
static int live;

struct account *account_new(const char *name) {
  struct account *a = calloc(1, sizeof *a);
  if (!a)
    abort();
  snprintf(a->name, sizeof a->name, "%s", name);
  a->refs = 1;
  live++;
  return a;
}

struct account *account_get(struct account *a) {
  if (a)
    a->refs++;
  return a;
}

void account_put(struct account *a) {
  if (!a || --a->refs != 0)
    return;
  live--;
  explicit_bzero(a, sizeof *a);
  free(a);
}

static struct order *order_alloc(int amount) {
  struct order *o = calloc(1, sizeof *o);
  if (!o)
    abort();
  o->amount = amount;
  o->parts = 1;
  return o;
}

static void order_queue(struct order *o) {
  o->next = open_orders;
  open_orders = o;
}

static struct order *order_new(struct account *a, struct account *payer, int amount) {
  struct order *o = order_alloc(amount);
  o->account = account_get(a);
  o->payer = account_get(payer);
  return o;
}

static void order_free(struct order *o) {
  account_put(o->account);
  account_put(o->payer);
  free(o);
}

/* For a delivery in two parts. */
static struct order *order_split(struct order *o, int amount) {
  struct order *part = order_alloc(amount);
  part->account = account_get(o->account);
#ifdef BUG
  part->payer = o->payer; /* GUILTY */
#else
  part->payer = account_get(o->payer);
#endif
  o->amount -= amount;
  o->parts++;
  return part;
}

/* The new owner comes with the order, the old one goes. */
static void order_transfer(struct order *o, struct account *to) {
  struct account *old = o->account;
  o->account = account_get(to);
  account_put(old);
}

static struct account *order_debtor(const struct order *o) { return o->payer ? o->payer : o->account; }

static int order_check(struct account *a, int amount) {
  struct account *held = account_get(a);
  int ok = 1;
  if (held->balance + amount > 1000) {
    account_put(held);
    return 0;
  }
  if (held->vip)
    ok = 2;
  account_put(held);
  return ok;
}

static long settle(int rounds) {
  long sum = 0;
  while (open_orders && rounds--) {
    struct order *o = open_orders;
    open_orders = o->next;
    struct account *debtor = account_get(order_debtor(o));
    debtor->balance += o->amount;
    sum += o->amount;
    order_free(o);
    account_put(debtor);
  }
  return sum;
}

int main(void) {
  char name[64];
  long sum = 0;
  int refused = 0, split = 0;
  unsigned n = 0;

  for (int i = 0; i < NACCOUNTS; i++) {
    snprintf(name, sizeof name, "customer %d", i);
    book[i] = account_new(name);
    book[i]->vip = i % 5 == 0;
  }
  for (int i = 0; i < NORDERS; i++) {
    struct account *a = book[(i * 7) % NACCOUNTS];
    int payer = i == 70 ? 9 : i == 77 ? 15 : -1;
    int amount = 20 + (i * 37) % 400;
    int ok = order_check(a, amount);
    if (!ok) {
      refused++;
      continue;
    }
    struct order *o = order_new(a, payer >= 0 ? book[payer] : i % 9 == 5 ? book[i % 3] : NULL, amount);
    if (payer >= 0 || (ok == 2 && amount > 300 && !o->payer)) {
      order_queue(order_split(o, amount / 3));
      split++;
    }
    if (i % 11 == 3)
      order_transfer(o, book[(i + 1) % NACCOUNTS]);
    order_queue(o);
    if (i % 8 == 7)
      sum += settle(6);
    n++;
  }
  sum += settle(1000);
  for (int i = 0; i < NACCOUNTS; i++)
    account_put(book[i]);
  printf("%u orders, %d split, %d refused, %ld turned over\n", n, split, refused, sum);
#ifdef TRUTH
  printf("accounts alive at the end: %d\n", live);
#endif
  return 0;
}
