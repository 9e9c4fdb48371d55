/*
 * summary: an import connects to its own cancellable with a reference on itself, so that import and cancellable keep each other
 * kind: cycle
 * counts: surplus
 * objects: 8
 * track: GObject
 * packages: gio-2.0
 * build: gcc -O1 -g
 */
/* Import of memory cards into a photo library: a thread copies, the main loop hears about it. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdio.h>

typedef enum { WAITING, COPYING, DONE, STOPPED } ImportState;

#define TYPE_CARD_IMPORT (card_import_get_type())
G_DECLARE_FINAL_TYPE(CardImport, card_import, CARD, IMPORT, GObject)

struct _CardImport {
	GObject parent;
	GFile *source;
	GFile *target;
	GCancellable *cancellable;
	gulong cancelled_id;
	ImportState state;
	gint stop_requests;
	goffset bytes;
	GError *error;
};

G_DEFINE_TYPE(CardImport, card_import, G_TYPE_OBJECT)

typedef struct {
	GAsyncQueue *todo;
	GMainContext *context;
	GMainLoop *loop;
	GHashTable *active; /* file name -> CardImport */
	GThread *thread;
	guint done, stopped;
	goffset bytes;
} Importer;

typedef struct {
	Importer *importer;
	CardImport *import;
} Report;

static void card_import_dispose(GObject *object)
{
	CardImport *self = CARD_IMPORT(object);

	if (self->cancelled_id) {
		g_cancellable_disconnect(self->cancellable, self->cancelled_id);
		self->cancelled_id = 0;
	}
	g_clear_object(&self->source);
	g_clear_object(&self->target);
	g_clear_object(&self->cancellable);
	G_OBJECT_CLASS(card_import_parent_class)->dispose(object);
}

static void card_import_finalize(GObject *object)
{
	CardImport *self = CARD_IMPORT(object);

	g_clear_error(&self->error);
	G_OBJECT_CLASS(card_import_parent_class)->finalize(object);
}

static void card_import_class_init(CardImportClass *klass)
{
	G_OBJECT_CLASS(klass)->dispose = card_import_dispose;
	G_OBJECT_CLASS(klass)->finalize = card_import_finalize;
}

static void card_import_init(CardImport *self)
{
	self->cancellable = g_cancellable_new();
}

static void on_cancelled(GCancellable *cancellable, gpointer data)
{
	CardImport *self = data;

	(void)cancellable;
	g_atomic_int_inc(&self->stop_requests);
}

static CardImport *card_import_new(GFile *source, GFile *folder)
{
	CardImport *self = g_object_new(TYPE_CARD_IMPORT, NULL);
	gchar *name = g_file_get_basename(source);

	self->source = g_object_ref(source);
	self->target = g_file_get_child(folder, name);
	g_free(name);
#ifdef BUG
	self->cancelled_id = g_cancellable_connect(self->cancellable, G_CALLBACK(on_cancelled), g_object_ref(self), g_object_unref); /* GUILTY */
#else
	self->cancelled_id = g_cancellable_connect(self->cancellable, G_CALLBACK(on_cancelled), self, NULL);
#endif
	return self;
}

static void card_import_copy(CardImport *self)
{
	GFileInfo *info;

	self->state = COPYING;
	if (!g_file_copy(self->source, self->target, G_FILE_COPY_OVERWRITE, self->cancellable, NULL, NULL, &self->error)) {
		self->state = STOPPED;
		return;
	}
	info = g_file_query_info(self->target, G_FILE_ATTRIBUTE_STANDARD_SIZE, G_FILE_QUERY_INFO_NONE, NULL, &self->error);
	if (!info) {
		self->state = STOPPED;
		return;
	}
	self->bytes = g_file_info_get_size(info);
	g_object_unref(info);
	self->state = DONE;
}

static void report_free(gpointer data)
{
	Report *report = data;

	g_object_unref(report->import);
	g_free(report);
}

static gboolean on_report(gpointer data)
{
	Report *report = data;
	Importer *importer = report->importer;
	CardImport *import = report->import;
	gchar *name = g_file_get_basename(import->source);

	if (import->state == DONE) {
		importer->done++;
		importer->bytes += import->bytes;
	} else {
		importer->stopped++;
	}
	g_hash_table_remove(importer->active, name); /* ACCEPTED */
	g_free(name);
	if (!g_hash_table_size(importer->active))
		g_main_loop_quit(importer->loop);
	return G_SOURCE_REMOVE;
}

static gpointer import_thread(gpointer data)
{
	Importer *importer = data;
	gpointer item;

	while ((item = g_async_queue_pop(importer->todo)) != importer) {
		CardImport *import = item;
		Report *report = g_new(Report, 1);
		GSource *source = g_idle_source_new();

		card_import_copy(import);
		report->importer = importer;
		report->import = import;
		g_source_set_callback(source, on_report, report, report_free);
		g_source_attach(source, importer->context);
		g_source_unref(source);
	}
	return NULL;
}

static void importer_start(Importer *importer)
{
	importer->todo = g_async_queue_new();
	importer->context = g_main_context_new();
	importer->loop = g_main_loop_new(importer->context, FALSE);
	importer->active = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
}

static void importer_add(Importer *importer, CardImport *import)
{
	g_hash_table_replace(importer->active, g_file_get_basename(import->source), g_object_ref(import));
	g_async_queue_push(importer->todo, g_object_ref(import));
}

static gboolean importer_cancel(Importer *importer, const char *name)
{
	CardImport *import = g_hash_table_lookup(importer->active, name);

	if (!import || g_cancellable_is_cancelled(import->cancellable))
		return FALSE;
	g_cancellable_cancel(import->cancellable);
	return import->stop_requests == 1;
}

static void importer_stop(Importer *importer)
{
	g_async_queue_push(importer->todo, importer);
	g_thread_join(importer->thread);
	g_hash_table_unref(importer->active);
	g_async_queue_unref(importer->todo);
	g_main_loop_unref(importer->loop);
	g_main_context_unref(importer->context);
}

static void remove_tree(GFile *folder)
{
	GFileEnumerator *children = g_file_enumerate_children(folder, G_FILE_ATTRIBUTE_STANDARD_NAME, 0, NULL, NULL);
	GFileInfo *info;

	while (children && (info = g_file_enumerator_next_file(children, NULL, NULL))) {
		GFile *child = g_file_enumerator_get_child(children, info);

		if (!g_file_delete(child, NULL, NULL))
			remove_tree(child);
		g_object_unref(child);
		g_object_unref(info);
	}
	g_clear_object(&children);
	g_file_delete(folder, NULL, NULL);
}

int main(void)
{
	static const char *const pictures[] = { "DSC_0101.NEF", "DSC_0102.NEF", "DSC_0103.NEF", "DSC_0104.NEF" };
	gchar *path = g_dir_make_tmp("cardXXXXXX", NULL);
	GFile *root = g_file_new_for_path(path);
	GFile *card = g_file_get_child(root, "card"), *library = g_file_get_child(root, "library");
	Importer importer = { 0 };
	gboolean ok;

	g_file_make_directory(card, NULL, NULL);
	g_file_make_directory(library, NULL, NULL);
	importer_start(&importer);
	for (gsize i = 0; i < G_N_ELEMENTS(pictures); i++) {
		GFile *file = g_file_get_child(card, pictures[i]);
		gchar *body = g_strnfill(2000 + 500 * i, 'x');
		CardImport *import;

		g_file_replace_contents(file, body, 2000 + 500 * i, NULL, FALSE, G_FILE_CREATE_NONE, NULL, NULL, NULL);
		import = card_import_new(file, library);
		importer_add(&importer, import);
		g_object_unref(import);
		g_object_unref(file);
		g_free(body);
	}
	ok = importer_cancel(&importer, "DSC_0103.NEF") && !importer_cancel(&importer, "DSC_0103.NEF");
	importer.thread = g_thread_new("import", import_thread, &importer);
	g_main_loop_run(importer.loop);
	importer_stop(&importer);
	printf("%u imported (%" G_GOFFSET_FORMAT " bytes), %u stopped\n", importer.done, importer.bytes, importer.stopped);
	remove_tree(root);
	g_object_unref(card);
	g_object_unref(library);
	g_object_unref(root);
	g_free(path);
	return ok && importer.done == 3 && importer.stopped == 1 ? 0 : 1;
}
