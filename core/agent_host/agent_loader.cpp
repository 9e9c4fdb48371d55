#include "agent_host/agent_loader.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>

#include "agent_host/process_layout.h"
#include "agent_host/thread_pointer.h"
#include "base/error.h"
#include "base/task_status.h"

namespace refhist {

namespace {
constexpr Address kDataAt = 0x300000000000;         // far from heaps, libraries and stacks
constexpr std::uint64_t kDistance = 512ULL << 20U;  // room that the modules near a piece can grow into
constexpr std::uint64_t kMadviseWipeOnFork = 18;

class Program {
 public:
  explicit Program(const SystemCallRunner& run) : run_(run) {}

  std::uint64_t call(const char* what, std::uint64_t number, std::array<std::uint64_t, 6> arguments) {
    SystemCall call{number, arguments, 0};
    if (!run_(std::span(&call, 1))) fail("{} could not be called in the program", what);
    if (call.result < 0)
      fail("{} failed in the program: {}", what, std::strerror(static_cast<int>(-call.result)));
    return static_cast<std::uint64_t>(call.result);
  }

  Address map(std::uint64_t hint, std::uint64_t size, int rights, int flags, std::uint64_t descriptor,
              std::uint64_t offset) {
    return call("mmap", SYS_mmap,
                {hint, size, static_cast<std::uint64_t>(rights), static_cast<std::uint64_t>(flags),
                 descriptor, offset});
  }

 private:
  const SystemCallRunner& run_;
};

// An empty string in the program, as a name for the memory file: the unused bytes of an ELF header.
Address empty_string(const ProcessLayout& layout, const ProcessMemory& memory, Address instruction) {
  const Address page = instruction & ~Address{agent::kPage - 1};
  std::vector<char> bytes(agent::kPage);
  bytes.resize(memory.read(page, bytes.data(), bytes.size()));
  (void)layout;
  const auto* zero = static_cast<const char*>(std::memchr(bytes.data(), 0, bytes.size()));
  if (zero == nullptr) fail("no empty string was found in the program to name the agent's memory with");
  return page + static_cast<Address>(zero - bytes.data());
}

int open_descriptor(long pid, std::uint64_t descriptor) {
  const int opened = open(fmt::format("/proc/{}/fd/{}", pid, descriptor).c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) fail("the program's memory file cannot be opened: {}", std::strerror(errno));
  return opened;
}

std::optional<std::uint64_t> limit_of_memory(long pid) {
  rlimit limit{};
  const bool known = prlimit(static_cast<pid_t>(pid), RLIMIT_AS, nullptr, &limit) == 0;
  return known && limit.rlim_cur != RLIM_INFINITY ? std::optional(limit.rlim_cur) : std::nullopt;
}

// What a program may map is its own: ours takes little of it where that is limited.
AreaSize room_for(long pid) { return limit_of_memory(pid) ? SharedArea::kSmall : SharedArea::kLarge; }

// And nothing where little is left: the program would not get what it gets without us.
void check_room(long pid, const SharedArea& area) {
  constexpr std::uint64_t kMebibyte = 1U << 20U;
  const auto limit = limit_of_memory(pid);
  if (!limit) return;
  const std::uint64_t mapped = std::strtoull(task_status(pid, "VmSize").c_str(), nullptr, 10) << 10U;
  const std::uint64_t left = *limit > mapped ? *limit - mapped : 0;
  const std::uint64_t taken = area.data_size() + SharedArea::kCodePieces * SharedArea::kCodePiece;
  if (taken > left / 2) {
    fail(
        "of its address space, limited to {} MiB (ulimit -v), {} MiB are left: recording inside it takes {} "
        "MiB",
        *limit / kMebibyte, left / kMebibyte, taken / kMebibyte);
  }
}

// Where the agent loads the thread pointer from.
bool has_thread_pointer(Program& program, const ProcessMemory& memory) {
  const Address page =
      program.map(0, agent::kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0);
  program.call("arch_prctl", SYS_arch_prctl, {ARCH_GET_FS, page, 0, 0, 0, 0});
  Address pointer = 0;
  Address there = 0;
  const bool known = memory.read(page, &pointer, sizeof pointer) == sizeof pointer && pointer != 0 &&
                     memory.read(pointer, &there, sizeof there) == sizeof there;
  program.call("munmap", SYS_munmap, {page, agent::kPage, 0, 0, 0, 0});
  return known && there == pointer;
}

void map_data(Program& program, const ProcessLayout& layout, std::uint64_t descriptor, LoadedAgent& loaded,
              agent::Config& config) {
  constexpr int kRights = PROT_READ | PROT_WRITE;
  const std::uint64_t size = loaded.area->data_size();
  // A child of fork has its parent's there. The kernel would choose the room that our code needs.
  const Address place = layout.first_free(kDataAt, size + agent::kPage).value_or(kDataAt);
  config.shared = program.map(place, size, kRights, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  loaded.data = {{config.shared, config.shared + size}};
  config.control = program.map(place + size, agent::kPage, kRights, MAP_PRIVATE | MAP_ANONYMOUS, ~0ULL, 0);
  loaded.data.emplace_back(config.control, config.control + agent::kPage);
  program.call("madvise", SYS_madvise, {config.control, agent::kPage, kMadviseWipeOnFork, 0, 0, 0});
  program.call("madvise", SYS_madvise, {config.shared, size, MADV_DONTDUMP, 0, 0, 0});
  loaded.control = config.control;
}

// A debugger's breakpoint, as `finish` has one where a call comes back to, can be put into shared memory only
// where that is writable. Some programs may have no code that is.
Address map_piece(Program& program, Address place, std::uint64_t descriptor, std::uint64_t offset) {
  constexpr int kFlags = MAP_SHARED | MAP_FIXED_NOREPLACE;
  constexpr int kRights = PROT_READ | PROT_EXEC;
  try {
    return program.map(place, SharedArea::kCodePiece, kRights | PROT_WRITE, kFlags, descriptor, offset);
  } catch (const std::exception&) {
    return program.map(place, SharedArea::kCodePiece, kRights, kFlags, descriptor, offset);
  }
}

void map_code(Program& program, long pid, std::uint64_t descriptor, std::span<const Address> near,
              const agent::Config& config, LoadedAgent& loaded) {
  for (const Address address : near) {
    const auto index = static_cast<unsigned>(loaded.pieces.size());
    if (index == SharedArea::kCodePieces) return;
    const auto gap = ProcessLayout(pid).gap_near(address, SharedArea::kCodePiece, kDistance);
    if (!gap) continue;
    const Address mapped = map_piece(program, *gap, descriptor, loaded.area->code_offset(index));
    loaded.pieces.emplace_back(mapped, loaded.area->code_piece(index), config);
  }
  if (loaded.pieces.empty()) fail("there is no room for the agent's code near the program's");
  for (const CodePiece& piece : loaded.pieces)
    program.call("madvise", SYS_madvise, {piece.address(), SharedArea::kCodePiece, MADV_DONTDUMP, 0, 0, 0});
  // A debugger cannot put a breakpoint into memory that is shared and not writable.
  loaded.stop = program.map(loaded.pieces.front().stop_page(), agent::kStopBytes, PROT_READ | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, ~0ULL, 0);
}

// Of an agent that does not come.
void unmap(Program& program, const LoadedAgent& loaded) {
  for (const auto& [begin, end] : loaded.data)
    program.call("munmap", SYS_munmap, {begin, end - begin, 0, 0, 0, 0});
  for (const CodePiece& piece : loaded.pieces)
    program.call("munmap", SYS_munmap, {piece.address(), SharedArea::kCodePiece, 0, 0, 0, 0});
}
}  // namespace

std::optional<LoadedAgent> AgentLoader::load(long pid, const ProcessMemory& memory,
                                             const SystemCallRunner& run, std::span<const Address> near,
                                             std::uint32_t tid_offset) {
  const ProcessLayout layout(pid);
  const auto instruction = layout.system_call_instruction(memory);
  if (!instruction) fail("the program has no vdso");
  Program program(run);
  if (!allows_rdfsbase() && !has_thread_pointer(program, memory)) return std::nullopt;
  const Address name = empty_string(layout, memory, *instruction);
  const std::uint64_t descriptor =
      program.call("memfd_create", SYS_memfd_create, {name, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0});
  LoadedAgent loaded;
  loaded.system_call = *instruction;
  agent::Config config{};
  config.tid_offset = tid_offset;
  try {
    loaded.area = std::make_unique<SharedArea>(open_descriptor(pid, descriptor), room_for(pid));
    check_room(pid, *loaded.area);
    loaded.area->set_lowest(layout.lowest());
    map_data(program, layout, descriptor, loaded, config);
    map_code(program, pid, descriptor, near, config, loaded);
  } catch (...) {
    program.call("close", SYS_close, {descriptor, 0, 0, 0, 0, 0});
    unmap(program, loaded);
    throw;
  }
  program.call("close", SYS_close, {descriptor, 0, 0, 0, 0, 0});
  return loaded;
}

}  // namespace refhist
