// Hands the agent's records to the recorder as if the program stood stopped at each of them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent_host/event_drain.h"
#include "agent_host/freed_words.h"
#include "events/recorder.h"
#include "sites/site_table.h"
#include "symbols/module_map.h"

namespace refhist {

/// Nanoseconds of the recorder's clock from time stamps.
class StampClock {
 public:
  /// `now_ns`: what the recorder's clock shows at this moment.
  explicit StampClock(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t stamp) const;

 private:
  std::uint64_t stamp_;
  std::uint64_t ns_;
  double ns_per_tick_;
};

class Replay {
 public:
  /// Appends the frames of a stack node, innermost first. False when there is no such stack.
  using StackReader = std::function<bool(std::uint32_t node, std::vector<RawFrame>& frames)>;

  /// Reads the program's memory as it is now; false when it cannot.
  using MemoryReader = std::function<bool(Address address, void* out, std::size_t size)>;

  Replay(Recorder& recorder, SiteTable& sites, const ModuleMap& modules, StackReader stacks,
         const std::vector<TrackedFamily>& families, MemoryReader memory)
      : recorder_(recorder),
        sites_(sites),
        modules_(modules),
        stacks_(std::move(stacks)),
        families_(families),
        memory_(std::move(memory)),
        clock_(recorder.now()) {}

  /// The agent may record this site from now on.
  void expect(SiteId site);
  [[nodiscard]] bool expects(SiteId site) const {
    return site.index() < expected_.size() && expected_[site.index()];
  }
  /// Of what the agent is told to record from now on.
  [[nodiscard]] FreedWords& freed_words() { return freed_words_; }
  /// Records that name a site or a stack that is none: they were not believed.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// What the recorder made of it: valid until the next call.
  const std::vector<Recorded>& apply(const RecordBatch& batch, const agent::Record& record);
  /// Addresses, or the numbers of stacks and events, mean something else from now on.
  void forget_cached_calls() {
    known_stacks_.clear();
    cached_calls_.assign(kCachedCalls, CachedCall());
  }

 private:
  /// What the records of one thread from one place have in common.
  struct CachedCall {
    std::uint64_t key = 0;  // site and stack node
    ThreadIndex thread;
    std::uint32_t origin = kNoOrigin;      // of its ordinary events
    const RecordedStack* stack = nullptr;  // null: nothing is known of it
    Address recorded_pc = 0;               // where the call returns, by the record
    Address return_pc = 0;                 // and in the program's own code
  };
  /// nullptr when it is refused.
  CachedCall* cached_call(const RecordBatch& batch, const agent::Record& record);
  const RecordedStack* known_stack(std::uint64_t key, const Site& site, const agent::Record& record);
  void apply_change(const ProgramView& view, const RecordBatch& batch, const agent::Record& record,
                    const Site& site);
  [[nodiscard]] bool is_ordinary_change(const agent::Record& record, const Site& site) const;
  bool apply_ordinary(const RecordBatch& batch, const agent::Record& record, CachedCall& way);

  FreedWords freed_words_;
  Recorder& recorder_;
  SiteTable& sites_;
  const ModuleMap& modules_;
  StackReader stacks_;
  const std::vector<TrackedFamily>& families_;
  MemoryReader memory_;
  StampClock clock_;
  std::unordered_map<std::uint64_t, RecordedStack> known_stacks_;  // by site and node
  static constexpr std::size_t kCachedCalls = 8192;                // a power of two
  std::vector<CachedCall> cached_calls_ =
      std::vector<CachedCall>(kCachedCalls);  // by node, site and thread; may be another's
  std::vector<bool> expected_;                // by site
  std::uint64_t refused_ = 0;
  std::vector<Recorded> recorded_;
  std::vector<PendingCall> watched_;
};

}  // namespace refhist
