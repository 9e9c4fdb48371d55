/* summary: the caller of a submit that takes over its reference puts the label once more when the spool is full
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * libs: -pthread
 * build: gcc -O2 -g
 */
/* Print station of a warehouse: pickers ask for labels, two printers work them off. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPOOL_SLOTS 6
#define CATALOGUE_SLOTS 8

struct label {
	unsigned width_mm;
	unsigned height_mm;
	char name[28];
	int users;
	unsigned printed;
	unsigned char glyphs[160];
};

struct print_job {
	struct label *label;
	unsigned copies;
	unsigned dock;
};

struct spool {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	pthread_cond_t idle;
	struct print_job jobs[SPOOL_SLOTS];
	unsigned head, count;
	unsigned working;
	int online;
	int closing;
	unsigned long millimetres;
};

struct catalogue {
	struct label *labels[CATALOGUE_SLOTS];
	unsigned size;
};

static inline struct label *label_hold(struct label *label)
{
	__atomic_fetch_add(&label->users, 1, __ATOMIC_RELAXED);
	return label;
}

static inline void label_drop(struct label *label)
{
	if (__atomic_sub_fetch(&label->users, 1, __ATOMIC_ACQ_REL) == 0)
		free(label);
}

static struct label *label_create(const char *name, unsigned width, unsigned height)
{
	struct label *label = malloc(sizeof *label);

	if (!label)
		return NULL;
	memset(label, 0, sizeof *label);
	label->users = 1;
	label->width_mm = width;
	label->height_mm = height;
	snprintf(label->name, sizeof label->name, "%s", name);
	for (unsigned i = 0; i < sizeof label->glyphs; i++)
		label->glyphs[i] = (unsigned char)(name[i % strlen(name)] ^ i);
	return label;
}

static int catalogue_add(struct catalogue *cat, const char *name, unsigned width, unsigned height)
{
	struct label *label;

	if (cat->size == CATALOGUE_SLOTS)
		return -ENOSPC;
	label = label_create(name, width, height);
	if (!label)
		return -ENOMEM;
	cat->labels[cat->size++] = label;
	return 0;
}

/* Returns a reference of the caller's own. */
static struct label *catalogue_find(struct catalogue *cat, const char *name)
{
	for (unsigned i = 0; i < cat->size; i++)
		if (!strcmp(cat->labels[i]->name, name))
			return label_hold(cat->labels[i]);
	return NULL;
}

static void catalogue_clear(struct catalogue *cat)
{
	while (cat->size)
		label_drop(cat->labels[--cat->size]);
}

static void spool_init(struct spool *spool)
{
	memset(spool, 0, sizeof *spool);
	pthread_mutex_init(&spool->lock, NULL);
	pthread_cond_init(&spool->filled, NULL);
	pthread_cond_init(&spool->idle, NULL);
}

/* The reference goes to the spool, whatever the result. */
static int spool_submit(struct spool *spool, struct label *label, unsigned copies, unsigned dock)
{
	struct print_job *job;

	if (copies == 0) {
		label_drop(label);
		return -EINVAL;
	}
	pthread_mutex_lock(&spool->lock);
	if (spool->count == SPOOL_SLOTS || spool->closing) {
		pthread_mutex_unlock(&spool->lock);
		label_drop(label); /* ACCEPTED */
		return -EAGAIN;
	}
	job = &spool->jobs[(spool->head + spool->count++) % SPOOL_SLOTS];
	job->label = label;
	job->copies = copies;
	job->dock = dock;
	pthread_cond_signal(&spool->filled);
	pthread_mutex_unlock(&spool->lock);
	return 0;
}

static unsigned long print_label(const struct label *label, unsigned copies)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < sizeof label->glyphs; i++)
		sum = sum * 33 + label->glyphs[i];
	return (unsigned long)label->height_mm * copies + (sum & 1);
}

static void *printer_main(void *arg)
{
	struct spool *spool = arg;

	pthread_mutex_lock(&spool->lock);
	for (;;) {
		struct print_job job;
		unsigned long length;

		while (!spool->closing && (!spool->online || spool->count == 0))
			pthread_cond_wait(&spool->filled, &spool->lock);
		if (spool->count == 0)
			break;
		job = spool->jobs[spool->head];
		spool->head = (spool->head + 1) % SPOOL_SLOTS;
		spool->count--;
		spool->working++;
		pthread_mutex_unlock(&spool->lock);

		length = print_label(job.label, job.copies);
		__atomic_fetch_add(&job.label->printed, job.copies, __ATOMIC_RELAXED);
		label_drop(job.label);

		pthread_mutex_lock(&spool->lock);
		spool->millimetres += length;
		if (--spool->working == 0 && spool->count == 0)
			pthread_cond_broadcast(&spool->idle);
	}
	pthread_mutex_unlock(&spool->lock);
	return NULL;
}

static void spool_set_online(struct spool *spool, int online)
{
	pthread_mutex_lock(&spool->lock);
	spool->online = online;
	pthread_cond_broadcast(&spool->filled);
	pthread_mutex_unlock(&spool->lock);
}

static void spool_drain(struct spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	while (spool->count || spool->working)
		pthread_cond_wait(&spool->idle, &spool->lock);
	pthread_mutex_unlock(&spool->lock);
}

static void spool_close(struct spool *spool)
{
	pthread_mutex_lock(&spool->lock);
	spool->closing = 1;
	pthread_cond_broadcast(&spool->filled);
	pthread_mutex_unlock(&spool->lock);
}

static int request_labels(struct spool *spool, struct catalogue *cat, const char *name, unsigned copies, unsigned dock)
{
	struct label *label = catalogue_find(cat, name);
	int err;

	if (!label) {
		fprintf(stderr, "dock %u: no label %s\n", dock, name);
		return -ENOENT;
	}
	err = spool_submit(spool, label, copies, dock);
	if (err == -EAGAIN) {
		printf("dock %u: printers are busy, %u x %s not taken\n", dock, copies, name);
#ifdef BUG
		label_drop(label); /* GUILTY */
#endif
	}
	return err;
}

int main(void)
{
	static const struct { const char *name; unsigned copies, dock; } wishes[] = {
		{ "pallet-a5", 4, 1 }, { "carton", 12, 2 }, { "fragile", 3, 1 }, { "carton", 6, 3 },
		{ "returns", 0, 4 }, { "cold-chain", 5, 2 }, { "hazmat-3", 2, 4 }, { "fragile", 8, 3 },
	};
	struct catalogue cat = { 0 };
	struct spool spool;
	pthread_t printers[2];
	unsigned refused = 0;

	spool_init(&spool);
	catalogue_add(&cat, "pallet-a5", 148, 210);
	catalogue_add(&cat, "carton", 102, 152);
	catalogue_add(&cat, "fragile", 102, 60);
	catalogue_add(&cat, "returns", 80, 60);
	catalogue_add(&cat, "cold-chain", 102, 76);
	catalogue_add(&cat, "hazmat-3", 100, 100);
	for (unsigned i = 0; i < 2; i++)
		if (pthread_create(&printers[i], NULL, printer_main, &spool))
			return 1;
	for (unsigned i = 0; i < sizeof wishes / sizeof *wishes; i++)
		if (request_labels(&spool, &cat, wishes[i].name, wishes[i].copies, wishes[i].dock))
			refused++;
	spool_set_online(&spool, 1);
	spool_drain(&spool);
	request_labels(&spool, &cat, "returns", 2, 4);
	request_labels(&spool, &cat, "gift-wrap", 2, 4);
	spool_drain(&spool);
	for (unsigned i = 0; i < cat.size; i++)
		printf("%-12s %ux%u mm, %u printed\n", cat.labels[i]->name, cat.labels[i]->width_mm, cat.labels[i]->height_mm,
		       cat.labels[i]->printed);
	spool_close(&spool);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(printers[i], NULL);
	catalogue_clear(&cat);
	printf("%u refused, %lu mm of paper\n", refused, spool.millimetres);
	return refused == 2 ? 0 : 1;
}
