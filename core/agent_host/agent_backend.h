// The second way to arm sites: code in the program records, and the debugger does not stop for it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent_host/agent_loader.h"
#include "agent_host/agent_watch.h"
#include "agent_host/event_drain.h"
#include "agent_host/frame_writer.h"
#include "agent_host/replay.h"
#include "agent_host/rule_table.h"
#include "agent_host/stub_writer.h"
#include "agent_host/symbol_file.h"
#include "agent_tables/compact_cfi.h"
#include "agent_tables/stack_nodes.h"
#include "patching/module_code.h"
#include "port/code_bytes.h"
#include "port/debugger_port.h"
#include "sites/site_table.h"
#include "symbols/module_map.h"
#include "x86/branch_targets.h"
#include "x86/stack_arguments.h"

namespace refhist {

/// What the backend works with; all of it outlives the backend.
struct AgentContext {
  ModuleMap& modules;
  SiteTable& sites;
  std::vector<TrackedFamily>& families;
  Recorder& recorder;
};

/// An event whose thread asks for a decision.
struct Candidate {
  long tid = 0;
  SiteId site;
  Address sp = 0;         ///< at the entry of its call
  bool returned = false;  ///< told at the call's return
  bool last_put = false;  ///< nobody else could change the counter when it asked
  Address return_pc = 0;  ///< in the program's own code
  std::vector<Recorded> recorded;
};

class AgentBackend {
 public:
  explicit AgentBackend(AgentContext context) : context_(context) {}

  /// Called while records are handed to the recorder.
  using CandidateHandler = std::function<void(const Candidate& candidate)>;
  void set_candidate_handler(CandidateHandler handler) { on_candidate_ = std::move(handler); }

  /// Brings the agent into the process if it is not there. Not before the C library is mapped.
  /// `hit`: the thread whose stop is being handled, which can run system calls when others cannot; 0 none.
  bool attach(DebuggerPort& port, const ProcessInfo& process, bool tracer_here, long hit = 0);
  /// Another process: what kept the agent out of the last one may not keep it out of this one.
  void begin_process();
  [[nodiscard]] bool attached() const { return agent_.has_value(); }
  /// Why the agent is not in this process; empty when it is, or may still come.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  /// Patches the site's function. Empty when done, else the reason why this site is left to a breakpoint.
  std::string arm(DebuggerPort& port, SiteId id, const AgentWatch& watch);
  [[nodiscard]] bool armed(SiteId id) const { return armed_.contains(id); }
  /// The stub that the site had and can have again with this; 0 when there is none.
  [[nodiscard]] Address stub_of(DebuggerPort& port, SiteId id, const AgentWatch& watch) const;
  /// The armed site whose patch begins there.
  [[nodiscard]] std::optional<SiteId> patched_at(Address pc) const;
  /// A step over a line would end inside of the jump that the site has, or had and can have again.
  [[nodiscard]] bool covers_line(const DebuggerPort& port, SiteId id) const;
  /// Where the armed site's jump is.
  [[nodiscard]] Address jump_of(SiteId id) const { return armed_.at(id).patch.at; }
  /// A thread stands at the armed site's beginning or at its jump: where it would stand with the same
  /// registers, had the function no endbr64.
  [[nodiscard]] Address call_at(SiteId id, Address pc) const;
  /// Of a thread in the instructions that the armed site's stub takes back, or right behind them: what its
  /// registers were at the function's entry. Nothing elsewhere.
  [[nodiscard]] std::optional<Registers> at_entry(SiteId id, Registers now,
                                                  const FunctionStart::ReadWord& read) const;
  /// Where its stub begins, for a thread that stands at the beginning of a call; 0: the patch is further in,
  /// or the thread.
  [[nodiscard]] Address stub_from(SiteId id, Address pc) const;
  /// The stub that the site had begins with instructions in front of the site's own.
  [[nodiscard]] bool begins_before(SiteId id) const;
  /// What it was armed with.
  [[nodiscard]] AgentWatch watch_of(SiteId id) const;
  [[nodiscard]] bool watches_any() const;
  /// Where threads ask for a decision; 0 when there is no agent.
  [[nodiscard]] Address stop_place() const { return agent_ ? agent_->loaded.stop : 0; }
  /// The site of the stub that has its agent::Site there.
  [[nodiscard]] SiteId site_of_stub(Address stub_site) const;
  /// Where threads come from this stub that go back; 0 when it has no way back.
  [[nodiscard]] Address way_back(Address stub_site) const;
  /// The armed site that has this byte in its jump, not as the first one: no breakpoint can be there.
  [[nodiscard]] std::optional<SiteId> jump_around(Address address) const;
  /// The program's side of the stop rules; null when there is no agent.
  [[nodiscard]] const RuleTable* rules() const { return agent_ ? agent_->rules.get() : nullptr; }
  /// Puts the function's bytes back.
  void disarm(DebuggerPort& port, SiteId id);
  void disarm_all(DebuggerPort& port);
  /// Sites whose patch has a breakpoint of the user inside: not hit there, and it damages the patch.
  [[nodiscard]] std::vector<SiteId> covered_by_breakpoints(DebuggerPort& port) const;
  /// Sites whose patch covers the address, which is not theirs.
  [[nodiscard]] std::vector<SiteId> patched_over(Address address) const;
  /// Jumps that have a byte in [begin, end): what stands there now, and what the program has there.
  [[nodiscard]] std::vector<CodeBytes> covered_code(Address begin, Address end) const;
  /// The module's code is gone, and the patches with it.
  void drop(Address begin, Address end);

  /// Hands everything recorded so far to the recorder.
  void replay();
  /// The same while the program runs, as far as the order is certain. False when there was nothing.
  bool replay_settled();
  /// The thread asks about a call of a signal handler, which has interrupted a record of the thread's.
  void replay_interrupting(long tid);
  /// A call of a get or put whose counter could not be read in the agent: the program's fault.
  struct Fault {
    SiteId site;
    Address object = 0;
  };
  /// After replay, when a signal has told of a fault, or the process has `ended` by one. Hands on what is
  /// known of these calls; those of inlined copies are no events yet.
  std::vector<Fault> replay_faults(bool ended);
  /// A thread is about to fork: what is recorded from now on may be the other side's.
  void note_fork();
  /// The user sees the program stopped: what it records before it is let go on is nothing.
  void note_stopped();
  /// Addresses, the numbers of stacks and events, or what is recorded of them, mean something else from now
  /// on.
  void forget_cached_calls();
  /// The same; and what processes before have lost is told no more.
  void forget_history();
  /// What the program captures follows the recorder's options.
  void apply_options();
  /// Why freed memory is not withheld though that was asked for, or not all of it; empty: all is as asked.
  [[nodiscard]] std::string quarantine_gap() const;
  /// Memory there may be withheld from it now.
  [[nodiscard]] bool withholds(Address address) const;
  /// Makes new stubs known to the debugger, to this library and to the program's own unwinder. After arming.
  void publish(DebuggerPort& port);
  /// The process is gone: what it has recorded is still taken.
  void forget();
  /// The debugger has let go of the process, which goes on: its code is put back and our memory given back.
  /// A line on what could not be done, or empty.
  std::string leave_detached(long pid);
  /// The debugger goes on with a child of fork, whose memory is a copy: the child is as without the agent,
  /// and the parent goes on unrecorded.
  void leave_parent(DebuggerPort& port);
  /// Records in this process too: a child of vfork shares the memory of its parent.
  [[nodiscard]] bool still_there(DebuggerPort& port, const ProcessInfo& process) const;

  /// What the program has done to the memory that it shares with us.
  struct Damaged {
    std::uint64_t records = 0;  ///< that were refused
    std::uint64_t words = 0;    ///< that were put right
    [[nodiscard]] bool any() const { return records + words != 0; }
  };
  [[nodiscard]] Damaged damaged() const;
  /// Events that are missing, without the refused records.
  [[nodiscard]] std::uint64_t lost() const;
  /// Puts and objects that stop rules could not judge in the program.
  [[nodiscard]] std::uint64_t undecided_puts() const;
  [[nodiscard]] std::uint64_t unwatched_events() const;
  [[nodiscard]] std::size_t count() const { return armed_.size(); }
  /// Memory in the program that is ours: no root of anything.
  [[nodiscard]] std::vector<std::pair<Address, Address>> own_memory() const;

 private:
  struct Armed {
    Patch patch;
    Stub stub;
    AgentWatch watch;
    bool tells_end = false;
  };
  /// A function of the C library that tells the agent of its calls.
  struct Hook {
    Patch patch;
    Address stub = 0;
  };
  /// A stub stays in the program for good; threads may stand in it.
  struct Written {
    SiteId site;
    Stub stub;
    std::string function;
    ModuleId module;
    Address function_address = 0;  // in the module's file
    Address address = 0;           // in memory
  };
  struct Agent {
    long pid = 0;
    LoadedAgent loaded;
    std::unique_ptr<StackNodes> nodes;
    std::unique_ptr<EventDrain> drain;
    std::unique_ptr<Replay> replay;
    std::unique_ptr<RuleTable> rules;
    std::vector<Written> stubs;
    bool passes_unwinder = false;  // the program's: exceptions pass through stubs
    std::vector<Hook> hooks;
    std::size_t published = 0;                           // of `stubs`
    std::vector<std::pair<std::string, Address>> files;  // shown to the debugger: path, bias
  };
  /// What `forget` does. What is mapped in the program, and nobody here looks at any more.
  LoadedAgent let_go();
  void publish_rules();
  /// `names`: what the piece's code is called.
  std::vector<std::uint8_t> frames_of(const CodePiece& piece, FrameWriter::Reader reader,
                                      std::vector<CodeName>& names) const;
  void publish_piece(DebuggerPort& port, CodePiece& piece);
  void show(DebuggerPort& port, const CodePiece& piece, std::span<const std::uint8_t> file);
  /// With the stub that it had before. False when that does not fit any more.
  bool arm_again(DebuggerPort& port, SiteId id, const AgentWatch& watch);
  struct Near {
    SiteId site;
    Address address = 0;
    const Patch* patch = nullptr;  ///< nullptr: it is a breakpoint
  };
  /// Other sites that are armed so near that patches could touch. By address.
  [[nodiscard]] std::vector<Near> armed_near(Address address) const;
  [[nodiscard]] std::vector<Address> others_near(SiteId id) const;
  [[nodiscard]] bool still_fits(DebuggerPort& port, SiteId id, const Armed& armed) const;
  std::string try_arm(DebuggerPort& port, SiteId id, const AgentWatch& watch);
  /// What is known of families and counters may have changed since the sites were armed.
  void describe_again();
  CodePiece* piece_near(Address begin, Address end);
  /// What is known of a module's code; made at its first site.
  struct KnownCode {
    ModuleCode code;
    BranchTargets targets;
    std::unordered_map<Address, std::string> imports;  // by slot in the file
  };
  const KnownCode& code_of(const LoadedModule& module);
  /// Why the agent cannot record an inlined copy; empty when it can.
  static std::string unfit(const Site& site, const TrackedFamily& tracked, const AgentWatch& watch);
  static std::optional<InsideFunction> inside_function(const LoadedModule& module, const ModuleCode& code,
                                                       Address place);
  StackArguments stack_arguments(DebuggerPort& port, const KnownCode& known, const CodeRange& function,
                                 unsigned depth);
  /// The same of the function that the dynamic linker puts into the slot.
  StackArguments imported_stack_arguments(DebuggerPort& port, const KnownCode& known, Address slot,
                                          unsigned depth);
  [[nodiscard]] const Written* stub_with(Address stub_site) const;
  [[nodiscard]] bool in_own_code(Address pc) const;
  static bool stands_in(DebuggerPort& port, const Patch& patch);
  bool hook(DebuggerPort& port, const std::string& name, Address handler);
  /// What the program has at this place of a stub; 0 for the stub's own instructions.
  [[nodiscard]] Address original(Address pc) const;
  bool read_stack(std::uint32_t node, std::vector<RawFrame>& frames) const;
  bool write(DebuggerPort& port, Address address, std::span<const std::uint8_t> bytes);
  void restore(DebuggerPort& port, const Patch& patch);

  AgentContext context_;
  CandidateHandler on_candidate_;
  std::optional<Agent> agent_;
  std::string why_not_;
  unsigned attempts_ = 0;
  std::unordered_map<SiteId, Armed> armed_;
  std::unordered_map<SiteId, Armed> reusable_;  // were armed, and their stubs still fit
  std::unordered_map<ModuleId, KnownCode> known_code_;
  std::unordered_map<const Module*, std::shared_ptr<const CompactCfi>> rules_;
  std::uint64_t unplaced_modules_ = 0;  // stacks end there
  std::uint64_t known_lost_ = 0;        // of the process that runs, and what was damaged
  Damaged damaged_before_;
  std::uint64_t lost_before_ = 0;  // in the agents of processes that have ended
  bool withholds_ = false;         // in this run, memory that the program frees can be withheld from it
  std::string gap_before_;         // quarantine_gap of the process that has ended
  std::uint64_t undecided_before_ = 0;
  std::uint64_t unwatched_before_ = 0;
  void replay_until(std::uint64_t stamp);
  void work_off(std::vector<RecordBatch> batches);
  /// Which blocks need not come into quarantine, as the recorder has learned it.
  void publish_sizes();
  void note_lost();
  void name_threads(std::vector<RecordBatch>& batches);

  std::uint64_t stopped_at_ = 0;  // time stamps
  std::uint64_t forked_at_ = 0;
  bool forking_ = false;  // which side the debugger goes on with is not known yet
};

}  // namespace refhist
