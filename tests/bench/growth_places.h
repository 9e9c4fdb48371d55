// 2,048 functions that make the same mistake: for refhist each is a finding of its own.
#pragma once

void over_put(void);
void leak(void);

extern void (*const over_puts[2048])(void);
extern void (*const leaks[2048])(void);
