/* summary: embedded inodes, dentries with count 0 that an LRU list keeps and a lookup revives, slab memory used again, a reaper thread, unlinked but open files, the cache alive at the end
 * track: own
 * build: gcc -O2 -g -o OUT dcache.c -pthread
 */
/*
 * dcache: the name and inode caches of a small in-memory file system.  A
 * dentry whose count drops to zero stays hashed and on an LRU list, and comes
 * back to life when it is looked up again.  Dentries pin their parent and
 * their inode.  Freeing takes a while, so it is left to a reaper thread.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))
#define HASH 32
#define LRU_MAX 10
#define SLAB 16

struct deferred { struct deferred *next; void (*fn)(struct deferred *work); };

struct inode {
	unsigned ino;
	int count, nlink;
	struct inode *hash_next;
	struct deferred work;
};
/* what the file system really allocates */
struct memfs_inode { char *data; struct inode vfs; };

struct dentry {
	int count, hashed;
	struct dentry *parent, *hash_next;
	struct inode *inode;
	union {
		struct { struct dentry *prev, *next; } lru;	/* count is 0 */
		struct deferred work;			/* dead */
		struct dentry *free_next;		/* in the slab */
	} u;
	char name[16];
};

struct file { int count; struct dentry *dentry; };

/* what is on "disk"; ino 1 is the root */
static struct { unsigned dir, ino; char name[16]; } disk[64];
static unsigned n_disk, next_ino = 2;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* for all below */
static struct dentry *dentry_hash[HASH];
static struct inode *inode_hash[HASH];
static struct dentry lru = { .u.lru = { &lru, &lru } };
static int n_lru;
static struct dentry *dentry_free, **slabs, *root;
static unsigned n_slabs;
static struct deferred *deferred_list;
static pthread_cond_t deferred_cond = PTHREAD_COND_INITIALIZER;
static unsigned long inodes_freed, revived, stopping;

static void
defer(struct deferred *work, void (*fn)(struct deferred *))
{
	*work = (struct deferred){ deferred_list, fn };
	deferred_list = work;
	pthread_cond_signal(&deferred_cond);
}

static void *
reaper(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!stopping || deferred_list != NULL) {
		struct deferred *list = deferred_list, *next;

		deferred_list = NULL;
		if (list == NULL)
			pthread_cond_wait(&deferred_cond, &lock);
		pthread_mutex_unlock(&lock);
		for (; list != NULL; list = next)
			next = list->next, list->fn(list);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void
inode_free(struct deferred *work)
{
	struct memfs_inode *mi = container_of(work, struct memfs_inode, vfs.work);

	pthread_mutex_lock(&lock);
	inodes_freed++;
	pthread_mutex_unlock(&lock);
	free(mi->data);
	free(mi);
}

static void
iput(struct inode *inode)
{
	struct inode **p = &inode_hash[inode->ino % HASH];

	if (--inode->count > 0)
		return;
	for (; *p != inode; p = &(*p)->hash_next);
	*p = inode->hash_next;
	defer(&inode->work, inode_free);
}

static struct inode *
iget(unsigned ino)
{
	struct memfs_inode *mi;

	for (struct inode *i = inode_hash[ino % HASH]; i != NULL; i = i->hash_next)
		if (i->ino == ino)
			return i->count++, i;
	mi = calloc(1, sizeof *mi);
	mi->data = calloc(1, 64);
	mi->vfs = (struct inode){ ino, 1, 1, inode_hash[ino % HASH], { NULL, NULL } };
	inode_hash[ino % HASH] = &mi->vfs;
	return &mi->vfs;
}

static unsigned
dentry_bucket(const struct dentry *parent, const char *name)
{
	unsigned hash = parent ? parent->inode->ino : 0;

	for (; *name != '\0'; name++)
		hash = hash * 31 + (unsigned char)*name;
	return hash % HASH;
}

static struct dentry *
dentry_alloc(struct dentry *parent, const char *name, struct inode *inode)
{
	struct dentry *d = dentry_free;

	if (d == NULL) {
		slabs = realloc(slabs, (n_slabs + 1) * sizeof *slabs);
		slabs[n_slabs] = malloc(SLAB * sizeof **slabs);
		for (int i = 0; i < SLAB; i++, dentry_free = d) {
			d = &slabs[n_slabs][i];
			d->u.free_next = dentry_free;
		}
		n_slabs++;
	}
	dentry_free = d->u.free_next;
	*d = (struct dentry){ .count = 1, .hashed = 1, .parent = parent, .inode = inode };
	snprintf(d->name, sizeof d->name, "%s", name);
	if (parent != NULL)
		parent->count++;	/* the caller holds it, so it is above zero */
	d->hash_next = dentry_hash[dentry_bucket(parent, name)];
	dentry_hash[dentry_bucket(parent, name)] = d;
	return d;
}

static void
lru_del(struct dentry *d)
{
	d->u.lru.prev->u.lru.next = d->u.lru.next;
	d->u.lru.next->u.lru.prev = d->u.lru.prev;
	n_lru--;
}

static struct dentry *
dget(struct dentry *d)
{
	if (d->count++ == 0)
		lru_del(d), revived++;
	return d;
}

static void
dentry_unhash(struct dentry *d)
{
	struct dentry **p = &dentry_hash[dentry_bucket(d->parent, d->name)];

	for (; *p != d; p = &(*p)->hash_next);
	*p = d->hash_next;
	d->hashed = 0;
}

static void
dentry_release(struct deferred *work)
{
	struct dentry *d = container_of(work, struct dentry, u.work);
	pthread_mutex_lock(&lock);
	d->u.free_next = dentry_free;
	dentry_free = d;
	pthread_mutex_unlock(&lock);
}

static void
dput(struct dentry *d)
{
	while (d != NULL && --d->count == 0) {
		struct dentry *parent = d->parent;

		if (d->hashed) {
			d->u.lru.next = lru.u.lru.next;
			d->u.lru.prev = &lru;
			lru.u.lru.next->u.lru.prev = d;
			lru.u.lru.next = d;
			if (++n_lru <= LRU_MAX)
				return;
			d = lru.u.lru.prev;	/* the oldest has to go */
			lru_del(d);
			dentry_unhash(d);
			parent = d->parent;
		}
		iput(d->inode);
		defer(&d->u.work, dentry_release);
		d = parent;
	}
}

static struct dentry *
lookup(struct dentry *dir, const char *name, int create)
{
	for (struct dentry *d = dentry_hash[dentry_bucket(dir, name)]; d != NULL; d = d->hash_next)
		if (d->parent == dir && strcmp(d->name, name) == 0)
			return dget(d);
	for (unsigned i = 0; i < n_disk; i++)
		if (disk[i].dir == dir->inode->ino && strcmp(disk[i].name, name) == 0)
			return dentry_alloc(dir, name, iget(disk[i].ino));
	if (!create)
		return NULL;
	disk[n_disk].dir = dir->inode->ino;
	disk[n_disk].ino = next_ino++;
	snprintf(disk[n_disk++].name, sizeof disk[0].name, "%s", name);
	return lookup(dir, name, 0);
}

static struct dentry *
walk(const char *path, int create)
{
	struct dentry *d = dget(root), *next;
	char name[16];

	for (; d != NULL && sscanf(path, "%15[^/]", name) == 1; d = next) {
		path += strlen(name);
		path += *path == '/';
		next = lookup(d, name, create);
		dput(d);
	}
	return d;
}

static struct file *
file_open(const char *path)
{
	struct file *f = malloc(sizeof *f);

	pthread_mutex_lock(&lock);
	*f = (struct file){ 1, walk(path, 1) };
	pthread_mutex_unlock(&lock);
	return f;
}

static struct file *
file_get(struct file *f)
{
	pthread_mutex_lock(&lock);
	f->count++;
	pthread_mutex_unlock(&lock);
	return f;
}

static void
file_put(struct file *f)
{
	pthread_mutex_lock(&lock);
	if (--f->count == 0)
		dput(f->dentry), free(f);
	pthread_mutex_unlock(&lock);
}

static int
file_unlink(const char *path)
{
	struct dentry *d;

	pthread_mutex_lock(&lock);
	if ((d = walk(path, 0)) != NULL) {
		for (unsigned i = 0; i < n_disk; i++)
			if (disk[i].ino == d->inode->ino)
				disk[i] = disk[--n_disk];
		d->inode->nlink--;
		dentry_unhash(d);	/* whoever has it open keeps it */
		dput(d);
	}
	pthread_mutex_unlock(&lock);
	return d != NULL;
}

static void *
process(void *arg)
{
	struct file *open_files[4] = { NULL };
	struct memfs_inode *mi;
	char path[40];
	long unlinked = 0;

	for (int i = 0; i < 200; i++) {
		struct file **slot = &open_files[i % 4], *passwd = file_open("etc/passwd");

		file_put(passwd);
		if (*slot != NULL)
			file_put(*slot);
		snprintf(path, sizeof path, "%s/d%d/f%d", (char *)arg, i % 3, i % 7);
		*slot = file_open(path);
		if (i % 9 == 0) {	/* like dup(): two holders for a while */
			file_get(*slot);
			unlinked += file_unlink(path);
			file_put(*slot);
		}
		pthread_mutex_lock(&lock);
		mi = container_of((*slot)->dentry->inode, struct memfs_inode, vfs);
		snprintf(mi->data, 64, "%s was here", path);
		pthread_mutex_unlock(&lock);
	}
	for (int i = 0; i < 4; i++)
		file_put(open_files[i]);
	return (void *)unlinked;
}

int
main(void)
{
	static char *homes[] = { "usr", "var" };
	pthread_t threads[2], reaper_thread;
	void *result;
	long unlinked = 0;

	root = dentry_alloc(NULL, "", iget(1));
	pthread_create(&reaper_thread, NULL, reaper, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, process, homes[i]);
	for (int i = 0; i < 2; i++, unlinked += (long)result)
		pthread_join(threads[i], &result);
	pthread_mutex_lock(&lock);
	stopping = 1;
	pthread_cond_signal(&deferred_cond);
	pthread_mutex_unlock(&lock);
	pthread_join(reaper_thread, NULL);
	printf("%u on disk, %ld unlinked, cached %s, freed %s, revived %s\n", n_disk, unlinked,
	    n_lru <= LRU_MAX ? "few" : "many", inodes_freed >= (unsigned long)unlinked ? "all" : "some",
	    revived > 0 ? "yes" : "no");
	return 0;		/* still mounted: the cache goes with the process */
}
