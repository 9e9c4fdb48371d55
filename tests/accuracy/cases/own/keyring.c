/* summary: key_release() of a ring gives the links back but forgets the key that restricts what may be linked
 * kind: missing-put
 * counts: surplus
 * objects: 5
 * track: own
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * keyring - keys and rings of keys in the manner of a kernel's key service.
 *
 * A ring links keys and other rings. It can be restricted: then every key
 * that is linked must have been signed by the restricting key.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

struct kref {
	int refcount;
};

static void kref_init(struct kref *k)
{
	k->refcount = 1;
}

static void kref_get(struct kref *k)
{
	k->refcount++;
}

static int kref_put(struct kref *k, void (*release)(struct kref *k))
{
	if (--k->refcount)
		return 0;
	release(k);
	return 1;
}

enum key_type { KEY_USER, KEY_ASYMMETRIC, KEY_RING };

#define RING_MAX 12

struct key {
	enum key_type type;
	unsigned serial;
	char description[24];
	unsigned signer;		/* serial of the key that signed it */
	struct kref usage;
	union {
		unsigned char payload[32];
		struct {
			struct key *links[RING_MAX];
			unsigned nlinks;
			struct key *restriction;
		} ring;
	};
};

static unsigned next_serial = 100;
static int keys_live;

static struct key *key_alloc(enum key_type type, const char *description)
{
	struct key *key = calloc(1, sizeof *key);

	if (!key)
		abort();
	kref_init(&key->usage);
	key->type = type;
	key->serial = next_serial++;
	snprintf(key->description, sizeof key->description, "%s", description);
	keys_live++;
	return key;
}

static void key_put(struct key *key);

static struct key *key_get(struct key *key)
{
	kref_get(&key->usage);
	return key;
}

static void key_release(struct kref *kref)
{
	struct key *key = container_of(kref, struct key, usage);

	if (key->type == KEY_RING) {
		for (unsigned i = 0; i < key->ring.nlinks; i++)
			key_put(key->ring.links[i]);
#ifndef BUG
		if (key->ring.restriction)
			key_put(key->ring.restriction);
#endif
	} else {				/* ACCEPTED */
		memset(key->payload, 0, sizeof key->payload);
	}
	keys_live--;				/* ACCEPTED */
	free(key);				/* GUILTY */
}

static void key_put(struct key *key)
{
	kref_put(&key->usage, key_release);
}

static int ring_restrict(struct key *ring, struct key *by)
{
	if (ring->type != KEY_RING || by->type != KEY_ASYMMETRIC)
		return -EINVAL;
	if (ring->ring.restriction)
		return -EEXIST;
	ring->ring.restriction = key_get(by);
	return 0;
}

/* The link holds the key. One of the same description is replaced. */
static int ring_link(struct key *ring, struct key *key)
{
	if (ring->type != KEY_RING || ring == key)
		return -EINVAL;
	if (ring->ring.restriction && key->signer != ring->ring.restriction->serial)
		return -EPERM;
	for (unsigned i = 0; i < ring->ring.nlinks; i++) {
		struct key *old = ring->ring.links[i];

		if (strcmp(old->description, key->description) == 0) {
			ring->ring.links[i] = key_get(key);
			key_put(old);
			return 1;
		}
	}
	if (ring->ring.nlinks == RING_MAX)
		return -ENFILE;
	ring->ring.links[ring->ring.nlinks++] = key_get(key);
	return 0;
}

static int ring_unlink(struct key *ring, const char *description)
{
	for (unsigned i = 0; i < ring->ring.nlinks; i++) {
		struct key *key = ring->ring.links[i];

		if (strcmp(key->description, description) != 0)
			continue;
		ring->ring.links[i] = ring->ring.links[--ring->ring.nlinks];
		key_put(key);
		return 0;
	}
	return -ENOENT;
}

/* Looks into rings below as well; a reference for the caller. */
static struct key *ring_search(struct key *ring, const char *description, int depth)
{
	if (depth > 4)
		return NULL;
	for (unsigned i = 0; i < ring->ring.nlinks; i++) {
		struct key *key = ring->ring.links[i];

		if (strcmp(key->description, description) == 0)
			return key_get(key);
		if (key->type == KEY_RING) {
			key = ring_search(key, description, depth + 1);
			if (key)
				return key;
		}
	}
	return NULL;
}

/* ------------------------------------------------------------ processes */

struct process {
	struct key *session;
	struct key *user_ring;		/* shared by the user's processes */
	unsigned refused, replaced, found;
};

static void process_add(struct process *p, const char *description, const struct key *signer)
{
	struct key *key = key_alloc(signer ? KEY_ASYMMETRIC : KEY_USER, description);
	int rc;

	key->signer = signer ? signer->serial : 0;
	memset(key->payload, (int)key->serial, sizeof key->payload);
	rc = ring_link(p->session, key);
	if (rc < 0)
		p->refused++;
	else
		p->replaced += rc == 1;
	key_put(key);
}

static void process_start(struct process *p, unsigned pid, struct key *user_ring, struct key *vendor)
{
	char name[24];

	memset(p, 0, sizeof *p);
	snprintf(name, sizeof name, "session-%u", pid);
	p->session = key_alloc(KEY_RING, name);
	p->user_ring = key_get(user_ring);
	if (vendor)
		ring_restrict(p->session, vendor);
	else
		ring_link(p->session, user_ring);
}

static void process_use(struct process *p, unsigned pid, struct key *vendor)
{
	char name[24];

	for (unsigned i = 0; i < 5; i++) {
		struct key *key;

		snprintf(name, sizeof name, "token-%u", (pid + i * 3) % 4);
		process_add(p, name, i % 2 ? NULL : vendor);
		snprintf(name, sizeof name, i % 2 ? "mail" : "token-%u", i);
		key = ring_search(p->session, name, 0);
		if (key) {
			p->found++;
			key_put(key);
		}
	}
	ring_unlink(p->session, "token-2");
}

static void process_exit(struct process *p)
{
	key_put(p->user_ring);
	key_put(p->session);
}

int main(void)
{
	unsigned refused = 0, replaced = 0, found = 0;

	for (unsigned user = 0; user < 5; user++) {
		struct process procs[6];
		struct key *user_ring = key_alloc(KEY_RING, "user");
		struct key *mail = key_alloc(KEY_USER, "mail");
		struct key *vendors[2] = { key_alloc(KEY_ASYMMETRIC, "vendor-a"),
					   key_alloc(KEY_ASYMMETRIC, "vendor-b") };

		ring_link(user_ring, mail);
		key_put(mail);
		for (unsigned i = 0; i < 6; i++) {
			struct key *vendor = vendors[i % 2];
			bool strict = (user * 6 + i) % 5 == 2 && user != 3;

			process_start(&procs[i], user * 6 + i, user_ring, strict ? vendor : NULL);
			process_use(&procs[i], user * 6 + i, vendor);
		}
		for (unsigned i = 0; i < 6; i++) {
			refused += procs[i].refused;
			replaced += procs[i].replaced;
			found += procs[i].found;
			process_exit(&procs[i]);
		}
		key_put(vendors[0]);
		key_put(vendors[1]);
		key_put(user_ring);
	}
	printf("%u keys, %u refused, %u replaced, %u found\n", next_serial - 100, refused, replaced, found);
#ifdef TRUTH
	printf("left: %d\n", keys_live);
#endif
	return 0;
}
