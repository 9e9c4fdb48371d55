/*
 * summary: shutting down gives back the chunks of cancelled shipments, which their completion callback gives back as well
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * packages: libuv
 * build: gcc -O2 -g
 */
/* Ships log lines in chunks: a chunk is filled, packed on the thread pool of libuv and appended to the archive.
 * The latest chunks stay at hand for replays, and viewers may hold one while they page through it. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { CHUNK = 120, REPLAY = 6, MAX_SHIPMENTS = 32 };

struct chunk {
	char text[CHUNK];
	size_t len;
	unsigned id, lines;
	atomic_uint use;
};

struct shipment {
	uv_work_t req;
	struct shipper *shipper;
	struct chunk *chunk;
	char packed[2 * CHUNK];
	size_t packed_len;
	bool active;
};

struct archive {
	size_t bytes;
	unsigned chunks;
};

struct shipper {
	uv_loop_t *loop;
	uv_timer_t flush;
	uv_sem_t begun, gate; /* the packer works on as many chunks as the uplink lets through */
	struct chunk *filling;
	struct chunk *replay[REPLAY];
	unsigned replay_next;
	struct shipment shipments[MAX_SHIPMENTS];
	void (*stored)(void *user, const char *data, size_t len);
	void *user;
	unsigned next_id, cancelled, dropped;
	bool closing;
};

static struct chunk *chunk_new(struct shipper *s)
{
	struct chunk *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->id = s->next_id++;
	atomic_init(&c->use, 1);
	return c;
}

static struct chunk *chunk_ref(struct chunk *c)
{
	atomic_fetch_add(&c->use, 1);
	return c;
}

static void chunk_unref(struct chunk *c)
{
	if (atomic_fetch_sub(&c->use, 1) == 1)
		free(c);
}

static void pack_work(uv_work_t *req)
{
	struct shipment *sh = req->data;
	const struct chunk *c = sh->chunk;
	size_t i = 0, o = 0;

	uv_sem_post(&sh->shipper->begun);
	uv_sem_wait(&sh->shipper->gate);
	while (i < c->len) {
		size_t run = 1;

		while (i + run < c->len && run < 255 && c->text[i + run] == c->text[i])
			run++;
		sh->packed[o++] = (char)run;
		sh->packed[o++] = c->text[i];
		i += run;
	}
	sh->packed_len = o;
}

static void pack_done(uv_work_t *req, int status)
{
	struct shipment *sh = req->data;
	struct shipper *s = sh->shipper;

	if (status == UV_ECANCELED)
		s->cancelled++;
	else
		s->stored(s->user, sh->packed, sh->packed_len);
	chunk_unref(sh->chunk); /* ACCEPTED */
	sh->chunk = NULL;
	sh->active = false;
}

static void replay_add(struct shipper *s, struct chunk *c)
{
	struct chunk **slot = &s->replay[s->replay_next++ % REPLAY];

	if (*slot)
		chunk_unref(*slot);
	*slot = chunk_ref(c);
}

/* The chunk of a number with a reference for the caller, or NULL. */
static struct chunk *replay_find(struct shipper *s, unsigned id)
{
	for (int i = 0; i < REPLAY; i++)
		if (s->replay[i] && s->replay[i]->id == id)
			return chunk_ref(s->replay[i]);
	return NULL;
}

static struct shipment *shipment_slot(struct shipper *s)
{
	for (int i = 0; i < MAX_SHIPMENTS; i++)
		if (!s->shipments[i].active)
			return &s->shipments[i];
	return NULL;
}

static void shipper_flush(struct shipper *s)
{
	struct chunk *c = s->filling;
	struct shipment *sh;

	s->filling = NULL;
	if (!c)
		return;
	sh = shipment_slot(s);
	if (!sh) {
		s->dropped++;
		chunk_unref(c);
		return;
	}
	replay_add(s, c);
	sh->req.data = sh;
	sh->shipper = s;
	sh->chunk = c;
	sh->active = true;
	if (uv_queue_work(s->loop, &sh->req, pack_work, pack_done)) {
		s->dropped++;
		sh->active = false;
		sh->chunk = NULL;
		chunk_unref(c);
	}
}

static void on_flush(uv_timer_t *timer)
{
	shipper_flush(timer->data);
}

static bool shipper_log(struct shipper *s, const char *line)
{
	size_t n = strlen(line);

	if (s->closing || n + 1 > CHUNK)
		return false;
	if (s->filling && s->filling->len + n + 1 > CHUNK)
		shipper_flush(s);
	if (!s->filling)
		s->filling = chunk_new(s);
	if (!s->filling)
		return false;
	memcpy(s->filling->text + s->filling->len, line, n);
	s->filling->len += n;
	s->filling->text[s->filling->len++] = '\n';
	s->filling->lines++;
	return true;
}

static int shipper_open(struct shipper *s, uv_loop_t *loop, void (*stored)(void *, const char *, size_t), void *user)
{
	memset(s, 0, sizeof(*s));
	s->loop = loop;
	s->stored = stored;
	s->user = user;
	if (uv_sem_init(&s->gate, 0) || uv_sem_init(&s->begun, 0))
		return UV_ENOMEM;
	uv_timer_init(loop, &s->flush);
	s->flush.data = s;
	return uv_timer_start(&s->flush, on_flush, 500, 500);
}

/* What has not begun is given up; what the packer works on is still stored. */
static void shipper_shutdown(struct shipper *s)
{
	s->closing = true;
	if (s->filling)
		chunk_unref(s->filling);
	s->filling = NULL;
	for (int i = 0; i < MAX_SHIPMENTS; i++) {
		struct shipment *sh = &s->shipments[i];

		if (!sh->active)
			continue;
#ifdef BUG
		if (uv_cancel((uv_req_t *)&sh->req) == 0)
			chunk_unref(sh->chunk); /* GUILTY */
#else
		uv_cancel((uv_req_t *)&sh->req);
#endif
	}
	uv_sem_post(&s->gate);
	uv_timer_stop(&s->flush);
	uv_close((uv_handle_t *)&s->flush, NULL);
}

static void shipper_close(struct shipper *s)
{
	for (int i = 0; i < REPLAY; i++)
		if (s->replay[i])
			chunk_unref(s->replay[i]);
	uv_sem_destroy(&s->begun);
	uv_sem_destroy(&s->gate);
}

static void on_stored(void *user, const char *data, size_t len)
{
	struct archive *a = user;

	(void)data;
	a->chunks++;
	a->bytes += len;
}

static void log_lines(struct shipper *s, int from, int to)
{
	char line[CHUNK];

	for (int i = from; i < to; i++) {
		snprintf(line, sizeof(line), "%04d pump %d: %s", i, i % 3, i % 5 ? "running      " : "----overrun----");
		shipper_log(s, line);
	}
}

int main(void)
{
	static struct shipper shipper;
	struct archive archive = { 0 };
	struct chunk *page;
	uv_loop_t loop;
	bool ok;

	uv_os_setenv("UV_THREADPOOL_SIZE", "1");
	uv_loop_init(&loop);
	if (shipper_open(&shipper, &loop, on_stored, &archive))
		return 1;
	log_lines(&shipper, 0, 20);
	shipper_flush(&shipper);
	for (int i = 0; i < 5; i++)
		uv_sem_post(&shipper.gate);
	while (archive.chunks < 5)
		uv_run(&loop, UV_RUN_ONCE);
	page = replay_find(&shipper, 3);
	ok = page && page->lines > 0;
	log_lines(&shipper, 20, 36);
	shipper_flush(&shipper);
	for (int i = 0; i < 6; i++)
		uv_sem_wait(&shipper.begun);
	shipper_shutdown(&shipper);
	while (uv_run(&loop, UV_RUN_DEFAULT))
		;
	printf("%u chunks stored (%zu bytes), %u cancelled, %u dropped\n", archive.chunks, archive.bytes, shipper.cancelled, shipper.dropped);
	ok = ok && !shipper_log(&shipper, "late") && archive.chunks == 6 && shipper.cancelled == 3;
	shipper_close(&shipper);
	if (page)
		chunk_unref(page);
	uv_loop_close(&loop);
	return ok ? 0 : 1;
}
