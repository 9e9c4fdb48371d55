// Debian's json-c three times in a namespace of its own, with a C library and an allocator of its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  for (int round = 0; round < 3; round++) {
    void *library = dlmopen(LM_ID_NEWLM, "libjson-c.so.5", RTLD_NOW);
    if (library == NULL) return 1;
    void *(*new_object)(void) = (void *(*)(void))dlsym(library, "json_object_new_object");
    void *(*get)(void *) = (void *(*)(void *))dlsym(library, "json_object_get");
    int (*put)(void *) = (int (*)(void *))dlsym(library, "json_object_put");
    for (int i = 0; i < 20; i++) {
      void *object = new_object();
      put(get(object));
      put(object);
    }
    dlclose(library);
  }
  puts("closed 3");
  return 5;
}
