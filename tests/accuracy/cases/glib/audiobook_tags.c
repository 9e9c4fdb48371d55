/* summary: book_correct stores the merged tag list over the one that the book owned, as if gst_tag_list_merge() consumed its first argument
 * kind: overwritten
 * counts: surplus
 * objects: 6
 * track: gstreamer
 * packages: gstreamer-1.0
 * build: gcc -O3 -g
 * exit: 0
 */
/* audiobook_tags - builds the catalogue of a library of audio books.
 *
 * A reader goes through the files and posts what it finds on a bus: stream
 * starts, tags, errors.  The catalogue collects the tags of all chapters of a
 * book, applies the librarian's corrections, and makes an index of authors.
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

#define N_BOOKS     9
#define N_CHAPTERS  6

typedef struct
{
  gchar *key;
  GstTagList *tags;             /* of the whole book */
  GPtrArray *chapters;          /* of GstTagList */
  guint64 duration;
  guint errors;
} Book;

typedef struct
{
  const gchar *key;
  const gchar *author;
  const gchar *genre;
} Correction;

typedef struct
{
  GHashTable *books;            /* key -> Book */
  GHashTable *authors;          /* author -> GPtrArray of GstTagList */
  GQueue *history;              /* of GstTagList, the last few that came in */
  Book *current;
} Catalogue;

static const Correction corrections[] = {
  {"book-1", "Jane Austen", NULL},
  {"book-3", "Mary Shelley", "Horror"},
  {"book-4", NULL, "Essay"},
  {"book-12", "Nobody", NULL},
  {"book-3", NULL, "Gothic"},
  {"book-7", "George Eliot", "Novel"},
  {"book-8", NULL, "Poetry"},
};

/* ---- books ---------------------------------------------------------- */

static Book *
book_new (const gchar * key)
{
  Book *book = g_new0 (Book, 1);

  book->key = g_strdup (key);
  book->tags = gst_tag_list_new (GST_TAG_ALBUM, key, NULL);
  gst_tag_list_set_scope (book->tags, GST_TAG_SCOPE_GLOBAL);
  book->chapters = g_ptr_array_new_with_free_func ((GDestroyNotify) gst_tag_list_unref);
  return book;
}

static void
book_free (gpointer data)
{
  Book *book = data;

  g_ptr_array_unref (book->chapters);
  gst_tag_list_unref (book->tags);
  g_free (book->key);
  g_free (book);
}

/* Takes the tags over. */
static void
book_add_chapter (Book * book, GstTagList * tags)
{
  guint64 duration;

  if (gst_tag_list_get_uint64 (tags, GST_TAG_DURATION, &duration))
    book->duration += duration;
  book->tags = gst_tag_list_make_writable (book->tags);
  gst_tag_list_insert (book->tags, tags, GST_TAG_MERGE_KEEP);
  g_ptr_array_add (book->chapters, tags);
}

static void
book_set_chapter_count (Book * book, guint n)
{
  book->tags = gst_tag_list_make_writable (book->tags);
  gst_tag_list_add (book->tags, GST_TAG_MERGE_REPLACE, GST_TAG_TRACK_COUNT, n, NULL);
}

static void
book_correct (Book * book, const Correction * c)
{
  GstTagList *fix = gst_tag_list_new_empty ();

  if (c->author)
    gst_tag_list_add (fix, GST_TAG_MERGE_REPLACE, GST_TAG_ARTIST, c->author, NULL);
  if (c->genre)
    gst_tag_list_add (fix, GST_TAG_MERGE_REPLACE, GST_TAG_GENRE, c->genre, NULL);
#ifdef BUG
  book->tags = gst_tag_list_merge (book->tags, fix, GST_TAG_MERGE_REPLACE);     /* GUILTY */
#else
  gst_tag_list_take (&book->tags, gst_tag_list_merge (book->tags, fix, GST_TAG_MERGE_REPLACE));
#endif
  gst_tag_list_unref (fix);
}

/* ---- catalogue ------------------------------------------------------ */

static void
catalogue_init (Catalogue * cat)
{
  cat->books = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, book_free);
  cat->authors = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
      (GDestroyNotify) g_ptr_array_unref);
  cat->history = g_queue_new ();
  cat->current = NULL;
}

static void
catalogue_clear (Catalogue * cat)
{
  g_queue_free_full (cat->history, (GDestroyNotify) gst_tag_list_unref);
  g_hash_table_destroy (cat->authors);
  g_hash_table_destroy (cat->books);
}

static Book *
catalogue_book (Catalogue * cat, const gchar * key)
{
  Book *book = g_hash_table_lookup (cat->books, key);

  if (book == NULL) {
    book = book_new (key);
    g_hash_table_insert (cat->books, book->key, book);
  }
  return book;
}

static void
catalogue_remember (Catalogue * cat, GstTagList * tags)
{
  g_queue_push_tail (cat->history, gst_tag_list_ref (tags));
  while (g_queue_get_length (cat->history) > 8)
    gst_tag_list_unref (g_queue_pop_head (cat->history));
}

static void
catalogue_handle_tags (Catalogue * cat, GstMessage * msg)
{
  GstTagList *tags = NULL;

  gst_message_parse_tag (msg, &tags);
  if (cat->current == NULL || gst_tag_list_is_empty (tags)) {
    gst_tag_list_unref (tags);
    return;
  }
  catalogue_remember (cat, tags);
  book_add_chapter (cat->current, tags);
}

static void
catalogue_drain (Catalogue * cat, GstBus * bus)
{
  GstMessage *msg;

  while ((msg = gst_bus_pop (bus)) != NULL) {
    switch (GST_MESSAGE_TYPE (msg)) {
      case GST_MESSAGE_ELEMENT:{
        const GstStructure *s = gst_message_get_structure (msg);

        cat->current = catalogue_book (cat, gst_structure_get_string (s, "key"));
        break;
      }
      case GST_MESSAGE_TAG:
        catalogue_handle_tags (cat, msg);
        break;
      case GST_MESSAGE_WARNING:
        if (cat->current)
          cat->current->errors++;
        break;
      default:
        break;
    }
    gst_message_unref (msg);
  }
}

static guint
catalogue_correct (Catalogue * cat)
{
  guint done = 0;

  for (guint i = 0; i < G_N_ELEMENTS (corrections); i++) {
    Book *book = g_hash_table_lookup (cat->books, corrections[i].key);

    if (book == NULL)
      continue;
    book_correct (book, &corrections[i]);
    done++;
  }
  return done;
}

static void
catalogue_index (Catalogue * cat)
{
  for (guint i = 0; i < N_BOOKS; i++) {
    gchar *key = g_strdup_printf ("book-%u", i);
    Book *book = g_hash_table_lookup (cat->books, key);
    gchar *author = NULL;
    GPtrArray *list;

    g_free (key);
    if (book == NULL || !gst_tag_list_get_string (book->tags, GST_TAG_ARTIST, &author))
      continue;
    list = g_hash_table_lookup (cat->authors, author);
    if (list == NULL) {
      list = g_ptr_array_new_with_free_func ((GDestroyNotify) gst_tag_list_unref);
      g_hash_table_insert (cat->authors, g_strdup (author), list);
    }
    g_ptr_array_add (list, gst_tag_list_ref (book->tags));
    g_free (author);
  }
}

/* ---- reader --------------------------------------------------------- */

static void
read_chapter (GstBus * bus, guint book, guint chapter)
{
  static const gchar *const authors[] = { "Anonymous", "J. Austen", "H. Melville" };
  GstTagList *tags;

  if ((book + chapter) % 11 == 10) {
    GError *error = g_error_new (GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "damaged frame");

    gst_bus_post (bus, gst_message_new_warning (NULL, error, "chapter"));
    g_error_free (error);
    return;
  }
  tags = gst_tag_list_new_empty ();
  if ((book * 5 + chapter) % 9 != 0)
    gst_tag_list_add (tags, GST_TAG_MERGE_APPEND, GST_TAG_TRACK_NUMBER, chapter + 1,
        GST_TAG_ARTIST, authors[book % 3], GST_TAG_DURATION,
        (guint64) (60 + book * 10 + chapter) * GST_SECOND, NULL);
  gst_bus_post (bus, gst_message_new_tag (NULL, tags));
}

static void
read_book (GstBus * bus, guint book)
{
  gchar *key = g_strdup_printf ("book-%u", book);

  gst_bus_post (bus, gst_message_new_element (NULL,
          gst_structure_new ("book", "key", G_TYPE_STRING, key, NULL)));
  g_free (key);
  for (guint i = 0; i < N_CHAPTERS; i++)
    read_chapter (bus, book, i);
}

int
main (int argc, char **argv)
{
  Catalogue cat;
  GstBus *bus;
  guint fixed, chapters = 0, errors = 0;
  guint64 seconds = 0;

  gst_init (&argc, &argv);
  bus = gst_bus_new ();
  catalogue_init (&cat);
  for (guint i = 0; i < N_BOOKS; i++) {
    read_book (bus, i);
    catalogue_drain (&cat, bus);
    book_set_chapter_count (cat.current, cat.current->chapters->len);
  }
  fixed = catalogue_correct (&cat);
  catalogue_index (&cat);
  for (guint i = 0; i < N_BOOKS; i++) {
    gchar *key = g_strdup_printf ("book-%u", i);
    Book *book = g_hash_table_lookup (cat.books, key);

    chapters += book->chapters->len;
    errors += book->errors;
    seconds += book->duration / GST_SECOND;
    g_free (key);
  }
  printf ("%u books, %u chapters, %u errors, %" G_GUINT64_FORMAT " s, %u corrections, %u authors\n",
      g_hash_table_size (cat.books), chapters, errors, seconds, fixed, g_hash_table_size (cat.authors));
  catalogue_clear (&cat);
  gst_object_unref (bus);
  gst_deinit ();
  return 0;
}
