/* summary: one object at two addresses: messages in a memfd that the writer and the reader threads have mapped at different places; born and got in one mapping, put in the other, passed as offsets through a pipe, memory reused when the oldest is free
 * track: own
 * build: gcc -O2 -g -Wall dualmap_ring.c -o OUT -pthread
 */
/*
 * dualmap_ring - message ring between the two halves of a player.
 *
 * As later on the reading half shall be a process of its own, it has its own
 * mapping of the ring already, and knows messages by their offset alone.
 * A message lives until all its readers have put it.  The writer frees in
 * order: only the oldest message's space is taken back.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING (64u * 1024)
#define READERS 2

struct msg {
	atomic_uint refs;
	uint32_t size;          /* with this head, multiple of 16 */
	uint32_t sum;
	uint32_t pad;
	unsigned char data[];
};

struct ring {
	unsigned char *base;    /* of this half's mapping */
	uint32_t head, tail;    /* writer's: next byte to write, oldest byte in use */
	int full_waits;
};

static int pipes[READERS][2];
static atomic_long msgs_read, bytes_read;
static atomic_int bad;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* The message begins its life with the writer's reference. */
static void msg_init(struct msg *m, uint32_t size)
{
	atomic_store(&m->refs, 1);
	m->size = size;
}

static void msg_get(struct msg *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

/* Nothing is freed here: the writer looks for zero. */
static void msg_put(struct msg *m)
{
	if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 0)
		abort();
}

static struct msg *at(const struct ring *r, uint32_t offset)
{
	return (struct msg *)(r->base + offset);
}

/* ---- writer ------------------------------------------------------------- */

/* Takes the space of all messages back that are free and older than every used one. */
static void reclaim(struct ring *r)
{
	while (r->tail != r->head) {
		struct msg *oldest = at(r, r->tail % RING);
		if (atomic_load_explicit(&oldest->refs, memory_order_acquire))
			break;
		r->tail += oldest->size;
	}
}

static struct msg *reserve(struct ring *r, uint32_t bytes)
{
	uint32_t size = (sizeof(struct msg) + bytes + 15) & ~15u;
	uint32_t left = RING - r->head % RING;

	if (left < size) {      /* filler up to the end, nobody's from the start */
		while (RING - (r->head - r->tail) < left) {
			r->full_waits++;
			usleep(200);
			reclaim(r);
		}
		struct msg *filler = at(r, r->head % RING);
		atomic_store(&filler->refs, 0);
		filler->size = left;
		r->head += left;
	}
	for (reclaim(r); RING - (r->head - r->tail) < size; reclaim(r)) {
		r->full_waits++;
		usleep(200);
	}
	struct msg *m = at(r, r->head % RING);
	msg_init(m, size);
	r->head += size;
	return m;
}

static void publish(struct ring *r, struct msg *m, unsigned readers)
{
	uint32_t offset = (uint32_t)((unsigned char *)m - r->base);

	for (int i = 0; i < READERS; i++) {
		if (!(readers >> i & 1))
			continue;
		msg_get(m);     /* goes with the offset */
		if (write(pipes[i][1], &offset, sizeof offset) != sizeof offset)
			die("write");
	}
	msg_put(m);
}

/* ---- readers ------------------------------------------------------------ */

struct half {
	struct ring *ring;
	int number;
};

static uint32_t checksum(const unsigned char *p, size_t n)
{
	uint32_t sum = 1;
	while (n--)
		sum = sum * 31 + *p++;
	return sum;
}

static void *reader(void *arg)
{
	struct half *half = arg;
	uint32_t held[4], offset;      /* offsets of what is kept for a while */
	int n = 0;

	while (read(pipes[half->number][0], &offset, sizeof offset) == sizeof offset) {
		held[n++] = offset;
		if (n < 4)
			continue;
		for (int i = 0; i < n; i++) {
			struct msg *m = at(half->ring, held[i]);
			uint32_t length = m->size - sizeof *m;
			if (checksum(m->data, length) != m->sum)
				atomic_fetch_add(&bad, 1);
			atomic_fetch_add(&msgs_read, 1);
			atomic_fetch_add(&bytes_read, length);
			msg_put(m);
		}
		n = 0;
	}
	while (n--) {
		atomic_fetch_add(&msgs_read, 1);
		msg_put(at(half->ring, held[n]));
	}
	return NULL;
}

static unsigned char *map(int fd)
{
	void *p = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

int main(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, RING))
		die("memfd");
	struct ring writing = { .base = map(fd) }, reading = { .base = map(fd) };
	pthread_t threads[READERS];
	struct half halves[READERS];
	unsigned seed = 8, sent = 0;

	close(fd);
	for (int i = 0; i < READERS; i++) {
		if (pipe(pipes[i]))
			die("pipe");
		halves[i] = (struct half){ &reading, i };
		if (pthread_create(&threads[i], NULL, reader, &halves[i]))
			die("pthread_create");
	}
	for (int i = 0; i < 1500; i++) {
		uint32_t bytes = 16 + rand_r(&seed) % 900;
		struct msg *m = reserve(&writing, bytes);
		bytes = m->size - sizeof *m;
		for (uint32_t k = 0; k < bytes; k++)
			m->data[k] = (unsigned char)(k * 7 + i);
		m->sum = checksum(m->data, bytes);
		unsigned who = i % 17 == 0 ? 0 : 1 + rand_r(&seed) % 3;
		sent += (who & 1) + (who >> 1);
		publish(&writing, m, who);
	}
	for (int i = 0; i < READERS; i++)
		close(pipes[i][1]);
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		close(pipes[i][0]);
	}
	reclaim(&writing);
	printf("%u sent, %ld read, %ld bytes, %d bad, %u still used\n", sent, atomic_load(&msgs_read),
	       atomic_load(&bytes_read), atomic_load(&bad), writing.head - writing.tail);
	int wrong = atomic_load(&bad) || writing.head != writing.tail;
	munmap(writing.base, RING);
	munmap(reading.base, RING);
	return wrong;
}
