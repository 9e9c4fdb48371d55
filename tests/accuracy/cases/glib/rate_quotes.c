/* summary: line_reply counts the quote's price after g_task_return_pointer(), whose callback runs at once and may drop the quote
 * kind: use-after-put
 * counts: none
 * objects: 8
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O0 -g
 * exit: 0
 */
/* rate_quotes - asks the carriers of a shipping company what a parcel costs.
 *
 * Every carrier is asked over its line, which answers some turns of the main
 * loop later.  The desk takes the best offer of those that came until the
 * customer's patience ended.
 */
#include <gio/gio.h>
#include <stdio.h>

#define N_PARCELS 14

/* ---- Quote ----------------------------------------------------------- */

#define RQ_TYPE_QUOTE (rq_quote_get_type ())
G_DECLARE_FINAL_TYPE (RqQuote, rq_quote, RQ, QUOTE, GObject)

struct _RqQuote
{
  GObject parent_instance;
  guint parcel;
  guint price;
  guint days;
};

G_DEFINE_TYPE (RqQuote, rq_quote, G_TYPE_OBJECT)

static void
rq_quote_class_init (RqQuoteClass *klass)
{
  (void) klass;
}

static void
rq_quote_init (RqQuote *self)
{
  self->days = 1;
}

static RqQuote *
rq_quote_new (guint parcel, guint price, guint days)
{
  RqQuote *q = g_object_new (RQ_TYPE_QUOTE, NULL);

  q->parcel = parcel;
  q->price = price;
  q->days = days;
  return q;
}

/* ---- Line: the connection to one carrier ----------------------------- */

#define RQ_TYPE_LINE (rq_line_get_type ())
G_DECLARE_FINAL_TYPE (RqLine, rq_line, RQ, LINE, GObject)

struct _RqLine
{
  GObject parent_instance;
  gchar *carrier;
  guint base, per_kilo, delay, limit;
  GHashTable *cache;            /* weight -> RqQuote, the standing offers */
  guint64 offered;
  guint answers, from_cache, refusals;
};

typedef struct
{
  guint parcel;
  guint weight;
  guint turns;
} Request;

G_DEFINE_TYPE (RqLine, rq_line, G_TYPE_OBJECT)

static void
rq_line_finalize (GObject *object)
{
  RqLine *self = RQ_LINE (object);

  g_hash_table_unref (self->cache);
  g_free (self->carrier);
  G_OBJECT_CLASS (rq_line_parent_class)->finalize (object);
}

static void
rq_line_class_init (RqLineClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = rq_line_finalize;
}

static void
rq_line_init (RqLine *self)
{
  self->cache = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
}

static RqLine *
rq_line_new (const gchar *carrier, guint base, guint per_kilo, guint delay, guint limit)
{
  RqLine *l = g_object_new (RQ_TYPE_LINE, NULL);

  l->carrier = g_strdup (carrier);
  l->base = base;
  l->per_kilo = per_kilo;
  l->delay = delay;
  l->limit = limit;
  return l;
}

static gboolean
line_reply (gpointer data)
{
  GTask *task = data;
  RqLine *self = g_task_get_source_object (task);
  Request *req = g_task_get_task_data (task);
  RqQuote *quote;

  if (g_task_return_error_if_cancelled (task))
    return G_SOURCE_REMOVE;
  if (req->turns-- > 0)
    return G_SOURCE_CONTINUE;
  if (req->weight > self->limit)
    {
      self->refusals++;
      g_task_return_new_error (task, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, "%s takes no more than %u kg",
                               self->carrier, self->limit);
      return G_SOURCE_REMOVE;
    }
  quote = rq_quote_new (req->parcel, self->base + self->per_kilo * req->weight, 1 + self->delay);
  self->answers++;
  if (req->weight % 5 == 0)
    g_hash_table_insert (self->cache, GUINT_TO_POINTER (req->weight), g_object_ref (quote));
#ifdef BUG
  g_task_return_pointer (task, quote, g_object_unref);  /* ACCEPTED */
  self->offered += quote->price;        /* GUILTY */
#else
  self->offered += quote->price;
  g_task_return_pointer (task, quote, g_object_unref);
#endif
  return G_SOURCE_REMOVE;
}

static void
rq_line_ask_async (RqLine *self, guint parcel, guint weight, GCancellable *cancellable,
                   GAsyncReadyCallback callback, gpointer user_data)
{
  GTask *task = g_task_new (self, cancellable, callback, user_data);
  RqQuote *standing = g_hash_table_lookup (self->cache, GUINT_TO_POINTER (weight));
  Request *req;
  GSource *source;

  g_task_set_source_tag (task, rq_line_ask_async);
  if (standing != NULL)
    {
      self->from_cache++;
      g_task_return_pointer (task, g_object_ref (standing), g_object_unref);
      self->offered += standing->price;
      g_object_unref (task);
      return;
    }
  req = g_new0 (Request, 1);
  req->parcel = parcel;
  req->weight = weight;
  req->turns = self->delay;
  g_task_set_task_data (task, req, g_free);
  source = g_idle_source_new ();
  g_task_attach_source (task, source, line_reply);
  g_source_unref (source);
  g_object_unref (task);
}

static RqQuote *
rq_line_ask_finish (RqLine *self, GAsyncResult *result, GError **error)
{
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);
  return g_task_propagate_pointer (G_TASK (result), error);
}

/* ---- Desk ------------------------------------------------------------ */

typedef struct
{
  guint parcel;
  guint open;                   /* questions without an answer yet */
  guint patience;               /* in turns of the loop */
  RqQuote *best;
  GCancellable *cancellable;
} Inquiry;

typedef struct
{
  GPtrArray *lines;
  GPtrArray *inquiries;
  guint cancelled, refused, compared;
} Desk;

static Desk desk;

static void
inquiry_free (gpointer data)
{
  Inquiry *inq = data;

  g_clear_object (&inq->best);
  g_object_unref (inq->cancellable);
  g_free (inq);
}

static void
on_quote (GObject *source, GAsyncResult *result, gpointer data)
{
  Inquiry *inq = data;
  GError *error = NULL;
  RqQuote *quote = rq_line_ask_finish (RQ_LINE (source), result, &error);

  inq->open--;
  if (quote == NULL)
    {
      if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        desk.cancelled++;
      else
        desk.refused++;
      g_error_free (error);
      return;
    }
  desk.compared++;
  if (inq->best == NULL || quote->price + quote->days < inq->best->price + inq->best->days)
    g_set_object (&inq->best, quote);
  g_object_unref (quote);
}

static void
desk_inquire (guint parcel, guint weight)
{
  Inquiry *inq = g_new0 (Inquiry, 1);

  inq->parcel = parcel;
  inq->patience = parcel % 4 == 3 ? 2 : 12;
  inq->cancellable = g_cancellable_new ();
  g_ptr_array_add (desk.inquiries, inq);
  for (guint i = 0; i < desk.lines->len; i++)
    {
      inq->open++;
      rq_line_ask_async (g_ptr_array_index (desk.lines, i), parcel, weight, inq->cancellable, on_quote, inq);
    }
}

/* One turn; returns how many questions are open after it. */
static guint
desk_turn (void)
{
  guint open = 0;

  g_main_context_iteration (NULL, FALSE);
  for (guint i = 0; i < desk.inquiries->len; i++)
    {
      Inquiry *inq = g_ptr_array_index (desk.inquiries, i);

      if (inq->open > 0 && --inq->patience == 0)
        g_cancellable_cancel (inq->cancellable);
      open += inq->open;
    }
  return open;
}

int
main (void)
{
  guint64 sum = 0;
  guint without = 0;

  desk.lines = g_ptr_array_new_with_free_func (g_object_unref);
  desk.inquiries = g_ptr_array_new_with_free_func (inquiry_free);
  g_ptr_array_add (desk.lines, rq_line_new ("Snail", 3, 2, 4, 40));
  g_ptr_array_add (desk.lines, rq_line_new ("Yellow", 6, 2, 1, 30));
  g_ptr_array_add (desk.lines, rq_line_new ("Courier", 20, 3, 0, 12));
  g_ptr_array_add (desk.lines, rq_line_new ("Freight", 30, 1, 3, 500));

  for (guint i = 0; i < N_PARCELS; i++)
    {
      desk_inquire (i, i % 3 ? 2 + i * 11 % 47 : 10 + i % 2 * 5);
      if (i % 5 == 4)
        while (desk_turn () > 0)
          ;
    }
  while (desk_turn () > 0)
    ;
  for (guint i = 0; i < desk.inquiries->len; i++)
    {
      Inquiry *inq = g_ptr_array_index (desk.inquiries, i);

      if (inq->best)
        sum += inq->best->price;
      else
        without++;
    }
  printf ("%u compared, %u cancelled, %u refused, sum %" G_GUINT64_FORMAT ", %u without an offer\n", desk.compared,
          desk.cancelled, desk.refused, sum, without);
  for (guint i = 0; i < desk.lines->len; i++)
    {
      RqLine *l = g_ptr_array_index (desk.lines, i);

      printf ("%s: %u answers, %u from the cache, %u refusals, offered %" G_GUINT64_FORMAT "\n", l->carrier,
              l->answers, l->from_cache, l->refusals, l->offered);
    }
  g_ptr_array_unref (desk.inquiries);
  g_ptr_array_unref (desk.lines);
  return 0;
}
