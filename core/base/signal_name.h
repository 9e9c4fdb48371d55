// What a signal is called.
#pragma once

#include <string>

namespace refhist {

/// "SIGABRT"; "signal 99" where it has no name.
std::string signal_name(int signal);

}  // namespace refhist
