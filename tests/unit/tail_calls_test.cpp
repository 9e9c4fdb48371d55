// Frames that tail calls have replaced, in real stacks of fixtures/tail_calls.c.
#include "analysis/tail_calls.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "fixture_program.h"
#include "port/process_memory.h"
#include "ptrace_port.h"
#include "symbols/unwinder.h"

namespace refhist {

namespace {

using test::PtracePort;

constexpr const char* kFlags = "-O2 -g -w";

std::string program() {
  const std::string library =
      test::build_fixture("tail_calls.c", std::string(kFlags) + " -DLIBRARY -shared -fPIC");
  return test::build_fixture("tail_calls.c", std::string(kFlags) + " " + library);
}

std::string show(const std::shared_ptr<const LostFrames>& lost) { return lost ? lost->text() : ""; }

/// What is lost in the whole stack, from the function that stops outwards; one line for each place.
std::string lost_on_the_way(const std::string& how) {
  PtracePort port({program(), how});
  const PtracePort::Stop stop = port.go_on();
  REQUIRE(stop.kind == PtracePort::Stop::Kind::signal);
  ModuleMap modules;
  modules.update(port);
  Unwinder unwinder(modules);
  std::vector<RawFrame> raw;
  const auto read = [&](Address address, void* out, std::size_t size) {
    return ProcessMemory(port).read(address, out, size);
  };
  unwinder.unwind(*port.registers(stop.tid), read, UnwindOptions{}, raw);
  std::vector<StackFrame> frames;
  std::string names;
  for (const RawFrame& frame : raw) {
    const LoadedModule* module = modules.at(frame.exact ? frame.pc : frame.pc - 1);
    if (module == nullptr) break;
    const bool in_raise = frames.empty() && module->module->path().find("libc.so") != std::string::npos;
    if (in_raise) continue;  // which jumps as well
    frames.push_back({module->id, frame.pc - module->bias, frame.exact});
    const auto function = module->module->function_at(frame.pc - 1 - module->bias);
    names += function ? function->name + " " : "? ";
  }
  INFO(names);
  REQUIRE(names.find(" main ") != std::string::npos);
  TailCalls calls(modules);
  std::string text;
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    const std::string line = show(calls.between(frames[i], frames[i + 1]));
    if (!line.empty()) text += line + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("functions that jumped to their last callee are named") {
  CHECK(lost_on_the_way("jump") == "frames lost to a tail call: called jump, which jumped to finish\n");
  CHECK(lost_on_the_way("twice") ==
        "frames lost to a tail call: called jump_twice, which jumped to jump, which jumped to finish\n");
}

TEST_CASE("the C library does not jump to a function of the program") {
  CHECK(lost_on_the_way("or-print") ==
        "frames lost to a tail call: called jump_or_print, which jumped to finish\n");
}

TEST_CASE("of several ways all are candidates") {
  const std::string text = lost_on_the_way("either");
  CHECK(text.find("called jump_either, which led to finish (candidates: ") != std::string::npos);
  CHECK(text.find("jump_either > jump;") != std::string::npos);
  CHECK(text.find("jump_either > jump_twice > jump") != std::string::npos);
}

TEST_CASE("a jump through a pointer leaves it open") {
  CHECK(lost_on_the_way("by-pointer") ==
        "frames may be lost to a tail call: called jump_by_pointer, which may have jumped to finish\n");
}

TEST_CASE("across libraries, by the names in the PLT") {
  CHECK(lost_on_the_way("library-wrap") ==
        "frames lost to a tail call: called library_wrap, which jumped to library_inside\n");
  CHECK(lost_on_the_way("library-jump") ==
        "frames lost to a tail call: called library_by_jump, which jumped to library_finish\n");
}

TEST_CASE("where nothing is lost, or nothing can be told, nothing is said") {
  for (const std::string how : {"call", "alias", "ifunc", "split", "called-by-pointer", "library"}) {
    INFO(how);
    CHECK(lost_on_the_way(how) == "");
  }
}

}  // namespace refhist
