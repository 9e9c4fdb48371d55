#include "patching_live.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/error.h"

using namespace refhist;

namespace refhist_test {
namespace {

constexpr std::size_t kArena = 1U << 20;
constexpr std::size_t kShared = 4096;  // for each of two texts

void* map_near(Address module) {
  for (Address distance = 1U << 24; distance < 0x70000000; distance += 1U << 24) {
    for (const Address at : {module - distance, module + distance}) {
      void* wanted = reinterpret_cast<void*>(at & ~Address{0xfff});
      void* got = mmap(wanted, kArena, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == wanted) return got;
      if (got != MAP_FAILED) munmap(got, kArena);
    }
  }
  fail("no room near {:#x}", module);
}

/// memcpy that is no function: memcpy itself may be what is being patched.
void copy(void* to, const void* from, std::size_t size) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

bool same(const void* left, const void* right, std::size_t size) {
  bool equal;
  asm volatile("cmp %%rax, %%rax; repe cmpsb; sete %0"
               : "=r"(equal), "+D"(left), "+S"(right), "+c"(size)
               :
               : "rax", "cc", "memory");
  return equal;
}

}  // namespace

// Counts, keeping all registers, the flags and what lies below rsp.
asm(R"(
.pushsection .rodata
refhist_count_stub:
  movq %rsp, refhist_count_stub(%rip)
  leaq -128(%rsp), %rsp
  pushfq
  lock incq refhist_count_stub(%rip)
  popfq
  leaq 128(%rsp), %rsp
refhist_count_stub_end:
.popsection
)");
extern "C" const std::uint8_t refhist_count_stub[];
extern "C" const std::uint8_t refhist_count_stub_end[];

LivePatches::LivePatches(const PatchedLibrary& library) : library_(library) {
  for (const CodeRange& range : library.code().code()) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(range.address);
    before_.emplace_back(bytes, bytes + range.bytes.size());
  }
  slots_ = static_cast<Slot*>(map_near(library.code().code().front().address));
}

LivePatches::~LivePatches() { munmap(slots_, kArena); }

std::string LivePatches::add(Address function, std::uint64_t size, const std::vector<Address>& keep) {
  PatchRequest request = library_.code().request(function, size);
  request.keep = keep;
  PatchResult result = plan_patch(request, library_.targets());
  if (!result.patch) return result.why_not;
  if ((used_ + 1) * sizeof(Slot) > kArena) return "the arena is full";
  Slot* slot = slots_ + used_++;
  const auto head = static_cast<std::size_t>(refhist_count_stub_end - refhist_count_stub);
  std::string why_not;
  const auto moved = relocate(*result.patch, reinterpret_cast<Address>(slot->code) + head, &why_not);
  if (!moved) return why_not;
  std::memcpy(slot->code, refhist_count_stub, head);
  const auto distance = [&](std::size_t at, const void* to) {
    const auto value =
        static_cast<std::int32_t>(static_cast<const std::uint8_t*>(to) - (slot->code + at + 4));
    std::memcpy(slot->code + at, &value, sizeof value);
  };
  distance(3, &slot->rsp);                // behind 48 89 25
  distance(7 + 5 + 1 + 4, &slot->count);  // behind mov, lea, pushfq and f0 48 ff 05
  std::memcpy(slot->code + head, moved->bytes.data(), moved->bytes.size());
  live_.emplace(function, Live{std::move(*result.patch), slot});
  return {};
}

void LivePatches::let_write(bool writable) const {
  for (const CodeRange& range : library_.code().code()) {
    const Address first = range.address & ~Address{0xfff};
    const int access = PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0);
    if (mprotect(reinterpret_cast<void*>(first), range.end() - first, access) != 0)
      fail("mprotect: {}", errno);
  }
}

void LivePatches::write_all() {
  let_write(true);
  for (const auto& [function, live] : live_) {
    const auto bytes = jump_bytes(live.patch.at, reinterpret_cast<Address>(live.slot->code));
    copy(reinterpret_cast<void*>(live.patch.at), bytes.data(), bytes.size());
  }
  let_write(false);
}

bool LivePatches::restore_all() {
  let_write(true);
  for (const auto& [function, live] : live_) {
    copy(reinterpret_cast<void*>(live.patch.at), live.patch.original.data(), live.patch.original.size());
  }
  let_write(false);
  bool equal = true;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const CodeRange& range = library_.code().code()[i];
    equal = equal && same(reinterpret_cast<const void*>(range.address), before_[i].data(), before_[i].size());
  }
  return equal;
}

// rdi function, rsi before, rdx after. The stack below is cleared: padding of long doubles is read from it.
// The frame: 16 stack arguments, then after, function, rax, mxcsr.
asm(R"(
.pushsection .text
.globl refhist_call_with
.type refhist_call_with, @function
refhist_call_with:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $168, %rsp
  movq %rdx, 128(%rsp)
  movq %rdi, 136(%rsp)
  stmxcsr 152(%rsp)
  leaq -16384(%rsp), %rdi
  movl $2048, %ecx
  xorl %eax, %eax
  rep stosq
  movq %rsi, %rax
  leaq 136(%rax), %rsi
  movq %rsp, %rdi
  movl $16, %ecx
  rep movsq
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  movaps 272+16*\n(%rax), %xmm\n
  .endr
  pushq 128(%rax)
  popfq
  movq 8(%rax), %rcx
  movq 16(%rax), %rdx
  movq 24(%rax), %rbx
  movq 40(%rax), %rbp
  movq 48(%rax), %rsi
  movq 56(%rax), %rdi
  movq 64(%rax), %r8
  movq 72(%rax), %r9
  movq 80(%rax), %r10
  movq 88(%rax), %r11
  movq 96(%rax), %r12
  movq 104(%rax), %r13
  movq 112(%rax), %r14
  movq 120(%rax), %r15
  movq 0(%rax), %rax
  call *136(%rsp)
  movq %rax, 144(%rsp)
  movq 128(%rsp), %rax
  movq %rcx, 8(%rax)
  movq %rdx, 16(%rax)
  movq %rbx, 24(%rax)
  movq %rsp, 32(%rax)
  movq %rbp, 40(%rax)
  movq %rsi, 48(%rax)
  movq %rdi, 56(%rax)
  movq %r8, 64(%rax)
  movq %r9, 72(%rax)
  movq %r10, 80(%rax)
  movq %r11, 88(%rax)
  movq %r12, 96(%rax)
  movq %r13, 104(%rax)
  movq %r14, 112(%rax)
  movq %r15, 120(%rax)
  pushfq
  popq 128(%rax)
  movq 144(%rsp), %rcx
  movq %rcx, 0(%rax)
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
  movaps %xmm\n, 272+16*\n(%rax)
  .endr
  fxsave64 528(%rax)
  fninit
  ldmxcsr 152(%rsp)
  cld
  movq %rsp, %rsi
  leaq 136(%rax), %rdi
  movl $16, %ecx
  rep movsq
  addq $168, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  ret
.size refhist_call_with, .-refhist_call_with
.popsection
)");
extern "C" void refhist_call_with(Address function, const Machine* before, Machine* after);
static_assert(offsetof(Machine, stack) == 136 && offsetof(Machine, vector) == 272 &&
              offsetof(Machine, fxsave) == 528);

void call_with(Address function, const Machine& before, Machine& after) {
  std::memset(&after, 0, sizeof after);
  refhist_call_with(function, &before, &after);
  std::memset(after.fxsave + 8, 0, 16);  // where the last x87 instruction stood and what it read
  const unsigned top = (after.fxsave[3] >> 3) & 7;
  for (unsigned i = 0; i < 8; ++i) {
    const bool used = ((after.fxsave[4] >> ((top + i) & 7)) & 1) != 0;
    if (!used) std::memset(after.fxsave + 32 + 16 * i, 0, 16);
  }
}

std::string in_child(const std::function<std::string(char*)>& body) {
  auto* shared = static_cast<char*>(
      mmap(nullptr, 2 * kShared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = fork();
  if (child == 0) {
    for (const int fatal : {SIGSEGV, SIGILL, SIGBUS, SIGTRAP, SIGABRT, SIGFPE})
      signal(fatal, SIG_DFL);  // not doctest's
    std::string result;
    try {
      result = body(shared + kShared);
    } catch (const std::exception& error) {
      result = error.what();
    }
    std::strncpy(shared, result.c_str(), kShared - 1);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::string result = shared;
  if (!WIFEXITED(status)) result = fmt::format("died of signal {}: {}", WTERMSIG(status), shared + kShared);
  munmap(shared, 2 * kShared);
  return result;
}

}  // namespace refhist_test
