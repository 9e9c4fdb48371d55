// Loops that may take long, deep in the core, ask here whether to go on. Whoever can ask the user listens, so
// that no debugger has to be handed down to them.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace refhist {

/// The user pressed Ctrl-C. The work is undone as a whole and can be begun again.
class Interrupted : public Error {
 public:
  using Error::Error;
};

class Interruption {
 public:
  using Text = std::function<std::string()>;
  /// Told what is being done; false stops it.
  using Listener = std::function<bool(const Text& doing)>;

  /// `listener` is asked on this thread as long as this object lives.
  explicit Interruption(Listener listener);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Throws Interrupted when the listener says so; does nothing when nobody listens.
  static void check(const Text& doing);
  /// For loops that are not to be left half done: the listener is told, and a Ctrl-C that it hears of waits
  /// for the next `check`.
  static void tell(const Text& doing);

 private:
  [[nodiscard]] bool ask(const Text& doing);

  Listener listener_;
  bool stopped_ = false;
  Interruption* outer_;
};

}  // namespace refhist
