// The C ABI, used as a front end in another language uses it: a table of callbacks over a real traced
// program.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.h"
#include "ptrace_port.h"
#include "refhist/refhist.h"

namespace refhist::test {

namespace {

constexpr const char* kTrackNodes =
    "track --backend breakpoint --get node_get --put node_put --init node_new --count refs";

/// The debugger behind the callbacks; the C ABI hands no context to them.
PtracePort* debugger = nullptr;

int give_process(int* state, int64_t* pid, int* local, rh_sink sink, void* context) {
  const ProcessInfo info = debugger->process();
  *state = static_cast<int>(info.state);
  *pid = info.pid;
  *local = info.local ? 1 : 0;
  sink(context, info.executable.c_str(), 0, 0, 0, 0);
  return 1;
}

int give_memory(uint64_t address, void* out, size_t size) {
  return debugger->read_memory(address, out, size) ? 1 : 0;
}

int take_memory(uint64_t address, const void* data, size_t size) {
  return debugger->write_memory(address, data, size) ? 1 : 0;
}

int take_pc(int64_t tid, uint64_t address) {
  return debugger->set_pc(static_cast<long>(tid), address) ? 1 : 0;
}

int take_registers(int64_t tid, const uint64_t* values) {
  Registers registers;
  std::memcpy(registers.value.data(), values, sizeof registers.value);
  return debugger->set_registers(static_cast<long>(tid), registers) ? 1 : 0;
}

int give_registers(int64_t tid, uint64_t* out) {
  const auto registers = debugger->registers(static_cast<long>(tid));
  if (!registers) return 0;
  std::memcpy(out, registers->value.data(), sizeof registers->value);
  return 1;
}

int give_vector_words(int64_t, rh_sink, void*) { return 0; }  // the core asks the kernel itself here

int give_threads(rh_sink sink, void* context) {
  for (const ThreadInfo& thread : debugger->threads()) {
    sink(context, thread.name.c_str(), static_cast<uint64_t>(thread.tid), 0, 0, 0);
  }
  return 1;
}

int give_selected_thread(int64_t*) { return 0; }

int give_modules(rh_sink sink, void* context) {
  for (const ModuleInfo& module : debugger->modules())
    sink(context, module.path.c_str(), module.bias, 0, 0, 0);
  return 1;
}

int give_regions(rh_sink sink, void* context) {
  for (const MemoryRegion& region : debugger->regions()) {
    const unsigned rights =
        (region.readable ? 4U : 0U) | (region.writable ? 2U : 0U) | (region.executable ? 1U : 0U);
    sink(context, region.path.c_str(), region.begin, region.end, rights, region.file_offset);
  }
  return 1;
}

int give_backtrace(int64_t tid, uint64_t limit, rh_sink sink, void* context) {
  for (const Address pc : debugger->backtrace(static_cast<long>(tid), limit)) sink(context, "", pc, 0, 0, 0);
  return 1;
}

int place(uint64_t address) { return debugger->place_breakpoint(address) ? 1 : 0; }

int remove_it(uint64_t address) {
  debugger->remove_breakpoint(address);
  return 1;
}

int hit_again(uint64_t address) { return debugger->is_hit_again(address).value_or(false) ? 1 : 0; }

int alive(uint64_t address) { return debugger->breakpoint_alive(address) ? 1 : 0; }

int evaluate(const char* expression, uint64_t* value, rh_sink sink, void* context) {
  try {
    *value = debugger->evaluate(expression);
    return 1;
  } catch (const Error& error) {
    sink(context, error.what(), 0, 0, 0, 0);
    return 0;
  }
}

void print(const char* text) { debugger->print(text); }

int interrupted() { return debugger->interrupted() ? 1 : 0; }

int user_breakpoints(rh_sink, void*) { return 1; }
int show_code(const char*, uint64_t) { return 1; }

constexpr rh_port kPort = {"ptrace",
                           give_process,
                           give_memory,
                           take_memory,
                           take_pc,
                           take_registers,
                           give_registers,
                           give_vector_words,
                           give_threads,
                           give_selected_thread,
                           give_modules,
                           give_regions,
                           give_backtrace,
                           place,
                           remove_it,
                           alive,
                           user_breakpoints,
                           show_code,
                           hit_again,
                           evaluate,
                           print,
                           interrupted,
                           nullptr,
                           nullptr,
                           [](std::uint64_t, std::uint64_t, rh_sink, void*) { return 0; },
                           [](std::uint64_t) { return 0; },
                           [](std::uint64_t) { return 0; },
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr};

struct Reply {
  bool done;
  std::string text;
  int quit_status;
};

/// A program and a session, driven as the GDB front end drives them.
class Front {
 public:
  explicit Front(PtracePort::Options options = {})
      : program_({std::string(REFHIST_FIXTURES_DIR) + "/capi_program"}, std::move(options)),
        session_(rh_session_new(REFHIST_FAMILIES_DIR), rh_session_free) {
    debugger = &program_;
    REQUIRE(session_ != nullptr);
  }

  Reply execute(const std::string& line) {
    const char* text = nullptr;
    int quit_status = 7;
    const int done = rh_execute(get(), &kPort, line.c_str(), &text, &quit_status);
    return {done != 0, text, quit_status};
  }

  void notify(rh_notice notice, int64_t detail = 0) { rh_notify(get(), &kPort, notice, detail); }

  /// Runs until the core asks for a stop (true) or the program ends (false).
  bool run() {
    for (;;) {
      const PtracePort::Stop stop = program_.go_on();
      if (stop.kind == PtracePort::Stop::Kind::exited) {
        notify(RH_NOTICE_EXITED, stop.detail);
        return false;
      }
      REQUIRE(stop.kind == PtracePort::Stop::Kind::breakpoint);
      if (rh_hit(get(), &kPort, stop.tid, stop.address) != 0) return true;
    }
  }

  rh_session* get() const { return session_.get(); }
  PtracePort& program() { return program_; }

 private:
  PtracePort program_;
  std::unique_ptr<rh_session, void (*)(rh_session*)> session_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What was recorded, without the times and thread ids that differ from run to run.
std::string events_of(Front& front) {
  const Reply objects = front.execute("objects --all");
  CHECK_MESSAGE(objects.done, objects.text);
  return objects.text;
}

}  // namespace

TEST_CASE("the library tells its ABI version") { CHECK(rh_abi_version() == RH_ABI_VERSION); }

TEST_CASE("the command table is readable through the C ABI") {
  Front front;
  const std::string verbs = std::string("\n") + rh_verbs(front.get()) + "\n";
  for (const char* verb : {"track", "status", "leaks", "check", "break-on-leak"}) {
    CHECK_MESSAGE(contains(verbs, fmt::format("\n{}\n", verb)), verb);
  }
  CHECK(contains(rh_help(front.get(), "track"), "--get"));
  CHECK(contains(rh_help(front.get(), ""), "track"));
  CHECK(std::string(rh_complete(front.get(), "break-on-l")) == "break-on-leak");
  CHECK(std::string(rh_complete(front.get(), "no-such-word")).empty());
}

TEST_CASE("bytes of code that nothing of ours covers are left as they are") {
  Front front;
  std::uint8_t bytes[] = {0xe9, 1, 2, 3, 4};
  CHECK(rh_own_code(front.get(), 0x1000, bytes, sizeof bytes) == 0);
  CHECK(bytes[0] == 0xe9);
}

TEST_CASE("an error is one line and does not end the debugger") {
  Front front;
  const Reply unknown = front.execute("track no_such_family");
  CHECK_FALSE(unknown.done);
  CHECK(contains(unknown.text, "no_such_family"));
  CHECK(contains(unknown.text, "\n") == false);
  CHECK(unknown.quit_status == -1);
}

TEST_CASE("the reason of a failed evaluation reaches the user") {
  Front front;
  REQUIRE(front.execute(kTrackNodes).done);
  front.notify(RH_NOTICE_STARTED);
  const Reply reply = front.execute("no + number");
  CHECK_FALSE(reply.done);
  CHECK(contains(reply.text, "not a number"));
}

TEST_CASE("a program is followed through the callbacks") {
  Front front;
  CHECK(rh_tracking(front.get()) == 0);
  const Reply tracked = front.execute(kTrackNodes);
  REQUIRE_MESSAGE(tracked.done, tracked.text);
  CHECK(rh_tracking(front.get()) == 1);
  REQUIRE(front.execute("break-on-put-to-zero").done);
  front.notify(RH_NOTICE_STARTED);

  REQUIRE(front.run());
  CHECK(contains(rh_stop_reason(front.get()), "node_put"));
  REQUIRE(front.execute("break-on-put-to-zero delete 1").done);
  CHECK_FALSE(front.run());

  const Reply live = front.execute("objects");
  const std::size_t address = live.text.find("0x");
  REQUIRE_MESSAGE(address != std::string::npos, live.text);
  CHECK(rh_count_of(front.get(), std::strtoull(live.text.c_str() + address, nullptr, 16)) == 2);
  CHECK(rh_count_of(front.get(), 0x10) == -1);
  const Reply check = front.execute("check --fail-on leak");
  CHECK_MESSAGE(check.done, check.text);
  CHECK(check.quit_status == 0);  // a variable still points at it
}

TEST_CASE("what cannot be read locally comes through the callbacks, with the same result") {
  std::string recorded[2];
  for (const bool local : {true, false}) {
    PtracePort::Options options;
    options.local = local;
    Front front(options);
    REQUIRE(front.execute(kTrackNodes).done);
    front.notify(RH_NOTICE_STARTED);
    CHECK_FALSE(front.run());
    recorded[local ? 0 : 1] = events_of(front);
  }
  CHECK(contains(recorded[0], "0x"));
  CHECK(recorded[0] == recorded[1]);
}

}  // namespace refhist::test
