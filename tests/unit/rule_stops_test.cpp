// Where the program stands when a stop rule fires in the agent, also when the breakpoint for that does not do
// its work: the stop comes, it comes once, and the call is recorded once.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

#include "facade/session.h"
#include "ptrace_port.h"

namespace refhist::test {

namespace {

/// A debugger whose breakpoints at one address are of no use.
class PoorPort : public PtracePort {
 public:
  enum class Lack { nothing, refuses, does_not_stop, cannot_send };
  PoorPort(const std::string& program, Lack lack) : PtracePort({program}), lack_(lack) {}

  void lack_at(Address address) { at_ = address; }
  bool place_breakpoint(Address address) override {
    if (address == at_ && lack_ == Lack::refuses) return false;
    return (address == at_ && lack_ == Lack::does_not_stop) || PtracePort::place_breakpoint(address);
  }
  bool set_pc(long tid, Address address) override {
    return lack_ != Lack::cannot_send && PtracePort::set_pc(tid, address);
  }

 private:
  Lack lack_;
  Address at_ = 0;
};

/// The program under break-on-put-to-zero.
class RuleRun {
 public:
  explicit RuleRun(PoorPort::Lack lack) : port_(program(), lack), session_({REFHIST_FAMILIES_DIR}) {
    execute("set allocators off");
    execute("track --init node_new --put node_put --count refs");
    execute("break-on-put-to-zero");
    session_.notify(port_, Notice::started, 0);
    put_ = address_of("node_put");
    port_.lack_at(put_);
  }

  std::string execute(const std::string& line) {
    const CommandResult result = session_.execute(port_, line);
    REQUIRE_MESSAGE(result.ok, result.text);
    return result.text;
  }

  /// Runs to the next stop. False: the program has ended.
  bool run() {
    constexpr int kMost = 1000;  // what goes on for ever ends here
    for (int hits = 0; hits < kMost; ++hits) {
      const PtracePort::Stop stop = port_.go_on();
      if (stop.kind == PtracePort::Stop::Kind::exited) {
        session_.notify(port_, Notice::exited, stop.detail);
        return false;
      }
      REQUIRE(stop.kind == PtracePort::Stop::Kind::breakpoint);
      if (!session_.hit(port_, stop.tid, stop.address)) continue;
      at_ = stop.address;
      session_.notify(port_, Notice::stopped, 0);
      return true;
    }
    FAIL("the program does not come to an end");
    return false;
  }

  [[nodiscard]] bool at_the_put() const { return at_ == put_; }
  [[nodiscard]] std::string reason() const { return session_.stop_reason(); }

 private:
  static std::string program() { return std::string(REFHIST_FIXTURES_DIR) + "/rule_program"; }
  Address address_of(const std::string& function) {
    ModuleMap modules;
    modules.update(port_);
    return function_address(modules, function);
  }

  PoorPort port_;
  Session session_;
  Address put_ = 0;
  Address at_ = 0;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Each of the three puts is a stop, `here`: where the thread asks. Every event is recorded once.
void check_stops(RuleRun& run, const std::string& why_here) {
  for (int stops = 0; stops < 3; ++stops) {
    REQUIRE(run.run());
    CHECK(contains(run.reason(), "put to zero"));
    CHECK(run.at_the_put() == why_here.empty());
    const std::string here = why_here.empty() ? "refhist's" : "right before this call, because " + why_here;
    CHECK_MESSAGE(contains(run.reason(), here) == !why_here.empty(), run.reason());
  }
  CHECK_FALSE(run.run());
  const std::string status = run.execute("status");
  CHECK_MESSAGE(contains(status, "6 events, 3 objects"), status);
}

}  // namespace

TEST_CASE("a thread that asks is stopped at its function, which begins with endbr64") {
  RuleRun run(PoorPort::Lack::nothing);
  check_stops(run, "");
}

TEST_CASE("a thread whose breakpoint was refused is stopped where it asks") {
  RuleRun run(PoorPort::Lack::refuses);
  check_stops(run, "ptrace refused a breakpoint there");
}

TEST_CASE("a thread that runs past its breakpoint is stopped where it asks again") {
  RuleRun run(PoorPort::Lack::does_not_stop);
  check_stops(run, "the breakpoint there did not stop it");
}

TEST_CASE("a thread that cannot be sent anywhere is stopped where it asks") {
  RuleRun run(PoorPort::Lack::cannot_send);
  check_stops(run, "ptrace cannot move the thread there");
}

}  // namespace refhist::test
