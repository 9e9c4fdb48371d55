/* summary: agenda_copy_day hands the dates of the old entries to a function that takes them over, without getting references to them
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: GDateTime GTimeZone GKeyFile
 * packages: glib-2.0
 * build: clang -O1
 * exit: 0
 */
/* An agenda: entries with dates, repeating entries out of a key file, a copy of a day for the office calendar. */
#include <glib.h>
#include <stdio.h>

static const char rules[] = "[agenda]\nzone=UTC\n"
                            "[standup]\nfirst=2023-03-06\nevery=1\ntimes=9\n"
                            "[review]\nfirst=2023-03-10\nevery=7\ntimes=4\n"
                            "[rent]\nfirst=2023-03-31\nevery=30\ntimes=6\n"
                            "[broken]\nfirst=yesterday\n";

struct entry {
  char *title;
  GDateTime *when; /* owned */
};

struct agenda {
  GPtrArray *entries;
  GDateTime *newest; /* owned */
};

static void entry_free(gpointer data) {
  struct entry *e = data;
  g_free(e->title);
  g_date_time_unref(e->when);
  g_free(e);
}

static void agenda_init(struct agenda *a) {
  a->entries = g_ptr_array_new_with_free_func(entry_free);
  a->newest = NULL;
}

static void agenda_clear(struct agenda *a) {
  g_ptr_array_unref(a->entries);
  g_clear_pointer(&a->newest, g_date_time_unref);
}

/* Takes the reference to the date over. */
static void agenda_take(struct agenda *a, const char *title, GDateTime *when) {
  struct entry *e = g_new(struct entry, 1);
  e->title = g_strdup(title);
  e->when = when;
  g_ptr_array_add(a->entries, e);
  if (!a->newest || g_date_time_compare(when, a->newest) > 0) {
    g_clear_pointer(&a->newest, g_date_time_unref);
    a->newest = g_date_time_ref(when);
  }
}

/* Returns a new reference or NULL. */
static GDateTime *parse_day(const char *text, GTimeZone *zone) {
  int y, m, d;
  if (!text || sscanf(text, "%d-%d-%d", &y, &m, &d) != 3)
    return NULL;
  return g_date_time_new(zone, y, m, d, 9, 0, 0);
}

static gboolean is_weekend(GDateTime *t) { return g_date_time_get_day_of_week(t) > 5; }

/* Adds what a rule says. Weekends are left out, but count. */
static int apply_rule(struct agenda *a, GKeyFile *file, const char *group, GTimeZone *zone) {
  char *first = g_key_file_get_string(file, group, "first", NULL);
  int every = g_key_file_get_integer(file, group, "every", NULL);
  int times = g_key_file_get_integer(file, group, "times", NULL);
  GDateTime *t = parse_day(first, zone);
  int added = 0;

  g_free(first);
  if (!t)
    return 0;
  while (times-- > 0) {
    GDateTime *next = g_date_time_add_days(t, every);
    if (is_weekend(t)) {
      g_date_time_unref(t);
    } else {
      agenda_take(a, group, t);
      added++;
    }
    t = next;
  }
  g_date_time_unref(t);
  return added;
}

static int agenda_load(struct agenda *a) {
  GKeyFile *file = g_key_file_new(), *held = g_key_file_ref(file);
  gsize n;
  int added = 0;

  if (!g_key_file_load_from_data(file, rules, sizeof(rules) - 1, G_KEY_FILE_NONE, NULL)) {
    g_key_file_unref(held);
    g_key_file_free(file);
    return -1;
  }
  char *id = g_key_file_get_string(file, "agenda", "zone", NULL);
  GTimeZone *zone = g_time_zone_new_identifier(id);
  char **groups = g_key_file_get_groups(file, &n);
  g_key_file_unref(held);
  for (gsize i = 0; i < n; i++)
    added += apply_rule(a, file, groups[i], zone);
  g_strfreev(groups);
  g_time_zone_unref(zone);
  g_free(id);
  g_key_file_free(file);
  return added;
}

/* Copies the entries of one day of a month into another agenda. */
static int agenda_copy_day(struct agenda *to, const struct agenda *from, int month, int day) {
  int n = 0;
  for (guint i = 0; i < from->entries->len; i++) {
    const struct entry *e = from->entries->pdata[i];
    if (g_date_time_get_month(e->when) != month || g_date_time_get_day_of_month(e->when) != day)
      continue;
#ifdef BUG
    agenda_take(to, e->title, e->when); /* GUILTY */
#else
    agenda_take(to, e->title, g_date_time_ref(e->when));
#endif
    n++;
  }
  return n;
}

/* Everything from a day on, moved by some hours for the colleagues in the east. */
static int agenda_copy_from(struct agenda *to, const struct agenda *from, GDateTime *start, int hours) {
  int n = 0;
  for (guint i = 0; i < from->entries->len; i++) {
    const struct entry *e = from->entries->pdata[i];
    if (g_date_time_compare(e->when, start) < 0)
      continue;
    agenda_take(to, e->title, hours ? g_date_time_add_hours(e->when, hours) : g_date_time_ref(e->when));
    n++;
  }
  return n;
}

/* The office calendar stays until the program ends. */
static struct agenda office;

int main(void) {
  struct agenda mine;
  int added, copied = 0, days = 0;

  agenda_init(&mine);
  agenda_init(&office);
  added = agenda_load(&mine);
  GDateTime *april = g_date_time_new_utc(2023, 4, 1, 0, 0, 0), *may = g_date_time_add_months(april, 1);
  copied += agenda_copy_from(&office, &mine, may, 0);
  copied += agenda_copy_from(&office, &mine, april, 2);
  copied += agenda_copy_from(&office, &mine, april, 0);
  g_date_time_unref(april);
  g_date_time_unref(may);
  copied += agenda_copy_day(&office, &mine, 3, 10);
  agenda_clear(&mine);
  for (guint i = 0; i < office.entries->len; i++) {
    const struct entry *e = office.entries->pdata[i];
    days += g_date_time_get_day_of_month(e->when);
  }
  printf("%d added, %d copied, days %d\n", added, copied, days);
  return 0;
}
