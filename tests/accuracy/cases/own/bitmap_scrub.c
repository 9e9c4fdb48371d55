/*
 * summary: a group whose inode bitmap fails its checksum leaves by the wrong label, which skips the put of the block bitmap
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: clang -O2 -g
 */
/* Scrub of the allocation bitmaps of a small block-group file system. Blocks come through a buffer cache
 * that keeps the latest ones on a list; a buffer in use is not reclaimed. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, GROUPS = 12, HASH = 32, CACHE_MAX = 16, BLOCKS_PER_GROUP = 64, INODES_PER_GROUP = 32 };

struct group_desc {
	uint32_t block_bitmap, inode_bitmap, table;
	uint16_t free_blocks, free_inodes;
	uint32_t block_sum, inode_sum;
	uint8_t flags;
};

enum { GROUP_UNINIT = 1 };

struct disk {
	uint8_t *image;
	uint32_t blocks;
	uint32_t bad_block;
};

struct buffer {
	struct buffer *hash_next;
	struct buffer *newer, *older;
	uint32_t block;
	unsigned b_count;
	bool uptodate;
	uint8_t data[BLOCK];
};

struct bcache {
	struct disk *disk;
	struct buffer *hash[HASH];
	struct buffer *newest, *oldest;
	unsigned cached, reads, hits;
};

struct scrub {
	struct bcache *cache;
	unsigned checked, skipped, failed, mismatches;
	void (*report)(void *user, unsigned group, const char *what);
	void *user;
};

static struct buffer *buffer_alloc(uint32_t block)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (b) {
		b->block = block;
		b->b_count = 1;
	}
	return b;
}

static struct buffer *buffer_get(struct buffer *b)
{
	b->b_count++;
	return b;
}

static void buffer_put(struct buffer *b)
{
	if (b && --b->b_count == 0)
		free(b);
}

static void lru_remove(struct bcache *c, struct buffer *b)
{
	*(b->newer ? &b->newer->older : &c->newest) = b->older;
	*(b->older ? &b->older->newer : &c->oldest) = b->newer;
	b->newer = b->older = NULL;
}

static void lru_front(struct bcache *c, struct buffer *b)
{
	b->older = c->newest;
	if (c->newest)
		c->newest->newer = b;
	c->newest = b;
	if (!c->oldest)
		c->oldest = b;
}

static void cache_forget(struct bcache *c, struct buffer *b)
{
	struct buffer **p = &c->hash[b->block % HASH];

	while (*p != b)
		p = &(*p)->hash_next;
	*p = b->hash_next;
	lru_remove(c, b);
	c->cached--;
	buffer_put(b);
}

static void cache_shrink(struct bcache *c)
{
	struct buffer *b = c->oldest, *next;

	for (; b && c->cached > CACHE_MAX; b = next) {
		next = b->newer;
		if (b->b_count == 1)
			cache_forget(c, b);
	}
}

/* Reads a block, or finds it; the caller gets a reference. */
static struct buffer *block_read(struct bcache *c, uint32_t block)
{
	struct buffer *b;

	for (b = c->hash[block % HASH]; b; b = b->hash_next) {
		if (b->block != block)
			continue;
		c->hits++;
		lru_remove(c, b);
		lru_front(c, b);
		return buffer_get(b);
	}
	if (block >= c->disk->blocks || block == c->disk->bad_block)
		return NULL;
	b = buffer_alloc(block);
	if (!b)
		return NULL;
	memcpy(b->data, c->disk->image + (size_t)block * BLOCK, BLOCK);
	b->uptodate = true;
	c->reads++;
	b->hash_next = c->hash[block % HASH];
	c->hash[block % HASH] = buffer_get(b);
	lru_front(c, b);
	c->cached++;
	cache_shrink(c);
	return b;
}

static void cache_destroy(struct bcache *c)
{
	while (c->oldest)
		cache_forget(c, c->oldest);
}

static uint32_t checksum(const uint8_t *p, size_t n)
{
	uint32_t sum = 2166136261u;

	while (n--)
		sum = (sum ^ *p++) * 16777619u;
	return sum;
}

static unsigned count_free(const uint8_t *bitmap, unsigned bits)
{
	unsigned n = 0;

	for (unsigned i = 0; i < bits; i++)
		n += !(bitmap[i / 8] >> i % 8 & 1);
	return n;
}

static int scrub_group(struct scrub *s, unsigned group)
{
	struct buffer *gd_buf, *bb, *ib;
	struct group_desc gd;
	unsigned per_block = BLOCK / sizeof(gd);
	int err = 0;

	gd_buf = block_read(s->cache, 1 + group / per_block);
	if (!gd_buf)
		return -EIO;
	memcpy(&gd, gd_buf->data + group % per_block * sizeof(gd), sizeof(gd));
	if (gd.flags & GROUP_UNINIT) {
		s->skipped++;
		goto out_desc;
	}
	bb = block_read(s->cache, gd.block_bitmap);
	if (!bb) {
		s->report(s->user, group, "block bitmap unreadable");
		err = -EIO;
		goto out_desc;
	}
	if (checksum(bb->data, BLOCKS_PER_GROUP / 8) != gd.block_sum) {
		s->report(s->user, group, "block bitmap checksum");
		err = -EBADMSG;
		goto out_blocks;
	}
	ib = block_read(s->cache, gd.inode_bitmap);
	if (!ib) {
		s->report(s->user, group, "inode bitmap unreadable");
		err = -EIO;
		goto out_blocks;
	}
	if (checksum(ib->data, INODES_PER_GROUP / 8) != gd.inode_sum) {
		s->report(s->user, group, "inode bitmap checksum");
		err = -EBADMSG;
#ifdef BUG
		buffer_put(ib); /* ACCEPTED */
		goto out_desc; /* GUILTY */
#else
		goto out_inodes;
#endif
	}
	if (count_free(bb->data, BLOCKS_PER_GROUP) != gd.free_blocks || count_free(ib->data, INODES_PER_GROUP) != gd.free_inodes) {
		s->mismatches++;
		goto out_inodes;
	}
	s->checked++;
out_inodes:
	buffer_put(ib);
out_blocks:
	buffer_put(bb);
out_desc:
	buffer_put(gd_buf);
	return err;
}

static void disk_format(struct disk *d)
{
	struct group_desc gd;
	unsigned per_block = BLOCK / sizeof(gd);

	for (unsigned g = 0; g < GROUPS; g++) {
		uint8_t *blocks = d->image + (8 + g * 2) * BLOCK, *inodes = blocks + BLOCK;

		memset(&gd, 0, sizeof(gd));
		gd.block_bitmap = 8 + g * 2;
		gd.inode_bitmap = gd.block_bitmap + 1;
		gd.flags = g == 9 ? GROUP_UNINIT : 0;
		for (unsigned i = 0; i < 5 + g; i++)
			blocks[i / 8] |= 1 << i % 8;
		for (unsigned i = 0; i < 2 + g; i++)
			inodes[i / 8] |= 1 << i % 8;
		gd.free_blocks = count_free(blocks, BLOCKS_PER_GROUP) - (g == 4);
		gd.free_inodes = count_free(inodes, INODES_PER_GROUP);
		gd.block_sum = checksum(blocks, BLOCKS_PER_GROUP / 8);
		gd.inode_sum = checksum(inodes, INODES_PER_GROUP / 8);
		memcpy(d->image + (1 + g / per_block) * BLOCK + g % per_block * sizeof(gd), &gd, sizeof(gd));
	}
}

static void print_report(void *user, unsigned group, const char *what)
{
	++*(unsigned *)user;
	printf("group %u: %s\n", group, what);
}

int main(void)
{
	unsigned reports = 0;
	struct disk disk = { .blocks = 64, .bad_block = 8 + 10 * 2 };
	struct bcache cache = { .disk = &disk };
	struct scrub scrub = { .cache = &cache, .report = print_report, .user = &reports };

	disk.image = calloc(disk.blocks, BLOCK);
	if (!disk.image)
		return 1;
	disk_format(&disk);
	for (unsigned g = 2; g < GROUPS; g += 3)
		disk.image[(9 + g * 2) * BLOCK + (g == 11 ? 100 : 0)] ^= 0x80;
	disk.image[(8 + 7 * 2) * BLOCK] ^= 1;
	for (unsigned g = 0; g < GROUPS; g++)
		scrub.failed += scrub_group(&scrub, g) < 0;
	printf("%u checked, %u skipped, %u failed, %u mismatches, %u reads, %u hits\n", scrub.checked, scrub.skipped, scrub.failed,
	       scrub.mismatches, cache.reads, cache.hits);
	cache_destroy(&cache);
	free(disk.image);
	return scrub.failed == reports && scrub.mismatches == 1 ? 0 : 1;
}
