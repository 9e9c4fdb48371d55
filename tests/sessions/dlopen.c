// Loads a library, uses it, unloads it, and loads it again at another address. Its path is the first
// argument.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

static void *load_and_use(const char *path, int times, void **base) {
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL) return NULL;
  int (*use)(int) = (int (*)(int))dlsym(library, "plugin_use");
  Dl_info info;
  if (use == NULL || dladdr((void *)use, &info) == 0) return NULL;
  *base = info.dli_fbase;
  use(times);
  return library;
}

int main(int argc, char **argv) {
  void *first = NULL, *second = NULL;
  if (argc < 2) return 1;
  void *library = load_and_use(argv[1], 4, &first);
  if (library == NULL || dlclose(library) != 0) return 2;
  // Something else now takes the place.
  if (mmap(first, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != first)
    return 3;
  library = load_and_use(argv[1], 6, &second);
  if (library == NULL) return 4;
  printf("moved %d\n", first != second);
  dlclose(library);
  return 5;
}
