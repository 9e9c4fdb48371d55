#include "runner/debugger_nursery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/replaced_file.h"

namespace refhist {

DebuggerNursery::DebuggerNursery(const DebuggerScript& script, const std::string& folder) {
  const std::string name = folder + "/nursery";
  // For reading, too: it waits for nobody, and has an end for the nursery only when we do.
  if (mkfifo(name.c_str(), 0600) == 0) orders_ = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (orders_ < 0) fail("{}: {}", name, std::strerror(errno));
  try {
    replace_file(name + ".txt", script.nursery_text(name));
    process_.emplace(script.child_command(name + ".txt"), script.environment({}),
                     StartedProcess::Files{.errors = name + ".log"});
  } catch (...) {
    close(orders_);
    throw;
  }
}

DebuggerNursery::~DebuggerNursery() {
  process_->kill();
  close(orders_);
}

void DebuggerNursery::order(long child, const std::string& script, const std::string& log) const {
  const nlohmann::json order = {{"child", child}, {"script", script}, {"log", log}};
  const std::string line = order.dump(-1, ' ', true) + "\n";
  if (write(orders_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    fail("no debugger could be ordered: {}", std::strerror(errno));
}

}  // namespace refhist
