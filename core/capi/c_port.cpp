#include "capi/c_port.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"

namespace refhist {

namespace {

static_assert(RH_REGISTERS == kRegisterCount);
static_assert(RH_PROCESS_NONE == static_cast<int>(ProcessState::none));
static_assert(RH_PROCESS_STOPPED == static_cast<int>(ProcessState::stopped));
static_assert(RH_PROCESS_RUNNING == static_cast<int>(ProcessState::running));
static_assert(RH_PROCESS_EXITED == static_cast<int>(ProcessState::exited));
static_assert(RH_PROCESS_CORE == static_cast<int>(ProcessState::core));

struct Item {
  const char* text;
  std::uint64_t a, b, c, d;
};

/// Passes every item that a callback hands over to `take`. What `take` throws must not unwind through
/// the caller's language: it is kept back and thrown once the callback has returned.
template <class Callback, class Take>
int collect(Callback&& callback, Take&& take) {
  struct Context {
    Take& take;
    std::exception_ptr thrown;
  } context{take, nullptr};
  const rh_sink sink = [](void* opaque, const char* text, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                          std::uint64_t d) {
    auto& into = *static_cast<Context*>(opaque);
    if (into.thrown) return;
    try {
      into.take(Item{text == nullptr ? "" : text, a, b, c, d});
    } catch (...) {
      into.thrown = std::current_exception();
    }
  };
  const int answer = callback(sink, &context);
  if (context.thrown) std::rethrow_exception(context.thrown);
  return answer;
}

}  // namespace

std::string_view CPort::name() const { return callbacks_.name; }

ProcessInfo CPort::process() {
  ProcessInfo info;
  int state = RH_PROCESS_NONE;
  int local = 0;
  std::int64_t pid = 0;
  const int known = collect(
      [&](rh_sink sink, void* context) { return callbacks_.process(&state, &pid, &local, sink, context); },
      [&](const Item& item) { info.executable = item.text; });
  if (known == 0) return {};
  info.state = static_cast<ProcessState>(std::clamp<int>(state, RH_PROCESS_NONE, RH_PROCESS_CORE));
  info.pid = static_cast<long>(pid);
  info.local = local != 0;
  return info;
}

long CPort::selected_thread() {
  std::int64_t tid = 0;
  return callbacks_.selected_thread(&tid) != 0 ? static_cast<long>(tid) : 0;
}

std::optional<bool> CPort::is_hit_again(Address address) { return callbacks_.is_hit_again(address) != 0; }

bool CPort::read_memory(Address address, void* out, std::size_t size) {
  return callbacks_.read_memory(address, out, size) != 0;
}

bool CPort::write_memory(Address address, const void* bytes, std::size_t size) {
  return callbacks_.write_memory(address, bytes, size) != 0;
}

bool CPort::set_pc(long tid, Address address) { return callbacks_.set_pc(tid, address) != 0; }

bool CPort::set_registers(long tid, const Registers& registers) {
  return callbacks_.set_registers(tid, registers.value.data()) != 0;
}

std::optional<Registers> CPort::registers(long tid) {
  Registers registers;
  if (callbacks_.registers(tid, registers.value.data()) == 0) return std::nullopt;
  return registers;
}

std::vector<Address> CPort::vector_words(long tid) {
  std::vector<Address> words;
  collect([&](rh_sink sink, void* context) { return callbacks_.vector_words(tid, sink, context); },
          [&](const Item& item) { words.push_back(item.a); });
  return words;
}

std::vector<ThreadInfo> CPort::threads() {
  std::vector<ThreadInfo> threads;
  collect(callbacks_.threads, [&](const Item& item) {
    threads.push_back({static_cast<long>(item.a), item.text});
  });
  return threads;
}

std::vector<ModuleInfo> CPort::modules() {
  std::vector<ModuleInfo> modules;
  collect(callbacks_.modules, [&](const Item& item) { modules.push_back({item.text, item.a}); });
  return modules;
}

std::vector<MemoryRegion> CPort::regions() {
  std::vector<MemoryRegion> regions;
  collect(callbacks_.regions, [&](const Item& item) {
    regions.push_back({.begin = item.a,
                       .end = item.b,
                       .readable = (item.c & 4) != 0,
                       .writable = (item.c & 2) != 0,
                       .executable = (item.c & 1) != 0,
                       .file_offset = item.d,
                       .path = item.text});
  });
  return regions;
}

std::vector<Address> CPort::backtrace(long tid, std::size_t limit) {
  std::vector<Address> pcs;
  collect([&](rh_sink sink, void* context) { return callbacks_.backtrace(tid, limit, sink, context); },
          [&](const Item& item) { pcs.push_back(item.a); });
  return pcs;
}

bool CPort::place_breakpoint(Address address) { return callbacks_.place_breakpoint(address) != 0; }

void CPort::remove_breakpoint(Address address) { callbacks_.remove_breakpoint(address); }

bool CPort::breakpoint_alive(Address address) { return callbacks_.breakpoint_alive(address) != 0; }

std::string CPort::place_watchpoint(Address address, unsigned size) {
  std::string reason = "the debugger refused";
  const int done = collect(
      [&](rh_sink sink, void* context) { return callbacks_.place_watchpoint(address, size, sink, context); },
      [&](const Item& item) { reason = item.text; });
  return done != 0 ? std::string() : reason;
}

void CPort::remove_watchpoint(Address address) { callbacks_.remove_watchpoint(address); }

bool CPort::watchpoint_alive(Address address) { return callbacks_.watchpoint_alive(address) != 0; }

std::optional<std::string> CPort::environment(const std::string& name) {
  std::optional<std::string> value;
  if (callbacks_.environment == nullptr) return value;
  collect([&](rh_sink sink, void* context) { return callbacks_.environment(name.c_str(), sink, context); },
          [&](const Item& item) { value = item.text; });
  return value;
}

bool CPort::set_environment(const std::string& name, const std::optional<std::string>& value) {
  return callbacks_.set_environment != nullptr &&
         callbacks_.set_environment(name.c_str(), value ? value->c_str() : nullptr) != 0;
}

std::vector<Address> CPort::user_breakpoints() {
  std::vector<Address> addresses;
  collect([&](rh_sink sink, void* context) { return callbacks_.user_breakpoints(sink, context); },
          [&](const Item& item) { addresses.push_back(item.a); });
  return addresses;
}

void CPort::show_code(const std::string& path, Address bias) { callbacks_.show_code(path.c_str(), bias); }
bool CPort::can_catch_raw_exit() const {
  return callbacks_.catch_raw_exit != nullptr && callbacks_.raw_exit_caught != nullptr;
}

bool CPort::catch_raw_exit(bool on) {
  return can_catch_raw_exit() && callbacks_.catch_raw_exit(on ? 1 : 0) != 0;
}

bool CPort::expect_halts() { return callbacks_.expect_halts != nullptr && callbacks_.expect_halts() != 0; }

void CPort::let_end(long tid) {
  if (callbacks_.let_end != nullptr) callbacks_.let_end(tid);
}

bool CPort::raw_exit_caught() { return can_catch_raw_exit() && callbacks_.raw_exit_caught() != 0; }

Address CPort::evaluate(const std::string& expression) {
  std::uint64_t value = 0;
  std::string reason = "no value";
  const int done =
      collect([&](rh_sink sink,
                  void* context) { return callbacks_.evaluate(expression.c_str(), &value, sink, context); },
              [&](const Item& item) { reason = item.text; });
  if (done == 0) throw Error(reason);
  return value;
}

void CPort::print(std::string_view text) { callbacks_.print(printable(text).c_str()); }

bool CPort::interrupted() { return callbacks_.interrupted() != 0; }

}  // namespace refhist
