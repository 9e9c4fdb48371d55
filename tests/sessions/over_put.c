// References given back once too often, in different ways: `over_put WAY`. The put that comes too late is
// everywhere one that is right.
#include <stdlib.h>
#include <string.h>

struct item {
  char name[40];  // what malloc overwrites of a free block
  int id;
  volatile int refs;  // stored before the block is freed
};

struct cell {
  struct cell *next;
  struct item *item;
};

struct box {
  int room;
  struct item *item;
};

static struct item *shelf[8];
static struct cell *queue;
static int is_urgent;

__attribute__((noinline)) struct item *item_new(int id) {
  struct item *item = calloc(1, sizeof *item);
  item->id = id;
  item->refs = 1;
  return item;
}

__attribute__((noinline)) struct item *item_get(struct item *item) {
  item->refs++;
  return item;
}

__attribute__((noinline)) void item_put(struct item *item) {
  if (--item->refs == 0) free(item);
}

__attribute__((noinline)) static void enqueue(struct cell *cell) {
  cell->next = queue;
  queue = cell;
}

__attribute__((noinline)) static void push(struct item *item) {
  struct cell *cell = malloc(sizeof *cell);
  cell->item = item_get(item);
  enqueue(cell);
}

// Without a reference of its own.
__attribute__((noinline)) static void push_urgent(struct item *item) {
  struct cell *cell = malloc(sizeof *cell);
  cell->item = item; /* OVER urgent */
  enqueue(cell);
}

__attribute__((noinline)) static void deliver(void) {
  while (queue != NULL) {
    struct cell *cell = queue;
    queue = cell->next;
    item_put(cell->item);
    free(cell);
  }
}

static void urgent(void) {
  for (int i = 0; i < 6; i++) {
    struct item *item = item_new(i);
    push(item);
    if (is_urgent && i == 3) push_urgent(item);
    item_put(item);
    if (i != 3) deliver();
  }
  deliver();
}

__attribute__((noinline)) static int box_fill(struct box *box, struct item *item) {
  if (box->room < item->id) {
    item_put(item); /* OVER refused */
    return -1;
  }
  if (box->item != NULL) item_put(box->item);
  box->item = item_get(item);
  return 0;
}

__attribute__((noinline)) static struct item *look_up(int id) { return item_get(shelf[id]); }

__attribute__((noinline)) static int move(struct box *box, int id) {
  struct item *item = look_up(id);
  int failed = box_fill(box, item);
  item_put(item);
  return failed;
}

static void refused(void) {
  struct box *box = calloc(1, sizeof *box);
  box->room = 5;
  for (int i = 0; i < 8; i++) shelf[i] = item_new(i < 7 ? i % 5 : 9);
  for (int i = 0; i < 8; i++) move(box, i);
  if (box->item != NULL) item_put(box->item);
  for (int i = 0; i < 8; i++) item_put(shelf[i]);
  free(box);
}

// Which of the two puts in the same function is wrong cannot be seen.
__attribute__((noinline)) static void twice(void) {
  struct item *item = item_new(1);
  shelf[0] = item_get(item);
  item_put(item);
  if (shelf[0]->id == 1) item_put(item);
  item_put(shelf[0]);
}

struct mount {
  char name[24];
  struct item *active;
};

__attribute__((noinline)) static struct mount *mount_new(struct item *item) {
  struct mount *mount = calloc(1, sizeof *mount);
  mount->active = item;
  return mount;
}

// The pointer stays behind.
__attribute__((noinline)) static void detach(struct mount *mount) {
  item_put(mount->active); /* OVER stays */
  mount->name[0] = '-';
}

__attribute__((noinline)) static void mount_close(struct mount *mount) {
  if (mount->active != NULL) item_put(mount->active);
  free(mount);
}

static struct mount *volatile mounts[8];  // each use looks there

__attribute__((noinline)) static void mount_all(void) {
  for (int i = 0; i < 6; i++) {
    mounts[i] = mount_new(item_new(i));
    shelf[i] = item_get(mounts[i]->active);
  }
}

static void stays(void) {
  mount_all();
  detach(mounts[3]);
  for (int i = 0; i < 6; i++) mount_close(mounts[i]);
  for (int i = 0; i < 6; i++) item_put(shelf[i]);
}

__attribute__((noinline)) static void copy(struct mount *to, const struct mount *from) {
  to->active = from->active; /* OVER passes */
}

__attribute__((noinline)) static void clear(struct mount *mount) {
  struct item *item = mount->active;
  mount->active = NULL;
  item_put(item);
}

// The copy has the pointer between two events only.
static void passes(void) {
  mount_all();
  mounts[6] = mount_new(NULL);
  copy(mounts[6], mounts[3]);
  clear(mounts[6]);
  for (int i = 0; i < 6; i++) clear(mounts[i]);
  for (int i = 0; i < 6; i++) item_put(shelf[i]);
}

int main(int argc, char **argv) {
  const char *way = argc > 1 ? argv[1] : "";
  is_urgent = strcmp(way, "urgent") == 0;
  if (is_urgent) urgent();
  if (strcmp(way, "refused") == 0) refused();
  if (strcmp(way, "twice") == 0) twice();
  if (strcmp(way, "stays") == 0) stays();
  if (strcmp(way, "passes") == 0) passes();
  _Exit(0);
}
