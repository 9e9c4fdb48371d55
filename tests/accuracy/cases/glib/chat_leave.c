/* summary: room_kick gives its own reference to the session back and reads the session afterwards
 * kind: use-after-put
 * counts: none
 * objects: 0
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O0 -g
 * exit: 0
 */
/* A chat server: sessions are in rooms and in a list of friends; weak pointers lead back from a session to its room. */
#include <glib-object.h>
#include <stdio.h>

#define SESSION_TYPE (session_get_type())
G_DECLARE_FINAL_TYPE(Session, session, CHAT, SESSION, GObject)

struct _Session {
  GObject parent_instance;
  int id;
  int bytes;
  gpointer room; /* weak: the room owns the session */
};

G_DEFINE_TYPE(Session, session, G_TYPE_OBJECT)

static int sessions_alive;

static void session_dispose(GObject *object) {
  g_clear_weak_pointer(&CHAT_SESSION(object)->room);
  G_OBJECT_CLASS(session_parent_class)->dispose(object);
}

static void session_finalize(GObject *object) {
  sessions_alive--;
  G_OBJECT_CLASS(session_parent_class)->finalize(object);
}

static void session_class_init(SessionClass *klass) {
  G_OBJECT_CLASS(klass)->dispose = session_dispose;
  G_OBJECT_CLASS(klass)->finalize = session_finalize;
}

static void session_init(Session *self) { sessions_alive++; }

#define ROOM_TYPE (room_get_type())
G_DECLARE_FINAL_TYPE(Room, room, CHAT, ROOM, GObject)

struct _Room {
  GObject parent_instance;
  GPtrArray *members; /* owned */
  int traffic;
};

G_DEFINE_TYPE(Room, room, G_TYPE_OBJECT)

static void room_finalize(GObject *object) {
  g_ptr_array_unref(CHAT_ROOM(object)->members);
  G_OBJECT_CLASS(room_parent_class)->finalize(object);
}

static void room_class_init(RoomClass *klass) { G_OBJECT_CLASS(klass)->finalize = room_finalize; }

static void room_init(Room *self) { self->members = g_ptr_array_new_with_free_func(g_object_unref); }

static void room_join(Room *room, Session *s) {
  if (s->room == room)
    return;
  g_ptr_array_add(room->members, g_object_ref(s));
  g_set_weak_pointer(&s->room, room);
}

/* Returns the reference that the room had, or NULL. */
static Session *room_part(Room *room, int id) {
  for (guint i = 0; i < room->members->len; i++) {
    Session *s = room->members->pdata[i];
    if (s->id == id) {
      g_clear_weak_pointer(&s->room);
      return g_ptr_array_steal_index_fast(room->members, i);
    }
  }
  return NULL;
}

/* Leaves the room and says good bye. */
static int room_leave(Room *room, int id) {
  Session *s = room_part(room, id);
  int bytes;

  if (!s)
    return 0;
  bytes = s->bytes;
  g_object_unref(s);
  room->traffic += 10;
  return bytes;
}

/* The moderator's way: the session has to pay for the traffic it made. */
static int room_kick(Room *room, int id) {
  Session *s = room_part(room, id);

  if (!s)
    return 0;
#ifdef BUG
  g_object_unref(s);         /* ACCEPTED */
  room->traffic -= s->bytes; /* GUILTY */
#else
  room->traffic -= s->bytes;
  g_object_unref(s);
#endif
  return 1;
}

static gboolean room_move(Room *from, Room *to, int id) {
  Session *s = room_part(from, id);
  if (!s)
    return FALSE;
  room_join(to, s);
  /* the new room keeps it alive, so this is no use after the end */
  g_object_unref(s);
  s->bytes += 5;
  return TRUE;
}

static int room_talk(Room *room, int bytes) {
  for (guint i = 0; i < room->members->len; i++) {
    Session *s = g_object_ref(room->members->pdata[i]);
    Room *back = s->room;
    s->bytes += bytes + s->id % 3;
    back->traffic += bytes;
    g_object_unref(s);
  }
  return room->traffic;
}

int main(void) {
  Room *lobby = g_object_new(ROOM_TYPE, NULL), *bar = g_object_new(ROOM_TYPE, NULL);
  GList *friends = NULL;
  long sum = 0;

  for (int i = 0; i < 24; i++) {
    Session *s = g_object_new(SESSION_TYPE, NULL);
    s->id = i;
    room_join(i % 3 ? lobby : bar, s);
    room_join(i % 3 ? lobby : bar, s);
    if (i % 4 == 0)
      friends = g_list_prepend(friends, g_object_ref(s));
    g_object_unref(s);
  }
  sum += room_talk(lobby, 20) + room_talk(bar, 30);
  sum += room_leave(lobby, 1) + room_leave(lobby, 4) + room_leave(bar, 3) + room_leave(bar, 99);
  sum += room_move(lobby, bar, 5) + room_move(lobby, bar, 8) + room_move(bar, lobby, 0);
  /* number 20 is a friend, the other two have only the room */
  sum += room_kick(lobby, 20) + room_kick(lobby, 7) + room_kick(bar, 18) + room_kick(bar, 7);
  sum += room_talk(lobby, 1) + room_talk(bar, 2);
  for (GList *l = friends; l; l = l->next)
    sum += CHAT_SESSION(l->data)->bytes;
  g_list_free_full(friends, g_object_unref);
  g_object_unref(lobby);
  g_object_unref(bar);
#ifdef TRUTH
  printf("%d sessions left\n", sessions_alive);
#endif
  printf("sum %ld\n", sum);
  return 0;
}
