#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace refhist {

/// A thread that takes no signal: the debugger's are for its own threads.
template <class Body>
std::thread start_quiet_thread(Body body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace refhist
