/* summary: take_snapshot gets a reference to a message whose count is zero, because on_gone reports before it clears the index
 * kind: late-get
 * counts: deficit
 * objects: 3
 * track: DBusMessage
 * packages: dbus-1
 * build: clang-14 -O2 -g
 * exit: 0
 */
/* An index of the newest message of each topic. It holds no references: a message leaves the index by itself when its
 * last owner lets go. Watchers get a snapshot of a group of topics when something in it has changed. */
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NTOPICS 12
#define NGROUPS 4
#define SNAPSHOT 8

struct topic {
  DBusMessage *newest; /* not owned */
  int group;
};

struct snapshot {
  DBusMessage *messages[SNAPSHOT]; /* owned */
  int n;
};

static struct topic topics[NTOPICS];
static int watched[NGROUPS];
static struct snapshot last[NGROUPS];
static DBusMessage *pinned[NTOPICS]; /* owned, to the end of the process */
static dbus_int32_t slot = -1;
static int gone, snapshots, listed;
#ifdef TRUTH
static struct topic *going; /* whose message is being finalized */
static int raised;
#endif

static void drop_snapshot(struct snapshot *s) {
  while (s->n > 0)
    dbus_message_unref(s->messages[--s->n]);
}

static void take_snapshot(int group) {
  struct snapshot *s = &last[group];

  drop_snapshot(s);
  for (int i = 0; i < NTOPICS && s->n < SNAPSHOT; i++)
    if (topics[i].newest && topics[i].group == group) {
      s->messages[s->n++] = dbus_message_ref(topics[i].newest); /* GUILTY */
#ifdef TRUTH
      raised += &topics[i] == going;
#endif
    }
  snapshots++;
  listed += s->n;
}

/* The free function of the message's data slot. */
static void on_gone(void *data) {
  struct topic *t = data;

  gone++;
#ifdef TRUTH
  going = t;
#endif
#ifdef BUG
  if (watched[t->group])
    take_snapshot(t->group); /* ACCEPTED */
  t->newest = NULL;          /* ACCEPTED */
#else
  t->newest = NULL;
  if (watched[t->group])
    take_snapshot(t->group);
#endif
#ifdef TRUTH
  going = NULL;
#endif
}

/* A message of its own; the caller owns it. */
static DBusMessage *make(int topic, int value) {
  DBusMessage *m = dbus_message_new_signal("/topic", "org.example.Topic", "Changed");
  dbus_int32_t args[2] = {topic, value};

  if (!m)
    exit(1);
  dbus_message_append_args(m, DBUS_TYPE_INT32, &args[0], DBUS_TYPE_INT32, &args[1], DBUS_TYPE_INVALID);
  return m;
}

static void leave_index(DBusMessage *m) {
  struct topic *t = dbus_message_get_data(m, slot);

  if (!t)
    return;
  if (t->newest == m)
    t->newest = NULL;
  dbus_message_set_data(m, slot, NULL, NULL);
}

/* Puts the message into the index, without a reference. An older one leaves it and lives as long as its owners like. */
static void publish(int topic, DBusMessage *m) {
  struct topic *t = &topics[topic];

  if (t->newest) {
    DBusMessage *old = t->newest;

    t->newest = NULL;
    dbus_message_set_data(old, slot, NULL, NULL); /* calls on_gone */
  }
  t->newest = m;
  dbus_message_set_data(m, slot, t, on_gone);
}

/* A new reference or NULL. */
static DBusMessage *lookup(int topic) {
  DBusMessage *m = topics[topic].newest;

  return m ? dbus_message_ref(m) : NULL;
}

static int value_of(DBusMessage *m) {
  dbus_int32_t topic, value;

  if (!dbus_message_get_args(m, NULL, DBUS_TYPE_INT32, &topic, DBUS_TYPE_INT32, &value, DBUS_TYPE_INVALID))
    return 0;
  return value;
}

static void pin(int topic) {
  DBusMessage *m = lookup(topic);

  if (!m)
    return;
  if (pinned[topic])
    dbus_message_unref(pinned[topic]);
  pinned[topic] = m;
}

/* Owners that come and go, in no particular order. */
static int churn(int round) {
  DBusMessage *held[NTOPICS];
  int sum = 0;

  for (int i = 0; i < NTOPICS; i++) {
    held[i] = make(i, round * 100 + i);
    publish(i, held[i]);
  }
  for (int i = 0; i < NTOPICS; i += 2) {
    DBusMessage *m = lookup((i + round) % NTOPICS);

    if (!m)
      continue;
    sum += value_of(m);
    dbus_message_unref(m);
  }
  if (round == 1)
    pin(2);
  if (round == 2)
    pin(9);
  for (int i = 0; i < NTOPICS; i++) {
    DBusMessage *m = held[(i * 5) % NTOPICS];

    if (i % 3 == 0)
      leave_index(m); /* quietly, nobody shall hear of it */
    dbus_message_unref(m);
  }
  return sum;
}

int main(void) {
  DBusMessage *fresh[4];
  long sum = 0;

  if (!dbus_message_allocate_data_slot(&slot))
    return 1;
  for (int i = 0; i < NTOPICS; i++)
    topics[i].group = i % NGROUPS;
  for (int round = 0; round < 4; round++)
    sum += churn(round);

  /* now somebody looks at group 1; three of its messages go while he does */
  watched[1] = 1;
  for (int round = 0; round < 3; round++) {
    DBusMessage *m = make(1, round), *other = make(5, round);

    publish(1, m);
    publish(5, other);
    dbus_message_unref(m);
    fresh[round] = make(0, round); /* the library hands out the same memory again */
    sum += value_of(fresh[round]);
    leave_index(other);
    dbus_message_unref(other);
  }
  watched[1] = 0;
  drop_snapshot(&last[1]);
  for (int i = 0; i < 3; i++)
    dbus_message_unref(fresh[i]);
  for (int i = 0; i < NTOPICS; i++)
    if (topics[i].newest)
      leave_index(topics[i].newest);
#ifdef TRUTH
  printf("raised from zero %d\n", raised);
#endif
  printf("gone %d snapshots %d listed %d sum %ld\n", gone, snapshots, listed, sum);
  dbus_message_free_data_slot(&slot);
  return 0;
}
