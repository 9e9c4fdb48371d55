/* summary: when a page flip is refused output_flip() drops the buffer it locked, and surface_commit() drops it once more
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: gcc -O1 -g
 * exit: 0
 */
/*
 * The part of a compositor that gets pictures from clients to the screen:
 * shm buffers, surfaces with pending and current state, an output with double
 * buffering whose flips may be refused by the hardware.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define FMT_XRGB FOURCC('X', 'R', '2', '4')
#define FMT_RGB565 FOURCC('R', 'G', '1', '6')

struct pic_buffer {
	uint32_t id;
	uint32_t format;
	int width, height;
	int stride;
	int n_users;
	int n_shown;
	void *pixels;
};

struct surface_state {
	struct pic_buffer *buffer;
	int dx, dy;
	unsigned damage;
};

struct output {
	int width, height, align;
	struct pic_buffer *front;	/* being scanned out */
	struct pic_buffer *queued;	/* for the next vblank */
	unsigned nflips, nrefused, nrepaints;
};

struct surface {
	struct surface_state pending, current;
	struct output *output;
	bool fullscreen;
	unsigned ncommits, ncomposed;
};

struct client {
	struct surface surface;
	struct pic_buffer *buffers[6];
	int nbuffers;
};

/* ---- buffers ---- */

static uint32_t next_id = 1;

static struct pic_buffer *pic_buffer_create(int width, int height, int stride, uint32_t format)
{
	struct pic_buffer *b = calloc(1, sizeof(*b));

	if (!b)
		abort();
	b->id = next_id++;
	b->width = width;
	b->height = height;
	b->stride = stride;
	b->format = format;
	b->n_users = 1;
	b->pixels = calloc((size_t)height, (size_t)stride);
	return b;
}

static struct pic_buffer *pic_buffer_lock(struct pic_buffer *b)
{
	b->n_users++;
	return b;
}

static void pic_buffer_unlock(struct pic_buffer *b)
{
	if (!b)
		return;
	if (--b->n_users == 0) {
		free(b->pixels);
		free(b);
	}
}

/* ---- output ---- */

static bool output_can_scan(const struct output *o, const struct pic_buffer *b)
{
	return b->format == FMT_XRGB && b->stride % o->align == 0;
}

/* Shows a buffer at the next vblank, until another one comes. */
static int output_flip(struct output *o, struct pic_buffer *b)
{
	struct pic_buffer *fb = pic_buffer_lock(b);

	if (!output_can_scan(o, fb)) {
		o->nrefused++;
		pic_buffer_unlock(fb);	/* ACCEPTED */
		return -EINVAL;
	}
	pic_buffer_unlock(o->queued);
	o->queued = fb;
	return 0;
}

static void output_vblank(struct output *o)
{
	if (!o->queued)
		return;
	pic_buffer_unlock(o->front);
	o->front = o->queued;
	o->queued = NULL;
	o->front->n_shown++;
	o->nflips++;
}

static void output_compose(struct output *o, const struct pic_buffer *b, int dx, int dy)
{
	int w = b->width < o->width - dx ? b->width : o->width - dx;
	int h = b->height < o->height - dy ? b->height : o->height - dy;

	if (w > 0 && h > 0)
		o->nrepaints += (unsigned)(w * h) / 64;
}

static void output_finish(struct output *o)
{
	pic_buffer_unlock(o->queued);
	pic_buffer_unlock(o->front);
	o->queued = o->front = NULL;
}

/* ---- surface ---- */

static void surface_init(struct surface *s, struct output *o, bool fullscreen)
{
	memset(s, 0, sizeof(*s));
	s->output = o;
	s->fullscreen = fullscreen;
}

static void surface_attach(struct surface *s, struct pic_buffer *b, int dx, int dy)
{
	pic_buffer_unlock(s->pending.buffer);
	s->pending.buffer = b ? pic_buffer_lock(b) : NULL;
	s->pending.dx = dx;
	s->pending.dy = dy;
}

static void surface_damage(struct surface *s, unsigned rows)
{
	s->pending.damage += rows;
}

/* Pending state becomes current.  A fullscreen surface goes to the screen
 * without composition where the hardware can do that. */
static bool surface_commit(struct surface *s)
{
	struct pic_buffer *b = s->pending.buffer;

	s->ncommits++;
	if (b) {
		pic_buffer_unlock(s->current.buffer);
		s->current.buffer = b;
		s->pending.buffer = NULL;
	}
	s->current.dx = s->pending.dx;
	s->current.dy = s->pending.dy;
	s->current.damage = s->pending.damage;
	s->pending.damage = 0;
	if (!s->current.buffer)
		return false;
	if (s->fullscreen && s->current.buffer->width == s->output->width) {
		if (output_flip(s->output, s->current.buffer) == 0)
			return true;
		output_compose(s->output, s->current.buffer, 0, 0);
#ifdef BUG
		pic_buffer_unlock(s->current.buffer);	/* GUILTY */
#endif
		s->ncomposed++;
		return false;
	}
	output_compose(s->output, s->current.buffer, s->current.dx, s->current.dy);
	s->ncomposed++;
	return true;
}

static void surface_fini(struct surface *s)
{
	pic_buffer_unlock(s->pending.buffer);
	pic_buffer_unlock(s->current.buffer);
}

/* ---- clients ---- */

static struct pic_buffer *client_add_buffer(struct client *c, int w, int h, int stride, uint32_t format)
{
	struct pic_buffer *b = pic_buffer_create(w, h, stride, format);

	c->buffers[c->nbuffers++] = b;
	return b;
}

static void client_draw(struct client *c, int frame)
{
	struct pic_buffer *b = c->buffers[frame % c->nbuffers];

	surface_attach(&c->surface, b, frame % 3, frame % 2);
	surface_damage(&c->surface, 1u + (unsigned)frame % 4);
	surface_commit(&c->surface);
}

static void client_exit(struct client *c)
{
	surface_fini(&c->surface);
	for (int i = 0; i < c->nbuffers; i++)
		pic_buffer_unlock(c->buffers[i]);
	c->nbuffers = 0;
}

int main(void)
{
	struct output screen = { .width = 64, .height = 40, .align = 64 };
	struct client player = { 0 }, clock = { 0 }, viewer = { 0 };

	surface_init(&player.surface, &screen, true);
	for (int i = 0; i < 3; i++)
		client_add_buffer(&player, 64, 40, 256, FMT_XRGB);
	surface_init(&clock.surface, &screen, false);
	for (int i = 0; i < 2; i++)
		client_add_buffer(&clock, 16, 16, 64, FMT_XRGB);

	for (int frame = 0; frame < 40; frame++) {
		client_draw(&player, frame);
		if (frame % 5 == 0)
			client_draw(&clock, frame / 5);
		if (frame % 3 != 1)
			output_vblank(&screen);
	}
	printf("player: %u commits, %u flips\n", player.surface.ncommits, screen.nflips);

	/* A photograph, in the format that the camera has, then a thumbnail. */
	surface_init(&viewer.surface, &screen, true);
	client_add_buffer(&viewer, 64, 40, 128, FMT_RGB565);
	client_add_buffer(&viewer, 64, 40, 264, FMT_XRGB);
	client_add_buffer(&viewer, 64, 40, 256, FMT_XRGB);
	for (int frame = 0; frame < 3; frame++) {
		client_draw(&viewer, frame);
		output_vblank(&screen);
	}
	printf("viewer: %u composed, %u refused\n", viewer.surface.ncomposed, screen.nrefused);

	client_exit(&viewer);
	client_exit(&clock);
	client_exit(&player);
	output_finish(&screen);
	return 0;
}
