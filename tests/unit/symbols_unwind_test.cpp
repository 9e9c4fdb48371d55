// Loaded modules and stacks of real processes; stacks are compared with GDB's, frame for frame.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "fixtures/symbols_support.h"
#include "local_process.h"
#include "symbols/module_map.h"
#include "symbols/unwinder.h"

using namespace refhist;
using namespace refhist_test;

namespace {

LocalProcess this_process() { return LocalProcess({ProcessState::running, getpid(), true, ""}); }

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

std::string function_at(const ModuleMap& map, Address address) {
  const LoadedModule* loaded = map.at(address);
  if (loaded == nullptr) return "outside";
  const auto function = loaded->module->function_at(address - loaded->bias);
  return function ? function->name : "unknown";
}

bool is_unread(const ModuleMap& map, const std::string& path, const std::string& reason) {
  return std::any_of(map.unread().begin(), map.unread().end(), [&](const UnreadModule& unread) {
    return unread.path == path && unread.reason.find(reason) != std::string::npos;
  });
}

/// GDB at the other end of two pipes.
class Gdb {
 public:
  explicit Gdb(const std::string& program) {
    int to[2];
    int from[2];
    REQUIRE(pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      dup2(from[1], 2);
      execlp("gdb", "gdb", "-nx", "-q", program.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = fdopen(to[1], "w");
    out_ = fdopen(from[0], "r");
    for (const char* setting :
         {"pagination off", "confirm off", "width 0", "debuginfod enabled off", "prompt",
          "debug-file-directory /nonexistent", "backtrace past-main on", "backtrace past-entry on",
          "print thread-events off", "startup-with-shell off"}) {
      ask(std::string("set ") + setting);
    }
  }
  ~Gdb() {
    fputs("kill\nquit\n", in_);
    fclose(in_);
    fclose(out_);
    waitpid(pid_, nullptr, 0);
  }
  Gdb(const Gdb&) = delete;
  Gdb& operator=(const Gdb&) = delete;

  std::vector<std::string> ask(const std::string& command) {
    fprintf(in_, "%s\necho \\n@done\\n\n", command.c_str());
    fflush(in_);
    std::vector<std::string> lines;
    std::array<char, 4096> line{};
    while (fgets(line.data(), line.size(), out_) != nullptr) {
      std::string text(line.data());
      while (!text.empty() && text.back() == '\n') text.pop_back();
      if (text == "@done") return lines;
      lines.push_back(text);
    }
    FAIL("gdb ended at: ", command);
    return lines;
  }

  /// The line that begins with the text, without it.
  std::string answer(const std::string& command, const std::string& begin) {
    for (const std::string& line : ask(command)) {
      const std::size_t at = line.find(begin);
      if (at != std::string::npos) return line.substr(at + begin.size());
    }
    FAIL("gdb did not answer: ", command);
    return {};
  }

  Registers registers() {
    Registers registers;
    std::istringstream words(
        answer("printf \"@r %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx\\n\", $rax, "
               "$rdx, $rcx, "
               "$rbx, $rsi, $rdi, $rbp, $rsp, $r8, $r9, $r10, $r11, $r12, $r13, $r14, $r15, $rip",
               "@r "));
    for (Address& value : registers.value) words >> std::hex >> value;
    return registers;
  }

  /// Addresses as `backtrace` prints them.
  std::vector<Address> backtrace() {
    std::vector<Address> frames;
    for (const std::string& line : ask("backtrace")) {
      if (line.rfind('#', 0) != 0) continue;
      const std::size_t at = line.find(" 0x");
      REQUIRE(at < 6);
      frames.push_back(std::stoull(line.substr(at + 1), nullptr, 16));
    }
    return frames;
  }

 private:
  pid_t pid_ = 0;
  FILE* in_ = nullptr;
  FILE* out_ = nullptr;
};

bool same_frames(const std::vector<RawFrame>& mine, const std::vector<Address>& theirs) {
  return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                    [](const RawFrame& frame, Address pc) { return frame.pc == pc; });
}

std::string show(const std::vector<RawFrame>& frames) {
  std::string text;
  for (const RawFrame& frame : frames) text += fmt::format("{:#x} ", frame.pc);
  return text;
}

std::string show(const std::vector<Address>& frames) {
  std::string text;
  for (const Address pc : frames) text += fmt::format("{:#x} ", pc);
  return text;
}

/// Functions of the loaded libraries with these names, at their addresses in memory.
std::vector<Address> functions_of(const ModuleMap& map, const std::vector<std::string>& libraries) {
  std::vector<Address> found;
  for (const LoadedModule* loaded : map.loaded()) {
    const std::string& path = loaded->module->path();
    if (std::none_of(libraries.begin(), libraries.end(),
                     [&](const std::string& name) { return path.find(name) != std::string::npos; })) {
      continue;
    }
    for (const FunctionSymbol& function : loaded->module->functions()) {
      if (function.size > 0 && !function.ifunc && function.exported)
        found.push_back(function.address + loaded->bias);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("Modules of this process lie where the dynamic linker put them") {
  auto port = this_process();
  ModuleMap map;
  const auto change = map.update(port);
  CHECK(change.loaded.size() >= 4);
  CHECK(change.unloaded.empty());
  CHECK(function_at(map, address_of(dlsym(RTLD_DEFAULT, "qsort"))) == "qsort");
  const LoadedModule* own = map.at(address_of(reinterpret_cast<void*>(&function_at)));
  REQUIRE(own != nullptr);
  CHECK(own->module->path() == std::filesystem::read_symlink("/proc/self/exe"));
  const Address vdso = getauxval(AT_SYSINFO_EHDR);
  const LoadedModule* kernel = map.at(vdso);
  REQUIRE(kernel != nullptr);
  CHECK(kernel->module->path() == "[vdso]");
  const auto clock = kernel->module->functions_named("__vdso_clock_gettime");
  REQUIRE(clock.size() == 1);
  CHECK(kernel->module->unwind_rule(clock[0].address) != nullptr);
  CHECK(map.at(0x10) == nullptr);
  const auto again = map.update(port);
  CHECK(again.loaded.empty());
  CHECK(again.unloaded.empty());
  CHECK(map.clear().unloaded.size() == change.loaded.size());
  CHECK(map.loaded().empty());
  CHECK(map.get(change.loaded[0]) != nullptr);
}

TEST_CASE("Libraries come and go; one file loaded twice is two modules") {
  const std::string library = build_library("-O2");
  auto port = this_process();
  ModuleMap map;
  map.update(port);
  void* first = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(first != nullptr);
  void* second = dlmopen(LM_ID_NEWLM, library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(second != nullptr);
  const auto loaded = map.update(port).loaded;
  const auto is_library = [&](ModuleId id) { return map.get(id)->module->path() == library; };
  CHECK(std::count_if(loaded.begin(), loaded.end(), is_library) == 2);
  for (void* handle : {first, second}) {
    CHECK(function_at(map, address_of(dlsym(handle, "library_first"))) == "library_first");
  }
  const LoadedModule* one = map.at(address_of(dlsym(first, "library_first")));
  const LoadedModule* other = map.at(address_of(dlsym(second, "library_first")));
  CHECK(one != other);
  CHECK(one->module == other->module);
  const ModuleId id = one->id;
  const Address gone = address_of(dlsym(first, "library_first"));
  dlclose(first);
  const auto unloaded = map.update(port).unloaded;
  CHECK(std::count(unloaded.begin(), unloaded.end(), id) == 1);
  CHECK(map.at(gone) == nullptr);
  REQUIRE(map.get(id) != nullptr);
  CHECK(map.get(id)->module->path() == library);
  void* third = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(third != nullptr);
  const auto reloaded = map.update(port).loaded;
  REQUIRE(reloaded.size() == 1);
  CHECK(reloaded[0] != id);
  dlclose(third);
  dlclose(second);
}

TEST_CASE("A library whose file was deleted or replaced is never mistaken for another") {
  const std::string library = build_library("-O2");
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  const Address address = address_of(dlsym(handle, "library_first"));
  output_of("cp /bin/sh " + library + ".new && mv " + library + ".new " + library);
  auto port = this_process();
  ModuleMap map;
  map.update(port);
  if (map.at(address) != nullptr) {  // /proc/PID/map_files may be used: the old file is still there to read
    CHECK(function_at(map, address) == "library_first");
  } else {
    CHECK(is_unread(map, library, "deleted or replaced"));
  }
  dlclose(handle);
}

TEST_CASE("Without a process there is only the executable; elsewhere the debugger is asked") {
  const std::string program = build("gcc", "symbols_inline.c", "-O2 -no-pie");
  LocalProcess nothing({ProcessState::none, 0, false, program});
  ModuleMap map;
  REQUIRE(map.update(nothing).loaded.size() == 1);
  CHECK(map.loaded()[0]->bias == 0);
  CHECK(function_at(map, map.loaded()[0]->module->functions_named("conn_open")[0].address) == "conn_open");

  LocalProcess missing({ProcessState::none, 0, false, "/nonexistent/program"});
  CHECK(map.update(missing).unloaded.size() == 1);
  CHECK(is_unread(map, "/nonexistent/program", "No such file"));

  LocalProcess remote({ProcessState::stopped, 1, false, program});
  remote.modules_ = {{program, 0}, {"/nonexistent/library.so", 0x7000}};
  CHECK(map.update(remote).loaded.size() == 1);
  CHECK(is_unread(map, "/nonexistent/library.so", "No such file"));
}

TEST_CASE("A local file of another build than the remote one is not believed") {
  // This process plays the remote target: its memory holds one build, the path leads to another.
  const std::string library = build_library("-O2");
  const std::string other = build_library("-O1 -Wl,-soname,other");
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  Dl_info info{};
  REQUIRE(dladdr(dlsym(handle, "library_first"), &info) != 0);
  LocalProcess remote({ProcessState::stopped, getpid(), false, ""});
  remote.modules_ = {{library, address_of(info.dli_fbase)}};
  ModuleMap map;
  CHECK(map.update(remote).loaded.size() == 1);
  CHECK(function_at(map, address_of(dlsym(handle, "library_first"))) == "library_first");
  remote.modules_ = {{other, address_of(info.dli_fbase)}};
  // What is in memory is read instead.
  REQUIRE(map.update(remote).loaded.size() == 1);
  CHECK(map.unread().empty());
  REQUIRE(map.from_memory().size() == 1);
  CHECK(map.from_memory()[0].path == other);
  CHECK(map.from_memory()[0].reason.find("a different build") != std::string::npos);
  CHECK(map.loaded()[0]->module->build_id() == Module::open(library)->build_id());
  CHECK(function_at(map, address_of(dlsym(handle, "library_first"))) == "library_first");
  dlclose(handle);
}

TEST_CASE("Stacks equal GDB's at random instructions of stripped libraries") {
  const std::string program =
      build("gcc", "symbols_stacks.c", "-O2 $(pkg-config --cflags --libs gobject-2.0 json-c) -pthread");
  Gdb gdb(program);
  gdb.ask("handle SIGUSR1 nostop noprint pass");
  gdb.ask("break main");
  gdb.ask("run");
  const long pid = std::stol(gdb.answer("info proc", "process "));
  LocalProcess port({ProcessState::stopped, pid, true, program});
  ModuleMap map;
  map.update(port);
  Unwinder unwinder(map);
  const MemoryReader read = [&](Address address, void* out, std::size_t size) {
    return port.read_some(address, out, size);
  };
  const auto functions = functions_of(map, {"libc.so", "libjson-c", "libglib", "libgobject"});
  REQUIRE(functions.size() > 1000);
  int compared = 0;
  int complete = 0;
  int interrupted = 0;  // frames below a signal trampoline
  unsigned seed = 12345;
  const auto random = [&](std::size_t limit) {
    seed = seed * 1103515245U + 12345U;
    return (seed >> 8) % limit;
  };
  for (int round = 0; compared < 240 && round < 400; ++round) {
    gdb.ask("delete");
    gdb.ask(round % 6 == 0 ? "break on_signal" : "break json_object_put");  // reached whatever the others are
    for (int i = 0; i < 30 && round % 6 != 0; ++i) {
      gdb.ask(fmt::format("break *{:#x}", functions[random(functions.size())]));
    }
    gdb.ask("continue");
    gdb.ask("delete");
    gdb.ask(fmt::format("stepi {}", 1 + random(60)));
    for (int step = 0; step < 3; ++step) {
      gdb.ask("stepi");
      const Registers registers = gdb.registers();
      const LoadedModule* inside = map.at(registers.pc());
      REQUIRE(inside != nullptr);
      // The few instructions that no rule covers (clone3 in the C library): GDB guesses there.
      if (inside->module->unwind_rule(registers.pc() - inside->bias) == nullptr) continue;
      std::vector<RawFrame> mine;
      complete += unwinder.unwind(registers, read, {}, mine) ? 1 : 0;
      const std::vector<Address> theirs = gdb.backtrace();
      INFO("mine ", show(mine), " gdb ", show(theirs));
      CHECK(same_frames(mine, theirs));
      for (std::size_t i = 1; i < mine.size(); ++i) interrupted += mine[i].exact ? 1 : 0;
      ++compared;
    }
  }
  CHECK(compared >= 200);
  CHECK(complete == compared);
  CHECK(interrupted > 10);
}

TEST_CASE("A walk through garbage ends") {
  const std::string program = build("gcc", "symbols_inline.c", "-O0 -no-pie");
  LocalProcess port({ProcessState::none, 0, false, program});
  ModuleMap map;
  map.update(port);
  Unwinder unwinder(map);
  // Behind the prologue of an -O0 function the CFA is rbp+16.
  const Address pc = map.loaded()[0]->module->functions_named("conn_open")[0].address + 16;
  Registers registers;
  registers[kRip] = pc;
  registers[kRsp] = 0x10000;
  registers[kRbp] = 0x10100;

  SUBCASE("a frame that is its own caller") {
    const MemoryReader read = [&](Address address, void* out, std::size_t size) {
      for (std::size_t i = 0; i + 8 <= size; i += 8) {
        const Address word = (address + i) % 16 == 0 ? Address{0x10100} : pc;  // saved rbp, return address
        std::memcpy(static_cast<char*>(out) + i, &word, 8);
      }
      return size;
    };
    std::vector<RawFrame> frames;
    CHECK_FALSE(unwinder.unwind(registers, read, {}, frames));
    CHECK(frames.size() == 2);
    CHECK(frames[0].cfa == 0x10110);
  }
  SUBCASE("an endless stack is cut at the limit") {
    const MemoryReader read = [&](Address address, void* out, std::size_t size) {
      for (std::size_t i = 0; i + 8 <= size; i += 8) {
        const Address word = (address + i) % 16 == 0 ? address + i + 16 : pc;
        std::memcpy(static_cast<char*>(out) + i, &word, 8);
      }
      return size;
    };
    std::vector<RawFrame> frames;
    CHECK_FALSE(unwinder.unwind(registers, read, {.limit = 100}, frames));
    CHECK(frames.size() == 100);
  }
  SUBCASE("unreadable memory") {
    const MemoryReader read = [](Address, void*, std::size_t) { return std::size_t{0}; };
    std::vector<RawFrame> frames;
    CHECK_FALSE(unwinder.unwind(registers, read, {}, frames));
    CHECK(frames.size() == 1);
  }
  SUBCASE("a return address outside every module; then zero, which ends a stack") {
    for (const Address word : {Address{0x20}, Address{0}}) {
      const MemoryReader read = [&](Address, void* out, std::size_t size) {
        for (std::size_t i = 0; i + 8 <= size; i += 8) std::memcpy(static_cast<char*>(out) + i, &word, 8);
        return size;
      };
      std::vector<RawFrame> frames;
      std::vector<Registers> kept;
      CHECK(unwinder.unwind(registers, read, {}, frames, &kept) == (word == 0));
      CHECK(frames.size() == (word == 0 ? 1 : 2));
      CHECK(kept.size() == frames.size());
    }
  }
}
