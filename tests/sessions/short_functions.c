// A get whose four bytes have no room for a jump: another function begins right behind it.
//   short_functions CALLS
#include <stdlib.h>

struct conn {
  int refs;
};

struct conn *tiny_new(void);
void tiny_get(struct conn *conn);
void tiny_put(struct conn *conn);

__asm__(
    ".text\n"
    ".globl tiny_get\n"
    ".type tiny_get, @function\n"
    "tiny_get:\n"
    "  .cfi_startproc\n"
    "  addl $1, (%rdi)\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size tiny_get, . - tiny_get\n"
    ".globl tiny_put\n"
    ".type tiny_put, @function\n"
    "tiny_put:\n"
    "  .cfi_startproc\n"
    "  subl $1, (%rdi)\n"
    "  ret\n"
    "  nop\n"
    "  nop\n"
    "  nop\n"
    "  nop\n"
    "  .cfi_endproc\n"
    ".size tiny_put, . - tiny_put\n");

__attribute__((noinline)) struct conn *tiny_new(void) {
  struct conn *conn = malloc(sizeof *conn);
  conn->refs = 1;
  return conn;
}

int main(int argc, char **argv) {
  const long calls = argc > 1 ? atol(argv[1]) : 1;
  struct conn *conn = tiny_new();
  for (long i = 0; i < calls; i++) {
    tiny_get(conn);
    tiny_put(conn);
  }
  tiny_put(conn);
  free(conn);
  return 3;
}
