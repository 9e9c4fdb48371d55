// Contexts and devices of libudev, libkmod and libsystemd.
#include <libkmod.h>
#include <libudev.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

#include "tally.h"

static sd_event *new_event(void) {
  sd_event *event = NULL;
  if (sd_event_new(&event) < 0) abort();
  return event;
}

int main(void) {
  static void *kept[4];
  TWO_LIVES("udev", kept[0], udev_new(), udev_ref, udev_unref);
  TWO_LIVES("udev_enumerate", kept[1], udev_enumerate_new(kept[0]), udev_enumerate_ref, udev_enumerate_unref);
  TWO_LIVES("kmod_ctx", kept[2], kmod_new(NULL, NULL), kmod_ref, kmod_unref);
  TWO_LIVES("sd_event", kept[3], new_event(), sd_event_ref, sd_event_unref);
  // A module is kept in a pool of its context, without a reference: the same call hands it out again.
  struct kmod_module *module = NULL;
  if (kmod_module_new_from_name(kept[2], "refhist_test", &module) < 0) abort();
  tally("get", "kmod_ctx", kept[2]);  // the module holds its context
  tally("init", "kmod_module", module);
  TAKE("kmod_module", module, kmod_module_ref);
  if (kmod_module_new_from_name(kept[2], "refhist_test", &module) < 0) abort();
  tally("get", "kmod_module", module);
  GIVE("kmod_module", module, kmod_module_unref);
  GIVE("kmod_module", module, kmod_module_unref);
  checkpoint();
  return 0;
}
