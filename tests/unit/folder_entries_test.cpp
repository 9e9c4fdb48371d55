#include "base/folder_entries.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace refhist {

TEST_CASE("the entries of a folder that is not there are none, and those of a process its threads") {
  CHECK(entries_of("/proc/self/no-such-folder").empty());
  const auto threads = entries_of("/proc/self/task");
  const std::string own = "/proc/self/task/" + std::to_string(getpid());
  CHECK(std::find(threads.begin(), threads.end(), own) != threads.end());
}

TEST_CASE("a process that ends while its threads are listed ends the list") {
  for (int round = 0; round < 200; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    const std::string folder = "/proc/" + std::to_string(child) + "/task";
    for (int look = 0; look < 20; ++look) CHECK_NOTHROW((void)entries_of(folder));
    waitpid(child, nullptr, 0);
    CHECK(entries_of(folder).empty());
  }
}

}  // namespace refhist
