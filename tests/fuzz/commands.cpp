// Lines that somebody types, through the C ABI, first without a history and then with that of
// REFHIST_FUZZ_BASE. There is no process. Nothing but the scratch folder is written to.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "fuzz_input.h"
#include "refhist/refhist.h"

namespace {

using namespace refhist;

int no_process(int* state, std::int64_t*, int*, rh_sink, void*) {
  *state = RH_PROCESS_NONE;
  return 1;
}

rh_port port_without_process() {
  rh_port port{};
  port.name = "gdb";
  port.process = no_process;
  port.read_memory = [](std::uint64_t, void*, std::size_t) { return 0; };
  port.write_memory = [](std::uint64_t, const void*, std::size_t) { return 0; };
  port.registers = [](std::int64_t, std::uint64_t*) { return 0; };
  port.threads = [](rh_sink, void*) { return 0; };
  port.selected_thread = [](std::int64_t*) { return 0; };
  port.modules = [](rh_sink, void*) { return 0; };
  port.regions = [](rh_sink, void*) { return 0; };
  port.backtrace = [](std::int64_t, std::uint64_t, rh_sink, void*) { return 0; };
  port.place_breakpoint = [](std::uint64_t) { return 0; };
  port.remove_breakpoint = [](std::uint64_t) { return 1; };
  port.breakpoint_alive = [](std::uint64_t) { return 0; };
  port.user_breakpoints = [](rh_sink, void*) { return 0; };
  port.evaluate = [](const char*, std::uint64_t*, rh_sink sink, void* context) {
    sink(context, "no such thing", 0, 0, 0, 0);
    return 0;
  };
  port.print = [](const char*) {};
  port.interrupted = [] { return 0; };
  return port;
}

/// The current folder as long as it lives.
class Scratch {
 public:
  Scratch() {
    std::filesystem::create_directory(path_);
    std::filesystem::current_path(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      std::filesystem::remove_all(entry.path());
  }

 private:
  std::filesystem::path path_ = fmt::format("/dev/shm/refhist-fuzz-commands-{}", getpid());
};

void type(rh_session* session, const rh_port& port, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const char* text = nullptr;
    int status = -1;
    (void)rh_complete(session, line.c_str());
    const int done = rh_execute(session, &port, line.c_str(), &text, &status);
    const std::string_view said = text == nullptr ? "" : text;
    // What cannot be done is told in one line.
    if (done == 0 && (said.empty() || said.find('\n') != std::string_view::npos)) {
      fmt::print(stderr, "'{}' failed with '{}'\n", line, said);
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLines = 8;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find_first_of("/~") != std::string::npos) return 0;  // other folders are none of ours
  std::vector<std::string> lines = split(text, '\n');
  lines.resize(std::min(lines.size(), kLines));
  const char* base = std::getenv("REFHIST_FUZZ_BASE");
  if (base == nullptr) std::abort();
  static const std::string open = "open " + std::filesystem::absolute(split(base, ':').front()).string();
  static const Scratch scratch;
  const rh_port port = port_without_process();
  for (const bool with_history : {false, true}) {
    rh_session* session = rh_session_new("");
    if (with_history) type(session, port, {open});
    type(session, port, lines);
    rh_session_free(session);
  }
  scratch.clear();
  return 0;
}
