/* summary: a transfer that was refused goes back to the queue without a reference for the queue
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 */
/* Transfers of a user-space host controller. Drivers fill transfers and submit them; controller threads carry them out and give
 * them back through a completion queue. A transfer that meets a busy endpoint is tried again. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIES 3
#define NR_THREADS 2

struct transfer;
typedef void (*transfer_fn)(struct transfer *transfer, void *context);

struct transfer {
	struct transfer *next;
	transfer_fn complete;
	void *context;
	atomic_int refs;
	int endpoint;
	int status;
	unsigned tries;
	uint16_t length, actual;
	uint8_t data[64];
};

struct controller {
	pthread_mutex_t lock;
	pthread_cond_t wake, idle;
	struct transfer *head, **tail;
	unsigned queued, active;
	bool stopping;
	pthread_t threads[NR_THREADS];
	atomic_uint busy_left[8];       /* how often each endpoint still says busy */
	atomic_uint retries;
};

static struct transfer *transfer_alloc(int endpoint, transfer_fn complete, void *context)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return NULL;
	atomic_init(&transfer->refs, 1);
	transfer->endpoint = endpoint;
	transfer->complete = complete;
	transfer->context = context;
	transfer->status = -EINPROGRESS;
	return transfer;
}

static inline struct transfer *transfer_get(struct transfer *transfer)
{
	atomic_fetch_add_explicit(&transfer->refs, 1, memory_order_relaxed);
	return transfer;
}

static inline void transfer_put(struct transfer *transfer)
{
	if (atomic_fetch_sub_explicit(&transfer->refs, 1, memory_order_acq_rel) == 1)
		free(transfer);
}

/* the queue takes over one reference */
static void enqueue(struct controller *hc, struct transfer *transfer)
{
	pthread_mutex_lock(&hc->lock);
	transfer->next = NULL;
	*hc->tail = transfer;
	hc->tail = &transfer->next;
	hc->queued++;
	pthread_cond_signal(&hc->wake);
	pthread_mutex_unlock(&hc->lock);
}

static int transfer_submit(struct controller *hc, struct transfer *transfer)
{
	if (transfer->endpoint < 0 || transfer->endpoint > 7)
		return -EINVAL;
	if (transfer->length > sizeof(transfer->data))
		return -EMSGSIZE;
	enqueue(hc, transfer_get(transfer));
	return 0;
}

static bool transfer_retry(struct controller *hc, struct transfer *transfer)
{
	if (transfer->tries >= MAX_TRIES)
		return false;
	atomic_fetch_add(&hc->retries, 1);
#ifdef BUG
	enqueue(hc, transfer); /* GUILTY */
#else
	enqueue(hc, transfer_get(transfer));
#endif
	return true;
}

static int execute(struct controller *hc, struct transfer *transfer)
{
	unsigned busy = atomic_load(&hc->busy_left[transfer->endpoint]);

	transfer->tries++;
	while (busy > 0)
		if (atomic_compare_exchange_weak(&hc->busy_left[transfer->endpoint], &busy, busy - 1))
			return -EBUSY;
	if (transfer->endpoint == 7)
		return -EPIPE;
	for (unsigned i = 0; i < transfer->length; i++)
		transfer->data[i] ^= (uint8_t)(0x20 + transfer->endpoint);
	transfer->actual = transfer->length;
	return 0;
}

static void process(struct controller *hc, struct transfer *transfer)
{
	int status = execute(hc, transfer);

	if (status == -EBUSY && transfer_retry(hc, transfer))
		return;
	transfer->status = status;
	transfer->complete(transfer, transfer->context);
}

static void *controller_main(void *arg)
{
	struct controller *hc = arg;

	pthread_mutex_lock(&hc->lock);
	for (;;) {
		struct transfer *transfer;

		while (!hc->head && !hc->stopping)
			pthread_cond_wait(&hc->wake, &hc->lock);
		transfer = hc->head;
		if (!transfer)
			break;
		hc->head = transfer->next;
		if (!hc->head)
			hc->tail = &hc->head;
		hc->queued--;
		hc->active++;
		pthread_mutex_unlock(&hc->lock);

		process(hc, transfer);
		transfer_put(transfer); /* ACCEPTED */

		pthread_mutex_lock(&hc->lock);
		if (--hc->active == 0 && hc->queued == 0)
			pthread_cond_broadcast(&hc->idle);
	}
	pthread_mutex_unlock(&hc->lock);
	return NULL;
}

static void controller_start(struct controller *hc)
{
	memset(hc, 0, sizeof(*hc));
	pthread_mutex_init(&hc->lock, NULL);
	pthread_cond_init(&hc->wake, NULL);
	pthread_cond_init(&hc->idle, NULL);
	hc->tail = &hc->head;
	for (int i = 3; i < 7; i++)
		atomic_store(&hc->busy_left[i], 1);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_create(&hc->threads[i], NULL, controller_main, hc);
}

static void controller_wait_idle(struct controller *hc)
{
	pthread_mutex_lock(&hc->lock);
	while (hc->queued || hc->active)
		pthread_cond_wait(&hc->idle, &hc->lock);
	pthread_mutex_unlock(&hc->lock);
}

static void controller_stop(struct controller *hc)
{
	pthread_mutex_lock(&hc->lock);
	hc->stopping = true;
	pthread_cond_broadcast(&hc->wake);
	pthread_mutex_unlock(&hc->lock);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(hc->threads[i], NULL);
	pthread_cond_destroy(&hc->idle);
	pthread_cond_destroy(&hc->wake);
	pthread_mutex_destroy(&hc->lock);
}

struct tally {
	pthread_mutex_t lock;
	unsigned good, failed, bytes, tries;
	struct transfer *stalled;       /* the last one that failed, kept for the log */
};

static void count_transfer(struct transfer *transfer, void *context)
{
	struct tally *tally = context;

	pthread_mutex_lock(&tally->lock);
	tally->tries += transfer->tries;
	if (transfer->status == 0) {
		tally->good++;
		tally->bytes += transfer->actual;
	} else {
		tally->failed++;
		if (tally->stalled)
			transfer_put(tally->stalled);
		tally->stalled = transfer_get(transfer);
	}
	pthread_mutex_unlock(&tally->lock);
}

struct driver {
	const char *name;
	struct transfer *transfers[6];
	unsigned nr_transfers;
};

static int driver_prepare(struct driver *driver, int endpoint, const char *text, struct tally *tally)
{
	struct transfer *transfer = transfer_alloc(endpoint, count_transfer, tally);

	if (!transfer)
		return -ENOMEM;
	transfer->length = (uint16_t)strlen(text);
	memcpy(transfer->data, text, transfer->length);
	driver->transfers[driver->nr_transfers++] = transfer;
	return 0;
}

static unsigned driver_run(struct driver *driver, struct controller *hc)
{
	unsigned submitted = 0;

	for (unsigned i = 0; i < driver->nr_transfers; i++)
		if (transfer_submit(hc, driver->transfers[i]) == 0)
			submitted++;
	return submitted;
}

static void driver_release(struct driver *driver)
{
	while (driver->nr_transfers)
		transfer_put(driver->transfers[--driver->nr_transfers]);
}

int main(void)
{
	static struct controller hc;
	struct tally tally = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct driver drivers[3] = { { .name = "scale" }, { .name = "printer" }, { .name = "badge" } };
	unsigned submitted = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 3; i++) {
		driver_prepare(&drivers[i], 1 + i, "status", &tally);
		driver_prepare(&drivers[i], 1 + i % 2, "configuration", &tally);
		driver_prepare(&drivers[i], 4 + i, drivers[i].name, &tally);
	}
	driver_prepare(&drivers[1], 7, "paper", &tally);
	driver_prepare(&drivers[2], 9, "eject", &tally);

	controller_start(&hc);
	for (int i = 0; i < 3; i++)
		submitted += driver_run(&drivers[i], &hc);
	controller_wait_idle(&hc);
	printf("%u submitted: %u good, %u failed, %u bytes, %u tries\n", submitted, tally.good, tally.failed, tally.bytes, tally.tries);
	if (tally.stalled) {
		printf("stalled: endpoint %d, error %d\n", tally.stalled->endpoint, -tally.stalled->status);
		transfer_put(tally.stalled);
	}
	for (int i = 0; i < 3; i++)
		driver_release(&drivers[i]);
	printf("%u retries\n", atomic_load(&hc.retries));
	controller_stop(&hc);
	return 0;
}
