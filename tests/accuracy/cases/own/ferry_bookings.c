/*
 * summary: the waiting list stores a booking that the register owns without taking a reference of its own
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * build: gcc -O1 -g
 * libs: -pthread
 */
/* Bookings of a car ferry. Several clerks sell places at the same time; who comes too late goes to
 * the waiting list and is on the register nevertheless. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bookings, with a short list of free ones ---- */
enum status { REQUESTED, CONFIRMED, WAITING, CANCELLED };

struct booking {
	struct booking *next_free;
	unsigned number;
	enum status status;
	char plate[12];
	unsigned lane_cm;
	pthread_mutex_t lock;
	long holders;
};

#define KEEP_FREE 3

static struct {
	pthread_mutex_t lock;
	struct booking *head;
	unsigned length;
} free_list = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct booking *booking_create(unsigned number, const char *plate, unsigned lane_cm)
{
	struct booking *b;

	pthread_mutex_lock(&free_list.lock);
	b = free_list.head;
	if (b) {
		free_list.head = b->next_free;
		free_list.length--;
	}
	pthread_mutex_unlock(&free_list.lock);
	if (!b) {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		pthread_mutex_init(&b->lock, NULL);
	}
	b->next_free = NULL;
	b->number = number;
	b->status = REQUESTED;
	b->lane_cm = lane_cm;
	snprintf(b->plate, sizeof(b->plate), "%s", plate);
	b->holders = 1;
	return b;
}

static struct booking *booking_hold(struct booking *b)
{
	pthread_mutex_lock(&b->lock);
	b->holders++;
	pthread_mutex_unlock(&b->lock);
	return b;
}

static void booking_drop(struct booking *b)
{
	bool last;

	pthread_mutex_lock(&b->lock);
	last = --b->holders == 0;
	pthread_mutex_unlock(&b->lock);
	if (!last)
		return;

	pthread_mutex_lock(&free_list.lock);
	if (free_list.length < KEEP_FREE) {
		b->next_free = free_list.head;
		free_list.head = b;
		free_list.length++;
		b = NULL;
	}
	pthread_mutex_unlock(&free_list.lock);
	free(b);
}

static void free_list_trim(void)
{
	pthread_mutex_lock(&free_list.lock);
	while (free_list.head) {
		struct booking *b = free_list.head;

		free_list.head = b->next_free;
		free_list.length--;
		free(b);
	}
	pthread_mutex_unlock(&free_list.lock);
}

/* ---- one departure ---- */
#define MAX_BOOKINGS 32
#define MAX_WAITING 8

struct departure {
	pthread_mutex_t lock;
	unsigned free_cm;
	struct booking *reg[MAX_BOOKINGS];
	unsigned registered;
	struct booking *waiting[MAX_WAITING];
	unsigned first, waiters;
};

static bool place(struct departure *d, struct booking *b)
{
	if (b->lane_cm > d->free_cm)
		return false;
	d->free_cm -= b->lane_cm;
	b->status = CONFIRMED;
	return true;
}

static bool enqueue(struct departure *d, struct booking *b)
{
	if (d->waiters == MAX_WAITING)
		return false;
#ifdef BUG
	d->waiting[(d->first + d->waiters++) % MAX_WAITING] = b; /* GUILTY */
#else
	d->waiting[(d->first + d->waiters++) % MAX_WAITING] = booking_hold(b);
#endif
	b->status = WAITING;
	return true;
}

/* Returns the booking, which the caller holds, or NULL if even the waiting list is full. */
static struct booking *book(struct departure *d, unsigned number, const char *plate, unsigned lane_cm)
{
	struct booking *b = booking_create(number, plate, lane_cm);

	if (!b)
		return NULL;
	pthread_mutex_lock(&d->lock);
	if (d->registered == MAX_BOOKINGS || (!place(d, b) && !enqueue(d, b))) { /* ACCEPTED */
		pthread_mutex_unlock(&d->lock);
		booking_drop(b);
		return NULL;
	}
	d->reg[d->registered++] = booking_hold(b);
	pthread_mutex_unlock(&d->lock);
	return b;
}

static void cancel(struct departure *d, unsigned number)
{
	struct booking *b = NULL;

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < d->registered; i++)
		if (d->reg[i]->number == number) {
			b = d->reg[i];
			d->reg[i] = d->reg[--d->registered];
			if (b->status == CONFIRMED)
				d->free_cm += b->lane_cm;
			b->status = CANCELLED;
			break;
		}
	pthread_mutex_unlock(&d->lock);
	if (b)
		booking_drop(b);
}

static unsigned serve_waiting(struct departure *d)
{
	unsigned served = 0;

	pthread_mutex_lock(&d->lock);
	for (unsigned n = d->waiters; n > 0; n--) {
		struct booking *b = d->waiting[d->first];

		d->first = (d->first + 1) % MAX_WAITING;
		d->waiters--;
		if (b->status == WAITING && place(d, b))
			served++;
		booking_drop(b);
	}
	pthread_mutex_unlock(&d->lock);
	return served;
}

static void depart(struct departure *d)
{
	pthread_mutex_lock(&d->lock);
	while (d->registered > 0)
		booking_drop(d->reg[--d->registered]);
	pthread_mutex_unlock(&d->lock);
}

/* ---- clerks ---- */
struct clerk {
	struct departure *departure;
	unsigned first_number;
	unsigned length_cm;
	unsigned sold, refused;
};

static void *clerk_run(void *arg)
{
	struct clerk *clerk = arg;
	char plate[12];

	for (unsigned i = 0; i < 5; i++) {
		struct booking *b;

		snprintf(plate, sizeof(plate), "FL-%c %u", 'A' + (int)i, clerk->first_number);
		b = book(clerk->departure, clerk->first_number + i, plate, clerk->length_cm);
		if (!b) {
			clerk->refused++;
			continue;
		}
		clerk->sold++;
		booking_drop(b);
	}
	return NULL;
}

int main(void)
{
	struct departure noon = { .lock = PTHREAD_MUTEX_INITIALIZER, .free_cm = 9000 };
	struct clerk clerks[] = {
		{ .departure = &noon, .first_number = 100, .length_cm = 500 },
		{ .departure = &noon, .first_number = 200, .length_cm = 600 },
	};
	static const unsigned trucks[] = { 1650, 1200, 1500, 1750, 900 };
	struct booking *late[5];
	pthread_t threads[2];
	unsigned served;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, clerk_run, &clerks[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		printf("clerk %d sold %u, refused %u\n", i, clerks[i].sold, clerks[i].refused);
	}
	for (unsigned i = 0; i < 5; i++) {
		late[i] = book(&noon, 300 + i, "TRUCK", trucks[i]);
		if (!late[i])
			return 1;
	}
	for (unsigned i = 0; i < 5; i++) {
		printf("%u %s\n", late[i]->number, late[i]->status == WAITING ? "waits" : "is on");
		booking_drop(late[i]);
	}

	for (unsigned number = 101; number < 104; number++)
		cancel(&noon, number);
	served = serve_waiting(&noon);
	printf("%u of the waiting list served, %u cm left\n", served, noon.free_cm);
	depart(&noon);
	free_list_trim();
	return 0;
}
