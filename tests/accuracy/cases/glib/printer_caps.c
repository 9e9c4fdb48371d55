/* summary: finisher_price breaks out of g_variant_iter_loop() at the first match and does not give the value of that turn back
 * kind: missing-put
 * counts: surplus
 * objects: 30
 * track: GVariant
 * packages: glib-2.0
 * build: clang-14 -O1 -g
 * exit: 0
 */
/*
 * printer_caps - the dispatcher of a print shop.  Printers announce what they
 * can do as a dictionary in text form, the operator may overlay entries of it,
 * and every job goes to the cheapest printer that can do the job.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define NPRINTERS 12
#define NJOBS 40

struct printer {
  char *name;
  GVariant *caps;     /* a{sv}, what counts now */
  GVariant *announced; /* a{sv}, as the printer said it; often the same as caps */
  GPtrArray *spool;   /* tickets, see ticket_free() */
  guint pages;
};

struct ticket {
  guint number;
  guint pages;
  guint dpi;
  const char *media;
  const char *finish; /* or NULL */
  GVariant *receipt;  /* (usu), or NULL until it is printed */
};

struct shop {
  struct printer *printers[NPRINTERS];
  GHashTable *prices; /* media name -> GVariant u */
  GVariant *house_rules;
  guint rejected;
  guint64 turnover;
};

/* ---- announcements ---------------------------------------------------- */

static const char *const announcements[] = {
  "{'model': <'Laser 200'>, 'resolutions': <[uint32 300, 600]>, 'media': <['A4', 'A5']>, 'duplex': <true>}",
  "{'model': <'Laser 900'>, 'resolutions': <[uint32 600, 1200]>, 'media': <['A4', 'A3']>, 'duplex': <true>,"
  " 'finisher.1': <('staple', uint32 4)>, 'finisher.2': <('fold', uint32 9)>}",
  "{'model': <'Plot 44'>, 'resolutions': <[uint32 300]>, 'media': <['A1', 'A2', 'A3']>, 'duplex': <false>,"
  " 'finisher.1': <'roll cutter'>, 'finisher.2': <('cut', uint32 2)>}",
  "{'model': <'Press 7'>, 'resolutions': <[uint32 1200, 2400]>, 'media': <['A3', 'A4', 'SRA3']>,"
  " 'finisher.1': <('bind', uint32 30)>, 'finisher.2': <('staple', uint32 3)>, 'finisher.3': <('punch', uint32 2)>}",
};

static GVariant *caps_parse(const char *text) {
  GError *error = NULL;
  GVariant *v = g_variant_parse(G_VARIANT_TYPE_VARDICT, text, NULL, NULL, &error);

  if (!v) {
    fprintf(stderr, "bad announcement: %s\n", error->message);
    g_error_free(error);
  }
  return v;
}

/* A new dictionary: the entries of "over" come before those of "base". */
static GVariant *caps_overlay(GVariant *base, GVariant *over) {
  GVariantDict dict;
  GVariantIter iter;
  const char *key;
  GVariant *value;

  g_variant_dict_init(&dict, base);
  g_variant_iter_init(&iter, over);
  while (g_variant_iter_next(&iter, "{&sv}", &key, &value)) {
    if (g_variant_is_of_type(value, G_VARIANT_TYPE_UNIT))
      g_variant_dict_remove(&dict, key);
    else
      g_variant_dict_insert_value(&dict, key, value);
    g_variant_unref(value);
  }
  return g_variant_ref_sink(g_variant_dict_end(&dict));
}

/* ---- questions about a dictionary ------------------------------------- */

static gboolean caps_has_resolution(GVariant *caps, guint dpi) {
  GVariant *list = g_variant_lookup_value(caps, "resolutions", G_VARIANT_TYPE("au"));
  GVariantIter iter;
  guint32 one;
  gboolean found = FALSE;

  if (!list)
    return dpi <= 300;
  g_variant_iter_init(&iter, list);
  while (g_variant_iter_loop(&iter, "u", &one)) {
    if (one >= dpi) {
      found = TRUE;
      break;
    }
  }
  g_variant_unref(list);
  return found;
}

static gboolean caps_has_media(GVariant *caps, const char *media) {
  GVariant *list = g_variant_lookup_value(caps, "media", G_VARIANT_TYPE_STRING_ARRAY);
  gboolean found;
  const char **names;

  if (!list)
    return FALSE;
  names = g_variant_get_strv(list, NULL);
  found = g_strv_contains(names, media);
  g_free(names);
  g_variant_unref(list);
  return found;
}

/* Entries "finisher.N" are a kind and a price, or a mere text. -1: there is none of that kind. */
static int finisher_price(GVariant *caps, const char *kind) {
  GVariantIter iter;
  const char *key, *offer;
  GVariant *value; /* ACCEPTED */
  guint32 cost;
  int price = -1;

  g_variant_iter_init(&iter, caps);
  while (g_variant_iter_loop(&iter, "{&sv}", &key, &value)) { /* ACCEPTED */
    if (!g_str_has_prefix(key, "finisher."))
      continue;
    if (!g_variant_is_of_type(value, G_VARIANT_TYPE("(su)")))
      continue;
    g_variant_get(value, "(&su)", &offer, &cost);
    if (strcmp(offer, kind) == 0) {
      price = (int)cost;
#ifndef BUG
      g_variant_unref(value);
#endif
      break; /* GUILTY */
    }
  }
  return price;
}

static guint count_finishers(GVariant *caps) {
  GVariantIter iter;
  const char *key;
  guint n = 0;

  g_variant_iter_init(&iter, caps);
  while (g_variant_iter_loop(&iter, "{&sv}", &key, NULL))
    n += g_str_has_prefix(key, "finisher.");
  return n;
}

/* ---- printers --------------------------------------------------------- */

static struct printer *printer_new(guint i) {
  struct printer *p = g_new0(struct printer, 1);

  p->name = g_strdup_printf("%c%u", 'A' + (int)(i % 4), i);
  p->announced = caps_parse(announcements[i % G_N_ELEMENTS(announcements)]);
  p->caps = g_variant_ref(p->announced);
  p->spool = g_ptr_array_new();
  return p;
}

static void printer_overlay(struct printer *p, GVariant *over) {
  GVariant *merged = caps_overlay(p->announced, over);

  g_variant_unref(p->caps);
  p->caps = merged;
}

static void ticket_free(struct ticket *t) {
  if (t->receipt)
    g_variant_unref(t->receipt);
  g_free(t);
}

static void printer_free(struct printer *p) {
  for (guint i = 0; i < p->spool->len; i++)
    ticket_free(p->spool->pdata[i]);
  g_ptr_array_free(p->spool, TRUE);
  g_variant_unref(p->caps);
  g_variant_unref(p->announced);
  g_free(p->name);
  g_free(p);
}

/* ---- the shop --------------------------------------------------------- */

static void shop_init(struct shop *s) {
  static const char *const media[] = {"A5", "A4", "A3", "A2", "A1", "SRA3"};

  memset(s, 0, sizeof(*s));
  s->prices = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_variant_unref);
  for (guint i = 0; i < G_N_ELEMENTS(media); i++)
    g_hash_table_insert(s->prices, (gpointer)media[i], g_variant_ref_sink(g_variant_new_uint32(2 + 3 * i)));
  s->house_rules = caps_parse("{'duplex': <()>, 'finisher.9': <('staple', uint32 6)>, 'operator': <'night shift'>}");
  for (guint i = 0; i < NPRINTERS; i++) {
    s->printers[i] = printer_new(i);
    if (i % 5 == 3)
      printer_overlay(s->printers[i], s->house_rules);
  }
}

static void shop_clear(struct shop *s) {
  for (guint i = 0; i < NPRINTERS; i++)
    printer_free(s->printers[i]);
  g_variant_unref(s->house_rules);
  g_hash_table_destroy(s->prices);
}

/* What the job costs on this printer, -1 if the printer cannot do it. */
static int quote(struct shop *s, struct printer *p, const struct ticket *t) {
  GVariant *per_page = g_hash_table_lookup(s->prices, t->media);
  int cost, extra = 0;

  if (!per_page || !caps_has_media(p->caps, t->media) || !caps_has_resolution(p->caps, t->dpi))
    return -1;
  cost = (int)(g_variant_get_uint32(per_page) * t->pages);
  if (t->finish) {
    extra = finisher_price(p->caps, t->finish);
    if (extra < 0)
      return -1;
  }
  return cost + extra + (int)p->spool->len;
}

/* Takes the ticket over. */
static void shop_submit(struct shop *s, struct ticket *t) {
  struct printer *best = NULL;
  int price = G_MAXINT;

  for (guint i = 0; i < NPRINTERS; i++) {
    int q = quote(s, s->printers[i], t);
    if (q >= 0 && q < price) {
      price = q;
      best = s->printers[i];
    }
  }
  if (!best) {
    s->rejected++;
    ticket_free(t);
    return;
  }
  t->receipt = g_variant_ref_sink(g_variant_new("(usu)", t->number, best->name, (guint32)price));
  best->pages += t->pages;
  s->turnover += (guint64)price;
  g_ptr_array_add(best->spool, t);
}

static struct ticket *ticket_new(guint number) {
  static const char *const media[] = {"A4", "A4", "A3", "A5", "A1", "B4"};
  static const char *const finish[] = {NULL, NULL, "staple", NULL, "fold", NULL, "spiral"};
  struct ticket *t = g_new0(struct ticket, 1);

  t->number = number;
  t->pages = 1 + number * 7 % 23;
  t->dpi = number % 9 == 8 ? 1200 : 300;
  t->media = media[number % G_N_ELEMENTS(media)];
  t->finish = finish[number % G_N_ELEMENTS(finish)];
  return t;
}

int main(void) {
  struct shop shop;
  guint receipts = 0, finishers = 0;

  shop_init(&shop);
  for (guint n = 0; n < NJOBS; n++)
    shop_submit(&shop, ticket_new(n));
  for (guint i = 0; i < NPRINTERS; i++) {
    struct printer *p = shop.printers[i];

    finishers += count_finishers(p->caps);
    for (guint k = 0; k < p->spool->len; k++)
      receipts += ((struct ticket *)p->spool->pdata[k])->receipt != NULL;
    if (p->pages)
      printf("%s: %u pages in %u jobs\n", p->name, p->pages, p->spool->len);
  }
  printf("%u receipts, %u rejected, %u finishers, turnover %" G_GUINT64_FORMAT "\n", receipts, shop.rejected, finishers,
         shop.turnover);
  shop_clear(&shop);
  return 0;
}
