/* summary: makecontext coroutines: references on non-running mmap'ed stacks, longjmp over puts with a cleanup list that makes them, coroutine that puts its own last reference from its own stack, queue owns references, 8-bit counter
 * track: own
 * build: gcc -O1 -g coro_ucontext.c -o OUT
 */
/* Coroutines with makecontext(): references live on stacks which are mmap'ed
 * and not running.  A coroutine is cancelled by a longjmp out of the middle of
 * nested calls, over the puts that would have come; a cleanup list (kept by
 * the coroutine) makes them instead.  The scheduler is counted as well: the
 * coroutine owns itself while it runs and puts its own last reference from its
 * own stack (the stack is unmapped by the next one).                         */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

struct res { unsigned char rc; char kind; short id; int *body; };  /* 8 bit counter */
static int res_live;

static struct res *res_open(int id)
{
	struct res *r = malloc(sizeof *r);
	r->rc = 1;
	r->kind = 'r';
	r->id = id;
	r->body = calloc(4, sizeof(int));
	res_live++;
	return r;
}
static struct res *res_get(struct res *r) { r->rc++; return r; }
static void res_put(struct res *r)
{
	if (--r->rc) return;
	free(r->body);
	res_live--;
	free(r);
}

#define STK (64 * 1024)
struct coro {
	int refs;
	int done, cancel;
	ucontext_t ctx;
	void *stack;
	struct coro *next;
	jmp_buf out;
	int ncleanup;
	struct { void (*fn)(struct res *); struct res *r; } cleanup[16];
	int seed;
};
static ucontext_t sched_ctx;
static struct coro *cur, *runq, **runq_tail = &runq;
static void *doomed_stack;
static int coros_live, cancelled, finished;

static void free_doomed(void)
{
	if (doomed_stack) {
		munmap(doomed_stack, STK);
		doomed_stack = NULL;
	}
}
static struct coro *coro_ref(struct coro *c) { c->refs++; return c; }
static void coro_unref(struct coro *c)
{
	if (--c->refs == 0) {
		free_doomed();
		doomed_stack = c->stack;        /* we may be on it */
		coros_live--;
		free(c);
	}
}
static void enqueue(struct coro *c)             /* moves the reference in */
{
	c->next = NULL;
	*runq_tail = c;
	runq_tail = &c->next;
}
static void yield_(void)
{
	struct coro *me = cur;
	enqueue(coro_ref(me));
	swapcontext(&me->ctx, &sched_ctx);
	if (me->cancel) longjmp(me->out, 1);    /* same stack: allowed */
}

/* protect(): if we are cancelled, r is put for us */
static void protect(struct res *r)
{
	cur->cleanup[cur->ncleanup].fn = res_put;
	cur->cleanup[cur->ncleanup++].r = r;
}
static struct res *unprotect(void) { return cur->cleanup[--cur->ncleanup].r; }

static int __attribute__((noinline)) deep(struct res *r, int n)
{
	struct res *mine = res_get(r);
	int sum = mine->id;
	protect(mine);
	yield_();                               /* may never come back */
	if (n) sum += deep(mine, n - 1);
	res_put(unprotect());
	return sum;
}

static int __attribute__((noinline)) body(struct coro *c)
{
	int sum = 0;
	for (int i = 0; i < 3; i++) {
		struct res *r = res_open(c->seed + i);
		protect(r);
		sum += deep(r, 2 + c->seed % 3);
		yield_();
		res_put(unprotect());
	}
	return sum;
}

static void entry(void)
{
	struct coro *me = cur;
	if (setjmp(me->out) == 0) {
		body(me);
		finished++;
	} else {
		cancelled++;
		while (me->ncleanup) {
			me->ncleanup--;
			me->cleanup[me->ncleanup].fn(me->cleanup[me->ncleanup].r);
		}
	}
	me->done = 1;
	coro_unref(me);                         /* the self reference: maybe the last */
	setcontext(&sched_ctx);                 /* never returns; me may be gone */
}

static struct coro *coro_new(int seed)          /* one for the caller, one for itself */
{
	struct coro *c = calloc(1, sizeof *c);
	c->refs = 2;
	c->seed = seed;
	c->stack = mmap(NULL, STK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&c->ctx);
	c->ctx.uc_stack.ss_sp = c->stack;
	c->ctx.uc_stack.ss_size = STK;
	c->ctx.uc_link = NULL;
	makecontext(&c->ctx, entry, 0);
	coros_live++;
	return c;
}

static void __attribute__((noinline)) run(void)
{
	while (runq) {
		struct coro *c = runq;
		runq = c->next;
		if (!runq) runq_tail = &runq;
		if (!c->done) {
			cur = c;
			swapcontext(&sched_ctx, &c->ctx);
			cur = NULL;
		}
		coro_unref(c);                  /* the queue's */
	}
}

int main(void)
{
	for (int round = 0; round < 25; round++) {
		struct coro *all[12];
		for (int i = 0; i < 12; i++) {
			all[i] = coro_new(round * 12 + i);
			enqueue(coro_ref(all[i]));
		}
		for (int i = 0; i < 12; i++) {
			if (i % 3 == 0) all[i]->cancel = 1;     /* at its first yield */
			if (i % 2) {                            /* forget: it owns itself */
				coro_unref(all[i]);
				all[i] = NULL;
			}
		}
		run();
		for (int i = 0; i < 12; i++)
			if (all[i]) {
				if (!all[i]->done) return 3;
				coro_unref(all[i]);
			}
	}
	free_doomed();
	printf("coros %d res %d finished %d cancelled %d\n", coros_live, res_live, finished, cancelled);
	return coros_live || res_live;
}
