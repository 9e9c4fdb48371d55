/* summary: GStreamer's mini objects: a dispose that keeps the object for later (a private pool), a buffer pool with sleeping buffers, memory shared by sub-buffers, buffers that are parents of others by meta, functions that take what they are given (append, set_caps by take, structures by value), static caps that never die, a promise, messages left on a bus
 * track: auto
 * build: gcc -O1 -Wall -o OUT wharf_reels.c $(pkg-config --cflags --libs gstreamer-1.0)
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

/* ---- a mini object of one's own, with a free list: dispose says "not yet" ---- */

typedef struct _Reel {
	GstMiniObject mini;
	gint metres;
	struct _Reel *next;
} Reel;

GST_DEFINE_MINI_OBJECT_TYPE(Reel, reel);

static GMutex shelf_lock;
static Reel *shelf;             /* sleeping reels; each keeps the reference that dispose has taken */
static gint shelf_len, reels;
static gboolean shop_open = TRUE;

static gboolean reel_dispose(GstMiniObject *o)
{
	Reel *r = (Reel *)o;
	gboolean die = TRUE;
	g_mutex_lock(&shelf_lock);
	if (shop_open && shelf_len < 3) {
		gst_mini_object_ref(o);
		r->next = shelf;
		shelf = r;
		shelf_len++;
		die = FALSE;
	}
	g_mutex_unlock(&shelf_lock);
	return die;
}

static void reel_free(GstMiniObject *o)
{
	g_free(o);
	g_atomic_int_add(&reels, -1);
}

static GstMiniObject *reel_copy(const GstMiniObject *o);

static Reel *reel_new(gint metres)
{
	Reel *r;
	g_mutex_lock(&shelf_lock);
	r = shelf;
	if (r) {
		shelf = r->next;
		shelf_len--;
	}
	g_mutex_unlock(&shelf_lock);
	if (!r) {
		r = g_new0(Reel, 1);
		gst_mini_object_init(&r->mini, 0, reel_get_type(), reel_copy, reel_dispose, reel_free);
		g_atomic_int_inc(&reels);
	}
	r->metres = metres;
	return r;
}

static GstMiniObject *reel_copy(const GstMiniObject *o)
{
	return (GstMiniObject *)reel_new(((const Reel *)o)->metres);
}

static void shop_close(void)
{
	shop_open = FALSE;
	while (shelf) {
		Reel *r = shelf;
		shelf = r->next;
		gst_mini_object_unref(&r->mini);
	}
}

static void reel_gone(gpointer count, GstMiniObject *where) { ++*(gint *)count; }

/* ---- buffers ---- */

static GstStaticCaps wharf_caps = GST_STATIC_CAPS("application/x-wharf, depth = (int) 12");

static gboolean add_up(GstBuffer **b, guint i, gpointer sum)
{
	*(gsize *)sum += gst_buffer_get_size(*b);
	if (i % 3 == 2) {                       /* this one leaves the list: the callback puts it */
		gst_buffer_unref(*b);
		*b = NULL;
	} else if (i % 3 == 1) {                /* replaced by a copy; the list takes it */
		GstBuffer *n = gst_buffer_copy(*b);
		gst_buffer_unref(*b);
		*b = n;
	}
	return TRUE;
}

static gsize buffers(void)
{
	gsize sum = 0;
	GstBufferPool *pool = gst_buffer_pool_new();
	GstCaps *caps = gst_static_caps_get(&wharf_caps);
	GstStructure *config = gst_buffer_pool_get_config(pool);
	gst_buffer_pool_config_set_params(config, caps, 256, 2, 4);
	gst_buffer_pool_set_config(pool, config);       /* takes config */
	gst_caps_unref(caps);
	gst_buffer_pool_set_active(pool, TRUE);
	GstBuffer *late = NULL;
	for (int i = 0; i < 20; i++) {
		GstBuffer *b, *part;
		if (gst_buffer_pool_acquire_buffer(pool, &b, NULL) != GST_FLOW_OK)
			continue;
		gst_buffer_memset(b, 0, i, 256);
		part = gst_buffer_copy_region(b, GST_BUFFER_COPY_MEMORY | GST_BUFFER_COPY_TIMESTAMPS, 16, 100);
		gst_buffer_add_parent_buffer_meta(part, b);     /* b returns to its pool after part */
		gst_buffer_unref(b);
		part = gst_buffer_make_writable(part);
		gst_buffer_replace(&late, part);
		gst_buffer_unref(part);
	}
	GstBufferList *list = gst_buffer_list_new();
	for (int i = 0; i < 9; i++) {
		GstBuffer *b = gst_buffer_new_allocate(NULL, 64 + (gsize)i, NULL);
		gst_buffer_append_memory(b, gst_memory_ref(gst_buffer_peek_memory(late, 0)));
		gst_buffer_list_add(list, i % 2 ? b : gst_buffer_append(b, gst_buffer_copy(late)));
	}
	GstBufferList *second = gst_buffer_list_ref(list);
	second = gst_buffer_list_make_writable(second); /* a copy: buffers get references */
	gst_buffer_list_foreach(second, add_up, &sum);
	gst_buffer_list_unref(list);
	sum += gst_buffer_list_length(second);
	gst_buffer_list_unref(second);
	gst_buffer_pool_set_active(pool, FALSE);        /* late is still out: the pool stops when it is back */
	gst_object_unref(pool);
	gst_clear_buffer(&late);
	GBytes *bytes = g_bytes_new("crane", 5);
	GstBuffer *wrapped = gst_buffer_new_wrapped_bytes(bytes);
	g_bytes_unref(bytes);
	gpointer data;
	gsize size;
	gst_buffer_extract_dup(wrapped, 0, 5, &data, &size);
	gst_buffer_unref(wrapped);
	g_free(data);
	return sum + size;
}

static void caps_and_events(GstBus *bus)
{
	GstCaps *c = gst_caps_make_writable(gst_static_caps_get(&wharf_caps)), *any = gst_caps_ref(GST_CAPS_ANY);
	gst_caps_set_simple(c, "berth", G_TYPE_STRING, "north", NULL);
	c = gst_caps_merge(c, gst_caps_new_empty_simple("application/x-pier"));         /* takes both */
	c = gst_caps_fixate(gst_caps_simplify(gst_caps_normalize(c)));
	GstEvent *e = gst_event_new_caps(c);
	GstCaps *borrowed;
	gst_event_parse_caps(e, &borrowed);
	gst_caps_replace(&any, borrowed);
	gst_caps_take(&c, gst_caps_fixate(gst_caps_copy(borrowed)));
	GstSegment seg;
	gst_segment_init(&seg, GST_FORMAT_TIME);
	GstBuffer *b = gst_buffer_new();
	GstSample *s = gst_sample_new(b, c, &seg, gst_structure_new("info", "caps", GST_TYPE_CAPS, any, "buffer", GST_TYPE_BUFFER, b, NULL));
	gst_buffer_unref(b);
	gst_caps_unref(c);
	gst_caps_unref(any);
	e = gst_event_make_writable(e);
	GstStructure *st = gst_event_writable_structure(e);
	GValue v = G_VALUE_INIT;
	g_value_init(&v, GST_TYPE_SAMPLE);
	gst_value_take_sample(&v, s);
	gst_structure_take_value(st, "sample", &v);
	for (int i = 0; i < 4; i++)
		gst_bus_post(bus, gst_message_new_custom(GST_MESSAGE_APPLICATION, NULL,
			gst_structure_new("arrival", "event", GST_TYPE_EVENT, e, "n", G_TYPE_INT, i, NULL)));
	gst_event_unref(e);
	gst_message_unref(gst_bus_pop(bus));
	gst_message_unref(gst_bus_peek(bus));
	GstPromise *p = gst_promise_new();
	gst_promise_reply(gst_promise_ref(p), gst_structure_new_empty("answer"));
	gst_promise_unref(p);
	gst_promise_unref(p);
}

static gpointer crane(gpointer q)
{
	GstMiniObject *o;
	while ((o = g_async_queue_pop(q)) != GST_MINI_OBJECT_CAST(GST_CAPS_NONE)) {
		o = gst_mini_object_make_writable(o);
		((Reel *)o)->metres++;
		gst_mini_object_unref(o);
	}
	gst_mini_object_unref(o);
	g_async_queue_unref(q);
	return NULL;
}

static GstBus *bus;             /* with messages in it at the end */
static Reel *display;

int main(int argc, char **argv)
{
	gint weak = 0;
	gst_init(&argc, &argv);
	bus = gst_bus_new();
	GAsyncQueue *q = g_async_queue_new_full((GDestroyNotify)gst_mini_object_unref);
	GThread *t = g_thread_new("crane", crane, g_async_queue_ref(q));
	for (int i = 0; i < 30; i++) {
		Reel *r = reel_new(i);
		gst_mini_object_set_qdata(&r->mini, g_quark_from_static_string("label"), gst_caps_new_any(),
					  (GDestroyNotify)gst_caps_unref);
		gst_mini_object_weak_ref(&r->mini, reel_gone, &weak);
		gst_mini_object_weak_unref(&r->mini, reel_gone, &weak);
		if (i % 5 == 0)
			gst_mini_object_replace((GstMiniObject **)&display, &r->mini);
		if (i % 7 == 0)
			g_async_queue_push(q, gst_mini_object_ref(&r->mini));
		g_async_queue_push(q, r);
	}
	g_async_queue_push(q, gst_caps_ref(GST_CAPS_NONE));     /* the end mark is counted too */
	g_thread_join(t);
	g_async_queue_unref(q);
	gsize sum = buffers();
	caps_and_events(bus);
	shop_close();
	printf("%d reel on display, %zu bytes, weak %d\n", reels, sum, weak);
	return display->metres < 0;
}
