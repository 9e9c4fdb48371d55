/* summary: dead DBusMessages go to the libdbus cache and are reborn at the same address; the library itself keeps refs in its send queue and pending calls (cancelled ones too); stolen replies; filter and data-slot free functions put the own counted struct session
 * track: own dbus
 * build: gcc -O2 -g dbus_msgcache.c -o OUT $(pkg-config --cflags --libs dbus-1)
 */
/* libdbus on a private server in the same process.  Dead DBusMessages go to
 * the library's cache and are born again at the same address; a connection
 * has two counts in effect (user's and the "last unref" by dispatch); pending
 * calls hold their reply; watches are kept by address only; a data slot frees
 * a counted own struct by its free function; borrow/steal of messages.       */
#include <dbus/dbus.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session { int refs; int calls; };        /* starts at 1 */
static int sessions_live, max_watch;

static struct session *session_new(void)
{
	struct session *s = calloc(1, sizeof *s);
	s->refs = 1;
	sessions_live++;
	return s;
}
static struct session *session_ref(struct session *s) { s->refs++; return s; }
static void session_unref(void *p)
{
	struct session *s = p;
	if (--s->refs == 0) {
		sessions_live--;
		free(s);
	}
}

static DBusWatch *watches[16];
static dbus_bool_t add_watch(DBusWatch *w, void *d)
{
	(void)d;
	for (int i = 0; i < 16; i++)
		if (!watches[i]) {
			watches[i] = w;
			if (i + 1 > max_watch) max_watch = i + 1;
			return TRUE;
		}
	return FALSE;
}
static void del_watch(DBusWatch *w, void *d)
{
	(void)d;
	for (int i = 0; i < 16; i++)
		if (watches[i] == w) watches[i] = NULL;
}
static void toggle_watch(DBusWatch *w, void *d) { (void)w; (void)d; }

static void spin(void)
{
	for (int i = 0; i < max_watch; i++) {
		DBusWatch *w = watches[i];
		if (!w || !dbus_watch_get_enabled(w)) continue;
		unsigned f = dbus_watch_get_flags(w);
		struct pollfd p = { dbus_watch_get_unix_fd(w), 0, 0 };
		if (f & DBUS_WATCH_READABLE) p.events |= POLLIN;
		if (f & DBUS_WATCH_WRITABLE) p.events |= POLLOUT;
		if (poll(&p, 1, 0) <= 0) continue;
		unsigned got = 0;
		if (p.revents & POLLIN) got |= DBUS_WATCH_READABLE;
		if (p.revents & POLLOUT) got |= DBUS_WATCH_WRITABLE;
		if (p.revents & POLLHUP) got |= DBUS_WATCH_HANGUP;
		dbus_watch_handle(w, got);
	}
}

static DBusConnection *srv_conn;
static dbus_int32_t slot = -1;

static DBusHandlerResult on_msg(DBusConnection *c, DBusMessage *m, void *data)
{
	struct session *s = data;       /* the filter owns a reference */
	if (dbus_message_get_type(m) != DBUS_MESSAGE_TYPE_METHOD_CALL)
		return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
	s->calls++;
	const char *txt = "";
	dbus_message_get_args(m, NULL, DBUS_TYPE_STRING, &txt, DBUS_TYPE_INVALID);
	DBusMessage *r = dbus_message_new_method_return(m);
	dbus_message_append_args(r, DBUS_TYPE_STRING, &txt, DBUS_TYPE_INVALID);
	dbus_connection_send(c, r, NULL);       /* takes its own reference */
	dbus_message_unref(r);
	return DBUS_HANDLER_RESULT_HANDLED;
}

static void on_conn(DBusServer *srv, DBusConnection *c, void *d)
{
	(void)srv; (void)d;
	srv_conn = dbus_connection_ref(c);      /* or libdbus drops it */
	struct session *s = session_new();
	dbus_connection_set_watch_functions(c, add_watch, del_watch, toggle_watch, NULL, NULL);
	dbus_connection_add_filter(c, on_msg, session_ref(s), session_unref);
	dbus_connection_set_data(c, slot, s, session_unref);
}

static int replies;
static void on_reply(DBusPendingCall *pc, void *data)
{
	DBusMessage **keep = data;
	DBusMessage *r = dbus_pending_call_steal_reply(pc);
	if (r) {
		replies++;
		if (*keep) dbus_message_unref(*keep);
		*keep = r;                      /* stolen: now ours */
	}
}

int main(void)
{
	DBusError e = DBUS_ERROR_INIT;
	dbus_connection_allocate_data_slot(&slot);
	DBusServer *srv = dbus_server_listen("unix:tmpdir=/tmp", &e);
	if (!srv) { fprintf(stderr, "%s\n", e.message); return 2; }
	dbus_server_set_watch_functions(srv, add_watch, del_watch, toggle_watch, NULL, NULL);
	dbus_server_set_new_connection_function(srv, on_conn, NULL, NULL);

	char *addr = dbus_server_get_address(srv);
	DBusConnection *cl = dbus_connection_open_private(addr, &e);
	dbus_free(addr);
	if (!cl) { fprintf(stderr, "%s\n", e.message); return 2; }
	dbus_connection_set_exit_on_disconnect(cl, FALSE);
	dbus_connection_set_watch_functions(cl, add_watch, del_watch, toggle_watch, NULL, NULL);

	DBusMessage *last = NULL;
	char buf[32];
	for (int i = 0; i < 120; i++) {
		DBusMessage *m = dbus_message_new_method_call(NULL, "/o", "x.y.Z", "Echo");
		const char *p = buf;
		snprintf(buf, sizeof buf, "call %d", i);
		dbus_message_append_args(m, DBUS_TYPE_STRING, &p, DBUS_TYPE_INVALID);
		DBusPendingCall *pc = NULL;
		dbus_connection_send_with_reply(cl, m, &pc, 5000);
		dbus_message_unref(m);
		dbus_pending_call_set_notify(pc, on_reply, &last, NULL);
		if (i % 5 == 4) {
			dbus_pending_call_cancel(pc);   /* connection drops its one */
			dbus_pending_call_unref(pc);
			continue;
		}
		int want = replies + 1, guard = 0;
		while (replies < want && guard++ < 20000) {
			spin();
			while (dbus_connection_dispatch(cl) == DBUS_DISPATCH_DATA_REMAINS) ;
			if (srv_conn)
				while (dbus_connection_dispatch(srv_conn) == DBUS_DISPATCH_DATA_REMAINS) ;
		}
		dbus_pending_call_unref(pc);
	}

	for (int i = 0; i < 400; i++) {         /* the cache recycles these */
		DBusMessage *m = dbus_message_new_signal("/o", "x.y.Z", "Sig");
		char *wire; int n;
		dbus_message_set_serial(m, i + 1);
		dbus_message_marshal(m, &wire, &n);
		DBusMessage *d = dbus_message_demarshal(wire, n, &e);
		dbus_free(wire);
		DBusMessage *c = dbus_message_copy(d);
		dbus_message_ref(c);
		dbus_message_unref(m);
		dbus_message_unref(c);
		dbus_message_unref(d);
		dbus_message_unref(c);
	}

	if (last) dbus_message_unref(last);
	dbus_connection_close(cl);
	dbus_connection_unref(cl);
	for (int i = 0; i < 10; i++) { spin(); if (srv_conn) dbus_connection_dispatch(srv_conn); }
	dbus_connection_close(srv_conn);
	while (dbus_connection_dispatch(srv_conn) == DBUS_DISPATCH_DATA_REMAINS) ;
	dbus_connection_unref(srv_conn);        /* frees filter and slot data */
	dbus_server_disconnect(srv);
	dbus_server_unref(srv);
	dbus_connection_free_data_slot(&slot);
	printf("replies %d sessions left %d\n", replies, sessions_live);
	dbus_shutdown();
	return replies == 96 && sessions_live == 0 ? 0 : 1;
}
