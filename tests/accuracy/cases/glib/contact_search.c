/* summary: merge_duplicates frees the list of found contacts, but not the references in it, when there is nothing to merge
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2
 * exit: 0
 */
/* An address book: searches give lists of contacts, some with references of their own, some borrowed. */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

#define CONTACT_TYPE (contact_get_type())
G_DECLARE_FINAL_TYPE(Contact, contact, ADDR, CONTACT, GObject)

struct _Contact {
  GObject parent_instance;
  char *name;
  char *mail;
  int calls;
};

G_DEFINE_TYPE(Contact, contact, G_TYPE_OBJECT)

static int contacts_alive;

static void contact_finalize(GObject *object) {
  g_free(ADDR_CONTACT(object)->name);
  g_free(ADDR_CONTACT(object)->mail);
  contacts_alive--;
  G_OBJECT_CLASS(contact_parent_class)->finalize(object);
}

static void contact_class_init(ContactClass *klass) { G_OBJECT_CLASS(klass)->finalize = contact_finalize; }

static void contact_init(Contact *self) { contacts_alive++; }

static Contact *contact_new(const char *name, const char *mail, int calls) {
  Contact *c = g_object_new(CONTACT_TYPE, NULL);
  c->name = g_strdup(name);
  c->mail = g_strdup(mail);
  c->calls = calls;
  return c;
}

struct book {
  GSequence *contacts; /* owned, by name */
  GQueue recent;       /* owned, the newest first */
};

static int by_name(gconstpointer a, gconstpointer b, gpointer data) {
  return strcmp(((const Contact *)a)->name, ((const Contact *)b)->name);
}

static void book_init(struct book *b) {
  b->contacts = g_sequence_new(g_object_unref);
  g_queue_init(&b->recent);
}

static void book_clear(struct book *b) {
  g_queue_clear_full(&b->recent, g_object_unref);
  g_sequence_free(b->contacts);
}

/* Takes the contact over. */
static void book_take(struct book *b, Contact *c) { g_sequence_insert_sorted(b->contacts, c, by_name, NULL); }

static void book_touch(struct book *b, Contact *c) {
  GList *l = g_queue_find(&b->recent, c);
  if (l) {
    /* only moves the link, with its reference */
    g_queue_unlink(&b->recent, l);
    g_queue_push_head_link(&b->recent, l);
    return;
  }
  g_queue_push_head(&b->recent, g_object_ref(c));
  if (b->recent.length > 5)
    g_object_unref(g_queue_pop_tail(&b->recent));
}

/* A list with references. */
static GList *book_search(struct book *b, const char *prefix) {
  GList *found = NULL;
  for (GSequenceIter *i = g_sequence_get_begin_iter(b->contacts); !g_sequence_iter_is_end(i);
       i = g_sequence_iter_next(i)) {
    Contact *c = g_sequence_get(i);
    if (g_str_has_prefix(c->name, prefix))
      found = g_list_prepend(found, g_object_ref(c));
  }
  return g_list_reverse(found);
}

/* A list of borrowed contacts: only the list is to be freed. */
static GList *book_peek(struct book *b, int min_calls) {
  GList *found = NULL;
  for (GSequenceIter *i = g_sequence_get_begin_iter(b->contacts); !g_sequence_iter_is_end(i);
       i = g_sequence_iter_next(i)) {
    Contact *c = g_sequence_get(i);
    if (c->calls >= min_calls)
      found = g_list_prepend(found, c);
  }
  return found;
}

static void book_drop(struct book *b, Contact *c) {
  for (GSequenceIter *i = g_sequence_get_begin_iter(b->contacts); !g_sequence_iter_is_end(i);
       i = g_sequence_iter_next(i)) {
    if (g_sequence_get(i) == c) {
      g_sequence_remove(i);
      return;
    }
  }
}

/* Contacts of one name and one address become one. Returns how many went. */
static int merge_duplicates(struct book *b, const char *name) {
  GList *found = book_search(b, name), *same = NULL; /* ACCEPTED */
  Contact *keep;
  int gone = 0;

  if (!found)
    return 0;
  keep = found->data;
  for (GList *l = found->next; l; l = l->next)
    if (strcmp(((Contact *)l->data)->mail, keep->mail) == 0)
      same = g_list_prepend(same, l->data);
  if (!same) {
#ifdef BUG
    g_list_free(found); /* GUILTY */
#else
    g_list_free_full(found, g_object_unref);
#endif
    return 0; /* ACCEPTED */
  }
  for (GList *l = same; l; l = l->next) {
    Contact *c = l->data;
    keep->calls += c->calls;
    book_drop(b, c);
    gone++;
  }
  g_list_free(same); /* these were the members of "found" */
  g_list_free_full(found, g_object_unref);
  return gone;
}

/* Mails everybody in the list, which is used up. */
static int mail_all(struct book *b, GList *people) {
  int sent = 0;
  while (people) {
    Contact *c = people->data;
    people = g_list_delete_link(people, people);
    if (c->mail[0]) {
      book_touch(b, c);
      sent++;
    }
    g_object_unref(c);
  }
  return sent;
}

int main(void) {
  static const char *const names[] = {"Adams", "Baker", "Clark", "Davis", "Evans", "Foster", "Green", "Hill"};
  struct book b;
  int sum = 0, gone = 0;

  book_init(&b);
  for (int i = 0; i < 24; i++) {
    const char *name = names[i % 8];
    char *mail = i % 8 == 4 ? g_strdup_printf("evans%d@example.org", i) : g_strdup_printf("%s@example.org", name);
    book_take(&b, contact_new(name, i == 7 ? "" : mail, i));
    g_free(mail);
  }
  gone += merge_duplicates(&b, "Baker");
  gone += merge_duplicates(&b, "Evans");
  gone += merge_duplicates(&b, "Green");
  gone += merge_duplicates(&b, "Nobody");

  sum += mail_all(&b, book_search(&b, "Hill"));
  sum += mail_all(&b, book_search(&b, "Da"));
  sum += mail_all(&b, book_search(&b, "C"));
  GList *busy = book_peek(&b, 20);
  for (GList *l = busy; l; l = l->next) {
    Contact *c = l->data;
    sum += c->calls;
    book_touch(&b, c);
  }
  g_list_free(busy);
  /* moved to the front of the recent ones by hand, so the book and the queue own it both */
  Contact *boss = contact_new("Zorn", "boss@example.org", 99);
  book_touch(&b, boss);
  book_take(&b, boss);

  printf("%d merged, %d in the book, sum %d\n", gone, g_sequence_get_length(b.contacts), sum);
  book_clear(&b);
#ifdef TRUTH
  printf("%d contacts left\n", contacts_alive);
#endif
  return 0;
}
