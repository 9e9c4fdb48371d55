#include "ptrace_port.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace refhist::test {

namespace {

constexpr unsigned char kTrap = 0xcc;
constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;

using Slot = unsigned long long user_regs_struct::*;
constexpr std::array<Slot, kRegisterCount> kSlots = {
    &user_regs_struct::rax, &user_regs_struct::rdx, &user_regs_struct::rcx, &user_regs_struct::rbx,
    &user_regs_struct::rsi, &user_regs_struct::rdi, &user_regs_struct::rbp, &user_regs_struct::rsp,
    &user_regs_struct::r8,  &user_regs_struct::r9,  &user_regs_struct::r10, &user_regs_struct::r11,
    &user_regs_struct::r12, &user_regs_struct::r13, &user_regs_struct::r14, &user_regs_struct::r15,
    &user_regs_struct::rip};

bool is_event(int status, int event) { return status >> 8 == (SIGTRAP | (event << 8)); }

}  // namespace

PtracePort::PtracePort(const std::vector<std::string>& command, Options options)
    : options_(std::move(options)), executable_(command.at(0)) {
  launch(command);
}

PtracePort::~PtracePort() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(-pid_, nullptr, __WALL) > 0 || errno == EINTR) {
  }
}

void PtracePort::run_child(const std::vector<std::string>& command, int go) const {
  setpgid(0, 0);
  if (!options_.randomize) personality(ADDR_NO_RANDOMIZE);
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  for (const std::string& variable : options_.environment) putenv(const_cast<char*>(variable.c_str()));
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  char byte = 0;
  if (read(go, &byte, 1) == 1) execv(arguments[0], arguments.data());
  _exit(127);
}

void PtracePort::launch(const std::vector<std::string>& command) {
  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) fail("no pipe: {}", strerror(errno));
  pid_ = fork();
  if (pid_ == 0) run_child(command, go[0]);
  close(go[0]);
  // In a process group of its own, so that waiting for its threads takes nobody else's children.
  setpgid(pid_, pid_);
  const bool seized = pid_ > 0 && ptrace(PTRACE_SEIZE, pid_, 0, kOptions) == 0;
  const bool told = write(go[1], "g", 1) == 1;
  close(go[1]);
  if (!seized || !told) fail("cannot trace {}: {}", executable_, strerror(errno));
  threads_[pid_].running = true;
  int status = 0;
  if (waitpid(pid_, &status, __WALL) != pid_ || !is_event(status, PTRACE_EVENT_EXEC)) {
    pid_ = 0;
    fail("cannot start {}", executable_);
  }
  threads_[pid_].running = false;
}

bool PtracePort::any_running() const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [](const auto& thread) { return thread.second.running; });
}

PtracePort::Stop PtracePort::go_on() {
  if (stops_.empty()) {
    if (pid_ == 0) fail("{} has ended", executable_);
    std::vector<long> tids;
    for (const auto& [tid, thread] : threads_) tids.push_back(tid);
    // Breakpoints are out of the code while a thread steps over its own: all others stand still then.
    for (const long tid : tids) {
      if (threads_[tid].stands_at) step(tid);
    }
    if (stops_.empty()) {
      for (const long tid : tids) resume(tid);
    }
    while (stops_.empty()) wait_for_event();
    stop_all();
  }
  const Stop stop = stops_.front();
  stops_.pop_front();
  return stop;
}

void PtracePort::resume(long tid) {
  const auto it = threads_.find(tid);
  if (it == threads_.end() || it->second.running) return;
  it->second.running = ptrace(PTRACE_CONT, tid, 0, std::exchange(it->second.deliver, 0)) == 0;
}

void PtracePort::step(long tid) {
  Thread& thread = threads_.at(tid);
  const std::optional<Address> at = std::exchange(thread.stands_at, std::nullopt);
  const auto breakpoint = at ? breakpoints_.find(*at) : breakpoints_.end();
  if (breakpoint != breakpoints_.end()) write_memory(*at, &breakpoint->second, 1);
  ptrace(PTRACE_SINGLESTEP, tid, 0, std::exchange(thread.deliver, 0));
  int status = 0;
  if (waitpid(static_cast<pid_t>(tid), &status, __WALL) != tid) fail("thread {} is gone", tid);
  if (breakpoint != breakpoints_.end()) write_memory(*at, &kTrap, 1);
  if (!WIFSTOPPED(status) || status >> 8 != SIGTRAP) on_event(tid, status);
}

void PtracePort::stop_all() {
  if (pid_ == 0) return;
  for (const auto& [tid, thread] : threads_) {
    if (thread.running) ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  }
  while (any_running()) wait_for_event();
}

void PtracePort::wait_for_event() {
  int status = 0;
  const pid_t tid = waitpid(-pid_, &status, __WALL);
  if (tid < 0 && errno == EINTR) return;
  if (tid < 0) fail("waiting for {}: {}", executable_, strerror(errno));
  on_event(tid, status);
}

void PtracePort::on_event(long tid, int status) {
  if (!WIFSTOPPED(status)) return on_end(tid, status);
  Thread& thread = threads_[tid];  // a new thread may stop before its creator tells of it
  thread.running = false;
  if (is_event(status, PTRACE_EVENT_CLONE)) {
    unsigned long started = 0;
    ptrace(PTRACE_GETEVENTMSG, tid, 0, &started);
    threads_.try_emplace(static_cast<long>(started), Thread{.running = true, .deliver = 0, .stands_at = {}});
  }
  if (status >> 16 == 0) return on_signal(tid, thread, WSTOPSIG(status));
  // The answer to stop_all, a new thread's start, or an event that nobody asked for.
  if (stops_.empty()) resume(tid);
}

void PtracePort::on_end(long tid, int status) {
  threads_.erase(tid);
  if (tid != pid_) return;
  pid_ = 0;
  threads_.clear();
  if (WIFEXITED(status)) {
    stops_.push_back({Stop::Kind::exited, tid, WEXITSTATUS(status), 0});
  } else {
    stops_.push_back({Stop::Kind::killed, tid, WTERMSIG(status), 0});
  }
}

void PtracePort::on_signal(long tid, Thread& thread, int signal) {
  if (signal == SIGTRAP) {
    Registers registers = *this->registers(tid);
    const Address address = registers.pc() - 1;
    if (breakpoints_.contains(address)) {
      registers[kRip] = address;
      write_registers(tid, registers);
      thread.stands_at = address;
      stops_.push_back({Stop::Kind::breakpoint, tid, 0, address});
      return;
    }
  }
  if (signal != SIGSTOP && signal != SIGTRAP) thread.deliver = signal;
  stops_.push_back({Stop::Kind::signal, tid, signal, 0});
}

ProcessInfo PtracePort::process() {
  ProcessInfo info;
  info.state = pid_ != 0 ? ProcessState::stopped : ProcessState::exited;
  info.pid = pid_;
  info.local = options_.local && pid_ != 0;
  info.executable = executable_;
  return info;
}

bool PtracePort::read_memory(Address address, void* out, std::size_t size) {
  iovec local{out, size};
  iovec remote{reinterpret_cast<void*>(address), size};
  if (process_vm_readv(pid_, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(size)) return false;
  for (auto it = breakpoints_.lower_bound(address); it != breakpoints_.end(); ++it) {
    if (it->first - address >= size) break;
    static_cast<unsigned char*>(out)[it->first - address] = it->second;
  }
  return true;
}

bool PtracePort::write_memory(Address address, const void* data, std::size_t size) {
  const int memory = open(fmt::format("/proc/{}/mem", pid_).c_str(), O_WRONLY | O_CLOEXEC);
  if (memory < 0) return false;
  const ssize_t written = pwrite(memory, data, size, static_cast<off_t>(address));
  close(memory);
  return written == static_cast<ssize_t>(size);
}

std::optional<Registers> PtracePort::registers(long tid) {
  user_regs_struct user{};
  if (ptrace(PTRACE_GETREGS, tid, 0, &user) != 0) return std::nullopt;
  Registers registers;
  for (unsigned i = 0; i < kRegisterCount; ++i) registers[i] = user.*kSlots[i];
  return registers;
}

bool PtracePort::set_pc(long tid, Address address) {
  std::optional<Registers> registers = this->registers(tid);
  if (!registers) return false;
  (*registers)[kRip] = address;
  return set_registers(tid, *registers);
}

bool PtracePort::set_registers(long tid, const Registers& registers) {
  write_registers(tid, registers);
  threads_.at(tid).stands_at.reset();
  return true;
}

void PtracePort::write_registers(long tid, const Registers& registers) {
  user_regs_struct user{};
  if (ptrace(PTRACE_GETREGS, tid, 0, &user) != 0) fail("no registers of thread {}", tid);
  for (unsigned i = 0; i < kRegisterCount; ++i) user.*kSlots[i] = registers[i];
  if (ptrace(PTRACE_SETREGS, tid, 0, &user) != 0) fail("cannot set registers of thread {}", tid);
}

std::vector<ThreadInfo> PtracePort::threads() {
  std::vector<ThreadInfo> infos;
  for (const auto& [tid, thread] : threads_) {
    ThreadInfo info;
    info.tid = tid;
    std::ifstream comm(fmt::format("/proc/{}/task/{}/comm", pid_, tid));
    std::getline(comm, info.name);
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<ModuleInfo> PtracePort::modules() {
  std::vector<ModuleInfo> modules;
  for (const MemoryRegion& region : regions()) {
    if (!region.path.starts_with('/') || region.file_offset != 0) continue;
    modules.push_back({region.path, Module::open(region.path)->position_independent() ? region.begin : 0});
  }
  return modules;
}

std::vector<MemoryRegion> PtracePort::regions() {
  return pid_ != 0 ? read_proc_maps(pid_) : std::vector<MemoryRegion>();
}

std::vector<Address> PtracePort::backtrace(long tid, std::size_t limit) {
  const std::optional<Registers> registers = this->registers(tid);
  if (!registers || limit == 0) return {};
  return {registers->pc()};
}

bool PtracePort::place_breakpoint(Address address) {
  unsigned char byte = 0;
  if (breakpoints_.contains(address)) return true;
  if (!read_memory(address, &byte, 1) || !write_memory(address, &kTrap, 1)) return false;
  breakpoints_[address] = byte;
  return true;
}

void PtracePort::remove_breakpoint(Address address) {
  const auto it = breakpoints_.find(address);
  if (it == breakpoints_.end()) return;
  write_memory(address, &it->second, 1);
  breakpoints_.erase(it);  // a thread that stands there has hit it, also when it is placed again
}

Address PtracePort::evaluate(const std::string& expression) {
  char* end = nullptr;
  const Address value = std::strtoull(expression.c_str(), &end, 0);
  if (expression.empty() || *end != 0) fail("not a number: {}", expression);
  return value;
}

Address function_address(const ModuleMap& modules, std::string_view name) {
  for (const LoadedModule* loaded : modules.loaded()) {
    const std::vector<FunctionSymbol> found = loaded->module->functions_named(name);
    if (!found.empty()) return found.front().address + loaded->bias;
  }
  fail("no function {}", name);
}

Address variable_address(const ModuleMap& modules, std::string_view name) {
  for (const LoadedModule* loaded : modules.loaded()) {
    if (const std::optional<Address> found = loaded->module->data_symbol(name)) return *found + loaded->bias;
  }
  fail("no variable {}", name);
}

}  // namespace refhist::test
