// Three objects one after another at one address, without any allocator in between.
#include <stdio.h>

struct slot {
  int refs;
};

static struct slot the_slot;
struct slot *subject = &the_slot;

__attribute__((noinline)) struct slot *slot_new(int refs) {
  the_slot.refs = refs;
  return &the_slot;
}

__attribute__((noinline)) void slot_get(struct slot *slot) { slot->refs++; }
__attribute__((noinline)) void slot_put(struct slot *slot) { slot->refs--; }
__attribute__((noinline)) void checkpoint(void) { __asm__ volatile(""); }

int main(void) {
  struct slot *slot = slot_new(1);
  slot_put(slot);

  slot = slot_new(1);
  slot_get(slot);
  slot_get(slot);
  slot_put(slot);
  slot_put(slot);
  slot_put(slot);

  slot = slot_new(1);
  slot_get(slot);
  checkpoint();
  slot_put(slot);
  slot_put(slot);
  return 0;
}
