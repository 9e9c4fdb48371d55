#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace refhist {

/// The calling thread wakes for moments and does not wait until others have used up their milliseconds. A
/// wish: kernels before 6.12 have no such thing.
inline void ask_for_short_slices() {
  struct {  // struct sched_attr of the kernel, whose header and the C library's exclude each other
    std::uint32_t size = 48;
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = getpriority(PRIO_PROCESS, 0);  // of this thread, as it is
    std::uint32_t priority = 0;
    std::uint64_t runtime = 100000;  // ns, the least that there is
    std::uint64_t deadline = 0;
    std::uint64_t period = 0;
  } attributes;
  static_assert(sizeof attributes == 48);
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace refhist
