/* summary: screen_for_fd() returns the screen of a device that it knows by another descriptor without taking a reference for the caller
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * build: gcc -O3 -g
 * exit: 0
 */
/*
 * gpuscreen - the loader of a software renderer.  There is one screen for a
 * device, however often the device is opened: contexts, surfaces and plain
 * queries that come with any descriptor of it share the screen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FDS      16
#define MAX_CONTEXTS 20

enum cap { CAP_MAX_SIZE, CAP_SAMPLES, CAP_COMPUTE, CAP_FORMATS, NCAPS };

struct screen {
   const char *driver;
   dev_t       device;
   unsigned    refs;
   int         fd;                  /* our own */
   unsigned    caps[NCAPS];
   unsigned    n_contexts, n_imports;
   uint64_t    seqno;
};

struct context {
   struct screen *screen;           /* counted */
   unsigned       flags;
   uint64_t       last_fence;
   uint32_t       pixels[64];
};

struct surface {
   struct screen *screen;           /* counted */
   unsigned       width, height;
   uint32_t       handle;
};

/* Which descriptors belong to which screen; this does not count. */
static struct { int fd; struct screen *screen; } fd_table[MAX_FDS];
static unsigned n_fds;

static struct context *contexts[MAX_CONTEXTS];
static unsigned n_known, n_found, n_created, n_destroyed;

/* ---- the screen --------------------------------------------------------- */

static struct screen *screen_create(int fd, dev_t device)
{
   struct screen *s = calloc(1, sizeof *s);

   if (!s)
      return NULL;
   s->driver = "softrast";
   s->device = device;
   s->refs = 1;
   s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
   s->caps[CAP_MAX_SIZE] = 8192;
   s->caps[CAP_SAMPLES] = 4;
   s->caps[CAP_COMPUTE] = 1;
   s->caps[CAP_FORMATS] = 37;
   n_created++;
   return s;
}

static void screen_destroy(struct screen *s)
{
   for (unsigned i = 0; i < n_fds;) {
      if (fd_table[i].screen == s)
         fd_table[i] = fd_table[--n_fds];
      else
         i++;
   }
   close(s->fd);
   n_destroyed++;
   free(s);
}

static inline struct screen *screen_get(struct screen *s)
{
   s->refs++;
   return s;
}

static inline void screen_put(struct screen *s)
{
   if (--s->refs == 0)
      screen_destroy(s);
}

static void remember_fd(int fd, struct screen *s)
{
   if (n_fds == MAX_FDS)
      abort();
   fd_table[n_fds].fd = fd;
   fd_table[n_fds++].screen = s;
}

/* The screen for the device behind fd; the caller has to put it. */
static struct screen *screen_for_fd(int fd)
{
   struct screen *s;
   struct stat st;

   for (unsigned i = 0; i < n_fds; i++)
      if (fd_table[i].fd == fd) {
         n_known++;
         return screen_get(fd_table[i].screen);
      }

   if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode)) {
      errno = ENODEV;
      return NULL;
   }

   for (unsigned i = 0; i < n_fds; i++)
      if (fd_table[i].screen->device == st.st_rdev) {
         s = fd_table[i].screen;
         remember_fd(fd, s);        /* faster the next time */
         n_found++;
#ifdef BUG
         return s;                                                /* GUILTY */
#else
         return screen_get(s);
#endif
      }

   s = screen_create(fd, st.st_rdev);
   if (s)
      remember_fd(fd, s);
   return s;
}

/* The descriptor is about to be closed. */
static void forget_fd(int fd)
{
   for (unsigned i = 0; i < n_fds; i++)
      if (fd_table[i].fd == fd) {
         fd_table[i] = fd_table[--n_fds];
         return;
      }
}

/* ---- users of the screen ------------------------------------------------- */

static int query_cap(int fd, enum cap cap, unsigned *val)
{
   struct screen *s = screen_for_fd(fd);

   if (!s)
      return -errno;
   *val = s->caps[cap];
   screen_put(s);
   return 0;
}

static struct context *context_new(struct screen *s, unsigned flags)
{
   struct context *ctx = calloc(1, sizeof *ctx);

   if (!ctx)
      abort();
   ctx->screen = s;
   ctx->flags = flags;
   s->n_contexts++;
   return ctx;
}

static struct context *context_create(int fd, unsigned flags)
{
   struct screen *s = screen_for_fd(fd);

   if (!s)
      return NULL;
   if (flags & ~s->caps[CAP_COMPUTE]) {
      screen_put(s);
      return NULL;
   }
   return context_new(s, flags);
}

/* Another context that shares the objects of ctx. */
static struct context *context_share(struct context *ctx)
{
   return context_new(screen_get(ctx->screen), ctx->flags);
}

static void context_draw(struct context *ctx, uint32_t colour)
{
   for (unsigned i = 0; i < 64; i++)
      ctx->pixels[i] = ctx->pixels[i] * 3 + (colour ^ i);
   ctx->last_fence = ++ctx->screen->seqno;
}

static void context_destroy(struct context *ctx)
{
   ctx->screen->n_contexts--;
   screen_put(ctx->screen);
   free(ctx);
}

static int surface_import(struct surface *surf, int fd, uint32_t handle, unsigned width, unsigned height)
{
   struct screen *s = screen_for_fd(fd);

   if (!s)
      return -errno;
   if (width > s->caps[CAP_MAX_SIZE] || height > s->caps[CAP_MAX_SIZE]) {
      screen_put(s);
      return -E2BIG;
   }
   s->n_imports++;
   *surf = (struct surface){ s, width, height, handle };
   return 0;
}

static void surface_release(struct surface *surf)
{
   if (surf->screen)
      screen_put(surf->screen);
   memset(surf, 0, sizeof *surf);
}

int main(void)
{
   struct surface surfaces[8] = { 0 };
   struct screen *loader;
   unsigned val, total = 0, failed = 0;
   uint32_t sum = 0;
   int fds[4], dir, extra;

   fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
   for (int i = 1; i < 4; i++)
      fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
   dir = open("/", O_RDONLY | O_CLOEXEC);
   if (fds[3] < 0 || dir < 0)
      return 1;
   loader = screen_for_fd(fds[0]);              /* kept until the end */
   if (!loader)
      return 1;

   for (unsigned i = 0; i < 14; i++) {
      /* the compositor's own descriptor first, clients' ones later on */
      contexts[i] = i % 4 == 3 ? context_share(contexts[i - 1]) : context_create(fds[i < 6 ? 0 : i % 3], i % 2);
      failed += contexts[i] == NULL;
   }
   for (int i = 0; i < NCAPS; i++)
      if (query_cap(i == CAP_FORMATS ? dir : fds[i], (enum cap)i, &val) == 0)
         total += val;

   for (unsigned i = 0; i < 8; i++)
      failed += surface_import(&surfaces[i], fds[i % 4], 100 + i, 256u << i, 64) < 0;

   /* a client that opens the device for one question */
   extra = open("/dev/null", O_RDWR | O_CLOEXEC);
   failed += query_cap(extra, CAP_SAMPLES, &val) < 0;
   forget_fd(extra);
   close(extra);

   failed += context_create(fds[1], 6) == NULL;         /* flags we do not have */
   for (unsigned i = 14; i < MAX_CONTEXTS; i++)
      contexts[i] = context_create(fds[i % 4], 0);

   for (unsigned round = 0; round < 5; round++)
      for (unsigned i = 0; i < MAX_CONTEXTS; i++)
         context_draw(contexts[i], i * 7919 + round);
   for (unsigned i = 0; i < MAX_CONTEXTS; i++)
      sum = sum * 31 + contexts[i]->pixels[i] + (uint32_t)contexts[i]->last_fence;
   printf("%s: %u contexts, caps %u, %u requests failed, sum %08x\n",
          loader->driver, loader->n_contexts, total, failed, sum);

   for (unsigned i = 0; i < 8; i++)
      surface_release(&surfaces[i]);
   for (unsigned i = 0; i < MAX_CONTEXTS; i++)
      context_destroy(contexts[i]);
   screen_put(loader);
   for (int i = 0; i < 4; i++)
      close(fds[i]);
   close(dir);
   printf("descriptors: %u times known, %u times found by device; screens: %u made, %u destroyed\n",
          n_known, n_found, n_created, n_destroyed);
   return 0;
}
