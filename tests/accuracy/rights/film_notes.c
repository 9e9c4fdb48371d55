/* summary: notes on a film as GStreamer's mini objects alone: shared memory, copies on write, tags and messages inside structures
 * track: GstMiniObject
 * build: clang -O3 -g film_notes.c -o OUT $(pkg-config --cflags --libs gstreamer-1.0)
 */
#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

static int memories;
static void memory_gone(gpointer data) { memories--; g_free(data); }

static GstMemory *reel(gsize size)
{
	guint8 *bytes = g_malloc0(size);
	memories++;
	return gst_memory_new_wrapped(0, bytes, size, 0, size, bytes, memory_gone);
}

/* One memory stands in many buffers; each has a reference, and a lock on it. */
static GstBuffer *scene(GstMemory *from, gsize at, gsize size)
{
	GstBuffer *buffer = gst_buffer_new();
	gst_buffer_append_memory(buffer, gst_memory_share(from, at, size));
	GST_BUFFER_OFFSET(buffer) = at;
	return buffer;
}

static void cutting_room(void)
{
	GstMemory *film = reel(1000);
	GstBuffer *scenes[4], *cut = NULL, *kept = NULL;
	for (int i = 0; i < 4; i++)
		scenes[i] = scene(film, i * 200, 200);
	gst_memory_unref(film);                          /* the shares hold it */

	gst_buffer_replace(&cut, scenes[1]);             /* two references */
	scenes[1] = gst_buffer_make_writable(scenes[1]); /* so this is a copy, and one of them goes */
	scenes[2] = gst_buffer_make_writable(scenes[2]); /* the same buffer: it had one alone */
	GST_BUFFER_OFFSET(scenes[1]) = 1;
	kept = gst_buffer_copy_region(cut, GST_BUFFER_COPY_ALL, 20, 40);
	gst_buffer_replace(&cut, kept);
	gst_buffer_unref(kept);

	/* Both are taken; a third one is born or one of them comes back. */
	GstBuffer *joined = gst_buffer_append(scenes[0], scenes[3]);
	joined = gst_buffer_append_region(joined, gst_buffer_ref(cut), 0, 10);
	GstMemory *first = gst_buffer_get_memory(joined, 0);      /* ours */
	GstMemory *peeked = gst_buffer_peek_memory(joined, 1);    /* not ours */
	printf("joined %zu bytes of %u memories, the second has %zu\n", gst_buffer_get_size(joined),
	       gst_buffer_n_memory(joined), gst_memory_get_sizes(peeked, NULL, NULL));
	gst_buffer_replace_memory(joined, 1, first);              /* taken; the old one is put */
	gst_buffer_unref(joined);

	/* A deep copy has its own memory; the wrapped one may go. */
	GstBuffer *deep = gst_buffer_copy_deep(cut);
	gst_clear_buffer(&cut);
	GstMapInfo map;
	GstMemory *all = gst_buffer_get_all_memory(deep);
	all = gst_memory_make_mapped(all, &map, GST_MAP_READ);    /* takes one, gives one */
	printf("mapped %zu\n", map.size);
	gst_memory_unmap(all, &map);
	gst_memory_unref(all);
	gst_buffer_unref(deep);
	gst_buffer_unref(scenes[1]);
	gst_buffer_unref(scenes[2]);
	printf("%d memories\n", memories);
}

/* Caps are changed by whoever has the only reference; everybody else gets a copy. */
static GstCaps *narrow(GstCaps *caps, int width)
{
	GstCaps *filter = gst_caps_new_simple("video/x-raw", "width", G_TYPE_INT, width, NULL);
	GstCaps *both = gst_caps_intersect(caps, filter);
	gst_caps_unref(caps);
	gst_caps_unref(filter);
	return gst_caps_fixate(both);                    /* takes one, gives one */
}

static void negotiation(void)
{
	static GstStaticCaps fixed = GST_STATIC_CAPS("video/x-raw, width = (int) [ 1, 4000 ]");
	GstCaps *offer = gst_static_caps_get(&fixed), *answer[3];
	GstCaps *any = gst_caps_ref(GST_CAPS_ANY);
	for (int i = 0; i < 3; i++)
		answer[i] = narrow(gst_caps_ref(offer), 100 << i);
	GstCaps *merged = gst_caps_merge(gst_caps_copy(answer[0]), gst_caps_ref(answer[1]));    /* takes both */
	merged = gst_caps_merge(merged, answer[2]);
	merged = gst_caps_simplify(gst_caps_normalize(merged));
	/* An append to caps that are shared: the copy comes first. */
	GstCaps *shared = gst_caps_ref(merged);
	merged = gst_caps_make_writable(merged);
	gst_caps_append(merged, gst_caps_new_empty_simple("audio/x-raw"));
	printf("%u of %u structures\n", gst_caps_get_size(shared), gst_caps_get_size(merged));
	gst_caps_take(&shared, gst_caps_truncate(merged));
	gst_caps_take(&any, shared);
	printf("%s\n", gst_structure_get_name(gst_caps_get_structure(any, 0)));
	gst_caps_unref(any);
	gst_caps_unref(answer[0]);
	gst_caps_unref(answer[1]);
	gst_caps_unref(offer);
	gst_static_caps_cleanup(&fixed);
}

static void note_gone(gpointer data, GstMiniObject *object)
{
	(void)object;
	++*(int *)data;
}
static void note_free(gpointer data)
{
	gst_mini_object_unref(data);
}

/* Tags, samples and messages: objects that stand inside of structures and values. */
static void notebook(void)
{
	int gone = 0;
	GstMemory *film = reel(64);
	GstBuffer *still = scene(film, 0, 64);
	gst_memory_unref(film);
	gst_mini_object_weak_ref(GST_MINI_OBJECT(still), note_gone, &gone);

	GstCaps *caps = gst_caps_new_empty_simple("image/x-still");
	GstSample *sample = gst_sample_new(still, caps, NULL, gst_structure_new("shot", "scene", GST_TYPE_BUFFER, still, NULL));
	gst_caps_unref(caps);
	gst_buffer_unref(still);

	GstTagList *tags = gst_tag_list_new(GST_TAG_TITLE, "Sea", GST_TAG_IMAGE, sample, NULL);
	GstTagList *copy = gst_tag_list_copy(tags), *all = gst_tag_list_merge(tags, copy, GST_TAG_MERGE_KEEP);
	gst_tag_list_unref(copy);
	gst_sample_unref(sample);

	GstEvent *event = gst_event_new_tag(all);        /* taken */
	GstMessage *message = gst_message_new_tag(NULL, tags);    /* taken */
	GstTagList *parsed, *borrowed;
	gst_message_parse_tag(message, &parsed);         /* a copy, ours */
	gst_event_parse_tag(event, &borrowed);           /* not ours */
	GstSample *found = NULL;
	if (gst_tag_list_get_sample(borrowed, GST_TAG_IMAGE, &found))
		printf("found one of %zu bytes\n", gst_buffer_get_size(gst_sample_get_buffer(found)));
	gst_tag_list_unref(parsed);
	gst_message_unref(message);
	gst_event_unref(event);
	printf("still %s\n", gone ? "gone" : "there");

	/* A sample that is reused: its buffer changes, and it itself where nobody else has it. */
	found = gst_sample_make_writable(found);
	GstBuffer *other = gst_buffer_new_allocate(NULL, 16, NULL);
	gst_sample_set_buffer(found, other);             /* not taken */
	gst_sample_set_info(found, NULL);
	gst_mini_object_set_qdata(GST_MINI_OBJECT(other), g_quark_from_static_string("note"),
	                          gst_caps_new_empty_simple("text/x-note"), note_free);
	GstCaps *note = gst_mini_object_steal_qdata(GST_MINI_OBJECT(other), g_quark_from_static_string("note"));
	gst_mini_object_set_qdata(GST_MINI_OBJECT(other), g_quark_from_static_string("note"), note, note_free);
	gst_buffer_unref(other);
	GstSample *stolen = (GstSample *)gst_mini_object_steal((GstMiniObject **)&found);
	gst_sample_unref(stolen);
	printf("still %s, %d memories\n", gone ? "gone" : "there", memories);
}

/* A list is writable with its buffers only; buffers that leave it are the caller's. */
static gboolean keep_even(GstBuffer **buffer, guint index, gpointer data)
{
	int *dropped = data;
	if (index + *dropped & 1) {
		gst_clear_buffer(buffer);                /* the list sees NULL and takes it out */
		++*dropped;
	}
	return TRUE;
}

static void trailer(void)
{
	GstBufferList *list = gst_buffer_list_new_sized(2), *second;
	GstMemory *film = reel(100);
	for (int i = 0; i < 6; i++) {
		gst_buffer_list_add(list, scene(film, i * 10, 10));
	}
	gst_memory_unref(film);
	GstBuffer *third = gst_buffer_ref(gst_buffer_list_get(list, 2));
	second = gst_buffer_list_ref(list);
	list = gst_buffer_list_make_writable(list);      /* a copy of the list, each buffer with one more */
	int dropped = 0;
	gst_buffer_list_foreach(list, keep_even, &dropped);
	GstBuffer *writable = gst_buffer_list_get_writable(second, 2);
	printf("%u of %u; the third is %s\n", gst_buffer_list_length(list), gst_buffer_list_length(second),
	       writable == third ? "shared" : "copied");
	gst_buffer_list_unref(second);
	gst_buffer_list_remove(list, 0, 1);
	gst_buffer_list_unref(list);
	gst_buffer_unref(third);
	printf("%d memories\n", memories);
}

/* A promise and an answer, a query and its caps. */
static void on_change(GstPromise *promise, gpointer data)
{
	*(GstPromiseResult *)data = gst_promise_wait(promise);
}

static void questions(void)
{
	GstPromiseResult result = GST_PROMISE_RESULT_PENDING;
	GstPromise *promise = gst_promise_new_with_change_func(on_change, &result, NULL);
	GstPromise *theirs = gst_promise_ref(promise);
	gst_promise_reply(theirs, gst_structure_new_empty("yes"));
	gst_promise_unref(theirs);
	gst_promise_unref(promise);

	GstCaps *answer = gst_caps_new_empty_simple("video/x-h264"), *got;
	GstQuery *query = gst_query_new_caps(NULL);
	gst_query_set_caps_result(query, answer);        /* not taken */
	gst_caps_unref(answer);
	gst_query_parse_caps_result(query, &got);        /* not ours */
	got = gst_caps_ref(got);
	gst_query_unref(query);
	printf("replied %d, %s\n", result == GST_PROMISE_RESULT_REPLIED, gst_structure_get_name(gst_caps_get_structure(got, 0)));
	gst_caps_unref(got);
}

int main(int argc, char **argv)
{
	gst_init(&argc, &argv);
	cutting_room();
	negotiation();
	notebook();
	trailer();
	questions();
	gst_deinit();
	return memories;
}
