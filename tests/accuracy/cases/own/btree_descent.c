/* summary: stepping right past a split replaces the page in hand without unpinning it
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: own
 * build: gcc -O1 -g
 */
/* Search tree of a record store. Pages are shared between the page cache and cursors; a split links the new page to the right
 * and tells the parent later, so that a search may have to step right. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FANOUT 6
#define CACHE_BUCKETS 16
#define NO_PAGE 0u

struct page {
	struct page *hash_next;
	uint32_t number;
	uint32_t right;
	uint32_t high_key;      /* no key above it belongs here; 0: no limit */
	uint16_t count;
	bool leaf, dirty;
	int refs;
	uint32_t keys[FANOUT];
	uint32_t values[FANOUT]; /* children in inner pages */
};

struct page_cache {
	struct page *buckets[CACHE_BUCKETS];
	uint32_t next_number;
	unsigned hits, steps_right;
};

struct tree {
	struct page_cache cache;
	uint32_t root;
	uint32_t pending[8];    /* left pages of splits that the parent does not know yet */
	unsigned nr_pending;
};

struct cursor {
	struct tree *tree;
	struct page *page;
	unsigned slot;
};

static inline struct page *page_pin(struct page *page)
{
	page->refs++;
	return page;
}

static void page_unpin(struct page *page)
{
	if (page && --page->refs == 0)
		free(page);
}

static struct page *page_alloc(uint32_t number, bool leaf)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page)
		abort();
	page->number = number;
	page->leaf = leaf;
	page->refs = 1;
	return page;
}

/* a page in the cache, which has one reference of its own; the caller gets the other */
static struct page *page_new(struct page_cache *cache, bool leaf)
{
	struct page *page = page_alloc(++cache->next_number, leaf);
	struct page **bucket;

	bucket = &cache->buckets[page->number % CACHE_BUCKETS];
	page->hash_next = *bucket;
	*bucket = page;
	return page_pin(page);
}

static struct page *page_fetch(struct page_cache *cache, uint32_t number)
{
	struct page *page = cache->buckets[number % CACHE_BUCKETS];

	while (page && page->number != number)
		page = page->hash_next;
	if (!page)
		return NULL;
	cache->hits++;
	return page_pin(page);
}

static void cache_close(struct page_cache *cache)
{
	unsigned written = 0;

	for (unsigned i = 0; i < CACHE_BUCKETS; i++) {
		while (cache->buckets[i]) {
			struct page *page = cache->buckets[i];

			cache->buckets[i] = page->hash_next;
			written += page->dirty;
			page_unpin(page);
		}
	}
	printf("%u pages written, %u hits, %u steps to the right\n", written, cache->hits, cache->steps_right);
}

static struct page *step_right(struct tree *tree, struct page *page, uint32_t key)
{
	while (page->high_key && key > page->high_key && page->right != NO_PAGE) {
		struct page *next = page_fetch(&tree->cache, page->right);

		if (!next)
			break;
#ifndef BUG
		page_unpin(page);
#endif
		page = next; /* GUILTY */
		tree->cache.steps_right++;
	}
	return page;
}

static unsigned child_slot(const struct page *page, uint32_t key)
{
	unsigned slot = 0;

	while (slot + 1u < page->count && key >= page->keys[slot + 1])
		slot++;
	return slot;
}

/* the leaf where the key is or belongs, pinned */
static struct page *descend(struct tree *tree, uint32_t key)
{
	struct page *page = page_fetch(&tree->cache, tree->root);

	for (;;) {
		struct page *child;

		page = step_right(tree, page, key);
		if (page->leaf)
			return page;
		child = page_fetch(&tree->cache, page->values[child_slot(page, key)]);
		page_unpin(page);
		page = child;
	}
}

static void insert_at(struct page *page, uint32_t key, uint32_t value)
{
	unsigned slot = page->count;

	while (slot > 0 && page->keys[slot - 1] > key) {
		page->keys[slot] = page->keys[slot - 1];
		page->values[slot] = page->values[slot - 1];
		slot--;
	}
	page->keys[slot] = key;
	page->values[slot] = value;
	page->count++;
	page->dirty = true;
}

static void split_leaf(struct tree *tree, struct page *left)
{
	struct page *right = page_new(&tree->cache, true);

	right->count = FANOUT / 2;
	left->count = FANOUT - right->count;
	memcpy(right->keys, left->keys + left->count, right->count * sizeof(right->keys[0]));
	memcpy(right->values, left->values + left->count, right->count * sizeof(right->values[0]));
	right->right = left->right;
	right->high_key = left->high_key;
	left->right = right->number;
	left->high_key = right->keys[0] - 1;
	right->dirty = left->dirty = true;
	page_unpin(right);
	if (tree->nr_pending < 8)
		tree->pending[tree->nr_pending++] = left->number;
}

/* tells the root about splits; done between batches */
static void finish_splits(struct tree *tree)
{
	struct page *root = page_fetch(&tree->cache, tree->root);

	for (unsigned i = 0; i < tree->nr_pending && root->count < FANOUT; i++) {
		struct page *left = page_fetch(&tree->cache, tree->pending[i]);
		struct page *right = page_fetch(&tree->cache, left->right);

		insert_at(root, right->keys[0], right->number);
		page_unpin(right);
		page_unpin(left);
	}
	tree->nr_pending = 0;
	page_unpin(root);
}

static void tree_insert(struct tree *tree, uint32_t key, uint32_t value)
{
	struct page *leaf = descend(tree, key);

	if (leaf->count == FANOUT) {
		split_leaf(tree, leaf);
		page_unpin(leaf);
		leaf = descend(tree, key);
	}
	insert_at(leaf, key, value);
	page_unpin(leaf);
}

static void cursor_seek(struct cursor *cursor, struct tree *tree, uint32_t key)
{
	page_unpin(cursor->page);
	cursor->tree = tree;
	cursor->page = descend(tree, key);
	cursor->slot = 0;
	while (cursor->slot < cursor->page->count && cursor->page->keys[cursor->slot] < key)
		cursor->slot++;
}

static bool cursor_next(struct cursor *cursor, uint32_t *key, uint32_t *value)
{
	while (cursor->slot >= cursor->page->count) {
		struct page *next;

		if (cursor->page->right == NO_PAGE)
			return false;
		next = page_fetch(&cursor->tree->cache, cursor->page->right);
		page_unpin(cursor->page);
		cursor->page = next;
		cursor->slot = 0;
	}
	*key = cursor->page->keys[cursor->slot];
	*value = cursor->page->values[cursor->slot++];
	return true;
}

static void cursor_close(struct cursor *cursor)
{
	page_unpin(cursor->page);
	cursor->page = NULL;
}

int main(void)
{
	static const uint32_t batches[][8] = {
		{ 100, 400, 200, 300, 150, 350, 0 },
		{ 120, 410, 110, 420, 0 },
		{ 430, 440, 450, 130, 140, 0 },
		{ 210, 460, 470, 220, 480, 230, 0 },
	};
	struct tree tree = { .root = NO_PAGE };
	struct cursor scan = { .page = NULL }, probe = { .page = NULL };
	struct page *root = page_new(&tree.cache, false), *first = page_new(&tree.cache, true);
	uint32_t key, value, rows = 0, last = 0;

	tree.root = root->number;
	insert_at(root, 0, first->number);
	page_unpin(first);
	page_unpin(root);
	for (unsigned b = 0; b < 4; b++) {
		for (unsigned i = 0; batches[b][i]; i++)
			tree_insert(&tree, batches[b][i], batches[b][i] * 10);
		finish_splits(&tree);
	}
	cursor_seek(&probe, &tree, 205);
	if (cursor_next(&probe, &key, &value))
		printf("first from 205: %u = %u\n", key, value);
	cursor_seek(&scan, &tree, 0);
	while (cursor_next(&scan, &key, &value)) {
		rows += key > last;
		last = key;
	}
	cursor_seek(&scan, &tree, 440);
	cursor_close(&scan);
	cursor_close(&probe);
	printf("%u rows in order, %u pages\n", rows, tree.cache.next_number);
	cache_close(&tree.cache);
	return rows == 21 ? 0 : 1;
}
