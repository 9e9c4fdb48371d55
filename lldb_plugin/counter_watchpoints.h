// Hardware watchpoints of ours. LLDB has no callback for them in C++: a line of Python that LLDB runs at each
// change calls back into this plugin.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "base/types.h"

namespace refhist {

class CounterWatchpoints {
 public:
  /// Empty when done, else why not.
  std::string place(lldb::SBDebugger& debugger, lldb::SBTarget& target, Address address, unsigned size);
  void remove(lldb::SBTarget& target, Address address);
  /// False when the user deleted it or switched it off.
  [[nodiscard]] bool alive(lldb::SBTarget& target, Address address);
  /// The process is gone.
  void clear(lldb::SBTarget& target);
  /// A change is being told: none may be deleted now, only switched off.
  void set_telling(bool telling) { telling_ = telling; }

 private:
  static std::string call_back(lldb::SBDebugger& debugger, lldb::SBWatchpoint& watchpoint);
  void delete_retired(lldb::SBTarget& target);

  std::unordered_map<Address, lldb::watch_id_t> placed_;
  std::vector<lldb::watch_id_t> retired_;
  bool telling_ = false;
};

}  // namespace refhist
