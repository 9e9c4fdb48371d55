// Gets and puts without end in sight, faster than anybody can look.
//   stalled PAIRS READY GO
// in rounds of 32 gets and then 32 puts. After a tenth of them, and after half of them, it writes a byte to
// the pipe READY and waits for one in GO.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "conn.h"

enum { HELD = 32 };

static int meet(int ready, int go) {
  char byte;
  return write(ready, "r", 1) == 1 && read(go, &byte, 1) == 1;
}

static __attribute__((noinline)) int churn(struct conn *conn, long rounds, int ready, int go) {
  for (long round = 0; round < rounds; round++) {
    if ((round == rounds / 10 || round == rounds / 2) && !meet(ready, go)) return 2;
    for (int i = 0; i < HELD; i++) conn_get(conn);
    for (int i = 0; i < HELD; i++) conn_put(conn);
  }
  return 9;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  struct conn *conn = conn_new(1);
  const int status = churn(conn, atol(argv[1]) / HELD, open(argv[2], O_WRONLY), open(argv[3], O_RDONLY));
  conn_put(conn);
  return status;
}
