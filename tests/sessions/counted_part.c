// The functions of a family take a part of the struct that the family names: a counter of its own, in the
// middle. The first argument says what goes wrong.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 24
#define whole_of(part, type, member) ((type *)((char *)(part)-offsetof(type, member)))

struct counter {
  long value;
};

struct kref {
  struct counter refs;
};

static inline void kref_init(struct kref *kref) { kref->refs.value = 1; }

static inline void kref_get(struct kref *kref) { __atomic_fetch_add(&kref->refs.value, 1, __ATOMIC_RELAXED); }

static inline int kref_put(struct kref *kref, void (*release)(struct kref *)) {
  if (__atomic_sub_fetch(&kref->refs.value, 1, __ATOMIC_ACQ_REL) != 0) return 0;
  release(kref);
  return 1;
}

struct node {
  struct node *next;
};

struct channel {
  int number;
  struct node node;
  long power[3];
  struct kref kref;
};

static struct node *channels;
static const char *way = "";

static void channel_release(struct kref *kref) { free(whole_of(kref, struct channel, kref)); }

static void channel_open(int number) {
  struct channel *channel = calloc(1, sizeof *channel);
  kref_init(&channel->kref);
  channel->number = number;
  channel->node.next = channels;
  channels = &channel->node;
}

static struct channel *channel_find(int number) {
  for (struct node *at = channels; at != NULL; at = at->next) {
    struct channel *channel = whole_of(at, struct channel, node);
    if (channel->number != number) continue;
    kref_get(&channel->kref);
    return channel;
  }
  return NULL;
}

__attribute__((noinline)) static int channel_fire(int number) {
  struct channel *channel = channel_find(number);
  if (channel == NULL) return 0;
  channel->power[number % 3] += number;
  if (number == 7 && strcmp(way, "leaked") == 0) return 1;  // leaked
  return 1 + kref_put(&channel->kref, channel_release);
}

__attribute__((noinline)) static int channel_put(struct channel *channel) {
  return kref_put(&channel->kref, channel_release);
}

int main(int argc, char **argv) {
  int sum = 0;
  if (argc > 1) way = argv[1];
  for (int i = 0; i < COUNT; i++) channel_open(i);
  for (int i = 0; i <= COUNT; i++) sum += channel_fire(i);
  while (channels != NULL) {
    struct channel *channel = whole_of(channels, struct channel, node);
    channels = channels->next;
    sum += channel_put(channel);
  }
  printf("%d\n", sum);
  return 0;
}
