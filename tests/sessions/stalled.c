// Gets and puts without end in sight, faster than anybody can look.
//   stalled PAIRS READY
// writes a byte to the file READY after a tenth of them.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "conn.h"

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  const long pairs = atol(argv[1]);
  const int ready = open(argv[2], O_WRONLY);
  struct conn *conn = conn_new(1);
  for (long i = 0; i < pairs; i++) {
    if (i == pairs / 10 && write(ready, "r", 1) != 1) return 2;
    conn_get(conn);
    conn_put(conn);
  }
  conn_put(conn);
  return 9;
}
