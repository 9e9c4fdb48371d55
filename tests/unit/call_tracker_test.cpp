#include "events/call_tracker.h"

#include <doctest/doctest.h>

namespace refhist {
namespace {

PendingCall call(std::uint32_t site, Address sp, Address return_pc) {
  PendingCall pending;
  pending.site = SiteId(site);
  pending.sp = sp;
  pending.return_pc = return_pc;
  return pending;
}

constexpr Address kPc = 0x4000;

}  // namespace

TEST_CASE("recursion: the innermost call of a function returns first") {
  ThreadCalls thread;
  CallTracker::add_pending(thread, call(1, 0x7000, kPc));
  CallTracker::add_pending(thread, call(1, 0x6000, kPc));
  const auto inner = CallTracker::take_returned(thread, kPc, 0x6008);
  REQUIRE(inner.has_value());
  CHECK(inner->sp == 0x6000);
  CHECK(CallTracker::take_returned(thread, kPc, 0x7008).has_value());
  CHECK(thread.pending.empty());
}

TEST_CASE("a return that belongs to no call is nobody's") {
  ThreadCalls thread;
  CallTracker::add_pending(thread, call(1, 0x7000, kPc));
  CHECK_FALSE(CallTracker::take_returned(thread, kPc, 0x7010).has_value());
  CHECK_FALSE(CallTracker::take_returned(thread, kPc + 8, 0x7008).has_value());
  CHECK(thread.pending.size() == 1);
}

TEST_CASE("a tail call returns together with its caller, innermost first") {
  ThreadCalls thread;
  CallTracker::add_pending(thread, call(1, 0x7000, kPc));
  CallTracker::add_pending(thread, call(2, 0x7000, kPc));
  const auto inner = CallTracker::take_returned(thread, kPc, 0x7008);
  const auto outer = CallTracker::take_returned(thread, kPc, 0x7008);
  REQUIRE(inner.has_value());
  REQUIRE(outer.has_value());
  CHECK(inner->site == SiteId(2U));
  CHECK(outer->site == SiteId(1U));
}

TEST_CASE("the same function again at the same depth: the earlier call was left by longjmp") {
  ThreadCalls thread;
  CallTracker::add_pending(thread, call(1, 0x7000, kPc));
  CallTracker::add_pending(thread, call(1, 0x7000, kPc));
  CHECK(CallTracker::take_returned(thread, kPc, 0x7008).has_value());
  CHECK_FALSE(CallTracker::take_returned(thread, kPc, 0x7008).has_value());
}

TEST_CASE("a call further in is dropped only when its return address was overwritten") {
  ThreadCalls thread;
  CallTracker::add_pending(thread, call(1, 0x6000, kPc));
  SUBCASE("intact: it may be another stack") {
    CallTracker::close_finished(thread, 0x7000, {}, [](Address, Address) { return false; });
    CHECK(thread.pending.size() == 1);
  }
  SUBCASE("overwritten") {
    CallTracker::close_finished(thread, 0x7000, {}, [](Address, Address) { return true; });
    CHECK(thread.pending.empty());
  }
}

TEST_CASE("an open call stays open only while its frame is on the stack") {
  ThreadCalls thread;
  OpenCall open;
  open.sp = 0x7000;
  thread.open.push_back(open);
  const auto unread = [](Address, Address) { return true; };
  std::vector<RawFrame> frames{{0x100, 0x6008, true}, {0x200, 0x7008, false}};
  SUBCASE("deeper, inside it") {
    CallTracker::close_finished(thread, 0x6000, frames, unread);
    CHECK(thread.open.size() == 1);
  }
  SUBCASE("deeper, but its frame is gone") {
    frames.pop_back();
    CallTracker::close_finished(thread, 0x6000, frames, unread);
    CHECK(thread.open.empty());
  }
  SUBCASE("further out") {
    frames = {{0x100, 0x7108, true}};
    CallTracker::close_finished(thread, 0x7100, frames, unread);
    CHECK(thread.open.empty());
  }
  SUBCASE("further out, on a signal stack above it") {
    frames.front().cfa = 0x9008;
    CallTracker::close_finished(thread, 0x9000, frames, unread);
    CHECK(thread.open.size() == 1);
  }
}

}  // namespace refhist
