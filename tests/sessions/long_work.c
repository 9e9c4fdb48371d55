// One leaked object beside as many MiB of memory as the argument says, all of which a scan has to read.
#include <stdlib.h>
#include <string.h>

#include "conn.h"

static char *memory;

int main(int argc, char **argv) {
  const size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 0) << 20;
  conn_new(1);
  memory = malloc(size + 1);
  if (memory == NULL) return 1;
  memset(memory, 1, size + 1);
  checkpoint();
  free(memory);
  return 0;
}
