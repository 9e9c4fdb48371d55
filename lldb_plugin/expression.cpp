#include "expression.h"

#include "base/error.h"

namespace refhist {

namespace {
lldb::SBExpressionOptions quiet_options() {
  lldb::SBExpressionOptions options;
  options.SetIgnoreBreakpoints(true);
  options.SetUnwindOnError(true);
  options.SetTryAllThreads(false);
  options.SetFetchDynamicValue(lldb::eNoDynamicValues);
  options.SetSuppressPersistentResult(true);
  options.SetAllowJIT(
      false);  // a call would run the program, and functions that count, in the middle of a command
  return options;
}

/// Variables, members, registers and $variables are read without LLDB's compiler, which puts copies of them
/// into the program's memory: there they would look as if the program still held them.
lldb::SBValue read_plainly(lldb::SBFrame& frame, const std::string& expression) {
  if (!expression.starts_with("$")) {
    return frame.GetValueForVariablePath(expression.c_str(), lldb::eNoDynamicValues);
  }
  lldb::SBValue value = frame.FindRegister(expression.c_str() + 1);
  return value.IsValid() ? value : frame.FindValue(expression.c_str(), lldb::eValueTypeConstResult);
}

lldb::SBValue value_of(lldb::SBTarget& target, lldb::SBProcess& process, const std::string& expression) {
  const lldb::SBExpressionOptions options = quiet_options();
  if (process.IsValid() && process.GetState() == lldb::eStateStopped) {
    lldb::SBFrame frame = process.GetSelectedThread().GetSelectedFrame();
    if (frame.IsValid()) {
      lldb::SBValue value = read_plainly(frame, expression);
      if (value.IsValid() && value.GetError().Success()) return value;
      return frame.EvaluateExpression(expression.c_str(), options);
    }
  }
  return target.EvaluateExpression(expression.c_str(), options);
}

// LLDB's message has a caret drawing below its first line, and words of its own in front.
std::string reason(const char* message) {
  std::string text = message == nullptr ? "" : message;
  if (text.find("Interpreter") != std::string::npos)
    return "it calls a function of the program, or would have to be compiled: use `expr` first, then its $0";
  for (const std::string_view mark : {"error: <user expression", "error: "}) {
    const std::size_t at = text.find(mark);
    if (at == std::string::npos) continue;
    text.erase(0, at + mark.size());
    if (mark.back() != ' ') text.erase(0, text.find(": ") == std::string::npos ? 0 : text.find(": ") + 2);
    break;
  }
  return text.substr(0, text.find('\n'));
}
}  // namespace

Address evaluate_address(lldb::SBTarget& target, lldb::SBProcess& process, const std::string& expression) {
  if (!target.IsValid())
    fail("cannot evaluate \"{}\": no program is loaded (use `target create FILE`)", expression);
  lldb::SBValue value = value_of(target, process, expression);
  lldb::SBError error = value.GetError();
  if (!value.IsValid() || error.Fail())
    fail("cannot evaluate \"{}\": {}", expression, reason(error.GetCString()));
  lldb::SBType type = value.GetType().GetCanonicalType();
  constexpr auto kAggregates =
      lldb::eTypeClassStruct | lldb::eTypeClassClass | lldb::eTypeClassUnion | lldb::eTypeClassArray;
  if ((type.GetTypeClass() & kAggregates) != 0) {
    const Address address = value.GetLoadAddress();
    if (address == LLDB_INVALID_ADDRESS) fail("\"{}\" is a value without an address", expression);
    return address;
  }
  if ((type.GetTypeFlags() & lldb::eTypeIsFloat) != 0)
    fail("\"{}\" is a number with a fraction, not an address", expression);
  const Address address = value.GetValueAsUnsigned(error);
  if (error.Fail()) fail("\"{}\" is not an address: its type is {}", expression, value.GetTypeName());
  return address;
}

}  // namespace refhist
