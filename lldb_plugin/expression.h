#pragma once

#include <lldb/API/LLDB.h>

#include <string>

#include "base/types.h"

namespace refhist {

/// The address that an expression means: the value of a pointer or integer, where a reference refers to,
/// where an object is. In the selected frame when the process is stopped. Throws Error.
Address evaluate_address(lldb::SBTarget& target, lldb::SBProcess& process, const std::string& expression);

}  // namespace refhist
