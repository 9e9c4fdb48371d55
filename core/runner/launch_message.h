// How refhist-run hands the program to the debugger's "shell": the program runs with the standard files, the
// environment and the process group that refhist-run was started with, and not with the debugger's.
//
// The shell (refhist-exec) connects to the socket whose path is in kLaunchSocket and receives one message:
// three open files, and the length of the text that follows. The text is made of strings, each with its end:
// the number of the process group, the path of the program, how many arguments, the arguments (argv[0]
// first), the environment. When the program cannot be run, the shell answers with why, else it is closed by
// exec.
#pragma once

namespace refhist {

inline constexpr const char* kLaunchSocket = "REFHIST_LAUNCH_SOCKET";
inline constexpr int kLaunchedFiles = 3;

}  // namespace refhist
