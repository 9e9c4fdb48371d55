/* summary: a quarry's stones go through pipes, a bounded queue that takes on success alone, and words whose low bit tells who owns them
 * track: own
 * build: gcc -O3 -g -pthread quarry_tags.c -o OUT
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stone {
	int number, weight;
	atomic_uint refs;
	atomic_int cuts;
};
static atomic_int stones_alive;

static struct stone *stone_new(int number)
{
	struct stone *stone = calloc(1, sizeof *stone);
	if (!stone)
		abort();
	stone->number = number;
	stone->weight = 50 + number % 7;
	atomic_init(&stone->refs, 1);
	stones_alive++;
	return stone;
}

static struct stone *stone_ref(struct stone *stone)
{
	atomic_fetch_add_explicit(&stone->refs, 1, memory_order_relaxed);
	return stone;
}

static void stone_unref(struct stone *stone)
{
	if (!stone || atomic_fetch_sub_explicit(&stone->refs, 1, memory_order_release) != 1)
		return;
	atomic_thread_fence(memory_order_acquire);
	stones_alive--;
	free(stone);
}

/*
 * A word of the conveyor. Bit 0: the word carries a reference. Without it the stone is lent, and its lender waits for
 * the acknowledgement. Bit 1: the stone is to be polished.
 */
enum { OWNED = 1, POLISH = 2, TAGS = 3 };
static uintptr_t word_owning(struct stone *taken, int tags) { return (uintptr_t)taken | OWNED | (tags & POLISH); }
static uintptr_t word_lent(struct stone *lent) { return (uintptr_t)lent; }
static struct stone *word_stone(uintptr_t word) { return (struct stone *)(word & ~(uintptr_t)TAGS); }
static void word_drop(uintptr_t word)
{
	if (word & OWNED)
		stone_unref(word_stone(word));
}

static bool send_word(int fd, uintptr_t word)
{
	ssize_t got;
	do
		got = write(fd, &word, sizeof word);
	while (got < 0 && errno == EINTR);
	return got == sizeof word;
}

static bool receive_word(int fd, uintptr_t *word)
{
	ssize_t got;
	do
		got = read(fd, word, sizeof *word);
	while (got < 0 && errno == EINTR);
	return got == sizeof *word;
}

/* The bounded queue. The reference goes with a stone that was accepted; a refused one stays with its sender. */
enum { ROOM = 4 };
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct stone *ring[ROOM];
	unsigned first, count;
	bool closed;
};

static bool queue_offer(struct queue *queue, struct stone *stone)
{
	bool taken = false;
	pthread_mutex_lock(&queue->lock);
	if (!queue->closed && queue->count < ROOM) {
		queue->ring[(queue->first + queue->count++) % ROOM] = stone;
		taken = true;
		pthread_cond_signal(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
	return taken;
}

static struct stone *queue_take(struct queue *queue)
{
	struct stone *stone = NULL;
	pthread_mutex_lock(&queue->lock);
	while (!queue->count && !queue->closed)
		pthread_cond_wait(&queue->filled, &queue->lock);
	if (queue->count) {
		stone = queue->ring[queue->first];
		queue->first = (queue->first + 1) % ROOM;   /* the old word stays in the ring, unowned */
		queue->count--;
	}
	pthread_mutex_unlock(&queue->lock);
	return stone;
}

static void queue_close(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->closed = true;
	pthread_cond_broadcast(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

struct quarry {
	int belt[2], answer[2];
	struct queue polish;
	_Atomic(uintptr_t) display;                      /* a word in a show-case, exchanged by everybody */
	int cut, polished, unpolished;
};

/* The new word's reference goes into the show-case, the old one's to us. */
static void show(struct quarry *quarry, uintptr_t word)
{
	word_drop(atomic_exchange(&quarry->display, word));
}

static void *cutter(void *data)
{
	struct quarry *quarry = data;
	uintptr_t word;
	while (receive_word(quarry->belt[0], &word)) {
		struct stone *stone = word_stone(word);
		if (!stone)
			break;                           /* closing time; what follows on the belt stays there */
		stone->cuts++;
		quarry->cut++;
		if (!(word & OWNED)) {
			/* Kept longer than it is lent: so it needs a reference of its own, before the answer. */
			if (stone->number % 5 == 0)
				show(quarry, word_owning(stone_ref(stone), 0));
			send_word(quarry->answer[1], word);
			continue;
		}
		if (word & POLISH && queue_offer(&quarry->polish, stone))
			continue;                        /* gone, with the word's reference */
		if (word & POLISH)
			quarry->unpolished++;
		word_drop(word);
	}
	return NULL;
}

static void *polisher(void *data)
{
	struct quarry *quarry = data;
	struct stone *stone, *best = NULL;
	while ((stone = queue_take(&quarry->polish))) {
		quarry->polished++;
		if (!best || stone->weight > best->weight) {
			struct stone *old = best;
			best = stone;                    /* the queue's reference becomes the best one's */
			stone = old;
		}
		stone_unref(stone);                      /* the loser, whichever it is */
	}
	return best;                                     /* handed on by the thread's result */
}

static void deliver(struct quarry *quarry)
{
	for (int i = 1; i <= 40; i++) {
		struct stone *stone = stone_new(i);
		uintptr_t word, back = 0;
		switch (i % 4) {
		case 0:                                  /* lent until the answer comes */
			if (send_word(quarry->belt[1], word_lent(stone)))
				receive_word(quarry->answer[0], &back);
			if (word_stone(back) != stone)
				printf("another stone came back\n");
			stone_unref(stone);
			break;
		case 1:                                  /* our only reference goes on the belt */
			word = word_owning(stone, POLISH);
			if (!send_word(quarry->belt[1], word))
				word_drop(word);
			break;
		default:                                 /* twice on the belt, and once with us for a while */
			for (int times = 0; times < 2; times++) {
				word = word_owning(stone_ref(stone), times ? POLISH : 0);
				if (!send_word(quarry->belt[1], word))
					word_drop(word);
			}
			if (i % 4 == 3)
				show(quarry, word_owning(stone, 0));
			else
				stone_unref(stone);
		}
	}
}

int main(void)
{
	struct quarry quarry = { .cut = 0 };
	pthread_t cutting, polishing;
	void *result;
	if (pipe(quarry.belt) || pipe(quarry.answer))
		return 2;
	pthread_mutex_init(&quarry.polish.lock, NULL);
	pthread_cond_init(&quarry.polish.filled, NULL);
	pthread_create(&cutting, NULL, cutter, &quarry);
	pthread_create(&polishing, NULL, polisher, &quarry);
	deliver(&quarry);

	/* After the last one: two stones that nobody will take from the belt; the pipe has the only references. */
	send_word(quarry.belt[1], 0);
	for (int i = 0; i < 2; i++)
		send_word(quarry.belt[1], word_owning(stone_new(100 + i), 0));
	pthread_join(cutting, NULL);
	close(quarry.belt[1]);
	uintptr_t word;
	int swept = 0;
	while (receive_word(quarry.belt[0], &word)) {
		word_drop(word);
		swept++;
	}
	queue_close(&quarry.polish);
	pthread_join(polishing, &result);
	struct stone *best = result;
	printf("cut %d, swept %d, %s polished; the best is %s\n", quarry.cut, swept, quarry.polished ? "some" : "none",
	       best && best->weight >= 50 ? "heavy" : "light");
	stone_unref(best);
	struct stone *late = stone_new(200);
	if (!queue_offer(&quarry.polish, late))          /* closed: still ours */
		stone_unref(late);
	show(&quarry, 0);
	close(quarry.belt[0]);
	close(quarry.answer[0]);
	close(quarry.answer[1]);
	pthread_mutex_destroy(&quarry.polish.lock);
	pthread_cond_destroy(&quarry.polish.filled);
	printf("stones alive %d\n", (int)stones_alive);
	return stones_alive != 0;
}
