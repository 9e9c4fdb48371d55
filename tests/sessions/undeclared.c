// Families of which their user tells nothing but the functions: where the counter is, and how each function
// is handed its object, only the code and its types tell.
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

unsigned births, taken, given;

APART void checkpoint(void) { __asm__ volatile(""); }

/// Whatever is behind the pointer may be another from here on, as after the work of a real program.
static inline void touch(void *anything) { __asm__ volatile("" : : "r"(anything) : "memory"); }

// Inlined everywhere; the counter lies above two bits of flags.
struct route {
  char prefix[16];
  unsigned metric, state;
  struct route *next;
};
static struct route *unused;
static inline struct route *route_new(const char *prefix, unsigned flags) {
  struct route *route = calloc(1, sizeof *route);
  snprintf(route->prefix, sizeof route->prefix, "%s", prefix);
  route->state = 4u | flags;
  births++;
  return route;
}
static inline struct route *route_take(struct route *route) {
  route->state += 4u;
  taken++;
  return route;
}
static inline void route_leave(struct route *route) {
  given++;
  route->state -= 4u;
  if (route->state >= 4u) return;
  route->next = unused;
  unused = route;
}

// The put is handed where the pointer is, and clears it.
struct buffer {
  size_t length;
  int users;
  char *data;
};
APART struct buffer *buffer_new(size_t length) {
  struct buffer *buffer = malloc(sizeof *buffer);
  buffer->length = length;
  buffer->users = 1;
  buffer->data = calloc(1, length);
  return buffer;
}
APART struct buffer *buffer_share(struct buffer *buffer) {
  buffer->users++;
  return buffer;
}
APART void buffer_clear(struct buffer **place) {
  struct buffer *buffer = *place;
  *place = NULL;
  if (buffer == NULL || --buffer->users > 0) return;
  free(buffer->data);
  free(buffer);
}

// The counted part lies inside of what is made.
struct counted {
  atomic_int count;
};
static inline void counted_take(struct counted *part) { atomic_fetch_add(&part->count, 1); }
static inline int counted_leave(struct counted *part, void (*end)(struct counted *)) {
  if (atomic_fetch_sub(&part->count, 1) != 1) return 0;
  end(part);
  return 1;
}
struct device {
  char name[24];
  struct counted counted;
  struct device *parent;
};
static void device_end(struct counted *part) {
  struct device *device = (struct device *)((char *)part - offsetof(struct device, counted));
  if (device->parent) counted_leave(&device->parent->counted, device_end);
  free(device);
}
struct device *device_make(const char *name, struct device *parent) {
  struct device *device = calloc(1, sizeof *device);
  snprintf(device->name, sizeof device->name, "%s", name);
  atomic_store(&device->counted.count, 1);
  if (parent) counted_take(&parent->counted);
  device->parent = parent;
  return device;
}

static struct route *table[6];
static char seen[6];

static void routes(int wrong) {
  for (int i = 0; i < 6; i++) {
    table[i] = route_new("/way", i % 2);
    touch(table);
  }
  for (int i = 0; i < 6; i++) {
    struct route *route = route_take(table[i]);
    seen[i] = route->prefix[1];
    touch(route);
    if (!wrong || i != 3) route_leave(route);  // the leak of a route
  }
  for (int i = 0; i < 6; i++) {
    struct route *route = table[i];
    table[i] = NULL;
    route_leave(route);
  }
}

static void send_buffer(struct buffer **place, int failed) {
  (*place)->data[0] = 1;
  if (failed) buffer_clear(place);  // the put too many
}

static void buffers(int wrong) {
  for (int i = 0; i < 5; i++) {
    struct buffer *buffer = buffer_new(100);
    struct buffer *mine = buffer_share(buffer);
    struct buffer *again = mine;
    send_buffer(&again, wrong && i == 4);
    buffer_clear(&mine);
    buffer_clear(&buffer);
  }
}

static int probe(struct device *device, int number, int wrong) {
  counted_take(&device->counted);
  touch(device);
  if (wrong && number == 2) return -1;  // the leak of a device
  counted_leave(&device->counted, device_end);
  return 0;
}

static void devices(int wrong) {
  struct device *made[4];
  struct device *bus = device_make("bus", NULL);
  for (int i = 0; i < 4; i++) made[i] = device_make("device", bus);
  for (int i = 0; i < 4; i++) {
    probe(made[i], i, wrong);
    touch(made);
  }
  for (int i = 0; i < 4; i++) counted_leave(&made[i]->counted, device_end);
  counted_leave(&bus->counted, device_end);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  routes(strcmp(what, "route") == 0);
  devices(strcmp(what, "device") == 0);
  buffers(strcmp(what, "buffer") == 0);
  checkpoint();
  printf("births %u\ntaken %u\ngiven %u\nseen %d\n", births, taken, given, seen[0]);
  return 0;
}
