#include "commands/reach_scans.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "commands/long_work.h"
#include "events/program_access.h"
#include "port/thread_halt.h"

namespace refhist {

namespace {

bool any_lost(const ReachResult& result) {
  return std::any_of(result.objects.begin(), result.objects.end(), [](const ReachOfObject& object) {
    return !object.freed && object.reach != Reach::reachable;
  });
}

void keep_scan(SessionState& state, DebuggerPort& port, const ReachResult& result, ReachScan& scan) {
  const ProgramAccess access(port, state.process, state.tracer_here);
  for (const ReachOfObject& reached : result.objects) {
    ReachOfObject& kept = scan.objects.emplace(reached.object, reached).first->second;
    if (reached.freed && result.running_threads != 0) {
      kept.reach = Reach::reachable;  // the heap may have been between two states
      continue;
    }
    if (!reached.freed) {
      const Recorder::CounterLook look = state.recorder.look_at_counter(access, reached.object);
      kept.counted = look.count.has_value();
      if (!look.explained) kept.counter = look.count;
      continue;
    }
    state.history.object(reached.object).state = ObjectState::unknown;
    state.history.set_note(reached.object, "its memory has been given back, by no put that was seen");
  }
  if (result.running_threads != 0 && any_lost(result)) {
    scan.why_not = fmt::format("{} ran meanwhile: what only their registers held seems lost",
                               plural(result.running_threads, "thread"));
  }
  if (!result.heap_walked) {
    scan.why_not = "the heap could not be walked (" + result.heap_why_not +
                   "): memory that was given back may still count as pointing";
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

/// GDB lets the other threads run on while it asks about one that stands at a breakpoint.
std::unique_ptr<ThreadHalt> halt_others(SessionState& state, DebuggerPort& port) {
  if (!state.tracer_here) return nullptr;
  std::vector<long> known;
  for (const ThreadInfo& thread : port.threads()) known.push_back(thread.tid);
  auto halt = std::make_unique<ThreadHalt>(state.process.pid, known);
  if (halt->signal_on_its_way() && port.expect_halts()) state.halted_by_signal = true;
  if (halt->any()) state.agent.replay();
  return halt;
}

}  // namespace

void look_at_managed(SessionState& state, DebuggerPort& port) {
  if (!state.alive || port.process().state == ProcessState::running) return;
  state.managed.look(ProgramAccess(port, state.process, state.tracer_here));
}

void scan_now(SessionState& state, DebuggerPort& port, bool at_exit, long exiting_thread) {
  const auto halt = at_exit ? halt_others(state, port) : nullptr;
  look_at_managed(state, port);
  ReachScan scan;
  scan.at_exit = at_exit;
  scan.at_event = state.history.event_count();
  std::vector<TrackedBlock> blocks;
  for (const auto& [id, object] : state.history.objects()) {
    const bool outstanding = object.state == ObjectState::live && (object.ledger > 0 || !object.base_known);
    if (outstanding) blocks.push_back(TrackedBlock{id, object.address, object.size});
  }
  ReachOptions options;
  options.at_exit = at_exit;
  options.ignored = state.agent.own_memory();
  options.exiting_thread = exiting_thread;
  LongWork work(port, state.tell_every_step, at_exit ? LongWork::For::program : LongWork::For::command);
  options.progress = [&](std::size_t done, std::size_t total) {
    return work.go_on(
        [&] { return fmt::format("looking at what is reachable: {} of {} MiB", done >> 20, total >> 20); });
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

void scan_if_alive(SessionState& state, DebuggerPort& port) {
  if (!state.alive) return;
  look_at_managed(state, port);
  if (port.process().state == ProcessState::running) fail("the program runs: interrupt it first");
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
