// Downloads that the main thread and a reader thread share, each with a reference of its own. When the
// server hangs up, the reader gives back one reference too many: the main thread is left with a dead object.
#include <glib-object.h>
#include <stdio.h>

#define DOWNLOADS 40
#define BROKEN_DOWNLOAD 23

#define DOWNLOAD_TYPE (download_get_type())
G_DECLARE_FINAL_TYPE(Download, download, DEMO, DOWNLOAD, GObject)

struct _Download {
  GObject parent_instance;
  int number;
  gsize received;
};

G_DEFINE_TYPE(Download, download, G_TYPE_OBJECT)

static void download_class_init(DownloadClass *klass) { (void)klass; }
static void download_init(Download *download) { (void)download; }

// Where the two threads meet: the main thread hands over a download and waits until it is done.
static GMutex mutex;
static GCond changed;
static Download *handed_over;
static gboolean done;

static gboolean download_receive(Download *download) {
  if (download->number == BROKEN_DOWNLOAD) return FALSE;
  download->received += 1500;
  return TRUE;
}

__attribute__((noinline)) static void download_hung_up(Download *download) {
  fprintf(stderr, "download %d: the server hung up\n", download->number);
  g_object_unref(download);
}

static void read_download(Download *download) {
  if (!download_receive(download)) download_hung_up(download);
  g_object_unref(download);
}

static gpointer reader_main(gpointer unused) {
  (void)unused;
  for (int i = 0; i < DOWNLOADS; i++) {
    g_mutex_lock(&mutex);
    while (handed_over == NULL) g_cond_wait(&changed, &mutex);
    Download *download = handed_over;
    handed_over = NULL;
    g_mutex_unlock(&mutex);

    read_download(download);

    g_mutex_lock(&mutex);
    done = TRUE;
    g_cond_signal(&changed);
    g_mutex_unlock(&mutex);
  }
  return NULL;
}

__attribute__((noinline)) static void fetch(int number) {
  Download *download = g_object_new(DOWNLOAD_TYPE, NULL);
  download->number = number;

  g_mutex_lock(&mutex);
  handed_over = g_object_ref(download);
  g_cond_signal(&changed);
  while (!done) g_cond_wait(&changed, &mutex);
  done = FALSE;
  g_mutex_unlock(&mutex);

  g_object_unref(download);
}

int main(void) {
  GThread *reader = g_thread_new("reader", reader_main, NULL);
  for (int number = 0; number < DOWNLOADS; number++) fetch(number);
  g_thread_join(reader);
  printf("%d downloads\n", DOWNLOADS);
  return 0;
}
