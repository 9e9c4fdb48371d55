/* summary: references that only the kernel has: reminders in sigev_value of POSIX timers and in the queue of real-time signals (tagged in the low bit), taken up by a dispatcher thread in sigwaitinfo
 * track: own
 * build: gcc -O2 -g -Wall sigval_alarms.c -o OUT -pthread
 */
/*
 * sigval_alarms - reminders on POSIX timers.
 *
 * Who owns what:
 *   - an armed timer owns one reference; it lies in the timer's sigev_value
 *     and nowhere in this process.  The dispatcher takes it out of the signal.
 *   - a note sent with sigqueue() owns one reference, tagged when it is urgent.
 *   - disarming a timer that has not expired gives its reference back to the
 *     one who disarms it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIG_TIMER (SIGRTMIN + 1)
#define SIG_NOTE  (SIGRTMIN + 2)
#define SIG_QUIT_ (SIGRTMIN + 3)
#define URGENT    1ul

struct reminder {
	atomic_int refs;
	int number;
	int repeats;            /* how often it still is armed again */
	timer_t timer;
	struct reminder *parent; /* owned: a snooze keeps what it was made from */
	char text[40];
};

static atomic_int reminders_live;

static struct reminder *reminder_new(int number, const char *text)
{
	struct reminder *r = calloc(1, sizeof *r);
	if (!r)
		abort();
	atomic_init(&r->refs, 1);
	r->number = number;
	snprintf(r->text, sizeof r->text, "%s %d", text, number);
	atomic_fetch_add(&reminders_live, 1);
	return r;
}

static struct reminder *reminder_get(struct reminder *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

static void reminder_put(struct reminder *r)
{
	while (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) {
		struct reminder *parent = r->parent;
		atomic_fetch_sub(&reminders_live, 1);
		memset(r->text, 0, sizeof r->text);
		free(r);
		r = parent;     /* the reference of the child */
	}
}

/* ---- timers ------------------------------------------------------------- */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void set_timer(timer_t timer, long ms)
{
	struct itimerspec when = { .it_value = { ms / 1000, ms % 1000 * 1000000 } };
	if (timer_settime(timer, 0, &when, NULL))
		die("timer_settime");
}

/* Takes over the caller's reference. */
static void arm(struct reminder *r, long ms)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIG_TIMER };
	event.sigev_value.sival_ptr = r;
	if (timer_create(CLOCK_MONOTONIC, &event, &r->timer))
		die("timer_create");
	set_timer(r->timer, ms);
}

/* Of a timer that cannot have expired yet: its reference becomes the caller's. */
static struct reminder *disarm(struct reminder *r)
{
	if (timer_delete(r->timer))
		die("timer_delete");
	return r;
}

/* Takes over the caller's reference. */
static void send_note(struct reminder *r, int urgent)
{
	union sigval value = { .sival_ptr = (void *)((uintptr_t)r | (urgent ? URGENT : 0)) };
	while (sigqueue(getpid(), SIG_NOTE, value))
		if (errno != EAGAIN)
			die("sigqueue");
		else
			usleep(500);
}

/* ---- the dispatcher ----------------------------------------------------- */

static long fired, notes, urgent_notes, snoozed, text_bytes;

static void expired(struct reminder *r, int *ends)
{
	fired++;
	text_bytes += strlen(r->text);
	if (r->repeats > 0) {
		r->repeats--;
		set_timer(r->timer, 1); /* the reference stays with the timer */
		return;
	}
	timer_delete(r->timer);
	if (r->number % 7 == 3 && !r->parent) {
		struct reminder *snooze = reminder_new(r->number + 1000, "snoozed");
		snooze->parent = r;     /* the timer's reference moves on */
		snoozed++;
		arm(snooze, 2);
		return;
	}
	reminder_put(r);
	(*ends)++;
}

static void *dispatcher(void *arg)
{
	sigset_t *set = arg;
	int ends = 0, wanted = -1;

	while (wanted < 0 || ends < wanted) {
		siginfo_t info;
		int number = sigwaitinfo(set, &info);
		if (number < 0) {
			if (errno == EINTR)
				continue;
			die("sigwaitinfo");
		}
		if (number == SIG_TIMER) {
			expired(info.si_value.sival_ptr, &ends);
		} else if (number == SIG_NOTE) {
			uintptr_t word = (uintptr_t)info.si_value.sival_ptr;
			struct reminder *r = (struct reminder *)(word & ~URGENT);
			notes++;
			urgent_notes += word & URGENT;
			text_bytes += strlen(r->text);
			reminder_put(r);
			ends++;
		} else {
			wanted = info.si_value.sival_int;
		}
	}
	return (void *)(intptr_t)ends;
}

int main(void)
{
	enum { COUNT = 60 };
	static sigset_t set;
	pthread_t thread;
	struct reminder *far_away[4];
	int ends = 0;
	void *result;

	sigemptyset(&set);
	sigaddset(&set, SIG_TIMER);
	sigaddset(&set, SIG_NOTE);
	sigaddset(&set, SIG_QUIT_);
	pthread_sigmask(SIG_BLOCK, &set, NULL);

	/* Before the dispatcher runs: these wait in the kernel's queue. */
	for (int i = 0; i < 20; i++) {
		send_note(reminder_new(i, "early note"), i % 3 == 0);
		ends++;
	}
	if (pthread_create(&thread, NULL, dispatcher, &set))
		die("pthread_create");

	for (int i = 0; i < 4; i++) {
		far_away[i] = reminder_new(2000 + i, "next year");
		arm(reminder_get(far_away[i]), 3600 * 1000);
	}
	for (int i = 0; i < COUNT; i++) {
		struct reminder *r = reminder_new(i, "water the plants");
		r->repeats = i % 4 == 1 ? 2 : 0;
		if (i % 5 == 0) {
			send_note(reminder_get(r), i % 2);
			ends++;
		}
		arm(r, 1 + i % 6);      /* from here on it is not ours */
		ends++;
		if (i % 10 == 9)
			usleep(2000);
	}
	for (int i = 0; i < 4; i++) {
		struct reminder *r = disarm(far_away[i]);
		if (i & 1) {
			send_note(r, 1);        /* the timer's reference, sent on */
			ends++;
		} else {
			reminder_put(r);
		}
		reminder_put(far_away[i]);
	}
	sigqueue(getpid(), SIG_QUIT_, (union sigval){ .sival_int = ends });
	pthread_join(thread, &result);
	printf("%ld fired, %ld notes (%ld urgent), %ld snoozed, %ld bytes, %d left\n", fired, notes, urgent_notes,
	       snoozed, text_bytes, atomic_load(&reminders_live));
	return atomic_load(&reminders_live) != 0 || (int)(intptr_t)result != ends;
}
