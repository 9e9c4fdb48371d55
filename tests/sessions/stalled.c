// Gets and puts without end in sight, faster than anybody can look.
//   stalled PAIRS READY
// in rounds of 32 gets and then 32 puts; writes a byte to the file READY after a tenth of them, and sleeps
// for two seconds after half of them.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "conn.h"

enum { HELD = 32 };

static __attribute__((noinline)) int churn(struct conn *conn, long rounds, int ready) {
  for (long round = 0; round < rounds; round++) {
    if (round == rounds / 10 && write(ready, "r", 1) != 1) return 2;
    if (round == rounds / 2) sleep(2);
    for (int i = 0; i < HELD; i++) conn_get(conn);
    for (int i = 0; i < HELD; i++) conn_put(conn);
  }
  return 9;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  struct conn *conn = conn_new(1);
  const int status = churn(conn, atol(argv[1]) / HELD, open(argv[2], O_WRONLY));
  conn_put(conn);
  return status;
}
