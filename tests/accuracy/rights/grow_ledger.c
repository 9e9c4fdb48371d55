/* summary: counted ledgers that grow by realloc of the object itself while they have one owner (large ones by mremap), and are cloned by
 *          memcpy, counter and all, when they have several; arrays of references are realloc'ed and sorted
 * track: own
 * build: gcc -O3 -g grow_ledger.c -o OUT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNTS 7
#define BIG 60000

struct entry {
    uint32_t day;
    int32_t pence;
};

struct ledger {
    unsigned refs;
    unsigned used, room;
    int account;
    struct entry entry[];
};

static unsigned ledgers_made, ledgers_gone, moves, clones;

static size_t ledger_size(unsigned room)
{
    return sizeof(struct ledger) + room * sizeof(struct entry);
}

struct ledger *ledger_new(int account, unsigned room)
{
    struct ledger *l = malloc(ledger_size(room));
    if (!l)
        abort();
    l->refs = 1;
    l->used = 0;
    l->room = room;
    l->account = account;
    ledgers_made++;
    return l;
}

struct ledger *ledger_get(struct ledger *l)
{
    l->refs++;
    return l;
}

void ledger_put(struct ledger *l)
{
    if (l && --l->refs == 0) {
        ledgers_gone++;
        free(l);
    }
}

/* A copy for the caller, instead of its reference to the shared one. */
struct ledger *ledger_clone(struct ledger *shared, unsigned room)
{
    struct ledger *l = malloc(ledger_size(room));
    if (!l)
        abort();
    memcpy(l, shared, ledger_size(shared->used));   /* for a moment the copy counts the owners of the original */
    l->refs = 1;
    l->room = room;
    ledgers_made++;
    clones++;
    ledger_put(shared);
    return l;
}

/* Makes *at the caller's alone, with room for one more. The object may be elsewhere afterwards, with its count. */
static void ledger_open(struct ledger **at)
{
    struct ledger *l = *at;
    unsigned room = l->used < l->room ? l->room : l->room + l->room / 2 + 4;
    if (l->refs > 1) {
        *at = ledger_clone(l, room);
    } else if (room != l->room) {
        uintptr_t before = (uintptr_t)l;
        l = realloc(l, ledger_size(room));
        if (!l)
            abort();
        l->room = room;
        moves += (uintptr_t)l != before;
        *at = l;
    }
}

static void ledger_post(struct ledger **at, uint32_t day, int32_t pence)
{
    ledger_open(at);
    (*at)->entry[(*at)->used++] = (struct entry){ day, pence };
}

/* Closed books take no more room than they need. */
static void ledger_trim(struct ledger **at)
{
    struct ledger *l = *at;
    if (l->refs > 1 || l->used == l->room)
        return;
    struct ledger *smaller = realloc(l, ledger_size(l->used));
    if (smaller) {
        smaller->room = smaller->used;
        *at = smaller;
    }
}

static long ledger_balance(const struct ledger *l)
{
    long sum = 0;
    for (unsigned i = 0; i < l->used; i++)
        sum += l->entry[i].pence;
    return sum;
}

/* ---- the books: snapshots of ledgers at the ends of periods ---- */

struct books {
    struct ledger **closed;
    unsigned used, room;
};

static void books_close(struct books *b, struct ledger *l)
{
    if (b->used == b->room) {
        b->room = b->room ? b->room * 2 : 2;
        b->closed = realloc(b->closed, b->room * sizeof *b->closed);
        if (!b->closed)
            abort();
    }
    b->closed[b->used++] = ledger_get(l);
}

static int by_account(const void *a, const void *b)
{
    const struct ledger *left = *(struct ledger *const *)a, *right = *(struct ledger *const *)b;
    if (left->account != right->account)
        return left->account < right->account ? -1 : 1;
    return (left->used > right->used) - (left->used < right->used);
}

/* Keeps the last snapshot of each account. */
static void books_thin(struct books *b)
{
    unsigned kept = 0;
    qsort(b->closed, b->used, sizeof *b->closed, by_account);
    for (unsigned i = 0; i < b->used; i++) {
        if (i + 1 < b->used && b->closed[i + 1]->account == b->closed[i]->account)
            ledger_put(b->closed[i]);
        else
            b->closed[kept++] = b->closed[i];
    }
    b->used = kept;
    b->room = kept;
    b->closed = realloc(b->closed, kept * sizeof *b->closed);
}

static void books_burn(struct books *b)
{
    while (b->used)
        ledger_put(b->closed[--b->used]);
    free(b->closed);
    b->closed = NULL;
    b->room = 0;
}

static void trade(struct ledger **accounts, struct books *books)
{
    for (uint32_t day = 1; day <= 90; day++) {
        for (int a = 0; a < ACCOUNTS; a++)
            if ((day * 5 + a) % 3)
                ledger_post(&accounts[a], day, (int32_t)(day % 11) * 10 - 40 + a);
        if (day % 30 == 0)
            for (int a = 0; a < ACCOUNTS; a++)
                books_close(books, accounts[a]);
    }
}

/* A ledger of many pages: its growth moves the mapping. Another small one is taken between, so that it cannot stay in place. */
static long till_roll(void)
{
    struct ledger *till = ledger_new(-1, 64), *change = ledger_new(-2, 1);
    struct ledger *noon = NULL;
    for (uint32_t sale = 0; sale < BIG; sale++) {
        ledger_post(&till, sale, 5);
        if (sale % 10 == 0)
            ledger_post(&change, sale, -1);
        if (sale == BIG / 2)
            noon = ledger_get(till);                /* the next sale clones the roll; noon stays as it was */
    }
    ledger_trim(&till);
    ledger_trim(&change);
    long sum = ledger_balance(till) + ledger_balance(change);
    if (noon->used != BIG / 2 + 1 || noon->refs != 1 || ledger_balance(noon) != 5L * (BIG / 2 + 1))
        sum = 0;
    ledger_put(till);
    ledger_put(change);
    ledger_put(noon);
    return sum;
}

int main(void)
{
    struct ledger *accounts[ACCOUNTS];
    struct books books = { 0 };
    long before = 0, after = 0;

    for (int a = 0; a < ACCOUNTS; a++)
        accounts[a] = ledger_new(a, 2);
    trade(accounts, &books);
    for (int a = 0; a < ACCOUNTS; a++)
        before += ledger_balance(accounts[a]);
    books_thin(&books);
    for (int a = 0; a < ACCOUNTS; a++) {
        ledger_post(&accounts[a], 91, 1);           /* shared with the books: this one is a clone */
        ledger_trim(&accounts[a]);
        ledger_put(accounts[a]);
    }
    for (unsigned i = 0; i < books.used; i++)
        after += ledger_balance(books.closed[i]);
    books_burn(&books);

    long till = till_roll();
    printf("%ld %ld, till %ld; %u ledgers, %u gone, %s moved, %u clones\n", before, after, till, ledgers_made, ledgers_gone,
           moves ? "some" : "none", clones);
    return before == after && till == 5L * BIG - BIG / 10 && ledgers_made == ledgers_gone && clones == 3 * ACCOUNTS + 1 ? 0 : 1;
}
