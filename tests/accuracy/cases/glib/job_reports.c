/* summary: job_set_verbose() connects to the job's own reporter with a closure that owns the job, and the job owns the reporter: neither is ever freed
 * kind: cycle
 * counts: surplus
 * objects: 4
 * track: GObject
 * packages: gobject-2.0
 * build: gcc -O2 -g
 * exit: 0
 * source: bug class "g_signal_connect_data() with g_object_ref(self) on a member of self"
 */
/*
 * Jobs of a batch system: they run in the idle time of a main loop and say how
 * far they are to a reporter, that of everybody or one of their own.
 */
#include <glib-object.h>
#include <stdio.h>

/* Reporters */
#define BATCH_TYPE_REPORTER (reporter_get_type())
G_DECLARE_FINAL_TYPE(Reporter, reporter, BATCH, REPORTER, GObject)

struct _Reporter {
	GObject parent;
	guint said;
};

static guint progress_signal;

G_DEFINE_TYPE(Reporter, reporter, G_TYPE_OBJECT)

static void reporter_class_init(ReporterClass *klass)
{
	progress_signal = g_signal_new("progress", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0,
				       NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void reporter_init(Reporter *self)
{
	self->said = 0;
}

static void reporter_say(Reporter *self, guint percent)
{
	self->said++;
	g_signal_emit(self, progress_signal, 0, percent);
}

/* Jobs */
#define BATCH_TYPE_JOB (job_get_type())
G_DECLARE_FINAL_TYPE(Job, job, BATCH, JOB, GObject)

struct _Job {
	GObject parent;
	Reporter *reporter;
	guint id, steps, done, lines;
};

G_DEFINE_TYPE(Job, job, G_TYPE_OBJECT)

static void job_dispose(GObject *object)
{
	g_clear_object(&BATCH_JOB(object)->reporter);
	G_OBJECT_CLASS(job_parent_class)->dispose(object);
}

static void job_class_init(JobClass *klass)
{
	G_OBJECT_CLASS(klass)->dispose = job_dispose;
}

static void job_init(Job *self)
{
	self->steps = 1;
}

static Job *job_new(guint id, Reporter *common)
{
	Job *self = g_object_new(BATCH_TYPE_JOB, NULL);

	self->id = id;
	self->steps = 2 + id % 4;
	self->reporter = g_object_ref(common);
	return self;
}

static void on_progress(Reporter *reporter, guint percent, gpointer data)
{
	Job *self = data;

	(void)reporter;
	if (percent >= 50)
		self->lines++;
}

/* A reporter of its own, whose lines the job counts. */
static void job_set_verbose(Job *self)
{
	g_object_unref(self->reporter);
	self->reporter = g_object_new(BATCH_TYPE_REPORTER, NULL);
#ifdef BUG
	g_signal_connect_data(self->reporter, "progress", G_CALLBACK(on_progress),	/* ACCEPTED */
			      g_object_ref(self),	/* GUILTY */
			      (GClosureNotify)(void (*)(void))g_object_unref, 0);
#else
	g_signal_connect_object(self->reporter, "progress", G_CALLBACK(on_progress), self, 0);
#endif
}

static gboolean job_step(gpointer data)
{
	Job *self = data;

	self->done++;
	reporter_say(self->reporter, self->done * 100 / self->steps);
	return self->done < self->steps ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* The source owns a reference until the job is through. */
static void job_start(Job *self)
{
	g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, job_step, g_object_ref(self), g_object_unref);
}

/* The batch */
static guint heard;

static void on_any_progress(Reporter *reporter, guint percent, gpointer data)
{
	GObject *log = data;

	(void)reporter;
	if (percent == 100) {
		guint n = GPOINTER_TO_UINT(g_object_get_data(log, "lines"));

		g_object_set_data(log, "lines", GUINT_TO_POINTER(n + 1));
	}
	heard++;
}

int main(void)
{
	Reporter *common = g_object_new(BATCH_TYPE_REPORTER, NULL);
	GObject *log = g_object_new(G_TYPE_OBJECT, NULL);
	GHashTable *urgent = g_hash_table_new_full(NULL, NULL, NULL, g_object_unref);
	GQueue jobs = G_QUEUE_INIT;
	Job *job;
	guint lines = 0, steps = 0;

	g_signal_connect_object(common, "progress", G_CALLBACK(on_any_progress), log, 0);
	for (guint i = 0; i < 40; i++) {
		job = job_new(i, common);
		if (i == 13 || i == 27)
			job_set_verbose(job);
		if (i % 5 == 0)
			g_hash_table_insert(urgent, GUINT_TO_POINTER(i + 1), g_object_ref(job));
		g_queue_push_tail(&jobs, job);
	}
	for (GList *l = jobs.head; l; l = l->next)
		job_start(l->data);
	while (g_main_context_iteration(NULL, FALSE))
		;
	while ((job = g_queue_pop_head(&jobs))) {
		lines += job->lines;
		steps += job->done;
		g_object_unref(job);
	}
	job = g_hash_table_lookup(urgent, GUINT_TO_POINTER(11));
	printf("job %u: %u of %u\n", job->id, job->done, job->steps);
	g_hash_table_unref(urgent);
	printf("%u steps, %u said to everybody, %u heard, %u lines of their own\n", steps,
	       common->said, heard, lines);
	printf("log: %u jobs done\n", GPOINTER_TO_UINT(g_object_get_data(log, "lines")));
	g_object_unref(common);
	g_object_unref(log);
	return 0;
}
