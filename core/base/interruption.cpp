#include "base/interruption.h"

#include <utility>

namespace refhist {

namespace {
thread_local Interruption* listening = nullptr;
}  // namespace

Interruption::Interruption(Listener listener)
    : listener_(std::move(listener)), outer_(std::exchange(listening, this)) {}

Interruption::~Interruption() { listening = outer_; }

void Interruption::check(const Text& doing) {
  if (listening == nullptr || listening->listener_(doing)) return;
  throw Interrupted("stopped by Ctrl-C while " + doing());
}

}  // namespace refhist
