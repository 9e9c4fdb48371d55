// Calls that threads ask about, with signal handlers in between.
#include "session/asked_calls.h"

#include <doctest/doctest.h>

namespace refhist::test {

namespace {

constexpr long kThread = 7;
constexpr Address kOuterSp = 0x7000;
constexpr Address kInnerSp = 0x6000;
constexpr Address kPlace = 0x1234;
const SiteId kSite{3U};

AskedCalls::Call call(Address sp) { return {kThread, kSite, sp}; }

AskedCalls::Asked asked(Address sp, const std::string& what) {
  AskedCalls::Asked asked;
  asked.candidate.tid = kThread;
  asked.candidate.site = kSite;
  asked.candidate.sp = sp;
  asked.firings.push_back(Firing{1, what, std::nullopt});
  return asked;
}

AskedCalls::Sent sent(Address sp) { return {call(sp), false, kPlace, sp - 0x100, {}}; }

}  // namespace

TEST_CASE("a call is asked about by itself, whoever has asked in between") {
  AskedCalls calls;
  calls.add(asked(kOuterSp, "outer"));
  calls.add(asked(kInnerSp, "inner"));
  const auto outer = calls.take_asked(call(kOuterSp));
  REQUIRE(outer);
  CHECK(outer->firings.front().what == "outer");
  CHECK_FALSE(calls.take_asked(call(kOuterSp)));
  CHECK(calls.take_asked(call(kInnerSp))->firings.front().what == "inner");
}

TEST_CASE("the newest call with this stack pointer is meant") {
  AskedCalls calls;
  calls.add(asked(kOuterSp, "left by siglongjmp"));
  calls.add(asked(kOuterSp, "the one that asks"));
  CHECK(calls.take_asked(call(kOuterSp))->firings.front().what == "the one that asks");
}

TEST_CASE("who is sent arrives there with its own stack pointer, not in a handler") {
  AskedCalls calls;
  calls.send(sent(kOuterSp));
  CHECK(calls.awaited() == std::unordered_set<Address>{kPlace});
  CHECK_FALSE(calls.awaits(kThread, kPlace, kInnerSp));
  CHECK_FALSE(calls.take_arrived(kThread, kPlace, kInnerSp));
  CHECK_FALSE(calls.take_arrived(kThread, kPlace + 1, kOuterSp));
  CHECK_FALSE(calls.take_arrived(kThread + 1, kPlace, kOuterSp));
  REQUIRE(calls.take_arrived(kThread, kPlace, kOuterSp));
  CHECK_FALSE(calls.is_sent(call(kOuterSp)));
  CHECK(calls.awaited().empty());
}

TEST_CASE("a call and one in a signal handler can be on their way at once") {
  AskedCalls calls;
  calls.send(sent(kOuterSp));
  calls.send(sent(kInnerSp));
  CHECK(calls.take_arrived(kThread, kPlace, kInnerSp)->call == call(kInnerSp));
  CHECK(calls.is_sent(call(kOuterSp)));
  CHECK(calls.take_sent(call(kOuterSp)));
}

TEST_CASE("who never arrives is known at the end") {
  AskedCalls calls;
  calls.send(sent(kOuterSp));
  CHECK(calls.take_missed().size() == 1);
  CHECK(calls.take_missed().empty());
}

}  // namespace refhist::test
