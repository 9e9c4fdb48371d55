#include "growth_places.h"

// The digits of a number are octal. A macro does not expand within itself: so there is one for each digit.
#define DIGIT_1(what, n) \
  what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7)
#define DIGIT_2(what, n) \
  DIGIT_1(what, n##0)    \
  DIGIT_1(what, n##1)    \
  DIGIT_1(what, n##2)    \
  DIGIT_1(what, n##3) DIGIT_1(what, n##4) DIGIT_1(what, n##5) DIGIT_1(what, n##6) DIGIT_1(what, n##7)
#define DIGIT_3(what, n) \
  DIGIT_2(what, n##0)    \
  DIGIT_2(what, n##1)    \
  DIGIT_2(what, n##2)    \
  DIGIT_2(what, n##3) DIGIT_2(what, n##4) DIGIT_2(what, n##5) DIGIT_2(what, n##6) DIGIT_2(what, n##7)
#define ALL(what) DIGIT_3(what, 0) DIGIT_3(what, 1) DIGIT_3(what, 2) DIGIT_3(what, 3)

#define PUTS_TOO_OFTEN(n)                                    \
  __attribute__((noinline)) static void over_put_##n(void) { \
    over_put();                                              \
    __asm__ volatile("");                                    \
  }
#define LEAKS(n)                                         \
  __attribute__((noinline)) static void leak_##n(void) { \
    leak();                                              \
    __asm__ volatile("");                                \
  }
#define OVER_PUT(n) over_put_##n,
#define LEAK(n) leak_##n,

ALL(PUTS_TOO_OFTEN)
ALL(LEAKS)

void (*const over_puts[2048])(void) = {ALL(OVER_PUT)};
void (*const leaks[2048])(void) = {ALL(LEAK)};
