#include "session/reach_scans.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "analysis/end_calls.h"
#include "base/error.h"
#include "base/process_file.h"
#include "base/text.h"
#include "events/program_access.h"
#include "port/thread_halt.h"
#include "session/allocation_place.h"
#include "session/long_work.h"
#include "session/object_lists.h"

namespace refhist {

namespace {

bool any_lost(const ReachResult& result) {
  return std::any_of(result.objects.begin(), result.objects.end(), [](const ReachOfObject& object) {
    return !object.freed && object.reach != Reach::reachable;
  });
}

/// Says of those that are held by the heap at the end where the holder's memory comes from: when it is asked
/// for, that memory is no more.
class HolderOrigins {
 public:
  explicit HolderOrigins(SessionState& state) : state_(state) {}

  void add(ReachOfObject& reached) {
    if (reached.holder == 0 || reached.reach != Reach::reachable || reached.holder_object.valid()) return;
    const Block* block = state_.recorder.allocations().covering(reached.holder);
    if (block == nullptr) return;
    const auto [place, fresh] = places_.try_emplace(block->stack);
    if (fresh && places_.size() <= kMost) place->second = allocation_place(state_, *block);
    if (!place->second.empty()) reached.where += " (allocated in " + place->second + ")";
  }

 private:
  static constexpr std::size_t kMost = 500;  // names cost more than the search
  SessionState& state_;
  std::map<StackId, std::string> places_;
};

/// Code that cannot be followed moves the counts of the family, and the object's own is as good as any.
bool is_moved_unseen(SessionState& state, ObjectId id, std::int64_t count) {
  constexpr std::int64_t kMost = 10'000;  // references: free memory reads as a pointer's half
  if (count < 1 || count > kMost) return false;
  if (!state.families[state.history.object(id).family.index()].family.counts_unseen) return false;
  return state.managed.is_intact(id);
}

void keep_scan(SessionState& state, DebuggerPort& port, const ReachResult& result, ReachScan& scan) {
  const ProgramAccess access(port, state.process, state.tracer_here);
  HolderOrigins origins(state);
  for (const ReachOfObject& reached : result.objects) {
    ReachOfObject& kept = scan.objects.emplace(reached.object, reached).first->second;
    if (scan.at_exit) origins.add(kept);
    if (reached.freed && result.running_threads != 0) {
      kept.reach = Reach::reachable;  // the heap may have been between two states
      continue;
    }
    if (!reached.freed) {
      const Recorder::CounterLook look = state.recorder.look_at_counter(access, reached.object);
      kept.counted = look.count.has_value();
      if (look.explained || !look.count) continue;
      if (is_moved_unseen(state, reached.object, *look.count)) {
        state.history.object(reached.object).ledger = *look.count;
      } else {
        kept.counter = look.count;
      }
      continue;
    }
    state.history.object(reached.object).state = ObjectState::unknown;
    state.history.set_note(reached.object, "its memory was freed, but no last put was seen");
  }
  if (result.running_threads != 0 && any_lost(result)) {
    scan.why_not = fmt::format("{} ran meanwhile: objects held only by their registers look leaked",
                               plural(result.running_threads, "thread"));
  }
  if (!result.heap_walked) {
    scan.why_not = "the heap could not be walked (" + result.heap_why_not +
                   "): pointers in freed memory may still count";
  }
}

/// While threads run, a pointer may move from where the scan has not been to where it was. Lost is what every
/// scan says is lost.
ReachResult scan_until_sure(SessionState& state, DebuggerPort& port, const std::vector<TrackedBlock>& blocks,
                            const ReachOptions& options) {
  constexpr int kScans = 3;
  ReachResult result = scan_reachability(port, state.modules, state.unwinder, blocks, options);
  for (int scan = 1; scan < kScans && result.complete && result.running_threads != 0 && any_lost(result);
       ++scan) {
    ReachResult next = scan_reachability(port, state.modules, state.unwinder, blocks, options);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const bool lost = !next.objects[i].freed && next.objects[i].reach != Reach::reachable;
      if (lost) next.objects[i] = result.objects[i];
    }
    result = std::move(next);
  }
  return result;
}

TrackedBlock tracked_block(const SessionState& state, ObjectId id, const Object& object) {
  TrackedBlock block{id, object.address, object.size};
  if (object.base_known) block.references = object.ledger;
  const TrackedFamily& family = state.families[object.family.index()];
  block.python = family.family.dynamic_type == DynamicType::python;
  block.listed = !family.family.listed_by.empty();
  block.control_block = family.family.has_control_blocks();
  const auto managed = state.managed.known().find(id);
  if (managed != state.managed.known().end()) block.managed = managed->second.address;
  return block;
}

/// All its blocks since the process began are known.
bool knows_its_blocks(const SessionState& state, FamilyId family) {
  const auto& sites = state.sites.all();
  return state.families[family.index()].from_start && !state.history.lost() &&
         std::all_of(sites.begin(), sites.end(), [&](const Site& site) {
           return site.family != family || !site.current || site.unloaded || site.armed;
         });
}

void add_cut_blocks(const SessionState& state, ReachOptions& options) {
  std::vector<bool> cuts(state.families.size());
  std::vector<bool> seen(state.families.size());
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i] = state.families[i].family.cuts_blocks();
  state.recorder.allocations().each([&](const Block& block) {
    if (!block.allocator.valid() || !cuts[block.allocator.index()]) return;
    options.cut.push_back({block.begin, block.begin + block.size});
    seen[block.allocator.index()] = true;
  });
  state.recorder.allocations().each_slab([&](Address begin, std::uint64_t size) {
    options.slabs.push_back({begin, begin + size});
  });
  options.all_cut = true;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) options.all_cut = options.all_cut && knows_its_blocks(state, FamilyId(i));
  }
}

}  // namespace

std::unique_ptr<ThreadHalt> halt_others(SessionState& state, DebuggerPort& port) {
  if (!state.tracer_here) return nullptr;
  std::vector<long> known;
  for (const ThreadInfo& thread : port.threads()) known.push_back(thread.tid);
  auto halt = std::make_unique<ThreadHalt>(state.process.pid, known);
  if (halt->signal_on_its_way() && port.expect_halts())
    state.halted = std::make_unique<OpenFile>(open_process(static_cast<pid_t>(state.process.pid)));
  if (halt->any()) state.agent.replay();
  return halt;
}

void look_at_managed(SessionState& state, DebuggerPort& port) {
  if (!state.alive || state.kernel || port.process().state == ProcessState::running) return;
  const ProgramAccess access(port, state.process, state.tracer_here);
  state.managed.look(access);
  const bool owns = std::any_of(state.families.begin(), state.families.end(), [](const auto& tracked) {
    return tracked.family.managed_offset.has_value();
  });
  if (!owns) return;  // there may be millions of objects
  SecondOwners& owners = state.recorder.second_owners();
  const auto offset_in = [&](const Object& object) {
    return state.families[object.family.index()].family.managed_offset;
  };
  // One that has deleted its object may be kept by weak references, and still says which one that was.
  // Whoever is live and points there was there before those that came to lie at the address after that.
  for (const auto& [id, object] : state.history.objects()) {
    const bool kept = object.state == ObjectState::dead && !object.freed && !object.superseded;
    const auto offset = kept ? offset_in(object) : std::nullopt;
    Address owned = 0;
    if (offset && access.read_word(object.address + *offset, owned)) owners.note(id, owned);
  }
  for (const auto& [id, managed] : state.managed.known()) {
    if (offset_in(state.history.object(id))) owners.note(id, managed.address);
  }
}

void scan_now(SessionState& state, DebuggerPort& port, bool at_exit, long exiting_thread) {
  const auto halt = at_exit ? halt_others(state, port) : nullptr;
  look_at_managed(state, port);
  ReachScan scan;
  scan.at_exit = at_exit;
  scan.at_event = state.history.event_count();
  if (state.kernel) {
    scan.why_not = "what a kernel's memory still points at is not searched";
    state.scan = std::move(scan);
    return;
  }
  std::vector<TrackedBlock> blocks;
  for (const auto& [id, object] : state.history.objects()) {
    const bool outstanding = object.state == ObjectState::live && (object.ledger > 0 || !object.base_known);
    if (outstanding) blocks.push_back(tracked_block(state, id, object));
  }
  ReachOptions options = reach_options(state);
  options.at_exit = at_exit;
  options.exiting_thread = exiting_thread;
  add_cut_blocks(state, options);
  options.lists = find_object_lists(state);
  EndCalls ends(state.modules, state.sites, state.namer.code_graph());
  options.end_gives_back = [&](ObjectId ending, ObjectId given) {
    const FamilyId family = state.history.object(ending).family;
    return family != state.history.object(given).family &&
           ends.give_back(family, state.history.object(given).family);
  };
  LongWork work(port, state.telling(), at_exit ? LongWork::For::program : LongWork::For::command);
  options.progress = [&](std::size_t done, std::size_t total) {
    return work.go_on(
        [&] { return fmt::format("scanning for what is reachable: {} of {} MiB", done >> 20, total >> 20); });
  };
  if (blocks.empty()) {
    scan.done = true;
  } else {
    const ReachResult result = scan_until_sure(state, port, blocks, options);
    scan.running_threads = result.running_threads;
    scan.done = result.complete;
    scan.why_not = result.why_not;
    if (result.complete) keep_scan(state, port, result, scan);
  }
  state.scan = std::move(scan);
}

ReachOptions reach_options(const SessionState& state) {
  ReachOptions options;
  options.ignored = state.agent.own_memory();
  options.withholds = state.recorder.options().quarantine.bytes != 0;
  return options;
}

void scan_if_alive(SessionState& state, DebuggerPort& port) {
  if (!state.alive) return;
  look_at_managed(state, port);
  if (port.process().state == ProcessState::running) fail("the program is running: interrupt it first");
  // Nothing of the program runs after the look at _exit but other threads.
  const ReachScan& last = state.scan;
  const bool same = last.at_event == state.history.event_count();
  if (last.at_exit && last.done && same && last.running_threads == 0) return;
  scan_now(state, port, last.at_exit);
}

void settle_scan_at_exit(SessionState& state) {
  ReachScan& scan = state.scan;
  if (!scan.at_exit || !scan.done || !state.end.by_itself()) return;
  const EventId looked_at(scan.at_event);
  for (const auto& [id, object] : state.history.objects()) {
    if (object.state != ObjectState::live || object.events == 0 || object.last_event < looked_at) continue;
    ReachOfObject& used = scan.objects[id];
    used.object = id;
    used.reach = Reach::reachable;
    used.held_by_leak = false;
    used.where = "another thread, which used it while the program ended";
  }
}

}  // namespace refhist
