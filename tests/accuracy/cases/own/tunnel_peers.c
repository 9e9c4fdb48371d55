/* summary: a prefix that moves to another peer stores the new peer without a reference
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: clang -O2 -g
 */
/* Peers and routes of a tunnel daemon. A peer is known by its key; prefixes of the routing table point at the peer that they go
 * through, and datagrams in flight hold the peer that they are for. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kref {
	atomic_int count;
};

static inline void kref_init(struct kref *kref)
{
	atomic_init(&kref->count, 1);
}

static inline void kref_get(struct kref *kref)
{
	atomic_fetch_add_explicit(&kref->count, 1, memory_order_relaxed);
}

static inline bool kref_put(struct kref *kref, void (*release)(struct kref *))
{
	if (atomic_fetch_sub_explicit(&kref->count, 1, memory_order_acq_rel) != 1)
		return false;
	release(kref);
	return true;
}

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

struct peer {
	char name[24];
	uint32_t endpoint;
	uint16_t port;
	uint64_t tx_bytes, tx_packets;
	struct kref kref;
};

struct route {
	struct route *next;
	uint32_t prefix;
	uint8_t length;
	struct peer *peer;
};

struct datagram {
	struct datagram *next;
	struct peer *peer;
	uint32_t destination;
	uint16_t size;
};

#define MAX_PEERS 12

struct tunnel {
	struct peer *peers[MAX_PEERS];
	unsigned nr_peers;
	struct route *routes;          /* longest prefix first */
	struct datagram *queue, **queue_tail;
	unsigned no_route;
};

static struct peer *peer_create(const char *name, uint32_t endpoint, uint16_t port)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	snprintf(peer->name, sizeof(peer->name), "%s", name);
	peer->endpoint = endpoint;
	peer->port = port;
	kref_init(&peer->kref);
	return peer;
}

static void peer_release(struct kref *kref)
{
	free(container_of(kref, struct peer, kref));
}

static struct peer *peer_get(struct peer *peer)
{
	kref_get(&peer->kref);
	return peer;
}

static void peer_put(struct peer *peer)
{
	if (peer)
		kref_put(&peer->kref, peer_release);
}

static uint32_t ip(unsigned a, unsigned b, unsigned c, unsigned d)
{
	return a << 24 | b << 16 | c << 8 | d;
}

static uint32_t mask_of(uint8_t length)
{
	return length ? ~0u << (32 - length) : 0;
}

static int tunnel_add_peer(struct tunnel *tunnel, const char *name, uint32_t endpoint)
{
	struct peer *peer;

	if (tunnel->nr_peers == MAX_PEERS)
		return -ENOSPC;
	peer = peer_create(name, endpoint, 51820);
	if (!peer)
		return -ENOMEM;
	tunnel->peers[tunnel->nr_peers++] = peer;
	return 0;
}

static struct peer *tunnel_find_peer(struct tunnel *tunnel, const char *name)
{
	for (unsigned i = 0; i < tunnel->nr_peers; i++)
		if (!strcmp(tunnel->peers[i]->name, name))
			return peer_get(tunnel->peers[i]);
	return NULL;
}

static int route_set(struct tunnel *tunnel, uint32_t prefix, uint8_t length, struct peer *peer)
{
	struct route **at, *route;

	if (length > 32 || (prefix & ~mask_of(length)))
		return -EINVAL;
	for (at = &tunnel->routes; (route = *at) != NULL; at = &route->next) {
		if (route->length < length)
			break;
		if (route->length == length && route->prefix == prefix) {
			if (route->peer == peer)
				return 0;
			peer_put(route->peer);
#ifdef BUG
			route->peer = peer; /* GUILTY */
#else
			route->peer = peer_get(peer);
#endif
			return 1;
		}
	}
	route = calloc(1, sizeof(*route));
	if (!route)
		return -ENOMEM;
	route->prefix = prefix;
	route->length = length;
	route->peer = peer_get(peer);
	route->next = *at;
	*at = route;
	return 0;
}

static struct peer *route_lookup(struct tunnel *tunnel, uint32_t destination)
{
	for (struct route *route = tunnel->routes; route; route = route->next)
		if ((destination & mask_of(route->length)) == route->prefix)
			return peer_get(route->peer);
	return NULL;
}

static unsigned routes_flush(struct tunnel *tunnel)
{
	struct route *route;
	unsigned removed = 0;

	while ((route = tunnel->routes) != NULL) {
		tunnel->routes = route->next;
		peer_put(route->peer);
		free(route);
		removed++;
	}
	return removed;
}

/* "NAME PREFIX/LENGTH": a line of the configuration, which may be read again while the tunnel is up */
static int apply_line(struct tunnel *tunnel, const char *line)
{
	unsigned a, b, c, d, length;
	struct peer *peer;
	char name[24];
	int err;

	if (sscanf(line, "%23s %u.%u.%u.%u/%u", name, &a, &b, &c, &d, &length) != 6)
		return -EINVAL;
	peer = tunnel_find_peer(tunnel, name);
	if (!peer)
		return -ENOENT;
	err = route_set(tunnel, ip(a, b, c, d), (uint8_t)length, peer);
	peer_put(peer);
	return err;
}

static void apply_config(struct tunnel *tunnel, const char *const *lines)
{
	for (; *lines; lines++) {
		int err = apply_line(tunnel, *lines);

		if (err < 0)
			printf("config: '%s': error %d\n", *lines, -err);
		else if (err)
			printf("config: '%s': moved\n", *lines);
	}
}

static int transmit(struct tunnel *tunnel, uint32_t destination, uint16_t size)
{
	struct peer *peer = route_lookup(tunnel, destination);
	struct datagram *datagram;

	if (!peer) {
		tunnel->no_route++;
		return -ENETUNREACH;
	}
	datagram = calloc(1, sizeof(*datagram));
	if (!datagram) {
		peer_put(peer);
		return -ENOMEM;
	}
	datagram->peer = peer;
	datagram->destination = destination;
	datagram->size = size;
	*tunnel->queue_tail = datagram;
	tunnel->queue_tail = &datagram->next;
	return 0;
}

static void flush_queue(struct tunnel *tunnel)
{
	struct datagram *datagram;

	while ((datagram = tunnel->queue) != NULL) {
		tunnel->queue = datagram->next;
		datagram->peer->tx_bytes += datagram->size;
		datagram->peer->tx_packets++;
		peer_put(datagram->peer);
		free(datagram);
	}
	tunnel->queue_tail = &tunnel->queue;
}

static void tunnel_down(struct tunnel *tunnel)
{
	flush_queue(tunnel);
	for (unsigned i = 0; i < tunnel->nr_peers; i++)
		printf("%-8s %3llu packets, %5llu bytes\n", tunnel->peers[i]->name, (unsigned long long)tunnel->peers[i]->tx_packets,
		       (unsigned long long)tunnel->peers[i]->tx_bytes);
	printf("%u routes removed, %u datagrams without route\n", routes_flush(tunnel), tunnel->no_route);
	while (tunnel->nr_peers)
		peer_put(tunnel->peers[--tunnel->nr_peers]);
}

int main(void)
{
	static const char *const at_start[] = { "lyon 10.1.0.0/16", "oslo 10.2.0.0/16", "riga 10.3.0.0/16", "porto 10.4.0.0/16",
		"bern 10.5.0.0/16", "bern 10.5.7.0/24", "lyon 0.0.0.0/0", "rome 10.6.0.0/16", NULL };
	static const char *const reloaded[] = { "lyon 10.1.0.0/16", "riga 10.2.0.0/16", "porto 10.4.8.0/24", "oslo 10.5.7.0/24",
		"bern 10.5.0.0/33", "porto 10.4.0.0/16", NULL };
	static const char *const peers[] = { "lyon", "oslo", "riga", "porto", "bern", "wien" };
	struct tunnel tunnel = { .nr_peers = 0 };

	tunnel.queue_tail = &tunnel.queue;
	for (unsigned i = 0; i < 6; i++)
		if (tunnel_add_peer(&tunnel, peers[i], ip(192, 0, 2, 10 + i)) < 0)
			return 1;
	apply_config(&tunnel, at_start);
	for (unsigned i = 0; i < 40; i++)
		transmit(&tunnel, ip(10, 1 + i % 5, i % 3 ? 7 : 8, i), (uint16_t)(60 + 13 * i));
	apply_config(&tunnel, reloaded);
	flush_queue(&tunnel);
	for (unsigned i = 0; i < 40; i++)
		transmit(&tunnel, ip(i % 8 ? 10 : 172, 1 + i % 5, 7, i), (uint16_t)(60 + 7 * i));
	tunnel_down(&tunnel);
	return 0;
}
