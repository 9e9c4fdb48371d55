// What a user of LLDB would write by hand in C++: a callback that records the object's address and nothing else.
// `plugin load` it once the target is there.
#include <lldb/API/LLDB.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

std::vector<std::uint64_t> addresses;

bool hit(void*, lldb::SBProcess&, lldb::SBThread& thread, lldb::SBBreakpointLocation&) {
  addresses.push_back(thread.GetFrameAtIndex(0).FindRegister("rdi").GetValueAsUnsigned());
  return false;
}

class EventsCommand : public lldb::SBCommandPluginInterface {
 public:
  bool DoExecute(lldb::SBDebugger, char**, lldb::SBCommandReturnObject& result) override {
    result.Printf("\"events\": %zu\n", addresses.size());
    return true;
  }
};

}  // namespace

namespace lldb {
#define API __attribute__((visibility("default")))
API bool PluginInitialize(SBDebugger debugger) {
  SBTarget target = debugger.GetSelectedTarget();
  for (const char* function : {"conn_get", "conn_put", "conn_try_get"}) {
    target.BreakpointCreateByName(function).SetCallback(hit, nullptr);
  }
  // LLDB takes the command over.
  return debugger.GetCommandInterpreter().AddCommand("naive-events", new EventsCommand, "events recorded").IsValid();
}
}  // namespace lldb
