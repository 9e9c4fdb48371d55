/* summary: The digest pins a breaking article in a slot without taking a reference of its own; the slot's later g_clear_object drops the reference of the channel window
 * kind: missing-get
 * counts: deficit
 * objects: 8
 * track: glib
 * packages: gobject-2.0
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * feedreader - tiny in-memory news aggregator.
 *
 * Channels hold a bounded window of articles and announce new ones through
 * the "article-added" signal; the digest listens to all channels and keeps
 * the lead story plus a headline ticker.
 */
#include <glib-object.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- article */

#define FR_TYPE_ARTICLE (fr_article_get_type ())
G_DECLARE_FINAL_TYPE (FrArticle, fr_article, FR, ARTICLE, GObject)

struct _FrArticle
{
  GObject parent_instance;
  guint   id;
  gint    score;
  gchar  *title;
  gchar  *body;
};

G_DEFINE_TYPE (FrArticle, fr_article, G_TYPE_OBJECT)

static void
fr_article_finalize (GObject *object)
{
  FrArticle *self = FR_ARTICLE (object);

  g_free (self->title);
  g_free (self->body);
  G_OBJECT_CLASS (fr_article_parent_class)->finalize (object);
}

static void
fr_article_class_init (FrArticleClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = fr_article_finalize;
}

static void
fr_article_init (FrArticle *self)
{
}

static FrArticle *
fr_article_new (guint id, const gchar *channel, gint score)
{
  FrArticle *self = g_object_new (FR_TYPE_ARTICLE, NULL);

  self->id = id;
  self->score = score;
  self->title = g_strdup_printf ("%s #%u", channel, id);
  self->body = g_strnfill (200 + id % 97, 'a' + id % 26);
  return self;
}

/* ---------------------------------------------------------------- channel */

#define FR_TYPE_CHANNEL (fr_channel_get_type ())
G_DECLARE_FINAL_TYPE (FrChannel, fr_channel, FR, CHANNEL, GObject)

struct _FrChannel
{
  GObject    parent_instance;
  gchar     *name;
  guint      window;
  GPtrArray *articles;
};

enum { ARTICLE_ADDED, N_SIGNALS };
static guint channel_signals[N_SIGNALS];

G_DEFINE_TYPE (FrChannel, fr_channel, G_TYPE_OBJECT)

static void
fr_channel_finalize (GObject *object)
{
  FrChannel *self = FR_CHANNEL (object);

  g_ptr_array_unref (self->articles);
  g_free (self->name);
  G_OBJECT_CLASS (fr_channel_parent_class)->finalize (object);
}

static void
fr_channel_class_init (FrChannelClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = fr_channel_finalize;
  channel_signals[ARTICLE_ADDED] =
    g_signal_new ("article-added", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST,
                  0, NULL, NULL, NULL, G_TYPE_NONE, 1, FR_TYPE_ARTICLE);
}

static void
fr_channel_init (FrChannel *self)
{
  self->articles = g_ptr_array_new_with_free_func (g_object_unref);
  self->window = 16;
}

static void
fr_channel_publish (FrChannel *self, FrArticle *article)
{
  g_ptr_array_add (self->articles, g_object_ref (article));
  if (self->articles->len > self->window)
    g_ptr_array_remove_index (self->articles, 0);
  g_signal_emit (self, channel_signals[ARTICLE_ADDED], 0, article);
}

/* ----------------------------------------------------------------- digest */

#define FR_TYPE_DIGEST (fr_digest_get_type ())
G_DECLARE_FINAL_TYPE (FrDigest, fr_digest, FR, DIGEST, GObject)

#define BREAKING_SCORE 95
#define MAX_BREAKING   4

struct _FrDigest
{
  GObject    parent_instance;
  GPtrArray *channels;
  FrArticle *lead;
  FrArticle *breaking[MAX_BREAKING];
  guint      next_slot;
  guint      seen;
};

G_DEFINE_TYPE (FrDigest, fr_digest, G_TYPE_OBJECT)

static void
fr_digest_pin_breaking (FrDigest *self, FrArticle *article)
{
  FrArticle **slot = &self->breaking[self->next_slot];

  self->next_slot = (self->next_slot + 1) % MAX_BREAKING;
#ifdef BUG
  g_clear_object (slot); *slot = article; /* GUILTY */
#else
  g_set_object (slot, article);
#endif
}

static void
on_article_added (FrChannel *channel, FrArticle *article, gpointer user_data)
{
  FrDigest *self = FR_DIGEST (user_data);

  self->seen++;
  if (self->lead == NULL || article->score >= self->lead->score
      || article->id > self->lead->id + 40)
    g_set_object (&self->lead, article);
  if (article->score >= BREAKING_SCORE)
    fr_digest_pin_breaking (self, article);
}

static void
fr_digest_follow (FrDigest *self, FrChannel *channel)
{
  g_ptr_array_add (self->channels, g_object_ref (channel));
  g_signal_connect_object (channel, "article-added",
                           G_CALLBACK (on_article_added), self, 0);
}

static gsize
fr_digest_render (FrDigest *self, GString *out)
{
  g_string_truncate (out, 0);
  if (self->lead != NULL)
    g_string_append_printf (out, "LEAD %s (%d)\n", self->lead->title, self->lead->score);
  for (guint i = 0; i < self->channels->len; i++)
    {
      FrChannel *channel = g_ptr_array_index (self->channels, i);

      g_string_append_printf (out, "%s: %u stories\n", channel->name, channel->articles->len);
    }
  return out->len;
}

static void
fr_digest_dispose (GObject *object)
{
  FrDigest *self = FR_DIGEST (object);

  g_clear_object (&self->lead);
  for (guint i = 0; i < MAX_BREAKING; i++)
    g_clear_object (&self->breaking[i]);
  g_clear_pointer (&self->channels, g_ptr_array_unref);
  G_OBJECT_CLASS (fr_digest_parent_class)->dispose (object);
}

static void
fr_digest_class_init (FrDigestClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = fr_digest_dispose;
}

static void
fr_digest_init (FrDigest *self)
{
  self->channels = g_ptr_array_new_with_free_func (g_object_unref);
}

/* ------------------------------------------------------------------- main */

int
main (void)
{
  static const gchar *names[] = { "world", "science", "sports", "markets", "local" };
  FrChannel *channels[G_N_ELEMENTS (names)];
  FrDigest *digest = g_object_new (FR_TYPE_DIGEST, NULL);
  GString *page = g_string_new (NULL);
  GRand *rnd = g_rand_new_with_seed (77);
  gsize bytes = 0;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      channels[i] = g_object_new (FR_TYPE_CHANNEL, NULL);
      channels[i]->name = g_strdup (names[i]);
      fr_digest_follow (digest, channels[i]);
    }

  for (guint id = 1; id <= 400; id++)
    {
      guint c = g_rand_int_range (rnd, 0, G_N_ELEMENTS (names));
      gint score = (id % 50 == 0) ? 96 : g_rand_int_range (rnd, 0, 90);
      FrArticle *article = fr_article_new (id, names[c], score);

      fr_channel_publish (channels[c], article);
      g_object_unref (article);
      bytes += fr_digest_render (digest, page);
      if (id % 4 == 0)
        g_usleep (1000);
    }

  printf ("%u articles, %" G_GSIZE_FORMAT " bytes rendered\n%s", digest->seen, bytes, page->str);

  g_object_unref (digest);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_object_unref (channels[i]);
  g_string_free (page, TRUE);
  g_rand_free (rnd);
  return 0;
}
