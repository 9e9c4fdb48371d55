/* summary: references owned by the kernel only: epoll_event.data.ptr, sigev_value of POSIX timers (back by signalfd), bytes in a pipe, low-bit tagged pointers, pthread_setspecific with a destructor that puts; births at 0; put of the last reference in its own handler; base in the middle of a bigger object
 * track: own
 * build: gcc -O1 -g epoll_kernel_only.c -o OUT -pthread
 */
/* An event loop in which, for a while, only the kernel knows the objects: the
 * reference is owned by epoll_event.data.ptr, by the sigev value of a POSIX
 * timer (siginfo's si_value brings it back), by bytes in a pipe, by a tagged
 * low bit, or by a thread-specific value whose destructor puts it.  Nothing in
 * the process's memory points at them then.                                  */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

typedef struct Handler Handler;
struct Handler {
	const struct ops *ops;
	_Atomic int32_t ref;    /* starts at 0: each owner takes its own */
	int fd;
	int fired;
};
struct ops { void (*ready)(Handler *); void (*dtor)(Handler *); };
static atomic_int live, fired;

static Handler *h_init(Handler *h, const struct ops *o, int fd)
{
	h->ops = o;
	h->ref = 0;
	h->fd = fd;
	h->fired = 0;
	live++;
	return h;
}
static Handler *h_hold(Handler *h) { atomic_fetch_add(&h->ref, 1); return h; }
static void h_release(Handler *h)
{
	if (atomic_fetch_sub(&h->ref, 1) == 1) {
		live--;
		h->ops->dtor(h);
	}
}

static int ep, wake[2];
static void watch(Handler *h)           /* the kernel owns one from now on */
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = h_hold(h) };
	if (epoll_ctl(ep, EPOLL_CTL_ADD, h->fd, &e)) abort();
}
static void unwatch(Handler *h)
{
	epoll_ctl(ep, EPOLL_CTL_DEL, h->fd, NULL);
	h_release(h);
}

/* timerfd handlers: three shots and off */
static void tfd_ready(Handler *h)
{
	uint64_t n;
	fired++;
	if (read(h->fd, &n, sizeof n) == sizeof n && ++h->fired >= 3)
		unwatch(h);             /* the last reference, from inside */
}
static void fd_dtor(Handler *h) { close(h->fd); free(h); }
static const struct ops tfd_ops = { tfd_ready, fd_dtor };

/* eventfd handlers bigger than their base, base in the middle */
struct Efd { char name[20]; Handler base; int *extra; };
static void efd_ready(Handler *h)
{
	uint64_t n;
	fired++;
	if (read(h->fd, &n, sizeof n) != sizeof n) return;
	Handler *tagged = (Handler *)((uintptr_t)h_hold(h) | (h->fired++ & 1)); /* low bit: odd shot */
	if (write(wake[1], &tagged, sizeof tagged) != sizeof tagged) abort();
}
static void efd_dtor(Handler *h)
{
	struct Efd *e = (struct Efd *)((char *)h - offsetof(struct Efd, base));
	close(h->fd);
	free(e->extra);
	free(e);
}
static const struct ops efd_ops = { efd_ready, efd_dtor };

/* handlers owned by a POSIX timer only */
static void sig_ready(Handler *h) { h->fired++; fired++; }
static void sig_dtor(Handler *h) { free(h); }
static const struct ops sig_ops = { sig_ready, sig_dtor };

static pthread_key_t key;
static void tls_gone(void *p) { h_release(p); }

static void *reader(void *arg)          /* the other end of the pipe */
{
	Handler *t;
	long odd = 0;
	(void)arg;
	while (read(wake[0], &t, sizeof t) == sizeof t && t) {
		Handler *h = (Handler *)((uintptr_t)t & ~(uintptr_t)1);
		odd += (uintptr_t)t & 1;
		if (pthread_getspecific(key) == NULL)
			pthread_setspecific(key, h_hold(h));    /* put by the destructor */
		h_release(h);
	}
	return (void *)odd;
}

int main(void)
{
	pthread_t th;
	sigset_t set;
	timer_t timers[20];
	int efds[20], sfd;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sfd = signalfd(-1, &set, SFD_NONBLOCK);
	ep = epoll_create1(0);
	if (pipe(wake)) return 2;
	pthread_key_create(&key, tls_gone);
	pthread_create(&th, NULL, reader, NULL);

	for (int i = 0; i < 20; i++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		struct itimerspec ts = { { 0, 1000000 }, { 0, 1000000 + i * 10000 } };
		timerfd_settime(fd, 0, &ts, NULL);
		watch(h_init(malloc(sizeof(Handler)), &tfd_ops, fd));

		struct Efd *e = calloc(1, sizeof *e);
		e->extra = malloc(40);
		snprintf(e->name, sizeof e->name, "efd %d", i);
		efds[i] = eventfd(0, EFD_NONBLOCK);
		watch(h_init(&e->base, &efd_ops, efds[i]));

		Handler *s = h_hold(h_init(malloc(sizeof *s), &sig_ops, -1));
		struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_ptr = s };
		struct itimerspec once = { { 0, 0 }, { 0, 2000000 } };
		if (timer_create(CLOCK_MONOTONIC, &ev, &timers[i])) return 2;
		timer_settime(timers[i], 0, &once, NULL);       /* now only the kernel has s */
	}
	struct epoll_event se = { .events = EPOLLIN, .data.ptr = NULL };
	epoll_ctl(ep, EPOLL_CTL_ADD, sfd, &se);

	int signals = 0, rounds = 0;
	uint64_t one = 1;
	while ((rounds < 60 || live > 20) && rounds++ < 20000) {
		struct epoll_event ev[8];
		if (rounds <= 60) {
			if (write(efds[rounds % 20], &one, sizeof one) != sizeof one) return 2;
		}
		int n = epoll_wait(ep, ev, 8, 1);
		for (int i = 0; i < n; i++) {
			Handler *h = ev[i].data.ptr;
			if (h) { h_hold(h); h->ops->ready(h); h_release(h); continue; }
			struct signalfd_siginfo si;
			while (read(sfd, &si, sizeof si) == sizeof si) {
				Handler *s = (Handler *)(uintptr_t)si.ssi_ptr;
				s->ops->ready(s);
				h_release(s);           /* the timer's */
				signals++;
			}
		}
	}
	for (int i = 0; i < 20; i++) timer_delete(timers[i]);
	/* the eventfds are still watched: make each say its address once more */
	for (int i = 0; i < 20; i++) if (write(efds[i], &one, sizeof one) != sizeof one) return 2;
	for (int i = 0; i < 20; ) {
		struct epoll_event ev[8];
		int n = epoll_wait(ep, ev, 8, 100);
		if (n <= 0) break;
		for (int k = 0; k < n; k++, i++) unwatch(ev[k].data.ptr);
	}
	Handler *end = NULL;
	if (write(wake[1], &end, sizeof end) != sizeof end) return 2;
	void *odd;
	pthread_join(th, &odd);
	close(ep); close(sfd); close(wake[0]); close(wake[1]);
	pthread_key_delete(key);
	printf("live %d fired %d signals %d odd %ld\n", live, fired, signals, (long)odd);
	return live || signals != 20;
}
