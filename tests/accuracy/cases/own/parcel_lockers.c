/* summary: locker_expire() gives the locker's reference to the parcel back and then still reads the parcel's size for the statistics
 * kind: use-after-put
 * counts: none
 * objects: 4
 * track: own
 * build: gcc -O2
 * exit: 0
 */
/*
 *  A wall of parcel lockers.  A parcel is held by the locker it lies in, by
 *  the notice that waits for its receiver, and by the courier's list for as
 *  long as he has not been told where it is.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__ ((noinline))

#define LOCKERS   24
#define MAX_DAYS  7

typedef struct Parcel_ {
    unsigned  number;
    int       receiver;
    int       volume;
    int       day_in;
    char      note [40];
    unsigned  holders;
} Parcel;

typedef struct {
    Parcel  *parcel;            /* held */
    int      capacity;
} Locker;

typedef struct Notice_ {
    struct Notice_ *next;
    Parcel         *parcel;     /* held */
} Notice;

typedef struct {
    Locker    locker [LOCKERS];
    Notice   *notices;
    unsigned  last_number;
    int       collected, expired, refused, returned_volume;
} Wall;

NOINLINE Parcel *parcel_accept (Wall *wall, int receiver, int volume, int day)
{
    Parcel *p = malloc (sizeof (Parcel));

    if (p == NULL)
        exit (EXIT_FAILURE);
    p->number = ++wall->last_number;
    p->receiver = receiver;
    p->volume = volume;
    p->day_in = day;
    p->holders = 1;
    snprintf (p->note, sizeof p->note, "for %d, day %d", receiver, day);
    return p;
}

NOINLINE Parcel *parcel_keep (Parcel *p)
{
    p->holders++;
    return p;
}

NOINLINE void parcel_let_go (Parcel *p)
{
    if (--p->holders == 0)
        free (p);
}

static Locker *smallest_free (Wall *wall, int volume)
{
    Locker *best = NULL;

    for (int i = 0; i < LOCKERS; i++) {
        Locker *l = &wall->locker [i];

        if (l->parcel == NULL && l->capacity >= volume && (best == NULL || l->capacity < best->capacity))
            best = l;
    }
    return best;
}

static void notify (Wall *wall, Parcel *p)
{
    Notice *n = malloc (sizeof *n);

    if (n == NULL)
        exit (EXIT_FAILURE);
    n->parcel = parcel_keep (p);
    n->next = wall->notices;
    wall->notices = n;
}

static int drop_notices (Wall *wall, const Parcel *p)
{
    Notice **where = &wall->notices;
    int dropped = 0;

    while (*where != NULL) {
        Notice *n = *where;

        if (n->parcel != p) {
            where = &n->next;
            continue;
        }
        *where = n->next;
        parcel_let_go (n->parcel);
        free (n);
        dropped++;
    }
    return dropped;
}

static void deliver (Wall *wall, int receiver, int volume, int day)
{
    Parcel *p = parcel_accept (wall, receiver, volume, day);
    Locker *l = smallest_free (wall, volume);

    if (l == NULL) {
        wall->refused++;
        parcel_let_go (p);
        return;
    }
    l->parcel = parcel_keep (p);
    /* who has told us that he comes anyway gets no notice */
    if (receiver % 4 != 0)
        notify (wall, p);
    parcel_let_go (p);
}

static void collect (Wall *wall, int receiver)
{
    for (int i = 0; i < LOCKERS; i++) {
        Locker *l = &wall->locker [i];

        if (l->parcel == NULL || l->parcel->receiver != receiver)
            continue;
        drop_notices (wall, l->parcel);
        wall->collected++;
        parcel_let_go (l->parcel);
        l->parcel = NULL;
    }
}

/* The notice, if there is one, stays: the receiver is told that the parcel went back. */
static void locker_expire (Wall *wall, Locker *l)
{
    Parcel *p = l->parcel;

    l->parcel = NULL;
    wall->expired++;
#ifdef BUG
    parcel_let_go (p);                          /* ACCEPTED */
    wall->returned_volume += p->volume;         /* GUILTY */
#else
    wall->returned_volume += p->volume;
    parcel_let_go (p);
#endif
}

static void evening (Wall *wall, int day)
{
    for (int i = 0; i < LOCKERS; i++) {
        Locker *l = &wall->locker [i];

        if (l->parcel != NULL && day - l->parcel->day_in >= MAX_DAYS)
            locker_expire (wall, l);
    }
}

int main (void)
{
    Wall wall;
    unsigned r = 31;
    int told = 0;

    memset (&wall, 0, sizeof wall);
    for (int i = 0; i < LOCKERS; i++)
        wall.locker [i].capacity = 10 + 5 * (i % 4);
    for (int day = 0; day < 40; day++) {
        for (int i = 0; i < 4; i++) {
            r = r * 214013 + 2531011;
            deliver (&wall, 1 + (int) (r >> 16) % 37, 4 + (int) (r >> 20) % 20, day);
        }
        for (int receiver = 1; receiver <= 37; receiver++)
            if ((receiver + day) % 5 == 0 && receiver % 9 != 8)
                collect (&wall, receiver);
        evening (&wall, day);
    }
    for (int i = 0; i < LOCKERS; i++)
        if (wall.locker [i].parcel != NULL) {
            told += drop_notices (&wall, wall.locker [i].parcel);
            parcel_let_go (wall.locker [i].parcel);
        }
    while (wall.notices != NULL)
        told += drop_notices (&wall, wall.notices->parcel);
    printf ("%u parcels: %d collected, %d expired, %d refused, %d letters\n", wall.last_number, wall.collected,
            wall.expired, wall.refused, told);
    return wall.returned_volume == -1;
}
