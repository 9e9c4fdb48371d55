/* summary: two counters in one object (users together own one of count); inode with count 0 is alive on an LRU and is revived by iget; mapcount starting at -1; counter in a 20-bit bit field with bulk get of 4 and bulk put; embedded in a bigger object
 * track: own
 * build: gcc -O3 -g inode_two_counts.c -o OUT
 */
/* Two counters in one object, as mm_users/mm_count and i_count/i_nlink: all
 * users together own ONE of the structure references; the last user tears the
 * contents down, the last structure reference frees the memory.  A third
 * counter (mapcount) starts at -1; a fourth sits in a bit field.  An inode with
 * count 0 is not dead: it waits on the LRU and igrab() brings it back; only
 * links == 0 at count 0 evicts.  Embedded in a bigger object (container_of). */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define container_of(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))

struct list { struct list *next, *prev; };
static void list_init(struct list *l) { l->next = l->prev = l; }
static void list_add(struct list *l, struct list *h) { l->next = h->next; l->prev = h; h->next->prev = l; h->next = l; }
static void list_del(struct list *l) { l->prev->next = l->next; l->next->prev = l->prev; list_init(l); }

/* ---- address spaces: users and structure references ---- */
struct mm {
	long users;             /* tasks; all of them hold one of count */
	long count;             /* structure */
	void **pages;
	int npages;
};
static int mm_live, mm_torn;

static struct mm *mm_alloc(int n)
{
	struct mm *m = calloc(1, sizeof *m);
	m->users = 1;
	m->count = 1;
	m->npages = n;
	m->pages = calloc(n, sizeof(void *));
	mm_live++;
	return m;
}
static void mmgrab(struct mm *m) { m->count++; }
static void mmdrop(struct mm *m)
{
	if (--m->count == 0) {
		mm_live--;
		free(m);
	}
}
static void mmget(struct mm *m) { m->users++; }
static int mmget_not_zero(struct mm *m) { return m->users ? (m->users++, 1) : 0; }

/* ---- pages: refs, map count biased by -1, pins in a bit field ---- */
struct page {
	int mapcount;           /* -1: not mapped */
	unsigned locked : 1, pins : 10, dirty : 1, refs : 20;
};
static int pages_live;
static struct page *page_alloc(void)
{
	struct page *p = malloc(sizeof *p);
	*p = (struct page){ .mapcount = -1, .refs = 1 };
	pages_live++;
	return p;
}
static void get_page(struct page *p) { p->refs++; }
static void put_page(struct page *p)
{
	if (--p->refs == 0) { pages_live--; free(p); }
}
/* a pin counts 1024 in the kernel; here a field of its own over the refs */
static void pin_page(struct page *p) { p->pins++; p->refs += 4; }
static void unpin_page(struct page *p)
{
	p->pins--;
	p->refs -= 3;           /* bulk release; the 4th below may free */
	put_page(p);
}
static void map_page(struct mm *m, int i, struct page *p)
{
	get_page(p);
	p->mapcount++;
	m->pages[i] = p;
}
static void mmput(struct mm *m)
{
	if (--m->users == 0) {          /* exit_mmap */
		for (int i = 0; i < m->npages; i++)
			if (m->pages[i]) {
				struct page *p = m->pages[i];
				p->mapcount--;
				put_page(p);
			}
		free(m->pages);
		m->pages = NULL;
		m->npages = 0;
		mm_torn++;
		mmdrop(m);              /* the users' common reference */
	}
}

/* ---- inodes embedded in a file system's own ---- */
struct inode { unsigned long ino; int count; unsigned nlink; struct list lru, hash; };
struct my_inode { char name[24]; long blocks; struct inode vfs; uint32_t crc; };
static struct list lru, hash;
static int inodes_live, evicted, revived;

static void evict(struct inode *i)
{
	struct my_inode *m = container_of(i, struct my_inode, vfs);
	list_del(&i->hash);
	list_del(&i->lru);
	inodes_live--;
	evicted++;
	free(m);
}
static struct inode *iget(unsigned long ino)
{
	for (struct list *l = hash.next; l != &hash; l = l->next) {
		struct inode *i = container_of(l, struct inode, hash);
		if (i->ino == ino) {
			if (i->count++ == 0) { list_del(&i->lru); revived++; }
			return i;
		}
	}
	struct my_inode *m = calloc(1, sizeof *m);
	snprintf(m->name, sizeof m->name, "inode%lu", ino);
	m->vfs.ino = ino;
	m->vfs.nlink = 1;
	m->vfs.count = 1;
	list_init(&m->vfs.lru);
	list_add(&m->vfs.hash, &hash);
	inodes_live++;
	return &m->vfs;
}
static void ihold(struct inode *i) { i->count++; }
static void iput(struct inode *i)
{
	if (!i || --i->count) return;
	if (i->nlink == 0) evict(i);
	else list_add(&i->lru, &lru);   /* count 0, alive */
}
static void shrink(int keep)
{
	int n = 0;
	for (struct list *l = lru.next, *nx; l != &lru; l = nx) {
		nx = l->next;
		if (++n > keep) evict(container_of(l, struct inode, lru));
	}
}

int main(void)
{
	unsigned seed = 9;
	list_init(&lru);
	list_init(&hash);

	for (int r = 0; r < 60; r++) {
		struct mm *m = mm_alloc(8);
		struct page *pg[8];
		for (int i = 0; i < 8; i++) {
			pg[i] = page_alloc();
			map_page(m, i, pg[i]);
			if (i & 1) pin_page(pg[i]);
		}
		mmget(m);               /* second task */
		mmgrab(m);              /* a lazy kernel thread */
		if (mmget_not_zero(m)) mmput(m);
		mmput(m);
		for (int i = 0; i < 8; i++) put_page(pg[i]);
		mmput(m);               /* tears down; pinned pages live on */
		if (mmget_not_zero(m)) return 2;
		for (int i = 1; i < 8; i += 2) unpin_page(pg[i]);
		mmdrop(m);
	}

	struct inode *held[16] = { 0 };
	for (int i = 0; i < 3000; i++) {
		int s = rand_r(&seed) % 16;
		iput(held[s]);
		held[s] = iget(rand_r(&seed) % 64);
		if (i % 5 == 0) { ihold(held[s]); iput(held[s]); }
		if (i % 97 == 0 && held[s]->nlink) held[s]->nlink--;    /* unlink while open */
		if (i % 200 == 0) shrink(10);
	}
	for (int s = 0; s < 16; s++) iput(held[s]);
	shrink(0);
	printf("mm %d torn %d pages %d inodes %d evicted %d revived %d\n", mm_live, mm_torn,
	       pages_live, inodes_live, evicted, revived);
	return mm_live || pages_live || inodes_live;
}
