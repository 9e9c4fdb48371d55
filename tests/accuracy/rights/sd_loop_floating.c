/* summary: sd_event default loop in TLS with 2 counts; floating sources owned by the loop only; source unref'd in its own handler (deferred free); destroy callbacks put the userdata; sources only known to the kernel by epoll data.ptr and to the loop; bus messages that pin a closed bus, unsent messages dropped at close; own counter that counts users beyond the first (dies below 0)
 * track: own libsystemd
 * build: gcc -O2 -g sd_loop_floating.c -o OUT $(pkg-config --cflags --libs libsystemd) -pthread
 */
/* sd-event and sd-bus.  A per-thread default loop (kept in TLS; default()
 * gives one more reference each time, the last unref clears the TLS slot),
 * floating sources that the loop owns (ret == NULL or set_floating), a source
 * unref'd in its own handler (the loop defers the free), destroy callbacks
 * that put the counted userdata, an own type that puts down to -1, and bus
 * messages that pin their bus while the bus queues its messages (sd-bus keeps
 * two counters: n_ref and n_queued).                                         */
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Number of users beyond the first: 0 for one user, dies when it goes below. */
struct unit {
	int extra;
	int fired;
	sd_event_source *own;
};
static _Atomic int units_live, fired_total;

static struct unit *unit_new(void)
{
	struct unit *u = calloc(1, sizeof *u);
	units_live++;
	return u;
}
static struct unit *unit_ref(struct unit *u) { u->extra++; return u; }
static struct unit *unit_unref(struct unit *u)
{
	if (u && --u->extra < 0) {
		units_live--;
		free(u);
	}
	return NULL;
}
static void unit_destroy(void *p) { unit_unref(p); }

static int on_defer(sd_event_source *s, void *data)
{
	struct unit *u = data;
	u->fired++;
	fired_total++;
	if (s == u->own)        /* last user reference, inside of the handler */
		u->own = sd_event_source_disable_unref(u->own);
	return 0;
}

static int on_time(sd_event_source *s, uint64_t usec, void *data)
{
	struct unit *u = data;
	(void)usec;
	fired_total++;
	if (++u->fired < 3) {
		sd_event_source_set_time_relative(s, 500);
		sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
		return 0;
	}
	return sd_event_exit(sd_event_source_get_event(s), 0);  /* borrowed */
}

static int on_io(sd_event_source *s, int fd, uint32_t rev, void *data)
{
	char c;
	(void)rev; (void)data;
	if (read(fd, &c, 1) == 1) {
		fired_total++;
		if (c == 'z')
			sd_event_source_set_enabled(s, SD_EVENT_OFF);
	}
	return 0;
}

static void *loop_thread(void *arg)
{
	sd_event *e = NULL, *again = NULL;
	int n = *(int *)arg, fd[2];

	sd_event_default(&e);
	sd_event_default(&again);               /* the same loop, second count */
	if (e != again) abort();
	again = sd_event_unref(again);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0) abort();

	for (int i = 0; i < n; i++) {
		struct unit *u = unit_new();
		sd_event_source *s = NULL;
		sd_event_add_defer(e, &s, on_defer, u);
		sd_event_source_set_destroy_callback(s, unit_destroy);
		switch (i % 3) {
		case 0:                         /* the loop alone owns it */
			sd_event_source_set_floating(s, 1);
			sd_event_source_unref(s);
			break;
		case 1:                         /* unref'd in the handler */
			u->own = s;
			break;
		default:                        /* used and un-shared here */
			sd_event_source_set_userdata(s, unit_ref(u));
			unit_unref(u);
			sd_event_source_ref(s);
			sd_event_source_unref(s);
			sd_event_source_set_floating(s, 1);
			sd_event_source_unref(s);
		}
	}
	struct unit *t = unit_new();
	sd_event_add_time_relative(e, NULL, CLOCK_MONOTONIC, 1000, 1, on_time, t);
	sd_event_add_io(e, NULL, fd[0], EPOLLIN, on_io, NULL);   /* epoll_event.data.ptr */
	if (write(fd[1], "abcz", 4) != 4) abort();
	sd_event_loop(e);
	sd_event_unref(e);                      /* frees all floating sources */
	unit_unref(t);
	close(fd[0]);
	close(fd[1]);
	return NULL;
}

static int bus_round(int n)
{
	int fd[2], got = 0;
	sd_bus *a = NULL, *b = NULL;
	sd_id128_t id;
	sd_id128_randomize(&id);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0) return -1;
	sd_bus_new(&a);
	sd_bus_set_fd(a, fd[0], fd[0]);
	sd_bus_set_server(a, 1, id);
	sd_bus_set_anonymous(a, 1);
	sd_bus_new(&b);
	sd_bus_set_fd(b, fd[1], fd[1]);
	sd_bus_set_anonymous(b, 1);
	if (sd_bus_start(a) < 0 || sd_bus_start(b) < 0) return -1;

	sd_bus_message *pinned = NULL;
	for (int i = 0; i < n; i++) {
		sd_bus_message *m = NULL, *in = NULL;
		if (sd_bus_message_new_signal(b, &m, "/u", "x.y.Z", "Sig") < 0) return -1;
		sd_bus_message_append(m, "su", "text", (unsigned)i);
		sd_bus_send(b, m, NULL);        /* queued or sent: not our worry */
		m = sd_bus_message_unref(m);
		for (int k = 0; k < 40; k++) {
			int r1 = sd_bus_process(b, NULL), r2 = sd_bus_process(a, &in);
			if (in && sd_bus_message_is_signal(in, "x.y.Z", "Sig")) {
				got++;
				if (i % 10 == 0) {      /* keep the newest one */
					sd_bus_message_unref(pinned);
					pinned = sd_bus_message_ref(in);
				}
				in = sd_bus_message_unref(in);
				break;
			}
			in = sd_bus_message_unref(in);
			if (r1 <= 0 && r2 <= 0 && k > 30) break;
		}
	}
	/* leave some unsent in the queue: flush_close drops them */
	for (int i = 0; i < 4; i++) {
		sd_bus_message *m = NULL;
		if (sd_bus_message_new_signal(b, &m, "/u", "x.y.Z", "Late") >= 0) {
			sd_bus_send(b, m, NULL);
			sd_bus_message_unref(m);
		}
	}
	b = sd_bus_close_unref(b);
	sd_bus_close(a);
	a = sd_bus_unref(a);            /* the pinned message still holds it */
	const char *txt = NULL;
	if (pinned) sd_bus_message_read_basic(pinned, 's', &txt);
	sd_bus_message_unref(pinned);   /* and here the bus goes */
	return got;
}

int main(void)
{
	pthread_t th[2];
	int n[2] = { 90, 120 };
	for (int i = 0; i < 2; i++)
		pthread_create(&th[i], NULL, loop_thread, &n[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(th[i], NULL);
	int got = bus_round(100);
	printf("fired %d units left %d bus %d\n", fired_total, units_live, got);
	return units_live == 0 && got == 100 ? 0 : 1;
}
