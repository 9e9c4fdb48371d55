#include "session/hit_handler.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "base/text.h"
#include "events/program_access.h"
#include "session/reach_scans.h"

namespace refhist {

namespace {

bool fatal(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTERM:
    case SIGQUIT:
    case SIGSYS:
      return true;
    default:
      return false;
  }
}

bool changes_count(Role role) {
  return role == Role::init || role == Role::get || role == Role::try_get || role == Role::put;
}

}  // namespace

bool HitHandler::rule_applies(const StopRule& rule, const Object& object) const {
  return rule.enabled && rule.wants_family(state_.family_name(object.family)) &&
         (!rule.object || *rule.object == object.address);
}

HitHandler::HitHandler(SessionState& state, Tracker& tracker) : state_(state), tracker_(tracker) {
  state_.agent.set_candidate_handler([this](const Candidate& candidate) {
    AskedCalls::Asked asked{candidate, {}, {}};
    for (const Recorded& recorded : candidate.recorded) {
      asked.objects.push_back(recorded.outcome.object);
      for (Firing& firing : judge(recorded, candidate.tid)) asked.firings.push_back(std::move(firing));
    }
    calls_.add(std::move(asked));
  });
}

void HitHandler::stop_for(StopRule& rule, const std::string& what) {
  ++rule.hits;
  if (rule.kind == RuleKind::follow) return follow(rule);
  if (!reason_.empty()) return;  // the first reason is told; the others count their hit
  reason_ = fmt::format("refhist: {} (rule {}: {})", what, rule.number, rule.describe());
}

void HitHandler::follow(const StopRule& rule) {
  if (port_ == nullptr) return;
  const ProgramAccess access(*port_, state_.process, state_.tracer_here);
  if (state_.kernel) return follower_.refuse(*port_, rule, "a kernel's calls cannot be followed");
  if (here_) return follower_.begin(access, tid_, *here_, rule);
  follower_.refuse(*port_, rule, "the program was in refhist's own code at the event");
}

void HitHandler::stop_for(const Firings& firings) {
  for (StopRule& rule : state_.rules.all()) {
    for (const Firing& firing : firings) {
      if (firing.rule == rule.number && rule.enabled) stop_for(rule, firing.what);
    }
  }
}

std::string HitHandler::place(const Recorded& recorded, long tid) {
  const Site& site = state_.sites.get(recorded.site);
  const Event& event = state_.history.event(recorded.outcome.event);
  const std::string& name = state_.history.thread(event.thread).name;
  return fmt::format("{} called by {}, thread {}{}", site.function,
                     FrameNamer::text(state_.namer.owner(event)), tid,
                     name.empty() ? std::string() : fmt::format(" \"{}\"", name));
}

// How many events the last call told: an unobserved change that it revealed and the allocation before a birth
// are told with it.
std::int64_t HitHandler::recorded_together(const Object& object) const {
  std::int64_t count = 1;
  EventId id = object.last_event;
  for (EventId earlier; (earlier = state_.history.previous(id)).valid(); id = earlier, ++count) {
    const Event before = state_.history.event(earlier);
    const bool next_to_it = earlier.value + 1 == id.value;
    if (!next_to_it || !(before.unobserved || before.role == Role::alloc)) break;
  }
  return count;
}

Firings HitHandler::judge(const Recorded& recorded, long tid) {
  Firings firings;
  if (!recorded.outcome.event.valid() || state_.rules.all().empty()) return firings;
  const Object& object = state_.history.object(recorded.outcome.object);
  const Event& event = state_.history.event(recorded.outcome.event);
  const std::string name = fmt::format("{} {:#x}", state_.family_name(object.family), object.address);
  const bool to_zero =
      event.role == Role::put && (recorded.outcome.to_zero || (recorded.before && *recorded.before == 1));
  // An unobserved change is recorded right before the event that revealed it.
  const EventId earlier = state_.history.previous(object.last_event);
  const bool moved = earlier.valid() && state_.history.event(earlier).unobserved &&
                     !state_.history.lost_before(earlier) &&
                     earlier.value + 1 == recorded.outcome.event.value &&
                     !is_put_by_hand(state_.history.event(earlier), event);
  const auto fires = [&](const StopRule& rule, std::string what) {
    const bool counted = rule.kind == RuleKind::put_to_zero && recorded.before;
    firings.push_back(Firing{rule.number, std::move(what),
                             counted ? std::optional(recorded.outcome.object) : std::nullopt});
  };
  for (const StopRule& rule : state_.rules.all()) {
    if (!rule.after.empty() || !rule_applies(rule, object)) continue;
    if (rule.kind == RuleKind::count) {
      const bool raised = (event.role == Role::get || event.role == Role::try_get) && !event.failed;
      if (raised && event.after && *event.after > rule.above)
        fires(rule, fmt::format("count above {}: {}, count {} -> {}, {}", rule.above, name,
                                shown_count(event.before), *event.after, place(recorded, tid)));
    } else if (rule.names_event()) {
      const auto told = std::int64_t{object.events};
      const bool here =
          rule.number_of_event <= told && rule.number_of_event > told - recorded_together(object);
      if (here && (rule.generation == 0 || rule.generation == object.generation))
        fires(rule, fmt::format("event {} of {} (generation {}): {}, count {} -> {}, {}",
                                rule.number_of_event, name, object.generation, role_name(event.role),
                                shown_count(event.before), shown_count(event.after), place(recorded, tid)));
    } else if (rule.kind == RuleKind::put_to_zero && to_zero) {
      fires(rule, fmt::format("put to zero: {}, count {} -> 0, {}", name, shown_count(event.before),
                              place(recorded, tid)));
    } else if (rule.kind == RuleKind::imbalance && recorded.outcome.finding &&
               recorded.outcome.finding->verdict != Verdict::undecidable) {
      const Finding& finding = *recorded.outcome.finding;
      fires(rule, fmt::format("{}: {}: {}, {}", verdict_name(finding.verdict), name, finding.why,
                              place(recorded, tid)));
    } else if (rule.kind == RuleKind::imbalance && moved &&
               !state_.families[object.family.index()].traits.blind) {
      const Event& change = state_.history.event(earlier);
      fires(rule,
            fmt::format("unobserved-change: {}: the count went from {} to {} without a probe, seen at {}",
                        name, shown_count(change.before), shown_count(change.after), place(recorded, tid)));
    }
  }
  return firings;
}

void HitHandler::tell_slow(DebuggerPort& port, SiteId id) {
  constexpr std::uint64_t kMany = 1'000;  // a second in LLDB, a tenth of one in GDB
  const Site& site = state_.sites.get(id);
  const TrackedFamily& tracked = state_.families[site.family.index()];
  if (site.hits != kMany || tracked.backend == Backend::breakpoint) return;
  const std::string& why = site.why_breakpoint.empty() ? state_.agent.why_not() : site.why_breakpoint;
  port.print(
      fmt::format("refhist: {} calls of {} have each stopped the program briefly: it has a breakpoint (not "
                  "in the agent: {}), which slows the program down a lot; refhist untrack {} removes it\n",
                  kMany, site.function, why, tracked.family.name));
}

void HitHandler::judge_watched(const PendingCall& call, long tid) {
  const auto found = std::find_if(state_.rules.all().begin(), state_.rules.all().end(),
                                  [&](const StopRule& rule) { return rule.number == call.watch; });
  if (found == state_.rules.all().end() || !found->enabled) return;
  if (state_.history.lost_since(call.first_inside)) {
    ++found->undecided;
    return;
  }
  std::int64_t net = 0;
  std::size_t born = 0;
  std::map<std::string, std::int64_t> by_object;
  state_.history.log().for_each(call.first_inside, [&](const EventLog::Entry& entry) {
    const Event& event = entry.event;
    const Object& object = state_.history.object(event.object);
    if (state_.history.thread(event.thread).tid != tid || event.failed || !rule_applies(*found, object))
      return;
    const bool birth = object.born == entry.id;
    if (birth && object.state == ObjectState::live) ++born;
    if (event.unobserved || !changes_count(event.role)) return;
    const std::int64_t delta = event.role == Role::put    ? -1
                               : event.role == Role::init ? event.after.value_or(1)
                                                          : 1;
    net += delta;
    by_object[fmt::format("{} {:#x}", state_.family_name(object.family), object.address)] += delta;
  });
  std::erase_if(by_object, [](const auto& entry) { return entry.second == 0; });
  std::string names;
  for (const auto& [name, delta] : by_object) {
    if (names.size() > 120) continue;
    names += fmt::format("{}{} {:+}", names.empty() ? ": " : ", ", name, delta);
  }
  if (found->kind == RuleKind::imbalance && net != found->expect) {
    stop_for(*found,
             fmt::format("imbalance: {} returns with a net change of {:+}, expected {:+}{}, thread {}",
                         found->after, net, found->expect, names, tid));
  } else if (found->kind == RuleKind::leak && born > 0) {
    stop_for(*found, fmt::format("leak: {} returns and {} born inside still live{}{}, thread {}",
                                 found->after, plural(born, "object"), born == 1 ? "s" : "", names, tid));
  }
}

HitHandler::LeakSummary HitHandler::leak_summary(const StopRule& rule) {
  LeakSummary summary;
  std::size_t held = 0;
  std::map<std::string, std::size_t> by_family;
  std::string suspect;
  std::string why_undecided;
  for (const LeakGroup& group : state_.leak_finder().find(state_.scan.objects)) {
    if (group.reach_known && group.reach == Reach::reachable && !rule.reachable) continue;
    const auto objects =
        static_cast<std::size_t>(std::count_if(group.objects.begin(), group.objects.end(), [&](ObjectId id) {
          return rule_applies(rule, state_.history.object(id));
        }));
    if (objects == 0) continue;
    if (group.verdict == Verdict::undecidable) {
      summary.undecided += objects;
      if (why_undecided.empty()) why_undecided = group.why;
    } else if (group.consequence) {
      held += objects;
    } else {
      summary.leaked += objects;
      by_family[state_.family_name(group.family)] += objects;
      if (suspect.empty() && !group.suspects.empty()) suspect = "; " + group.suspects.front().text();
    }
  }
  for (const auto& [family, n] : by_family)
    summary.text += fmt::format("{}{} {}", summary.text.empty() ? "" : ", ", n, family);
  if (held != 0) summary.text += fmt::format(" and {} that only they hold", held);
  summary.text += suspect;
  if (summary.undecided != 0)
    summary.why_undecided =
        fmt::format("undecidable: {}: {}", plural(summary.undecided, "object"), why_undecided);
  return summary;
}

void HitHandler::judge_exit(DebuggerPort& port, long raw_exit_thread) {
  const bool raw = raw_exit_thread != 0;
  scan_now(state_, port, true, raw_exit_thread);
  for (StopRule& rule : state_.rules.all()) {
    if (rule.kind != RuleKind::leak || !rule.after.empty() || !rule.enabled) continue;
    if (raw && !rule.raw_exit) continue;
    const LeakSummary found = leak_summary(rule);
    const std::string undecided = found.undecided == 0 ? "" : "; " + found.why_undecided;
    if (found.leaked == 0) {
      if (found.undecided != 0)
        port.print(
            fmt::format("refhist: the program is about to end{}; refhist leaks shows more\n", undecided));
      continue;
    }
    const char* state = !state_.scan.done ? "outstanding" : rule.reachable ? "not released" : "leaked";
    const std::size_t running = state_.scan.running_threads;
    stop_for(rule, fmt::format("leak: the program is about to end{}: {} {}{}: {}{}; refhist leaks shows more",
                               raw ? " by a raw system call" : "", plural(found.leaked, "object"), state,
                               running == 0 ? "" : " as far as can be seen while other threads run",
                               found.text, undecided));
  }
}

bool HitHandler::handle_raw_exit(DebuggerPort& port, long tid, bool whole_process) {
  reason_.clear();
  // The system call that _exit makes: its breakpoint has told already.
  if (exit_process_ == state_.process.pid && exit_thread_ == tid) return false;
  const ProgramAccess access(port, state_.process, state_.tracer_here);
  const std::vector<ThreadInfo> threads = port.threads();
  const bool others = std::any_of(threads.begin(), threads.end(), [&](const ThreadInfo& thread) {
    return thread.tid != tid && access.thread_lives(thread.tid);
  });
  if (!whole_process && others) return false;
  judge_exit(port, tid);
  if (reason_.empty() && whole_process) port.let_end(tid);
  return !reason_.empty();
}

void HitHandler::judge_stop(DebuggerPort& port, int signal) {
  if (!fatal(signal) || !state_.rules.any_enabled(RuleKind::leak)) return;
  scan_now(state_, port, false);
  for (StopRule& rule : state_.rules.all()) {
    if (rule.kind != RuleKind::leak || !rule.after.empty() || !rule.enabled) continue;
    const LeakSummary found = leak_summary(rule);
    if (found.leaked != 0)
      port.print(
          fmt::format("refhist: leak: at signal {}: {}; refhist leaks shows more\n", signal, found.text));
  }
}

// With what has become of the objects since the call was recorded.
Firings HitHandler::decide(const ProgramAccess& access, AskedCalls::Asked& asked) {
  // Does this thread alone take the counter to zero?
  std::erase_if(asked.firings, [&](const Firing& firing) {
    if (!firing.to_zero) return false;
    const bool folded = !state_.history.objects().contains(*firing.to_zero);
    if (folded || !asked.candidate.last_put) return true;
    const Object& object = state_.history.object(*firing.to_zero);
    const TrackedFamily& tracked = state_.families[object.family.index()];
    if (!tracked.counter) return false;
    const Count now = access.read_count(*tracked.counter, tracked.family.counter, object.address);
    return now && *now != 1;
  });
  for (const ObjectId id : asked.objects) {
    if (state_.history.objects().contains(id)) state_.agent.rules()->correct(state_.history.object(id));
  }
  return std::move(asked.firings);
}

std::string HitHandler::send(DebuggerPort& port, AskedCalls::Sent sent, Address return_pc, Address stub_site,
                             Address pc) {
  // Never the same call twice: what has not stopped it once may never do so.
  if (calls_.is_sent(sent.call)) return "the breakpoint there did not stop it";
  const AskedCalls::Call call = sent.call;
  const bool armed = sent.returned ? tracker_.stop_at_return(port, return_pc)
                                   : (sent.to = tracker_.stop_at_beginning(port, call, stub_site)) != 0;
  if (!armed) return fmt::format("{} refused a breakpoint there", port.name());
  if (sent.returned) sent.to = return_pc;
  const Address on = pc + (sent.returned ? kGoOn : kGoBack);
  calls_.send(std::move(sent));
  if (port.set_pc(call.tid, on)) return {};
  calls_.take_sent(call);
  return fmt::format("{} cannot move the thread there", port.name());
}

bool HitHandler::stop_here(long tid, const Firings& firings, bool returned, const std::string& why) {
  stop_for(firings);
  if (reason_.empty()) return false;
  reason_ += fmt::format("; the program is stopped in refhist's own code right {} this call, because {}",
                         returned ? "after" : "before", why);
  arrived_.push_back(tid);
  return true;
}

bool HitHandler::answer(DebuggerPort& port, const ProgramAccess& access, long tid, Address pc) {
  const auto go_on = [&] {
    // Behind the first instruction: stepped over, a program with frequent signals would hit it again and
    // again.
    port.set_pc(tid, pc + kGoOn);
    return false;
  };
  const auto registers = access.registers(tid);
  if (!registers) {
    state_.lose_hit();
    return go_on();
  }
  const Address stub_site = (*registers)[kRdi];
  const AskedCalls::Call call{tid, state_.agent.site_of_stub(stub_site), (*registers)[kRsi]};
  if ((*registers)[kRdx] != 0) {
    const auto sent = calls_.take_sent(call);
    return (sent && stop_here(tid, sent->firings, false, "the breakpoint there did not stop it")) || go_on();
  }
  auto asked = calls_.take_asked(call);
  if (!asked) {
    state_.agent.replay_interrupting(tid);
    asked = calls_.take_asked(call);
  }
  if (!asked) return go_on();
  const Firings firings = decide(access, *asked);
  if (firings.empty()) return go_on();
  const Candidate& candidate = asked->candidate;
  const std::string why_not =
      send(port, {call, candidate.returned, 0, registers->sp(), firings}, candidate.return_pc, stub_site, pc);
  return !why_not.empty() && (stop_here(tid, firings, candidate.returned, why_not) || go_on());
}

bool HitHandler::arrive(DebuggerPort& port, long tid, const Registers& registers) {
  const auto sent = calls_.take_arrived(tid, registers.pc(), registers.sp());
  if (!sent) return false;
  stop_for(sent->firings);
  const bool stops = !reason_.empty();
  // Where the agent's jump comes next, it must know the call.
  const bool jumps = !stops && state_.sites.get(sent->call.site).in_agent;
  if (const RuleTable* rules = state_.agent.rules(); rules != nullptr && !jumps) rules->arrived(tid);
  if (stops) arrived_.push_back(tid);
  if (stops && !sent->returned) {
    tracker_.arrived(tid);
    tracker_.advance_to_arguments(port, tid, sent->call.site, registers);
  }
  return !sent->returned;  // others may return to there too
}

void HitHandler::take_begun(DebuggerPort& port, const Tracker::Begun& call) {
  if (handle(port, call.tid, call.pc, &call)) port.print(reason_ + "\n");
}

void HitHandler::tell_missed(DebuggerPort& port) {
  for (const AskedCalls::Sent& sent : calls_.take_missed()) {
    reason_.clear();
    stop_for(sent.firings);
    if (!reason_.empty()) port.print(reason_ + "; the process was gone before it could stop there\n");
  }
  reason_.clear();
}

void HitHandler::settle_stop() {
  for (const long tid : std::exchange(arrived_, {})) {
    if (const RuleTable* rules = state_.agent.rules()) rules->release(tid);
  }
}

void HitHandler::check_process(DebuggerPort& port, long tid) {
  if (known_process_ != state_.process.pid) {
    known_threads_.clear();
    calls_.forget();
    arrived_.clear();
    repeated_.forget();
  }
  known_process_ = state_.process.pid;
  if (!known_threads_.insert(tid).second) return;
  if (port.process().pid == known_process_) return;
  tracker_.follow_fork(port);
  known_process_ = state_.process.pid;
  known_threads_ = {tid};
}

void HitHandler::seen_by_breakpoint(const Recorded& recorded, long tid) {
  stop_for(judge(recorded, tid));
  // The agent has not seen it, and looks at the family's other sites.
  const ObjectId object = recorded.outcome.object;
  if (const RuleTable* rules = state_.agent.rules(); rules != nullptr && object.valid())
    rules->correct(state_.history.object(object));
}

void HitHandler::record_return(const ProgramAccess& access, long tid, const Registers& registers) {
  if (!tracker_.stop_points().has(registers.pc(), StopPoint::call_return)) return;
  std::vector<Recorded> seen;
  std::vector<PendingCall> watched;
  state_.recorder.on_return(access, tid, registers, seen, watched);
  for (const Recorded& recorded : seen) seen_by_breakpoint(recorded, tid);
  for (const PendingCall& call : watched) judge_watched(call, tid);
}

void HitHandler::record_entry(DebuggerPort& port, const ProgramAccess& access, long tid,
                              const Registers& registers, SiteId site) {
  std::optional<Address> arm_return;
  std::vector<Recorded> seen;
  state_.recorder.on_entry(access, tid, registers, site, seen, arm_return);
  if (arm_return) tracker_.arm_return(port, *arm_return);
  for (const Recorded& recorded : seen) seen_by_breakpoint(recorded, tid);
}

void HitHandler::record(DebuggerPort& port, const ProgramAccess& access, long tid, const Registers& registers,
                        bool begun) {
  const Address pc = registers.pc();
  record_return(access, tid, registers);
  const SiteId site = state_.sites.at(pc);
  if (!site.valid() || !state_.recording) return;
  if (!begun && tracker_.through_agent(port, site, tid, registers)) {
    repeated_.take_back(tid);
    return;
  }
  record_entry(port, access, tid, registers, site);
  if (!begun && !reason_.empty()) tracker_.advance_to_arguments(port, tid, site, registers);
  tell_slow(port, site);
}

bool HitHandler::handle(DebuggerPort& port, long tid, Address pc, const Tracker::Begun* begun) {
  reason_.clear();
  here_.reset();
  tid_ = tid;
  struct Now {
    DebuggerPort*& port;
    Now(DebuggerPort*& kept, DebuggerPort* now) : port(kept) { port = now; }
    ~Now() { port = nullptr; }
  } const now(port_, &port);
  return handle_there(port, tid, pc, begun);
}

bool HitHandler::handle_there(DebuggerPort& port, long tid, Address pc, const Tracker::Begun* begun) {
  check_process(port, tid);
  tracker_.settle_fork(port);
  state_.agent.replay();
  const ProgramAccess access(port, state_.process, state_.tracer_here);
  const StopPoints::Reasons reasons = tracker_.stop_points().at(pc);
  if (reasons.has(StopPoint::agent_question)) return answer(port, access, tid, pc);
  if (state_.kernel) return handle_in_kernel(port, access, tid, pc);
  const bool further = begun != nullptr && begun->registers;
  std::optional<Registers> registers = further ? begun->registers : access.registers(tid);
  if (!registers) {
    state_.lose_hit();
    return false;
  }
  (*registers)[kRip] = pc;
  if (repeated_.is_repeated(access, tid, *registers)) return false;
  here_ = registers;
  follower_.passed(access, tid, *registers);
  if (arrive(port, tid, *registers)) return !reason_.empty();
  if (reasons.has(StopPoint::module_change)) tracker_.modules_changed(port);
  tracker_.bring_agent(port, tid);
  record(port, access, tid, *registers, begun != nullptr);
  if (reasons.has(StopPoint::innermost_fork)) ++state_.forks;
  if (reasons.has(StopPoint::fork) && state_.agent.attached()) {
    Address return_pc = 0;
    if (access.read_word(registers->sp(), return_pc)) tracker_.arm_return(port, return_pc);
    state_.agent.note_fork();
  }
  watch_calls(port, access, tid, *registers);
  if (reasons.has(StopPoint::exit)) {
    exit_process_ = state_.process.pid;
    exit_thread_ = tid;
    judge_exit(port, 0);
    if (reason_.empty()) port.let_end(tid);
  }
  return !reason_.empty();
}

}  // namespace refhist
