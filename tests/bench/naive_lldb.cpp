// What a user of LLDB would write by hand in C++: a callback that records the object's address and nothing
// else. And, to see what LLDB itself takes, a callback that does nothing but count.
#include <lldb/API/LLDB.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace {

std::vector<std::uint64_t> addresses;
std::size_t idle_hits = 0;

bool record(void*, lldb::SBProcess&, lldb::SBThread& thread, lldb::SBBreakpointLocation&) {
  addresses.push_back(thread.GetFrameAtIndex(0).FindRegister("rdi").GetValueAsUnsigned());
  return false;
}

bool idle(void*, lldb::SBProcess&, lldb::SBThread&, lldb::SBBreakpointLocation&) {
  ++idle_hits;
  return false;
}

/// `naive record|idle` places the breakpoints, `naive events` tells how often they were hit.
class NaiveCommand : public lldb::SBCommandPluginInterface {
 public:
  bool DoExecute(lldb::SBDebugger debugger, char** words, lldb::SBCommandReturnObject& result) override {
    const std::string_view what = words == nullptr || *words == nullptr ? "" : *words;
    if (what == "events") {
      result.Printf("\"events\": %zu\n", addresses.size() + idle_hits);
      return true;
    }
    lldb::SBTarget target = debugger.GetSelectedTarget();
    for (const char* function : {"conn_get", "conn_put", "conn_try_get"}) {
      target.BreakpointCreateByName(function).SetCallback(what == "idle" ? idle : record, nullptr);
    }
    return true;
  }
};

}  // namespace

namespace lldb {
#define API __attribute__((visibility("default")))
API bool PluginInitialize(SBDebugger debugger) {
  // LLDB takes the command over.
  return debugger.GetCommandInterpreter()
      .AddCommand("naive", new NaiveCommand, "callbacks by hand")
      .IsValid();
}
}  // namespace lldb
