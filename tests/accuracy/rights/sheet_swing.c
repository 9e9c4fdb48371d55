/* summary: fare sheets published through one 64-bit word: readers count themselves in the upper 16 bits of that word, not in the
 *          sheet; a reader that comes back late takes one from the sheet's own counter, which starts at 0 and may be below 0 until the
 *          publisher has moved the word's count into it
 * track: own
 * build: gcc -O2 -g sheet_swing.c -o OUT -pthread
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTES 24
#define EDITIONS 40
#define READERS 3
#define KEPT 4

/* One edition of the fares. `owed` is (readers counted at retirement) - (readers that came back through the sheet). */
struct sheet {
    _Atomic long owed;
    unsigned edition;
    unsigned checksum;
    unsigned fare[ROUTES];
};

/* The window: address of the current sheet in 48 bits, readers that looked through it above. */
struct window {
    _Atomic uint64_t word;
};

#define READER_ONE ((uint64_t)1 << 48)
#define ADDRESS_BITS (READER_ONE - 1)

static _Atomic int sheets_made, sheets_gone;

static struct sheet *word_sheet(uint64_t word)
{
    return (struct sheet *)(uintptr_t)(word & ADDRESS_BITS);
}

__attribute__((noinline)) struct sheet *sheet_new(unsigned edition)
{
    struct sheet *s = malloc(sizeof *s);
    if (!s)
        abort();
    atomic_init(&s->owed, 0);
    s->edition = edition;
    s->checksum = 0;
    for (unsigned r = 0; r < ROUTES; r++) {
        s->fare[r] = 250 + edition * 3 + r * 17 % 90;
        s->checksum += s->fare[r];
    }
    atomic_fetch_add(&sheets_made, 1);
    return s;
}

static void sheet_destroy(struct sheet *s)
{
    memset(s->fare, 0xee, sizeof s->fare);
    atomic_fetch_add(&sheets_gone, 1);
    free(s);
}

/* The sheet that is current, with a reference for the caller; NULL when the office has closed. */
__attribute__((noinline)) struct sheet *sheet_acquire(struct window *w)
{
    uint64_t word = atomic_load(&w->word);
    do {
        if (!word_sheet(word))
            return NULL;
    } while (!atomic_compare_exchange_weak(&w->word, &word, word + READER_ONE));
    return word_sheet(word);
}

/* Gives a reference back: to the window while it still shows this sheet, else to the sheet. */
__attribute__((noinline)) void sheet_release(struct window *w, struct sheet *s)
{
    uint64_t word = atomic_load(&w->word);
    while (word_sheet(word) == s)
        if (atomic_compare_exchange_weak(&w->word, &word, word - READER_ONE))
            return;
    if (atomic_fetch_sub(&s->owed, 1) == 1)
        sheet_destroy(s);
}

/* Ends the publisher's reference; `readers` is what the window counted for this sheet when it was taken down. */
__attribute__((noinline)) void sheet_retire(struct sheet *s, long readers)
{
    if (atomic_fetch_add(&s->owed, readers) + readers == 0)
        sheet_destroy(s);
}

static void window_show(struct window *w, struct sheet *next)
{
    uint64_t before = atomic_exchange(&w->word, (uint64_t)(uintptr_t)next);
    if (word_sheet(before))
        sheet_retire(word_sheet(before), (long)(before >> 48));
}

/* ---- the counter clerks: each keeps the last few sheets it quoted from, for complaints ---- */

static pthread_barrier_t opening;

struct clerk {
    pthread_t thread;
    struct window *window;
    struct sheet *kept[KEPT];
    unsigned quotes, complaints, seen_last;
};

static unsigned sheet_sum(const struct sheet *s)
{
    unsigned sum = 0;
    for (unsigned r = 0; r < ROUTES; r++)
        sum += s->fare[r];
    return sum;
}

static void clerk_file(struct clerk *c, struct sheet *s)
{
    struct sheet **slot = &c->kept[c->quotes % KEPT];
    if (*slot) {
        if (sheet_sum(*slot) != (*slot)->checksum)
            c->complaints++;
        sheet_release(c->window, *slot);
    }
    *slot = s;
    c->quotes++;
}

static void *clerk_work(void *arg)
{
    struct clerk *c = arg;
    pthread_barrier_wait(&opening);
    for (;;) {
        struct sheet *s = sheet_acquire(c->window);
        if (!s)
            break;
        if (sheet_sum(s) != s->checksum || s->edition < c->seen_last)
            c->complaints++;
        c->seen_last = s->edition;
        clerk_file(c, s);
        sched_yield();
    }
    for (int i = 0; i < KEPT; i++)
        if (c->kept[i])
            sheet_release(c->window, c->kept[i]);
    return NULL;
}

/* A quote for one customer on the publisher's own thread, without filing. */
static unsigned quote_once(struct window *w, unsigned route)
{
    struct sheet *s = sheet_acquire(w);
    if (!s)
        return 0;
    unsigned fare = s->fare[route % ROUTES];
    sheet_release(w, s);
    return fare;
}

int main(void)
{
    static struct window window;
    static struct clerk clerks[READERS];
    unsigned total = 0, complaints = 0;

    pthread_barrier_init(&opening, NULL, READERS + 1);
    window_show(&window, sheet_new(0));
    for (int i = 0; i < READERS; i++) {
        clerks[i].window = &window;
        if (pthread_create(&clerks[i].thread, NULL, clerk_work, &clerks[i]))
            return 1;
    }
    pthread_barrier_wait(&opening);
    for (unsigned edition = 1; edition <= EDITIONS; edition++) {
        struct sheet *before = sheet_acquire(&window);
        window_show(&window, sheet_new(edition));
        total += quote_once(&window, edition) - before->fare[edition % ROUTES];
        sheet_release(&window, before);             /* through the sheet: it is no longer in the window */
        sched_yield();
    }
    window_show(&window, NULL);
    for (int i = 0; i < READERS; i++) {
        pthread_join(clerks[i].thread, NULL);
        complaints += clerks[i].complaints;
    }
    pthread_barrier_destroy(&opening);
    if (complaints || total != EDITIONS * 3 || sheets_made != sheets_gone) {
        fprintf(stderr, "complaints %u, rise %u, sheets %d of %d\n", complaints, total, sheets_gone, sheets_made);
        return 1;
    }
    printf("%d editions, none kept\n", sheets_made);
    return 0;
}
