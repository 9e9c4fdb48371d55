// One reference counting mistake, chosen by the first argument. The objects are static, so that none of them
// corrupts the allocator; slot_free only marks its object.
#include <stdio.h>
#include <string.h>

struct slot {
  int refs;
  int in_use;
};

static struct slot slots[4];
struct slot *subject = &slots[0];

__attribute__((noinline)) struct slot *slot_new(void) {
  for (struct slot *slot = slots;; slot++) {
    if (slot->in_use) continue;
    slot->in_use = 1;
    slot->refs = 1;
    return slot;
  }
}

__attribute__((noinline)) void slot_free(struct slot *slot) {
  slot->in_use = 0;
  __asm__ volatile("");
}

__attribute__((noinline)) void slot_get(struct slot *slot) { slot->refs++; }

__attribute__((noinline)) void slot_put(struct slot *slot) {
  if (--slot->refs == 0) slot_free(slot);
}

__attribute__((noinline)) void slot_drop(struct slot *slot) { slot->refs--; }

__attribute__((noinline)) static void over_put(void) {
  slot_drop(subject);
  slot_drop(subject);
}

__attribute__((noinline)) static void put_after_free(void) {
  slot_put(subject);
  slot_put(subject);
}

__attribute__((noinline)) static void get_after_free(void) {
  slot_put(subject);
  slot_get(subject);
}

__attribute__((noinline)) static void resurrect(void) {
  slot_drop(subject);
  slot_get(subject);
}

__attribute__((noinline)) static void free_referenced(void) {
  slot_get(subject);
  slot_free(subject);
}

__attribute__((noinline)) static void change_unobserved(void) {
  subject->refs += 3;
  slot_get(subject);
}

__attribute__((noinline)) static void clean(void) {
  slot_get(subject);
  slot_put(subject);
  slot_put(subject);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*make)(void);
  } mistakes[] = {
      {"over-put", over_put},
      {"put-after-free", put_after_free},
      {"get-after-free", get_after_free},
      {"resurrection", resurrect},
      {"free-while-referenced", free_referenced},
      {"unobserved-change", change_unobserved},
      {"clean", clean},
  };
  slot_new();
  for (unsigned i = 0; argc > 1 && i < sizeof mistakes / sizeof mistakes[0]; i++) {
    if (strcmp(mistakes[i].name, argv[1]) == 0) mistakes[i].make();
  }
  printf("refs %d\n", subject->refs);
  return 0;
}
