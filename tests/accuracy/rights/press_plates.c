/* summary: a printing press prepares plates: goto clean-ups that undo exactly what was done, callbacks that own their data, a longjmp past counted frames
 * track: own
 * build: clang -O1 -g press_plates.c -o OUT
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plate {
	char title[12];
	uint16_t flags;
	uint16_t refs;
	void (*on_gone)(struct plate *plate, void *data);
	void *data;
} plate_t;

typedef struct job {
	int refs;
	plate_t *plates[4];
	int count;
	struct job *after;                               /* owned: the job to be done before */
} job_t;

static int plates_alive, jobs_alive;

static plate_t *plate_create(const char *title)
{
	plate_t *plate = *title ? calloc(1, sizeof *plate) : NULL;
	if (!plate)
		return NULL;
	snprintf(plate->title, sizeof plate->title, "%s", title);
	plate->refs = 1;
	plates_alive++;
	return plate;
}
static plate_t *plate_acquire(plate_t *plate) { plate->refs++; return plate; }

static void plate_release(plate_t *plate)
{
	if (!plate || --plate->refs)
		return;
	if (plate->on_gone) {
		/* The callback sees a plate that is whole; it may take it and put it. */
		void (*gone)(plate_t *, void *) = plate->on_gone;
		plate->on_gone = NULL;
		plate->refs = 1;
		gone(plate, plate->data);
		if (--plate->refs)
			return;                          /* somebody kept it: it lives on */
	}
	plates_alive--;
	free(plate);
}

/* By address: takes the place's reference away, and clears it. */
static void plate_clear(plate_t **at)
{
	plate_t *plate = *at;
	*at = NULL;
	plate_release(plate);
}

static job_t *job_create(void)
{
	job_t *job = calloc(1, sizeof *job);
	if (!job)
		return NULL;
	job->refs = 1;
	jobs_alive++;
	return job;
}

static job_t *job_acquire(job_t *job) { job->refs++; return job; }

static void job_release(job_t *job)
{
	if (!job || --job->refs)
		return;
	while (job->count)
		plate_release(job->plates[--job->count]);
	job_release(job->after);
	jobs_alive--;
	free(job);
}

/* Takes the plate's reference if it returns 0; else the caller has it still. */
static int job_attach(job_t *job, plate_t *plate)
{
	if (job->count == 4)
		return -1;
	job->plates[job->count++] = plate;
	return 0;
}

/* Takes the reference in any case. */
static int job_attach_always(job_t *job, plate_t *plate)
{
	if (job_attach(job, plate) == 0)
		return 0;
	plate_release(plate);
	return -1;
}

/* All or nothing: three plates, one job; each label undoes what is above it. */
static job_t *prepare(const char *black, const char *red, const char *blue, plate_t *common, int most)
{
	job_t *job = NULL, *result = NULL;
	plate_t *first, *second = NULL, *third = NULL;

	first = plate_create(black);
	if (!first)
		goto out;
	second = strcmp(black, red) ? plate_create(red) : plate_acquire(first);
	if (!second)
		goto drop_first;
	third = *blue == '=' ? plate_acquire(common) : plate_create(blue);
	if (!third)
		goto drop_second;
	job = job_create();
	if (!job || most < 1)
		goto drop_all;
	if (job_attach(job, first) < 0)
		goto drop_all;
	first = NULL;                                    /* the job's */
	if (most < 2 || job_attach(job, second) < 0)
		goto drop_all;
	second = NULL;
	if (job_attach_always(job, plate_acquire(third)) < 0)
		goto drop_all;
	result = job;
	job = NULL;
drop_all:
	job_release(job);
	plate_release(third);
drop_second:
	plate_release(second);
drop_first:
	plate_release(first);
out:
	return result;
}

/* Callbacks that own what they are called with. */
enum { SLOTS = 6 };
typedef void (*ring_fn)(void *data);
static struct bell { ring_fn ring, destroy; void *data; bool once; } bells[SLOTS];

static int bell_add(ring_fn ring, void *data, ring_fn destroy, bool once)
{
	for (int i = 0; i < SLOTS; i++)
		if (!bells[i].ring) {
			bells[i] = (struct bell){ ring, destroy, data, once };
			return i;
		}
	return -1;                                       /* the data stays with the caller */
}

static void bell_remove(int i)
{
	struct bell bell = bells[i];
	bells[i] = (struct bell){ 0 };
	bell.destroy(bell.data);
}

static void bells_ring(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (bells[i].ring) {
			bells[i].ring(bells[i].data);
			if (bells[i].ring && bells[i].once)
				bell_remove(i);
		}
}

static int printed;
static void print_job(void *data) { printed += ((job_t *)data)->count; }
static void print_last(void *data)
{
	job_t *job = job_acquire(data);                  /* its own bell goes while it is rung */
	for (int i = 0; i < SLOTS; i++)
		if (bells[i].data == data && bells[i].ring == print_last)
			bell_remove(i);
	printed += 100 + job->count;
	job_release(job);
}
static void free_job(void *data) { job_release(data); }

static void ring_all(plate_t *common)
{
	job_t *job = prepare("news", "news", "=", common, 3), *next = prepare("post", "red", "blue", common, 3);
	if (!job || !next)
		exit(2);
	next->after = job_acquire(job);
	int added = 0, refused = 0;
	for (int i = 0; i < SLOTS + 2; i++) {
		job_t *for_bell = job_acquire(i % 2 ? job : next);
		if (bell_add(i == 1 ? print_last : print_job, for_bell, free_job, i % 3 == 0) >= 0)
			added++;
		else {
			job_release(for_bell);
			refused++;
		}
	}
	job_release(job);
	job_release(next);
	bells_ring();
	bells_ring();
	for (int i = 0; i < SLOTS; i++)
		if (bells[i].ring)
			bell_remove(i);
	printf("bells: %d added, %d refused, printed %d\n", added, refused, printed);
}

/* A jump over frames: what they hold is on a list of its own, that the catcher empties. */
static jmp_buf jam;
static plate_t *guarded[8];
static int guards;

static plate_t *guard(plate_t *plate) { return guarded[guards++] = plate; }
static void unguard(void) { plate_clear(&guarded[--guards]); }

static int feed(int sheet, int jam_at)
{
	plate_t *plate = guard(plate_create(sheet % 2 ? "odd" : "even"));
	int done = plate->title[0] == 'o';
	if (sheet == jam_at)
		longjmp(jam, sheet + 1);
	if (sheet < 5)
		done += feed(sheet + 1, jam_at);
	unguard();
	return done;
}

static void run_press(void)
{
	for (volatile int jam_at = 2; jam_at < 7; jam_at += 2) {
		volatile int floor = guards;
		plate_t *volatile own = plate_create("own");
		int where = setjmp(jam);
		if (!where)
			printf("fed %d\n", feed(0, jam_at));
		else
			printf("jam at %d, %d plates in it\n", where - 1, guards - floor);
		while (guards > floor)
			unguard();
		plate_release(own);
	}
}

static plate_t *museum;
static void to_museum(plate_t *plate, void *data)
{
	int *wanted = data;
	if ((*wanted)-- > 0) {
		plate_release(museum);
		museum = plate_acquire(plate);           /* revived from within its last put */
	}
}

int main(void)
{
	plate_t *common = plate_create("common");
	int wanted = 1, made = 0;
	static const char *const orders[][3] = { { "a", "b", "c" }, { "", "b", "c" }, { "a", "", "c" }, { "a", "b", "" },
		{ "a", "a", "=" }, { "a", "a", "" } };
	for (unsigned i = 0; i < sizeof orders / sizeof *orders; i++)
		for (int most = 0; most < 4; most++) {
			job_t *job = prepare(orders[i][0], orders[i][1], orders[i][2], common, most);
			made += !!job;
			job_release(job);
		}
	printf("%d jobs made\n", made);
	ring_all(common);
	run_press();
	for (int i = 0; i < 2; i++) {
		plate_t *plate = plate_create(i ? "second" : "first");
		plate->on_gone = to_museum;
		plate->data = &wanted;
		plate_release(plate);
	}
	printf("in the museum: %s\n", museum->title);
	plate_clear(&museum);
	plate_clear(&common);
	printf("alive: %d plates, %d jobs\n", plates_alive, jobs_alive);
	return plates_alive || jobs_alive;
}
