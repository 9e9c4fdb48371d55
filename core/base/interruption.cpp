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
  if (listening == nullptr || listening->ask(doing)) return;
  throw Interrupted("stopped by Ctrl-C while " + doing());
}

void Interruption::tell(const Text& doing) {
  if (listening != nullptr && !listening->ask(doing)) listening->stopped_ = true;
}

bool Interruption::ask(const Text& doing) {
  const bool go_on = listener_(doing);
  return !std::exchange(stopped_, false) && go_on;
}

}  // namespace refhist
