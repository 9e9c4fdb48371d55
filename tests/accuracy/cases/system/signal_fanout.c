/* summary: push_urgent puts a message into a subscriber's outbox without a reference, delivery gives one back
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: DBusMessage
 * packages: dbus-1
 * build: gcc -O3 -g
 * exit: 0
 */
/* Spreads signals over the outboxes of subscribers. A message may lie in several outboxes and in the journal; a dump
 * is large and goes ahead of the others. */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NSUBS 5
#define OUTBOX 16
#define JOURNAL 6
#define DUMP_SIZE 12000

struct subscriber {
  const char *member;          /* wants these only, NULL: all */
  DBusMessage *outbox[OUTBOX]; /* owned */
  int n;
  int urgent; /* wants dumps at once */
  int got, lost;
};

static struct subscriber subs[NSUBS] = {
    {.member = NULL}, {.member = "Level"}, {.member = "Alarm"}, {.member = "Dump", .urgent = 1}, {.member = "Level"}};

static DBusMessage *journal[JOURNAL]; /* owned, the last signals; stays to the end */
static unsigned journal_at;
static unsigned long delivered;

static DBusMessage *make_signal(const char *member, int value) {
  DBusMessage *m = dbus_message_new_signal("/plant", "org.example.Plant", member);
  dbus_int32_t v = value;

  if (!m)
    exit(1);
  dbus_message_append_args(m, DBUS_TYPE_INT32, &v, DBUS_TYPE_INVALID);
  dbus_message_set_serial(m, (dbus_uint32_t)value + 1);
  return m;
}

static DBusMessage *make_dump(int value) {
  static unsigned char block[DUMP_SIZE];
  const unsigned char *p = block;
  DBusMessage *m = make_signal("Dump", value);

  memset(block, value, sizeof(block));
  dbus_message_append_args(m, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE, &p, DUMP_SIZE, DBUS_TYPE_INVALID);
  return m;
}

static void note(DBusMessage *m) {
  DBusMessage **slot = &journal[journal_at++ % JOURNAL];

  if (*slot)
    dbus_message_unref(*slot);
  *slot = dbus_message_ref(m);
}

/* At the end of the outbox. */
static int push(struct subscriber *s, DBusMessage *m) {
  if (s->n == OUTBOX) {
    s->lost++;
    return -1;
  }
  s->outbox[s->n++] = dbus_message_ref(m);
  return 0;
}

/* At the front of the outbox; if there is no room, the last one has to go. */
static void push_urgent(struct subscriber *s, DBusMessage *m) {
  if (s->n == OUTBOX) {
    dbus_message_unref(s->outbox[--s->n]);
    s->lost++;
  }
  memmove(s->outbox + 1, s->outbox, (size_t)s->n * sizeof(s->outbox[0]));
#ifdef BUG
  s->outbox[0] = m; /* GUILTY */
#else
  s->outbox[0] = dbus_message_ref(m);
#endif
  s->n++;
} /* ACCEPTED */

static int wants(const struct subscriber *s, DBusMessage *m) {
  return !s->member || !strcmp(s->member, dbus_message_get_member(m));
}

/* Takes the message over. */
static void relay(DBusMessage *m) {
  int dump = dbus_message_is_signal(m, "org.example.Plant", "Dump");

  for (int i = 0; i < NSUBS; i++) {
    if (!wants(&subs[i], m))
      continue;
    if (dump && subs[i].urgent)
      push_urgent(&subs[i], m);
    else
      push(&subs[i], m);
  }
  if (!dump)
    note(m);
  dbus_message_unref(m);
}

/* To one subscriber only, by a copy that carries his name. */
static void relay_private(struct subscriber *s, DBusMessage *m) {
  DBusMessage *copy = dbus_message_copy(m);

  if (!copy)
    return;
  if (!dbus_message_set_destination(copy, "org.example.Reader") || s->n == OUTBOX) {
    dbus_message_unref(copy);
    return;
  }
  s->outbox[s->n++] = copy;
}

/* A new reference, NULL if the journal does not go back as far. */
static DBusMessage *from_journal(unsigned age) {
  DBusMessage *m;

  if (age == 0 || age > JOURNAL || age > journal_at)
    return NULL;
  m = journal[(journal_at - age) % JOURNAL];
  return m ? dbus_message_ref(m) : NULL;
}

static void deliver(struct subscriber *s) {
  for (int i = 0; i < s->n; i++) {
    delivered += s->got < 1000;
    s->got++;
    dbus_message_unref(s->outbox[i]);
  }
  s->n = 0;
}

static void deliver_all(void) {
  for (int i = 0; i < NSUBS; i++)
    deliver(&subs[i]);
}

/* Subscribers get the newest level again; the number of references in the outboxes grows. */
static void replay(unsigned age) {
  DBusMessage *m = from_journal(age);

  if (!m)
    return;
  if (!dbus_message_is_signal(m, "org.example.Plant", "Level")) {
    dbus_message_unref(m);
    return;
  }
  push(&subs[1], m);
  push(&subs[4], m);
  dbus_message_unref(m);
}

int main(void) {
  int lost = 0;

  for (int round = 0; round < 8; round++) {
    for (int i = 0; i < 3; i++)
      relay(make_signal("Level", round * 10 + i));
    if (round % 2)
      relay(make_signal("Alarm", round));
    for (unsigned age = 0; age < 4; age++)
      replay(age);
    if (round == 3) {
      DBusMessage *m = make_signal("Level", 99);

      relay_private(&subs[0], m);
      relay_private(&subs[2], m);
      dbus_message_unref(m);
    }
    if (round < 7)
      deliver_all();
  }
  /* two dumps before the lights go out */
  relay(make_dump(1));
  relay(make_dump(2));
  deliver_all();
  for (int i = 0; i < NSUBS; i++)
    lost += subs[i].lost;
  printf("delivered %lu lost %d journal %u\n", delivered, lost, journal_at);
  return 0;
}
