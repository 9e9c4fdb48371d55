/* summary: book_rollback() makes the previous snapshot the current one again by a plain store over the current one, which the book owned
 * kind: overwritten
 * counts: surplus
 * objects: 6
 * track: own
 * build: gcc -Og -g -pthread
 * exit: 0
 */
/* A ledger whose readers never wait for the book-keeper: each posting makes a
   new snapshot, and auditors hold the one they have seen as long as they
   like. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACCOUNTS = 12, AUDITORS = 3, POSTINGS = 60 };

struct snapshot
{
  unsigned long generation;
  long balance[ACCOUNTS];
  long overdrawn;
  pthread_mutex_t lock;
  int holders;
};

struct book
{
  pthread_mutex_t lock;
  struct snapshot *current;	/* owned */
  struct snapshot *previous;	/* owned, for one step back; may be NULL */
  unsigned long generations;
};

static struct book book = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct snapshot *
snapshot_make (const struct snapshot *base)
{
  struct snapshot *s = malloc (sizeof *s);

  if (!s)
    abort ();
  memset (s, 0, sizeof *s);
  if (base)
    memcpy (s->balance, base->balance, sizeof s->balance);
  pthread_mutex_init (&s->lock, NULL);
  s->holders = 1;
  s->generation = ++book.generations;
  return s;
}

struct snapshot *
snapshot_pin (struct snapshot *s)
{
  pthread_mutex_lock (&s->lock);
  s->holders++;
  pthread_mutex_unlock (&s->lock);
  return s;
}

void
snapshot_unpin (struct snapshot *s)
{
  bool last;

  if (!s)
    return;
  pthread_mutex_lock (&s->lock);
  last = --s->holders == 0;
  pthread_mutex_unlock (&s->lock);
  if (last)
    {
      pthread_mutex_destroy (&s->lock);
      free (s);
    }
}

/* A snapshot for the caller, who unpins it.  */
static struct snapshot *
book_read (void)
{
  struct snapshot *s;

  pthread_mutex_lock (&book.lock);
  s = snapshot_pin (book.current);
  pthread_mutex_unlock (&book.lock);
  return s;
}

/* The book takes the caller's pin over.  */
static void
book_publish (struct snapshot *s)
{
  struct snapshot *old;

  pthread_mutex_lock (&book.lock);
  old = book.previous;
  book.previous = book.current;
  book.current = s;
  pthread_mutex_unlock (&book.lock);
  snapshot_unpin (old);
}

/* One step back.  False where there is nothing to go back to.  */
static bool
book_rollback (void)
{
  pthread_mutex_lock (&book.lock);
  if (!book.previous)
    {
      pthread_mutex_unlock (&book.lock);
      return false;
    }
#ifndef BUG
  snapshot_unpin (book.current);
#endif
  book.current = book.previous;	/* GUILTY */
  book.previous = NULL;
  pthread_mutex_unlock (&book.lock);
  return true;
}

static void
book_close (void)
{
  pthread_mutex_lock (&book.lock);
  snapshot_unpin (book.previous);
  snapshot_unpin (book.current);
  book.previous = book.current = NULL;
  pthread_mutex_unlock (&book.lock);
}

/* Posts AMOUNT; an account that is overdrawn too far makes the posting void.  */
static bool
post (int from, int to, long amount)
{
  struct snapshot *base = book_read (), *next = snapshot_make (base);

  snapshot_unpin (base);
  next->balance[from] -= amount;
  next->balance[to] += amount;
  for (int i = 0; i < ACCOUNTS; i++)
    if (next->balance[i] < 0)
      next->overdrawn -= next->balance[i];
  book_publish (next);
  if (next->balance[from] < -700)
    return !book_rollback ();
  return true;
}

static void *
auditor (void *arg)
{
  long *worst = arg;
  struct snapshot *kept = NULL;

  for (int i = 0; i < 300; i++)
    {
      struct snapshot *s = book_read ();
      long sum = 0;

      for (int a = 0; a < ACCOUNTS; a++)
	sum += s->balance[a];
      if (sum != 0)
	*worst = -1;
      if (i % 50 == 0)
	{
	  snapshot_unpin (kept);
	  kept = snapshot_pin (s);
	}
      snapshot_unpin (s);
    }
  snapshot_unpin (kept);
  return NULL;
}

int
main (void)
{
  pthread_t tid[AUDITORS];
  long worst[AUDITORS] = { 0 };
  unsigned x = 99;
  int good = 0, undone = 0;
  struct snapshot *last;

  book.current = snapshot_make (NULL);
  for (int i = 0; i < AUDITORS; i++)
    pthread_create (&tid[i], NULL, auditor, &worst[i]);
  for (int i = 0; i < POSTINGS; i++)
    {
      int from, to;

      x = x * 69069 + 5;
      from = (x >> 8) % ACCOUNTS;
      to = (x >> 16) % ACCOUNTS;
      if (post (from, to, 50 + (x >> 20) % 200))
	good++;
      else
	undone++;
    }
  for (int i = 0; i < AUDITORS; i++)
    pthread_join (tid[i], NULL);
  last = book_read ();
  printf ("%d posted, %d undone, overdrawn %ld\n", good, undone, last->overdrawn);
  snapshot_unpin (last);
  book_close ();
  for (int i = 0; i < AUDITORS; i++)
    if (worst[i])
      puts ("the books do not balance");
  return 0;
}
