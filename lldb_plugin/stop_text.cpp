#include "stop_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "host_program.h"

namespace refhist {

namespace {
constexpr std::uint8_t kNop = 0x90;
constexpr std::uint8_t kBreakpoint = 0xcc;
constexpr std::size_t kSearched = 1 << 18;

/// Nobody stops a thread in front of it or behind it.
bool is_quiet_nop(std::uint8_t first, std::uint8_t second) { return first == kNop && second != kBreakpoint; }

/// Whoever else wants to stop here would show the thread where it is put.
bool stops_for_us_alone(lldb::SBProcess& process, lldb::SBThread& thread) {
  constexpr std::size_t kOneLocation = 2;  // its breakpoint's number and its own
  if (thread.GetStopReasonDataCount() != kOneLocation) return false;
  const std::uint32_t count = process.GetNumThreads();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBThread other = process.GetThreadAtIndex(i);
    if (other.GetThreadID() != thread.GetThreadID() && other.GetStopReason() != lldb::eStopReasonNone)
      return false;
  }
  return true;
}

bool queue_plan(lldb::SBThread& thread, const std::string& text, Address place, Address nop) {
  using Json = nlohmann::json;
  const Json arguments = {{"text", text}, {"place", place}, {"nop", nop}};
  lldb::SBStructuredData data;
  const std::string json = arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
  return data.SetFromJSON(json.c_str()).Success() &&
         thread.StepUsingScriptedThreadPlan("refhist_stop.Stop", data, false).Success();
}
}  // namespace

bool StopText::give(lldb::SBTarget& target, lldb::SBProcess& process, lldb::SBThread& thread,
                    const std::string& text) {
  if (!is_lldb_dap() || !stops_for_us_alone(process, thread)) return false;
  const Address place = thread.GetFrameAtIndex(0).GetPC();
  const Address away = nop(target, process, place);
  if (away == 0 || !thread.GetFrameAtIndex(0).SetPC(away)) return false;
  if (queue_plan(thread, text, place, away)) return true;
  thread.GetFrameAtIndex(0).SetPC(place);
  return false;
}

Address StopText::nop(lldb::SBTarget& target, lldb::SBProcess& process, Address near) {
  // As it is in memory: of a process elsewhere LLDB hides the breakpoints that it has put there.
  if (!access_.info(target, process).local) return 0;
  std::array<std::uint8_t, 2> there{};
  if (nop_ != 0 && access_.read_memory(target, process, nop_, there.data(), there.size()) &&
      is_quiet_nop(there[0], there[1]))
    return nop_;
  nop_ = 0;
  lldb::SBMemoryRegionInfo region;
  if (process.GetMemoryRegionInfo(near, region).Fail() || !region.IsExecutable()) return 0;
  const Address begin = region.GetRegionBase();
  std::vector<std::uint8_t> code(std::min<std::size_t>(region.GetRegionEnd() - begin, kSearched));
  if (!access_.read_memory(target, process, begin, code.data(), code.size())) return 0;
  const auto found = std::adjacent_find(code.begin(), code.end(), is_quiet_nop);
  if (found != code.end()) nop_ = begin + static_cast<Address>(found - code.begin());
  return nop_;
}

}  // namespace refhist
