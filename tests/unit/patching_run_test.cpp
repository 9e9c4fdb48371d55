// Patched functions really run, in a forked child: same results, registers, flags and memory as without the
// patch.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <immintrin.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <complex>
#include <cstdarg>
#include <cstring>

#include "base/error.h"
#include "patching_cases.h"
#include "patching_live.h"

using namespace refhist;
using namespace refhist_test;

namespace {

constexpr Address kScratch = 0x10000002000;  // its low half is small: a harmless int
constexpr std::size_t kScratchSize = 0x4000;
constexpr std::size_t kOne = 0x1000;  // a number 1 stands here
constexpr std::size_t kX87 = 160;     // of what fxsave writes: control, mxcsr and the x87 registers

struct Function {
  std::string name;
  Address address;  // as mapped, an IFUNC resolved
  std::uint64_t size;
};

using Inputs = std::vector<Machine>;

Machine machine_with(std::uint64_t seed) {
  Machine machine{};
  for (std::size_t i = 0; i < 16; ++i) machine.general[i] = seed * 0x9e3779b97f4a7c15U + i * 0x0101010101U;
  machine.flags = 0x202;
  return machine;
}

void set_vectors(Machine& machine, double first, double step) {
  for (unsigned i = 0; i < 16; ++i) {
    const double value = first + step * i;
    std::memcpy(machine.vector[i], &value, sizeof value);
  }
}

/// long double arguments, by 16 bytes.
void set_stack(Machine& machine, long double first) {
  for (unsigned i = 0; i < 8; ++i) {
    const long double value = first + i;
    std::memcpy(reinterpret_cast<char*>(machine.stack) + 16 * i, &value, 10);
  }
}

void fill_scratch() {
  auto* text = reinterpret_cast<char*>(kScratch);
  for (std::size_t i = 0; i < kScratchSize; ++i) text[i] = static_cast<char>('a' + i % 26);
  for (std::size_t i = 0x40; i <= kScratchSize; i += 0x40) text[i - 1] = 0;
}

struct Outcome {
  Machine machine;
  std::vector<std::uint8_t> memory;
};

/// The second of two runs: the first may still bind functions and fill caches.
Outcome run(const Function& function, const Machine& input) {
  Outcome outcome;
  for (int i = 0; i < 2; ++i) {
    fill_scratch();
    *reinterpret_cast<int*>(kScratch + kOne) = 1;
    call_with(function.address, input, outcome.machine);
  }
  const auto* memory = reinterpret_cast<const std::uint8_t*>(kScratch);
  outcome.memory.assign(memory, memory + kScratchSize);
  return outcome;
}

std::string difference(const Outcome& before, const Outcome& after) {
  for (unsigned i = 0; i < 16; ++i) {
    if (before.machine.general[i] == after.machine.general[i]) continue;
    return fmt::format("register {}: {:#x}, patched {:#x}", i, before.machine.general[i],
                       after.machine.general[i]);
  }
  if (before.machine.flags != after.machine.flags) return "flags";
  if (std::memcmp(before.machine.vector, after.machine.vector, sizeof before.machine.vector) != 0)
    return "vectors";
  if (std::memcmp(before.machine.stack, after.machine.stack, 128) != 0) return "stack arguments";
  if (std::memcmp(before.machine.fxsave, after.machine.fxsave, kX87) != 0) return "x87 or mxcsr";
  return before.memory == after.memory ? "" : "memory";
}

void map_scratch() {
  mmap(reinterpret_cast<void*>(kScratch), kScratchSize, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/// Runs all functions without patches, then patches them all at once, and runs them again.
std::string compare_runs(const PatchedLibrary& library, const std::vector<Function>& functions,
                         const Inputs& inputs, char* doing) {
  map_scratch();
  LivePatches live(library);
  std::vector<Function> patched;
  for (const Function& function : functions) {
    if (live.add(function.address, function.size).empty()) patched.push_back(function);
  }
  if (patched.size() * 100 < functions.size() * 90) return "too few could be patched";
  std::vector<Outcome> before;
  for (const Function& function : patched) {
    std::strcpy(doing, function.name.c_str());
    for (const Machine& input : inputs) before.push_back(run(function, input));
  }
  live.write_all();
  std::string result;
  std::size_t next = 0;
  for (const Function& function : patched) {
    std::strcpy(doing, (function.name + " patched").c_str());
    const std::uint64_t counted = live.count(function.address);
    for (const Machine& input : inputs) {
      const std::string found = difference(before[next++], run(function, input));
      if (!found.empty()) result += fmt::format("{}: {}\n", function.name, found);
    }
    if (live.count(function.address) < counted + 2 * inputs.size())
      result += function.name + ": not counted\n";
  }
  if (!live.restore_all()) result += "the code is not what it was\n";
  return result.empty() ? fmt::format("ok {}", patched.size()) : result.substr(0, 3000);
}

Address resolved(const PatchedLibrary& library, const FunctionSymbol& function) {
  if (!function.ifunc) return function.address + library.code().bias();
  return reinterpret_cast<Address>(dlsym(RTLD_DEFAULT, function.name.c_str()));
}

/// Of a library of this process.
PatchedLibrary loaded(const char* name) {
  link_map* map = nullptr;
  void* handle = dlopen(name, RTLD_NOW);
  REQUIRE(handle != nullptr);
  REQUIRE(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
  return PatchedLibrary(map->l_name, map->l_addr);
}

unsigned number_in(const std::string& result) {
  INFO(result);
  REQUIRE(result.rfind("ok ", 0) == 0);
  return static_cast<unsigned>(std::stoul(result.substr(3)));
}

}  // namespace

namespace {

std::vector<Function> functions_of_libm(const PatchedLibrary& library) {
  std::vector<Function> functions;
  for (const auto& [address, function] : library.exported()) {
    if (function.name.rfind("fe", 0) == 0) continue;  // they change the rounding mode of what runs next
    const Address entry = resolved(library, function);
    if (entry == 0) continue;  // an IFUNC of an old version, which dlsym does not find
    functions.push_back({function.name, entry, function.ifunc ? 0 : function.size});
  }
  return functions;
}

/// Numbers in the vector registers and on the stack, pointers (whose low halves are small) in the general
/// registers.
Machine numbers(double value) {
  Machine machine = machine_with(1);
  for (const unsigned argument : {7U, 6U, 2U, 1U, 8U, 9U})
    machine.general[argument] = kScratch + argument * 0x40;
  set_vectors(machine, value, 0.25);
  set_stack(machine, value);
  return machine;
}

}  // namespace

TEST_CASE("patching: all of libm runs the same when all of it is patched") {
  const PatchedLibrary library = loaded("libm.so.6");
  const std::vector<Function> functions = functions_of_libm(library);
  Inputs inputs{numbers(0.5), numbers(3.25), numbers(-1.75)};
  inputs[1].flags = 0x202 | 0x8d5;  // all condition flags set
  const std::string result =
      in_child([&](char* doing) { return compare_runs(library, functions, inputs, doing); });
  const unsigned run = number_in(result);
  MESSAGE(run << " functions of libm ran patched");
  CHECK(run > 500);
}

TEST_CASE("patching: functions that are said not to look at stack arguments give the same with any") {
  const PatchedLibrary library = loaded("libm.so.6");
  CodeAround around;
  around.code_at = [&](Address at) { return library.code().function_at(at); };
  around.data_at = [&](Address at) { return library.code().data_at(at); };
  const std::string result = in_child([&](char* doing) -> std::string {
    map_scratch();
    unsigned same = 0;
    unsigned other = 0;
    for (const Function& function : functions_of_libm(library)) {
      std::strcpy(doing, function.name.c_str());
      const CodeRange code = library.code().request(function.address, function.size).function;
      Machine input = numbers(0.5);
      Outcome one = run(function, input);
      set_stack(input, 2.5L);
      Outcome two = run(function, input);
      for (Outcome* outcome : {&one, &two})
        std::memset(outcome->machine.stack, 0, sizeof outcome->machine.stack);
      const bool differs = !difference(one, two).empty();
      const StackArguments verdict = reads_stack_arguments(code, around);
      if (verdict == StackArguments::no && differs) return function.name + " does look";
      same += verdict == StackArguments::no ? 1 : 0;
      other += verdict == StackArguments::yes && differs ? 1 : 0;
    }
    return same > 300 && other > 100 ? fmt::format("ok {}", same)
                                     : fmt::format("only {} and {}", same, other);
  });
  MESSAGE(number_in(result) << " functions of libm do not look at stack arguments");
}

TEST_CASE("patching: functions of libc run the same when all of them are patched") {
  const PatchedLibrary library = loaded("libc.so.6");
  std::vector<Function> strings;
  std::vector<Function> numbers;
  const auto find = [&](const std::vector<const char*>& names, std::vector<Function>& into) {
    for (const char* name : names) {
      const auto found = library.module().functions_named(name);
      REQUIRE_MESSAGE(!found.empty(), name);
      into.push_back({name, resolved(library, found.front()), found.front().ifunc ? 0 : found.front().size});
    }
  };
  find({"strlen",  "strnlen",   "strcmp",  "strncmp", "strcasecmp", "strncasecmp", "strcoll",    "strchr",
        "strrchr", "strchrnul", "strspn",  "strcspn", "strpbrk",    "strstr",      "strcasestr", "strcpy",
        "stpcpy",  "strncpy",   "stpncpy", "strcat",  "strncat",    "strxfrm",     "strverscmp", "memchr",
        "memrchr", "rawmemchr", "memcmp",  "memcpy",  "memmove",    "mempcpy",     "memset",     "memccpy",
        "swab",    "bcopy",     "bcmp",    "index",   "rindex",     "basename",    "strtol",     "strtoul",
        "strtoll", "strtod",    "strtof",  "strtold", "atoi",       "atol",        "atof",       "a64l",
        "wmemset", "inet_addr"},
       strings);
  find({"abs",      "labs",     "llabs",    "ffs",      "ffsl",          "ffsll",         "toupper",
        "tolower",  "isalpha",  "isalnum",  "isdigit",  "isxdigit",      "isspace",       "ispunct",
        "isprint",  "isgraph",  "iscntrl",  "islower",  "isupper",       "isblank",       "toascii",
        "isascii",  "towupper", "towlower", "iswalpha", "iswalnum",      "iswdigit",      "iswspace",
        "iswpunct", "wctob",    "btowc",    "htonl",    "htons",         "ntohl",         "ntohs",
        "div",      "ldiv",     "lldiv",    "l64a",     "gnu_dev_major", "gnu_dev_minor", "gnu_dev_makedev",
        "imaxabs",  "imaxdiv"},
       numbers);
  Machine text = machine_with(1);
  text.general[7] = kScratch;
  text.general[6] = kScratch + 'c';  // a string, and a character that is in every string
  text.general[2] = 9;
  text.general[1] = 3;
  Machine number = machine_with(2);
  number.general[7] = 'x';
  number.general[6] = 7;
  number.general[2] = 3;
  const std::string result =
      in_child([&](char* doing) { return compare_runs(library, strings, {text}, doing); });
  CHECK(number_in(result) > 45);
  const std::string other =
      in_child([&](char* doing) { return compare_runs(library, numbers, {number}, doing); });
  CHECK(number_in(other) > 40);
}

namespace {

/// The test program itself.
const PatchedLibrary& own() {
  static const PatchedLibrary library = [] {
    link_map* map = nullptr;
    REQUIRE(dlinfo(dlopen(nullptr, RTLD_NOW), RTLD_DI_LINKMAP, &map) == 0);
    return PatchedLibrary("/proc/self/exe", map->l_addr);
  }();
  return library;
}

Function own_function(const std::string& name) {
  const auto found = own().module().functions_named(name);
  REQUIRE_MESSAGE(found.size() == 1, name);
  return {name, found.front().address + own().code().bias(), found.front().size};
}

Inputs case_inputs() {
  Inputs inputs;
  for (const std::uint64_t size : {0UL, 1UL, 2UL, 5UL, ~0UL}) {
    for (const std::uint64_t count : {0UL, 1UL, 2UL, 9UL}) {
      for (const std::uint64_t flags : {0x202UL, 0x202UL | 0x8d5UL}) {
        Machine& machine = inputs.emplace_back(machine_with(3));
        machine.general[7] = size;
        machine.general[6] = kScratch + (count == 1 ? kOne : 0);
        machine.general[1] = count;
        machine.flags = flags;
      }
    }
  }
  return inputs;
}

}  // namespace

TEST_CASE("patching: hard cases in assembler are refused for the right reason, or run the same") {
  std::vector<Function> functions;
  for (unsigned i = 0; i < kPatchingCaseCount; ++i) {
    const PatchingCase& hard = kPatchingCases[i];
    CAPTURE(hard.name);
    const Function function = own_function(hard.name);
    const PatchResult result =
        plan_patch(own().code().request(function.address, function.size), own().targets());
    CHECK(result.patch.has_value() == hard.why_not.empty());
    CHECK(result.why_not.rfind(hard.why_not, 0) == 0);
    CHECK(result.why_not.empty() == hard.why_not.empty());
    if (result.patch && hard.name != "case_enters_at_3") functions.push_back(function);
  }
  const std::string result =
      in_child([&](char* doing) { return compare_runs(own(), functions, case_inputs(), doing); });
  CHECK(number_in(result) == functions.size());
}

TEST_CASE("patching: endbr64 stays where indirect calls land") {
  const Function function = own_function("case_endbr");
  const PatchResult result =
      plan_patch(own().code().request(function.address, function.size), own().targets());
  REQUIRE(result.patch);
  CHECK(result.patch->at == function.address + 4);
}

TEST_CASE("patching: behind a kept byte, with the stack as deep as said") {
  struct Kept {
    const char* name;
    std::vector<unsigned> offsets;
    std::int32_t sp_delta;
  };
  for (const Kept& kept :
       {Kept{"case_frame", {0}, 40}, Kept{"case_frame", {4}, 40}, Kept{"case_frame", {0, 4, 6}, 40},
        Kept{"case_flags_later", {0}, 0}, Kept{"case_flags_later", {0, 3}, 8}}) {
    const Function function = own_function(kept.name);
    std::vector<Address> keep;
    for (const unsigned offset : kept.offsets) keep.push_back(function.address + offset);
    const std::string result = in_child([&](char* doing) -> std::string {
      map_scratch();
      LivePatches live(own());
      const std::string why_not = live.add(function.address, function.size, keep);
      if (!why_not.empty()) return why_not;
      const Patch& patch = live.patch(function.address);
      const std::int32_t depth = patch.sp_delta + (patch.start.empty() ? 0 : patch.start.steps.back().depth);
      if (depth != kept.sp_delta) return "another depth was planned";
      std::strcpy(doing, kept.name);
      for (const Machine& input : case_inputs()) {
        const Outcome before = run(function, input);
        live.write_all();
        const Outcome after = run(function, input);
        if (!live.restore_all()) return "not restored";
        const std::string found = difference(before, after);
        if (!found.empty()) return found;
        const Address entry_rsp = after.machine.general[4] - 8;
        if (live.last_rsp(function.address) != entry_rsp - static_cast<Address>(depth))
          return "rsp is elsewhere";
      }
      return live.count(function.address) == 2 * case_inputs().size() ? "ok 1" : "not counted";
    });
    CHECK(number_in(result) == 1);
  }
}

namespace {

struct Large {
  long first, second, third;
};

__attribute__((noinline)) long add_variable(int count, ...) {
  va_list arguments;
  va_start(arguments, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += (i % 2) != 0 ? va_arg(arguments, double) : va_arg(arguments, int);
  va_end(arguments);
  return static_cast<long>(sum);
}
__attribute__((noinline)) long add_nine(long a, long b, long c, long d, long e, long f, long g, long h,
                                        long i) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}
__attribute__((noinline)) Large make_large(long a, long b) { return {a + b, a - b, a * b}; }
__attribute__((noinline)) long double scale(long double a, long double b) { return a * b + 1; }
__attribute__((noinline)) std::complex<double> turn(std::complex<double> z) {
  return z * std::complex<double>(0, 2);
}
__attribute__((noinline)) _Complex long double turn_long(_Complex long double z) { return z * z; }
__attribute__((noinline, target("avx512f"))) __m512d add_wide(__m512d a, __m512d b) {
  return _mm512_add_pd(a, b);
}

/// The same pointer, as far as the compiler knows another one.
template <class Function>
Function* hidden(Function* function) {
  Function* volatile copy = function;
  return copy;
}

__attribute__((target("avx512f"))) std::string call_wide() {
  double out[8];
  _mm512_storeu_pd(out, hidden(&add_wide)(_mm512_set1_pd(1.5), _mm512_set_pd(8, 7, 6, 5, 4, 3, 2, 1)));
  std::string text;
  for (const double value : out) text += fmt::format(" {}", value);
  return text;
}

/// What all of them return, in words.
std::string call_all() {
  const Large made = hidden(&make_large)(7, 5);
  const std::complex<double> turned = hidden(&turn)({1, 2});
  _Complex long double number;
  __real__ number = 3;
  __imag__ number = 4;
  const _Complex long double squared = hidden(&turn_long)(number);
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}", hidden(&add_variable)(10, 1, 2.5, 3, 4.5, 5, 6.5, 7, 8.5, 9, 10.5),
      hidden(&add_nine)(1, 2, 3, 4, 5, 6, 7, 8, 9), made.first, made.second, made.third,
      hidden(&scale)(1.5L, 2.5L), turned.real(), turned.imag(), static_cast<double>(__real__ squared),
      static_cast<double>(__imag__ squared));
  if (__builtin_cpu_supports("avx512f")) text += call_wide();
  return text;
}

}  // namespace

TEST_CASE("patching: every kind of argument and result passes through") {
  const std::string result = in_child([](char*) -> std::string {
    LivePatches live(own());
    std::vector<Address> functions;
    for (void* function : {reinterpret_cast<void*>(&add_variable), reinterpret_cast<void*>(&add_nine),
                           reinterpret_cast<void*>(&make_large), reinterpret_cast<void*>(&scale),
                           reinterpret_cast<void*>(&turn), reinterpret_cast<void*>(&turn_long)}) {
      functions.push_back(reinterpret_cast<Address>(function));
    }
    if (__builtin_cpu_supports("avx512f")) functions.push_back(reinterpret_cast<Address>(&add_wide));
    for (const Address function : functions) {
      const std::string why_not = live.add(function, 0);
      if (!why_not.empty()) return why_not;
    }
    const std::string before = call_all();
    live.write_all();
    const std::string after = call_all();
    if (!live.restore_all()) return "not restored";
    for (const Address function : functions) {
      if (live.count(function) != 1)
        return fmt::format("{:#x} counted {} times", function, live.count(function));
    }
    if (before != after) return before + " and patched " + after;
    return fmt::format("ok {}", functions.size());
  });
  CHECK(number_in(result) >= 6);
}
