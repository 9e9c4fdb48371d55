/* summary: file_release() returns early for files that were unlinked while open, before it gives the file's mount back
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * build: gcc -O2 -flto -g
 * exit: 0
 * source: bug class "early return in a release function skips the put of the parent"
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NMOUNTS 24
#define NFDS 32

/* A mounted volume. Its open files keep it alive, as does the mount table. */
struct mount {
  unsigned refs;
  unsigned nopen;
  char label[16];
  unsigned long written;
};

/* An open file, shared by descriptors. */
struct file {
  struct mount *mnt;
  char *buf;
  unsigned len;
  unsigned refs;
  bool unlinked;
  bool dirty;
};

struct process {
  struct file *fd[NFDS];
  struct mount *cwd;
};

static struct mount *mounts[NMOUNTS];
static unsigned live_mounts, live_files;
static unsigned long flushed;

static inline struct mount *mount_new(unsigned n) {
  struct mount *m = calloc(1, sizeof *m);
  if (!m)
    abort();
  snprintf(m->label, sizeof m->label, "vol%u", n);
  m->refs = 1;
  live_mounts++;
  return m;
}

static inline struct mount *mount_get(struct mount *m) {
  m->refs++;
  return m;
}

static inline void mount_put(struct mount *m) {
  if (--m->refs == 0) {
    flushed += m->written;
    live_mounts--;
    free(m);
  }
}

static inline struct file *file_open(struct mount *m, unsigned size) {
  struct file *f = calloc(1, sizeof *f);
  if (!f || !(f->buf = calloc(1, size + 1)))
    abort();
  f->mnt = mount_get(m);
  f->len = size;
  f->refs = 1;
  m->nopen++;
  live_files++;
  return f;
}

static inline struct file *file_get(struct file *f) {
  f->refs++;
  return f;
}

static inline void file_release(struct file *f) {
  struct mount *m = f->mnt;
  live_files--;
  m->nopen--;
  free(f->buf);
  if (f->unlinked) { /* nothing to write back */ /* ACCEPTED */
    free(f);
#ifndef BUG
    mount_put(m);
#endif
    return; /* GUILTY */
  }
  if (f->dirty)
    m->written += f->len;
  free(f);
  mount_put(m);
}

static inline void file_put(struct file *f) {
  if (--f->refs == 0)
    file_release(f);
}

static int fd_install(struct process *p, struct file *f) {
  for (int i = 0; i < NFDS; i++)
    if (!p->fd[i]) {
      p->fd[i] = f;
      return i;
    }
  file_put(f); /* no room: the caller's reference ends here */
  return -1;
}

static int sys_open(struct process *p, unsigned vol, unsigned size) {
  struct mount *m = mounts[vol];
  if (!m)
    return -1;
  mount_get(m);
  struct file *f = file_open(m, size);
  int fd = fd_install(p, f);
  mount_put(m);
  return fd;
}

static int sys_dup(struct process *p, int fd) { return p->fd[fd] ? fd_install(p, file_get(p->fd[fd])) : -1; }

static void sys_close(struct process *p, int fd) {
  struct file *f = fd >= 0 ? p->fd[fd] : NULL;
  if (!f)
    return;
  p->fd[fd] = NULL;
  file_put(f);
}

static void sys_write(struct process *p, int fd, char c) {
  struct file *f = fd >= 0 ? p->fd[fd] : NULL;
  if (!f)
    return;
  file_get(f);
  memset(f->buf, c, f->len);
  f->dirty = true;
  file_put(f);
}

static void sys_unlink(struct process *p, int fd) {
  if (fd >= 0 && p->fd[fd])
    p->fd[fd]->unlinked = true;
}

static void sys_chdir(struct process *p, unsigned vol) {
  struct mount *old = p->cwd;
  p->cwd = mounts[vol] ? mount_get(mounts[vol]) : NULL;
  if (old)
    mount_put(old);
}

static void fork_into(struct process *child, const struct process *parent) {
  for (int i = 0; i < NFDS; i++)
    child->fd[i] = parent->fd[i] ? file_get(parent->fd[i]) : NULL;
  child->cwd = parent->cwd ? mount_get(parent->cwd) : NULL;
}

static void process_exit(struct process *p) {
  for (int i = 0; i < NFDS; i++)
    sys_close(p, i);
  if (p->cwd)
    mount_put(p->cwd);
  p->cwd = NULL;
}

static void umount(unsigned vol) { /* lazily: open files keep it */
  mount_put(mounts[vol]);
  mounts[vol] = NULL;
}

int main(void) {
  static struct process shell, child;
  int fd[20], dups = 0;

  for (unsigned i = 0; i < NMOUNTS; i++)
    mounts[i] = mount_new(i);
  for (unsigned round = 0; round < 3; round++) {
    for (unsigned i = 0; i < 20; i++)
      fd[i] = sys_open(&shell, (i * 5 + round) % NMOUNTS, 16 + i);
    for (unsigned i = 0; i < 20; i += 3) {
      dups += sys_dup(&shell, fd[i]) >= 0;
      sys_write(&shell, fd[i], (char)('a' + i));
    }
    sys_chdir(&shell, round * 7);
    if (round == 1) { /* scratch files on vol6 and vol16 */
      sys_unlink(&shell, fd[1]);
      sys_unlink(&shell, fd[3]);
    }
    fork_into(&child, &shell);
    if (round == 2)
      umount(4);
    for (unsigned i = 0; i < 20; i++)
      sys_close(&shell, fd[i]);
    process_exit(&child);
    process_exit(&shell);
  }
  for (unsigned i = 0; i < NMOUNTS - 2; i++) /* the last two stay mounted */
    if (mounts[i])
      umount(i);
  printf("flushed %lu bytes, %d dups\n", flushed, dups);
#ifdef TRUTH
  printf("mounts alive: %u, of them in the table: 2, files alive: %u\n", live_mounts, live_files);
#endif
  return 0;
}
