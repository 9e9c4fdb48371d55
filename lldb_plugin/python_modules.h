// The Python modules beside the plugin, for `script import refhist`.
#pragma once

#include <lldb/API/LLDB.h>

namespace refhist {

/// Has LLDB's Python look for modules in the plugin's folder as well. Does nothing in an LLDB without Python.
void offer_python_modules(lldb::SBDebugger& debugger);

}  // namespace refhist
