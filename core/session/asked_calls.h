// The calls that threads ask about in the agent, and where the program is to stop for them, until it does.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent_host/agent_backend.h"
#include "history/history.h"

namespace refhist {

/// A rule that fires.
struct Firing {
  int rule;
  std::string what;
  /// Set for a put to zero of an object whose counter can be read.
  std::optional<ObjectId> to_zero;
};
using Firings = std::vector<Firing>;

class AskedCalls {
 public:
  /// A thread's call. A signal handler that interrupts it makes others, with other stack pointers.
  struct Call {
    long tid = 0;
    SiteId site;
    Address sp = 0;  ///< at the function's entry
    bool operator==(const Call&) const = default;
  };
  struct Asked {
    Candidate candidate;
    std::vector<ObjectId> objects;
    Firings firings;

    [[nodiscard]] Call call() const { return {candidate.tid, candidate.site, candidate.sp}; }
  };
  struct Sent {
    Call call;
    bool returned = false;  ///< to where the call returns to
    Address to = 0;
    Address below = 0;  ///< the thread's stack pointer when it asked
    Firings firings;

    /// It stands there, and not in a signal handler that runs the same code on its way.
    [[nodiscard]] bool arrives(Address pc, Address now) const {
      return pc == to && below < now && now <= call.sp + sizeof(Address);
    }
  };

  /// The thread has told of the call, and will ask.
  void add(Asked asked);
  /// It asks now.
  std::optional<Asked> take_asked(const Call& call);

  void send(Sent sent) { sent_[sent.call.tid].push_back(std::move(sent)); }
  [[nodiscard]] bool is_sent(const Call& call) const;
  /// It asks again and was not stopped; or it cannot be sent.
  std::optional<Sent> take_sent(const Call& call);
  std::optional<Sent> take_arrived(long tid, Address pc, Address sp);
  [[nodiscard]] bool awaits(long tid, Address pc, Address sp) const;
  /// Where breakpoints must stay.
  [[nodiscard]] std::unordered_set<Address> awaited() const;
  /// The process is gone: those who did not arrive.
  std::vector<Sent> take_missed();
  void forget();

 private:
  std::unordered_map<long, std::vector<Asked>> asked_;  // by thread, oldest first
  std::unordered_map<long, std::vector<Sent>> sent_;
};

}  // namespace refhist
