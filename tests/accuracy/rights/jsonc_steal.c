/* summary: json_object_*_add steals; one value several times in one array; replace/delete by the container; interned values in a qsorted array flushed by atexit; documents pass to a thread as 8 bytes in a pipe; userdata delete callback drops an own counted blob whose field is users minus one (dies at 0 -> wraps to UINT_MAX)
 * track: own json-c
 * build: clang -O2 -g jsonc_steal.c -o OUT $(pkg-config --cflags --libs json-c) -pthread
 */
/* json-c: every add steals, json_object_get shares, put returns whether it
 * freed, replaced members are put by the container, one value sits in many
 * containers, the value userdata owns a counted own blob (freed by a delete
 * callback or by replacement), an intern table keeps values by their address
 * in a red-black-free sorted array moved by qsort, and a thread consumes
 * documents through a pipe (the pointer travels as eight bytes).             */
#include <json-c/json.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct blob { unsigned refs_minus_one; char text[24]; };  /* 0 means one owner */
static int blobs;

static struct blob *blob_make(int n)
{
	struct blob *b = malloc(sizeof *b);
	b->refs_minus_one = 0;
	snprintf(b->text, sizeof b->text, "blob-%d", n);
	blobs++;
	return b;
}
static struct blob *blob_share(struct blob *b)
{
	b->refs_minus_one++;
	return b;
}
static void blob_drop(struct blob *b)
{
	if (b->refs_minus_one-- == 0) {         /* wraps to UINT_MAX as it dies */
		blobs--;
		free(b);
	}
}

static void del_blob(json_object *o, void *u) { (void)o; blob_drop(u); }
static int blob_to_json(json_object *o, struct printbuf *pb, int lvl, int flags)
{
	(void)lvl; (void)flags;
	struct blob *b = json_object_get_userdata(o);
	return sprintbuf(pb, "\"%s\"", b->text);
}

#define NI 32
static json_object *interned[NI];
static int n_interned;

static int by_text(const void *a, const void *b)
{
	return strcmp(json_object_get_string(*(json_object *const *)a),
		      json_object_get_string(*(json_object *const *)b));
}
static json_object *intern(const char *s)       /* borrowed result */
{
	for (int i = 0; i < n_interned; i++)
		if (!strcmp(json_object_get_string(interned[i]), s))
			return interned[i];
	json_object *o = json_object_new_string(s);
	interned[n_interned++] = o;
	qsort(interned, n_interned, sizeof *interned, by_text);
	return o;
}
static void flush_interned(void)                /* atexit */
{
	while (n_interned)
		json_object_put(interned[--n_interned]);
}

struct sink { int fd; long sum; int docs; };
static void *consume(void *arg)
{
	struct sink *s = arg;
	json_object *d;
	while (read(s->fd, &d, sizeof d) == sizeof d && d) {
		json_object *v;
		if (json_object_object_get_ex(d, "n", &v))      /* borrowed */
			s->sum += json_object_get_int(v);
		s->docs += json_object_put(d) == 1;
	}
	return NULL;
}

int main(void)
{
	int fd[2];
	pthread_t th;
	struct sink sk = { 0, 0, 0 };
	struct blob *common = blob_make(-1);
	if (pipe(fd)) return 2;
	sk.fd = fd[0];
	pthread_create(&th, NULL, consume, &sk);

	for (int i = 0; i < 300; i++) {         /* whole documents move away */
		json_object *d = json_object_new_object();
		json_object *a = json_object_new_array();
		json_object_object_add(d, "a", a);      /* stolen */
		json_object_object_add(d, "n", json_object_new_int(i));
		json_object_object_add(d, "n", json_object_new_int(i + 1)); /* replaces */
		json_object_object_add(d, "nil", NULL); /* null is no object */
		json_object *same = json_object_new_double(0.5);
		for (int k = 0; k < 4; k++)             /* in the same array 4 times */
			json_object_array_add(a, k ? json_object_get(same) : same);
		json_object_array_put_idx(a, 2, json_object_new_boolean(1));
		json_object_array_del_idx(a, 0, 1);
		if (write(fd[1], &d, sizeof d) != sizeof d) return 2;
	}
	json_object *end = NULL;
	if (write(fd[1], &end, sizeof end) != sizeof end) return 2;
	pthread_join(th, NULL);
	close(fd[0]);
	close(fd[1]);

	atexit(flush_interned);
	json_object *root = json_object_new_object();
	for (int i = 0; i < 200; i++) {
		char key[16], val[16];
		snprintf(key, sizeof key, "k%d", i % 50);
		snprintf(val, sizeof val, "v%d", i % 20);
		json_object_object_add(root, key, json_object_get(intern(val)));
	}
	for (int i = 0; i < 50; i += 2) {
		char key[16];
		snprintf(key, sizeof key, "k%d", i);
		json_object_object_del(root, key);
	}

	json_object *arr = json_object_new_array();
	json_object_object_add(root, "blobs", arr);
	for (int i = 0; i < 60; i++) {
		json_object *o = json_object_new_int(i);
		json_object_set_serializer(o, blob_to_json, blob_make(i), del_blob);
		if (i & 1)                      /* replacing drops the first */
			json_object_set_userdata(o, blob_share(common), del_blob);
		json_object_array_add(arr, o);
	}
	char *txt = strdup(json_object_to_json_string_ext(root, 0));
	json_object *again = json_tokener_parse(txt);
	json_object *copy = NULL;
	if (json_object_deep_copy(again, &copy, NULL)) return 2;
	int eq = json_object_equal(again, copy);
	free(txt);
	json_object *tail;
	json_object_object_get_ex(copy, "blobs", &tail);
	json_object_get(tail);                  /* outlives its parent */
	json_object_put(copy);
	size_t n = json_object_array_length(tail);
	json_object_put(tail);
	json_object_put(again);
	blob_drop(common);
	json_object_put(root);
	printf("docs %d sum %ld equal %d blobs %zu left %d\n", sk.docs, sk.sum, eq, n, blobs);
	return sk.docs == 300 && eq && blobs == 0 ? 0 : 1;
}
