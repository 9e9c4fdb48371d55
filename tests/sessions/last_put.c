// Inlined puts of many a shape, each of which frees its object at the last one: compilers leave out the store
// of zero there, or the store of any count. The program counts its deaths itself.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COPY static inline __attribute__((always_inline))
#define APART __attribute__((noinline))

static int births, taken, given, deaths;

#define SHAPE(name, type, body)                                                        \
  struct name {                                                                        \
    long before;                                                                       \
    type refs;                                                                         \
    struct name *next;                                                                 \
  };                                                                                   \
  APART struct name *name##_new(void) {                                                \
    struct name *o = malloc(sizeof *o);                                                \
    o->refs = 1;                                                                       \
    ++births;                                                                          \
    return o;                                                                          \
  }                                                                                    \
  COPY void name##_get(struct name *o) { o->refs++; }                                  \
  COPY void name##_end(struct name *o) {                                               \
    ++deaths;                                                                          \
    free(o);                                                                           \
  }                                                                                    \
  COPY void name##_put(struct name *o) body APART void name##_borrow(struct name *o) { \
    ++taken;                                                                           \
    name##_get(o);                                                                     \
  }                                                                                    \
  APART void name##_give(struct name *o) {                                             \
    ++given;                                                                           \
    name##_put(o);                                                                     \
  }                                                                                    \
  APART void name##_lives(void) {                                                      \
    for (int i = 0; i < 3; ++i) {                                                      \
      struct name *o = name##_new();                                                   \
      name##_borrow(o);                                                                \
      name##_borrow(o);                                                                \
      name##_give(o);                                                                  \
      name##_give(o);                                                                  \
      ++given;                                                                         \
      name##_put(o);                                                                   \
    }                                                                                  \
    __asm__ volatile(""); /* no tail call: the copy is on the stack */                 \
  }

SHAPE(plain, int, {
  if (--o->refs == 0) plain_end(o);
})
SHAPE(checked, int, {
  if (o->refs <= 0) abort();
  if (--o->refs == 0) checked_end(o);
})
SHAPE(late, int, {
  if (o->refs-- == 1) late_end(o);
})
SHAPE(upper, int, {
  if (o->refs > 1) {
    --o->refs;
    return;
  }
  upper_end(o);
})
SHAPE(sole, unsigned, {
  if (o->refs == 1) {
    sole_end(o);
    return;
  }
  o->refs--;
})
SHAPE(signed_one, int, {
  if (--o->refs <= 0) signed_one_end(o);
})
SHAPE(wide, int64_t, {
  if (o->refs < 0) return;
  if (--o->refs == 0) wide_end(o);
})
SHAPE(wide_unsigned, uint64_t, {
  if (!o->refs) abort();
  if (!--o->refs) wide_unsigned_end(o);
})
SHAPE(kept, int, {
  const int left = o->refs - 1;
  if (left != 0) {
    o->refs = left;
  } else {
    kept_end(o);
  }
})
SHAPE(stored, int, {
  const int left = o->refs - 1;
  o->refs = left;
  if (left == 0) stored_end(o);
})

SHAPE(atomic, int, {
  if (__sync_sub_and_fetch(&o->refs, 1) == 0) atomic_end(o);
})

/* The last reference is given back in another function, which nobody follows. */
struct slow;
APART void slow_rest(struct slow *o);
SHAPE(slow, int, {
  int now = __atomic_load_n(&o->refs, __ATOMIC_RELAXED);
  do {
    if (now == 1) {
      slow_rest(o);
      return;
    }
  } while (!__atomic_compare_exchange_n(&o->refs, &now, now - 1, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
})
APART void slow_rest(struct slow *o) {
  if (__atomic_sub_fetch(&o->refs, 1, __ATOMIC_ACQ_REL) == 0) slow_end(o);
}

/* Two copies of one put next to each other: the second is the last. */
APART void atomic_in_a_row(struct atomic *o) {
  given += 2;
  atomic_put(o);
  atomic_put(o);
}

APART void atomic_short_life(void) {
  struct atomic *o = atomic_new();
  atomic_borrow(o);
  atomic_in_a_row(o);
}

int main(void) {
  plain_lives();
  checked_lives();
  late_lives();
  upper_lives();
  sole_lives();
  signed_one_lives();
  wide_lives();
  wide_unsigned_lives();
  kept_lives();
  stored_lives();
  atomic_lives();
  atomic_short_life();
  slow_lives();
  printf("births %d\ntaken %d\ngiven %d\ndeaths %d\n", births, taken, given, deaths);
  return births == deaths ? 7 : 1;
}
