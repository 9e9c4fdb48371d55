/*
 * summary: a handover that fails puts the target cell but leaves the pointer, and the end of the call puts it again
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O1 -g
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITE_CELLS 8
#define MAX_CALLS 6

struct cell
{
  struct site *site;
  unsigned id;
  unsigned band;
  int power; /* dBm */
  int refcount;
  unsigned channels, in_use;
};

struct site
{
  struct cell *cells[SITE_CELLS];
  unsigned count;
};

enum call_state
{
  CALL_IDLE,
  CALL_ACTIVE,
  CALL_MOVING
};

struct call
{
  const char *subscriber;
  enum call_state state;
  struct cell *serving;
  struct cell *target;
  unsigned moves, failures;
};

struct measurement
{
  unsigned call;
  unsigned cell;
  int level;
  int answered; /* whether the phone found the new cell */
};

static struct cell *cell_new (struct site *site, unsigned id, unsigned band, unsigned channels)
{
  struct cell *cell = malloc (sizeof *cell);
  if (cell == NULL)
    abort ();
  cell->site = site;
  cell->id = id;
  cell->band = band;
  cell->power = 43;
  cell->refcount = 1;
  cell->channels = channels;
  cell->in_use = 0;
  return cell;
}

static struct cell *cell_ref (struct cell *cell)
{
  cell->refcount++;
  return cell;
}

static void cell_unref (struct cell *cell)
{
  if (cell == NULL || --cell->refcount != 0)
    return;
  printf ("cell %u is off the air, %u channels in use\n", cell->id, cell->in_use);
  free (cell);
}

static int cell_seize (struct cell *cell)
{
  if (cell->in_use >= cell->channels)
    return -EBUSY;
  cell->in_use++;
  return 0;
}

static void cell_release_channel (struct cell *cell)
{
  if (cell->in_use > 0)
    cell->in_use--;
}

static void site_add (struct site *site, unsigned id, unsigned band, unsigned channels)
{
  if (site->count < SITE_CELLS)
    site->cells[site->count++] = cell_new (site, id, band, channels);
}

static struct cell *site_find (struct site *site, unsigned id)
{
  for (unsigned i = 0; i < site->count; i++)
    if (site->cells[i]->id == id)
      return cell_ref (site->cells[i]);
  return NULL;
}

static void site_close (struct site *site)
{
  for (unsigned i = 0; i < site->count; i++)
    cell_unref (site->cells[i]);
  site->count = 0;
}

static int call_start (struct call *call, struct site *site, const char *subscriber, unsigned id)
{
  struct cell *cell = site_find (site, id);
  int err;

  memset (call, 0, sizeof *call);
  call->subscriber = subscriber;
  if (cell == NULL)
    return -ENOENT;
  err = cell_seize (cell);
  if (err < 0)
    {
      cell_unref (cell);
      return err;
    }
  call->serving = cell;
  call->state = CALL_ACTIVE;
  return 0;
}

static int handover_prepare (struct call *call, struct site *site, unsigned id)
{
  struct cell *cell;
  int err;

  if (call->state != CALL_ACTIVE)
    return -EINVAL;
  if (call->serving->id == id)
    return -EALREADY;
  cell = site_find (site, id);
  if (cell == NULL)
    return -ENOENT;
  err = cell_seize (cell);
  if (err < 0)
    {
      cell_unref (cell);
      return err;
    }
  call->target = cell;
  call->state = CALL_MOVING;
  return 0;
}

static void handover_complete (struct call *call)
{
  struct cell *old = call->serving;

  call->serving = call->target;
  call->target = NULL;
  call->state = CALL_ACTIVE;
  call->moves++;
  cell_release_channel (old);
  cell_unref (old);
}

static void handover_fail (struct call *call)
{
  struct cell *cell = call->target;

  cell_release_channel (cell);
  cell_unref (cell); /* GUILTY */
#ifndef BUG
  call->target = NULL;
#endif
  call->state = CALL_ACTIVE;
  call->failures++;
}

static void call_end (struct call *call)
{
  if (call->state == CALL_MOVING)
    cell_release_channel (call->target);
  if (call->serving != NULL)
    cell_release_channel (call->serving);
  cell_unref (call->target); /* ACCEPTED */
  cell_unref (call->serving);
  call->target = call->serving = NULL;
  call->state = CALL_IDLE;
}

static int handle_measurement (struct call *call, struct site *site, const struct measurement *report)
{
  int err;

  if (report->level < -95)
    return -ERANGE;
  err = handover_prepare (call, site, report->cell);
  if (err < 0)
    return err;
  if (report->answered)
    handover_complete (call);
  else
    handover_fail (call);
  return 0;
}

int main (void)
{
  static const struct measurement reports[] = {
    { 0, 12, -70, 1 }, { 1, 12, -99, 1 }, { 1, 13, -80, 0 }, { 2, 14, -77, 1 }, { 3, 99, -60, 1 },
    { 1, 14, -98, 1 }, { 4, 15, -90, 0 }, { 0, 11, -66, 1 }, { 3, 12, -71, 1 }, { 2, 14, -72, 1 },
  };
  static const char *const phones[MAX_CALLS] = { "0471-22", "0471-35", "0472-09", "0473-81", "0475-10", "0476-64" };
  static const unsigned first_cell[MAX_CALLS] = { 11, 11, 12, 16, 16, 13 };
  struct site site = { .count = 0 };
  struct call calls[MAX_CALLS];
  unsigned refused = 0, moves = 0, failures = 0;

  for (unsigned i = 0; i < 6; i++)
    site_add (&site, 11 + i, i % 2 ? 1800 : 900, 2 + i % 3);

  for (unsigned i = 0; i < MAX_CALLS; i++)
    if (call_start (&calls[i], &site, phones[i], first_cell[i]) < 0)
      refused++;

  for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++)
    {
      int err = handle_measurement (&calls[reports[i].call], &site, &reports[i]);
      if (err < 0)
        {
          printf ("%s to cell %u: %s\n", phones[reports[i].call], reports[i].cell, strerror (-err));
          refused++;
        }
    }

  for (unsigned i = 0; i < MAX_CALLS; i++)
    {
      if (calls[i].serving != NULL)
        printf ("%s ends on cell %u, %u MHz\n", calls[i].subscriber, calls[i].serving->id, calls[i].serving->band);
      moves += calls[i].moves;
      failures += calls[i].failures;
      call_end (&calls[i]);
    }

  printf ("%u moves, %u failures, %u refused\n", moves, failures, refused);
  site_close (&site);
  return 0;
}
