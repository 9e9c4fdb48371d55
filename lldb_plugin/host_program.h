// The program that has loaded the plugin.
#pragma once

namespace refhist {

/// LLDB's server of the Debug Adapter Protocol, for editors.
bool is_lldb_dap();
/// The same before LLDB 18. It throws away what LLDB prints, and shows what stands on standard error.
bool is_lldb_vscode();

}  // namespace refhist
