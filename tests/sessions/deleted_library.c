// Loads a library (first argument), deletes its file and only then uses it: four gets and puts of `subject`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

__attribute__((noinline)) void deleted(void) { __asm__ volatile(""); }

int main(int argc, char **argv) {
  if (argc < 2) return 1;
  void *library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL || unlink(argv[1]) != 0) return 2;
  int (*use)(int) = (int (*)(int))dlsym(library, "plugin_use");
  if (use == NULL) return 3;
  deleted();
  use(4);
  return 5;
}
