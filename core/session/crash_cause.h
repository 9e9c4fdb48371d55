// What a crash has to do with an object that is dead.
//
// At SIGSEGV and its like, the address that the program could not use is followed back to the words that it
// was loaded through. One that lies in memory which an object has given back, and which its allocator has not
// handed out since, is a use after free. So is memory that is given back again, where the C library ends the
// program for that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events/program_access.h"
#include "session/frame_origins.h"
#include "session/session_state.h"

namespace refhist {

class CrashCause {
 public:
  CrashCause(SessionState& state, DebuggerPort& port)
      : state_(state), access_(port, state.process, state.tracer_here) {}

  /// The thread has stopped for the signal. What is found becomes an event of the object and a finding.
  /// Returns it as a line for the user; empty when there is nothing.
  std::string look(long tid, int signal);

 private:
  struct Use {
    ObjectId object;
    std::string how;  ///< "used after its memory was freed, 8 bytes into it"
  };
  using Call = FrameOrigins::Call;
  using Frames = FrameOrigins;

  [[nodiscard]] std::optional<Use> find(const Registers& registers, const Frames& frames, int signal,
                                        std::vector<Address>& failed) const;
  [[nodiscard]] std::optional<Use> bad_access(const Registers& registers, const Frames& frames,
                                              std::vector<Address>& failed) const;
  [[nodiscard]] std::optional<Use> aborted(const Frames& frames) const;
  /// The put of the object that the thread was in when its counter could not be used; invalid when it was in
  /// none.
  [[nodiscard]] SiteId begun_put(ObjectId object, Address pc, const std::vector<Address>& failed) const;
  [[nodiscard]] SiteId put_at(Address address, FamilyId family) const;
  /// By the instruction that the innermost frame stands at. `failed`: the addresses that it may have failed
  /// to use.
  [[nodiscard]] std::optional<Use> by_instruction(const Registers& registers, const Frames& frames,
                                                  std::vector<Address>& failed) const;
  /// What the call was given leads to one of these addresses.
  [[nodiscard]] std::optional<Use> by_arguments(const Call& call, const Frames& frames,
                                                const std::vector<Address>& failed) const;
  [[nodiscard]] std::optional<Use> by_target(const Call& call, const Frames& frames) const;
  [[nodiscard]] bool is_c_library(Address pc) const;
  [[nodiscard]] bool gives_memory_back(Address pc) const;
  [[nodiscard]] std::optional<Use> freed_again(const ValueOrigin::Traced& given) const;
  [[nodiscard]] std::optional<Use> dead_at(const ValueOrigin::Traced& traced) const;
  [[nodiscard]] ObjectId dead_object(Address word) const;
  [[nodiscard]] bool in_block_of(const Object& object, Address word) const;
  /// Of these, the first one that lies in memory in quarantine.
  [[nodiscard]] std::optional<Address> first_withheld(const std::vector<Address>& failed) const;
  /// Memory in quarantine, in the page where what a counted object owns, or has owned, begins.
  struct OwnedMemory {
    Address owned = 0;
    Address failed = 0;
  };
  std::optional<OwnedMemory> owned_memory(const std::vector<Address>& failed);
  /// Two control blocks have owned it, and one of them has deleted it.
  std::string second_owner(Address owned);
  [[nodiscard]] std::optional<Use> by_owner(const OwnedMemory& memory) const;
  /// The use becomes an event of the object, and a finding.
  std::string tell(const Use& use, long tid, Registers here, bool jumped, const std::vector<Address>& failed);
  /// The signal came from memory in quarantine that no object is known in: says so, here and in all reports.
  std::string other_memory(const Registers& registers, const std::vector<Address>& failed);

  SessionState& state_;
  ProgramAccess access_;
};

}  // namespace refhist
