/* summary: Redis objects: counts INT_MAX (shared) and INT_MAX-1 (on the stack); put frees when the count is 1 without writing it; resetRefCount to 0 at birth in containers; realloc moves an object with count 1; copy on write; whole tables freed in a background thread; one shared object alive at exit
 * track: own
 * build: gcc -O2 -g redis_lazyfree.c -o OUT -pthread
 */
/* Redis' objects: shared integers with the count INT_MAX, stack objects with
 * INT_MAX - 1, a put that does not write the counter when it is 1 (it frees at
 * once), embedded strings (object and text in one allocation, realloc'ed in
 * place when count is 1), resetRefCount() for containers that count for
 * themselves, whole databases freed by a background thread (lazyfree), and a
 * reply list that owns objects across "clients".                             */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJ_SHARED_REFCOUNT INT_MAX
#define OBJ_STATIC_REFCOUNT (INT_MAX - 1)
typedef struct robj {
	unsigned type : 4, encoding : 4, lru : 24;
	int refcount;
	void *ptr;
} robj;
enum { STR, LIST };
enum { RAW, EMB, INT };

static robj shared_int[64], *shared_ok;
static __thread int freed_here;
static int freed_bio;

typedef struct { robj *tab[256]; char *key[256]; int n; } dict;
typedef struct { int len, cap; robj **v; } list;

static robj *createObject(int type, int enc, void *ptr)
{
	robj *o = malloc(sizeof *o);
	o->type = type;
	o->encoding = enc;
	o->refcount = 1;
	o->lru = 0;
	o->ptr = ptr;
	return o;
}
static robj *createEmbedded(const char *s)
{
	size_t n = strlen(s) + 1;
	robj *o = malloc(sizeof *o + n);
	*o = (robj){ .type = STR, .encoding = EMB, .refcount = 1, .ptr = o + 1 };
	memcpy(o->ptr, s, n);
	return o;
}
static robj *makeObjectShared(robj *o) { o->refcount = OBJ_SHARED_REFCOUNT; return o; }
#define initStaticStringObject(v, p) do { (v).refcount = OBJ_STATIC_REFCOUNT; (v).type = STR; (v).encoding = RAW; (v).ptr = (p); } while (0)

static void incrRefCount(robj *o)
{
	if (o->refcount < OBJ_STATIC_REFCOUNT) o->refcount++;
	else if (o->refcount == OBJ_STATIC_REFCOUNT) abort();
}
static void decrRefCount(robj *o);
static void freeList(list *l)
{
	for (int i = 0; i < l->len; i++) decrRefCount(l->v[i]);
	free(l->v);
	free(l);
}
static void decrRefCount(robj *o)
{
	if (o->refcount == 1) {         /* never written back: straight to free */
		if (o->type == LIST) freeList(o->ptr);
		else if (o->encoding == RAW) free(o->ptr);
		free(o);
		freed_here++;
	} else if (o->refcount != OBJ_SHARED_REFCOUNT)
		o->refcount--;
}
static robj *resetRefCount(robj *o) { o->refcount = 0; return o; }

static void listPush(robj *lo, robj *o)         /* takes its own reference */
{
	list *l = lo->ptr;
	if (l->len == l->cap) l->v = realloc(l->v, sizeof *l->v * (l->cap = l->cap ? l->cap * 2 : 4));
	l->v[l->len++] = o;
	incrRefCount(o);
}
static robj *createInt(long v)
{
	if (v >= 0 && v < 64) {
		incrRefCount(&shared_int[v]);   /* no change */
		return &shared_int[v];
	}
	return createObject(STR, INT, (void *)v);
}
/* eats a reference, returns one: moves the object when we are alone */
static robj *appendString(robj *o, const char *s)
{
	size_t n, m = strlen(s) + 1;
	if (o->encoding != EMB) return o;
	n = strlen(o->ptr);
	if (o->refcount == 1) {
		o = realloc(o, sizeof *o + n + m);
		o->ptr = o + 1;
	} else {                        /* copy on write */
		robj *c = malloc(sizeof *c + n + m);
		*c = *o;
		c->refcount = 1;
		c->ptr = c + 1;
		memcpy(c->ptr, o->ptr, n);
		decrRefCount(o);
		o = c;
	}
	memcpy((char *)o->ptr + n, s, m);
	return o;
}

static unsigned hash(const char *s) { unsigned h = 5381; while (*s) h = h * 33 + (unsigned char)*s++; return h; }
static robj **slot(dict *d, const char *k)
{
	unsigned i = hash(k) % 256;
	while (d->key[i] && strcmp(d->key[i], k)) i = (i + 1) % 256;
	if (!d->key[i]) { d->key[i] = strdup(k); d->n++; }
	return &d->tab[i];
}
static void dbSet(dict *d, const char *k, robj *o)      /* moves o in */
{
	robj **s = slot(d, k);
	if (*s) decrRefCount(*s);
	*s = o;
}

/* ---- the background thread ---- */
static pthread_mutex_t bm = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bc = PTHREAD_COND_INITIALIZER;
static struct { dict *d; robj *o; } jobs[128];
static int jhead, jtail, stop;
static void lazyfree(dict *d, robj *o)
{
	pthread_mutex_lock(&bm);
	jobs[jtail % 128].d = d;
	jobs[jtail++ % 128].o = o;
	pthread_cond_signal(&bc);
	while (jtail - jhead >= 127) pthread_cond_wait(&bc, &bm);
	pthread_mutex_unlock(&bm);
}
static void *bio(void *arg)
{
	pthread_mutex_lock(&bm);
	for (;;) {
		if (jhead == jtail) {
			if (stop) break;
			pthread_cond_wait(&bc, &bm);
			continue;
		}
		dict *d = jobs[jhead % 128].d;
		robj *o = jobs[jhead % 128].o;
		jhead++;
		pthread_cond_signal(&bc);
		pthread_mutex_unlock(&bm);
		if (o) decrRefCount(o);
		for (int i = 0; d && i < 256; i++) {
			if (d->tab[i]) decrRefCount(d->tab[i]);
			free(d->key[i]);
		}
		free(d);
		pthread_mutex_lock(&bm);
	}
	pthread_mutex_unlock(&bm);
	freed_bio = freed_here;
	return arg;
}

int main(void)
{
	pthread_t th;
	long sum = 0;
	for (int i = 0; i < 64; i++) shared_int[i] = (robj){ .type = STR, .encoding = INT, .refcount = OBJ_SHARED_REFCOUNT, .ptr = (void *)(long)i };
	shared_ok = makeObjectShared(createEmbedded("+OK"));    /* to the program's end */
	pthread_create(&th, NULL, bio, NULL);

	for (int db = 0; db < 12; db++) {
		dict *d = calloc(1, sizeof *d);
		robj *reply = createObject(LIST, RAW, calloc(1, sizeof(list)));
		char k[24];
		for (int i = 0; i < 300; i++) {
			robj key;
			snprintf(k, sizeof k, "key%d", i % 120);
			initStaticStringObject(key, k);         /* on the stack */
			robj *v = i % 3 ? createEmbedded(key.ptr) : createInt(i);
			if (i % 4 == 0) {
				listPush(reply, v);
				v = appendString(v, "-shared");
			} else if (i % 4 == 1)
				v = appendString(v, "-moved-by-realloc-because-alone");
			dbSet(d, k, v);
			listPush(reply, shared_ok);
			sum += ((list *)reply->ptr)->len;
		}
		robj *l = createObject(LIST, RAW, calloc(1, sizeof(list)));
		for (int i = 0; i < 30; i++) {
			robj *e = resetRefCount(createEmbedded("element"));     /* 0: the list counts */
			listPush(l, e);
		}
		dbSet(d, "big", l);
		incrRefCount(l);
		robj *again = l;
		dbSet(d, "big", createInt(3));          /* l lives by `again` only */
		decrRefCount(reply);                    /* before the db moves away */
		lazyfree(NULL, again);
		lazyfree(d, NULL);
	}
	pthread_mutex_lock(&bm);
	stop = 1;
	pthread_cond_signal(&bc);
	pthread_mutex_unlock(&bm);
	pthread_join(th, NULL);
	printf("sum %ld freed here %d, by bio %d\n", sum, freed_here, freed_bio);
	return freed_bio == 0;
}
