// Every exported function of Debian's libraries: planned, moved and compared, and asked for its stack
// arguments.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <link.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "patching_check.h"
#include "patching_support.h"

using namespace refhist;
using namespace refhist_test;

namespace {

const std::string kFolder = "/usr/lib/x86_64-linux-gnu/";

}  // namespace

TEST_CASE(
    "patching: every exported function of the usual libraries is planned, and what is moved is the same") {
  for (const char* name : {"libc.so.6", "libm.so.6", "libjson-c.so.5", "libglib-2.0.so.0",
                           "libgobject-2.0.so.0", "libcrypto.so.3", "libstdc++.so.6"}) {
    CAPTURE(std::string(name));
    const Address bias = 0x7f0000000000;
    const PatchedLibrary library(kFolder + name, bias);
    unsigned patched = 0;
    const auto functions = library.exported();
    for (const auto& [address, function] : functions) {
      const PatchResult result =
          plan_patch(library.code().request(address, function.size), library.targets());
      REQUIRE(result.patch.has_value() == result.why_not.empty());
      if (!result.patch) continue;
      ++patched;
      for (const Address stub : {bias - 0x10000000, bias + 0x30000000}) {
        const std::string difference = difference_when_moved(*result.patch, stub);
        if (!difference.empty()) FAIL_CHECK(function.name << ": " << difference);
      }
      // The bytes to put back are those of the file.
      std::vector<std::uint8_t> original(result.patch->length);
      REQUIRE(library.module().read_code(result.patch->at - bias, original.data(), original.size()));
      CHECK(original == result.patch->original);
    }
    MESSAGE(std::string(name) << ": " << patched << " of " << functions.size()
                              << " exported functions can be patched");
    CHECK(patched * 100 >= functions.size() * 90);
  }
}

TEST_CASE("patching: a breakpoint in the bytes of the jump is kept") {
  const PatchedLibrary library(kFolder + "libgobject-2.0.so.0");
  unsigned kept = 0;
  unsigned without = 0;
  for (const auto& [address, function] : library.exported()) {
    PatchRequest request = library.code().request(address, function.size);
    without += plan_patch(request, library.targets()).patch ? 1 : 0;
    request.keep = {address + 4};
    const PatchResult result = plan_patch(request, library.targets());
    if (!result.patch) continue;
    ++kept;
    const Patch& patch = *result.patch;
    CHECK((address + 4 < patch.at || address + 4 >= patch.at + patch.length));
    CHECK(difference_when_moved(patch, 0x10000000) == "");
  }
  MESSAGE(kept << " of " << without << " functions with a breakpoint at entry+4");
  CHECK(kept > 0);
  CHECK(kept <= without);
}

namespace {

/// A library of this process; jumps through its PLT are followed into the others.
class Loaded {
 public:
  explicit Loaded(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      void* handle = dlopen(name.c_str(), RTLD_NOW);
      link_map* map = nullptr;
      REQUIRE(handle != nullptr);
      REQUIRE(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
      libraries_.push_back(std::make_unique<PatchedLibrary>(map->l_name, map->l_addr));
    }
  }

  StackArguments look(const std::string& name) const {
    for (const auto& library : libraries_) {
      for (const FunctionSymbol& function : library->module().functions_named(name)) {
        if (function.exported)
          return look(*library, function.address + library->code().bias(), function.size);
      }
    }
    fail("no function {}", name);
  }

 private:
  StackArguments look(const PatchedLibrary& library, Address address, std::uint64_t size,
                      unsigned depth = 0) const {
    CodeAround around;
    around.code_at = [&](Address at) { return library.code().function_at(at); };
    around.data_at = [&](Address at) { return library.code().data_at(at); };
    around.imported = [&, depth](Address slot) { return behind(library, slot, depth); };
    return reads_stack_arguments(library.code().request(address, size).function, around);
  }

  /// Slots that are not bound yet lead back into their own PLT.
  StackArguments behind(const PatchedLibrary& from, Address slot, unsigned depth) const {
    Address target;
    std::memcpy(&target, reinterpret_cast<const void*>(slot), sizeof target);
    if (depth > 5) return StackArguments::unknown;
    for (const auto& library : libraries_) {
      if (library.get() == &from && unbound(*library, target)) return StackArguments::unknown;
      if (!library->code().function_at(target).bytes.empty()) return look(*library, target, 0, depth + 1);
    }
    return StackArguments::unknown;
  }
  static bool unbound(const PatchedLibrary& library, Address target) {
    return library.code().function_at(target).bytes[0] == 0x68;  // push of the relocation's number
  }

  std::vector<std::unique_ptr<PatchedLibrary>> libraries_;
};

std::string installed_python() {
  for (int minor = 11; minor < 30; ++minor) {
    std::string name = fmt::format("libpython3.{}.so.1.0", minor);
    if (dlopen(name.c_str(), RTLD_NOW) != nullptr) return name;
  }
  FAIL("no libpython3.N.so.1.0 is installed");
  return {};
}

}  // namespace

TEST_CASE("patching: who looks at arguments on the stack") {
  // Libraries that this process has not loaded yet are bound at once.
  const Loaded loaded({"libc.so.6", "libm.so.6", "libglib-2.0.so.0", "libgobject-2.0.so.0", "libjson-c.so.5",
                       installed_python()});
  for (const char* name : {"__libc_malloc",
                           "__libc_calloc",
                           "__libc_realloc",
                           "__libc_free",
                           "posix_memalign",
                           "__libc_memalign",
                           "g_malloc",
                           "g_malloc0",
                           "g_slice_alloc",
                           "g_object_ref",
                           "g_object_ref_sink",
                           "g_object_new_with_properties",
                           "g_param_spec_double",
                           "json_object_new_object",
                           "json_object_new_array",
                           "json_object_new_string",
                           "json_object_new_int64",
                           "json_object_get",
                           "json_object_put",
                           "PyList_New",
                           "_PyObject_GC_New",
                           "sin",
                           "strtol"}) {
    CAPTURE(std::string(name));
    CHECK(loaded.look(name) == StackArguments::no);
  }
  for (const char* name : {"g_object_new", "printf", "snprintf", "open", "g_strdup_printf", "sinl", "frexpl",
                           "Py_BuildValue", "g_spawn_async", "g_spawn_async_with_pipes", "g_signal_newv",
                           "g_param_spec_int", "PyEval_EvalCodeEx"}) {
    CAPTURE(std::string(name));
    CHECK(loaded.look(name) == StackArguments::yes);
  }
}

TEST_CASE("patching: stack arguments, form by form") {
  using Bytes = std::vector<std::uint8_t>;
  const auto look = [](const Bytes& bytes) { return reads_stack_arguments({0x1000, bytes}, {}); };
  CHECK(look({}) == StackArguments::unknown);
  CHECK(look({0xc3}) == StackArguments::no);
  CHECK(look({0x48, 0x8b, 0x44, 0x24, 0x08, 0xc3}) == StackArguments::yes);             // mov rax,[rsp+8]
  CHECK(look({0x48, 0x8b, 0x04, 0x24, 0xc3}) == StackArguments::no);                    // the return address
  CHECK(look({0x0f, 0x10, 0x04, 0x24, 0xc3}) == StackArguments::yes);                   // and 8 bytes more
  CHECK(look({0x48, 0x8d, 0x44, 0x24, 0x08, 0xc3}) == StackArguments::yes);             // lea
  CHECK(look({0x50, 0x48, 0x8b, 0x44, 0x24, 0x08, 0x59, 0xc3}) == StackArguments::no);  // pushed before
  CHECK(look({0x50, 0x48, 0x8b, 0x44, 0x24, 0x10, 0x59, 0xc3}) == StackArguments::yes);
  // push rbp; mov rbp,rsp; mov eax,[rbp+16]; leave; ret
  CHECK(look({0x55, 0x48, 0x89, 0xe5, 0x8b, 0x45, 0x10, 0xc9, 0xc3}) == StackArguments::yes);
  CHECK(look({0x55, 0x48, 0x89, 0xe5, 0x8b, 0x45, 0xf0, 0xc9, 0xc3}) == StackArguments::no);
  // the same with an aligned stack in between: and rsp,-32; mov eax,[rsp+64]
  CHECK(look({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x8b, 0x44, 0x24, 0x40, 0xc9, 0xc3}) ==
        StackArguments::unknown);
  // sub rsp,24; test edi,edi; je +2; call abort (does not return); add rsp,24; ret
  CHECK(look({0x48, 0x83, 0xec, 0x18, 0x85, 0xff, 0x74, 0x05, 0xe8, 0, 1, 0, 0, 0x48, 0x83, 0xc4, 0x18,
              0xc3}) == StackArguments::no);
  // The same with an array of variable length, page by page: sub rsp,4096; or qword [rsp+4088],0; cmp
  // rsp,rdx; jne back
  const Bytes array{0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00, 0x48, 0x83, 0x8c, 0x24,
                    0xf8, 0x0f, 0x00, 0x00, 0x00, 0x48, 0x39, 0xd4, 0x75, 0xeb, 0x8b, 0x45, 0xf0, 0xc9, 0xc3};
  CHECK(look(array) == StackArguments::no);
  Bytes above = array;
  above[27] = 0x10;  // mov eax,[rbp+16]
  CHECK(look(above) == StackArguments::yes);
  above = array;
  above[16] = 0x20;  // or qword [rsp+8184],0: above where the loop began
  CHECK(look(above) != StackArguments::no);
  // jmp *rax with the frame gone: whoever that is
  CHECK(look({0xff, 0xe0}) == StackArguments::unknown);
  // xchg rsp,rax; mov eax,[rsp]
  CHECK(look({0x48, 0x94, 0x8b, 0x04, 0x24, 0x48, 0x94, 0xc3}) == StackArguments::unknown);
  // je over `push rax; call`, which does not return: what follows is at the depth of the jump, so this is no
  // argument
  CHECK(look({0x48, 0x83, 0xec, 0x08, 0x85, 0xff, 0x74, 0x0c, 0x48, 0x83, 0xec, 0x70, 0xe8,
              0,    1,    0,    0,    0x0f, 0x1f, 0x00, 0x48, 0x8b, 0x04, 0x24, 0x59, 0xc3}) ==
        StackArguments::no);
  // and the other way round it is one
  CHECK(look({0x48, 0x83, 0xec, 0x08, 0x85, 0xff, 0x74, 0x0c, 0x48, 0x83, 0xec, 0x70, 0xe8, 0,
              1,    0,    0,    0x0f, 0x1f, 0x00, 0x48, 0x8b, 0x44, 0x24, 0x10, 0x59, 0xc3}) ==
        StackArguments::yes);
}

TEST_CASE("patching: the sizes in headers and in the dynamic section are no pointers") {
  const PatchedLibrary library(kFolder + "libjson-c.so.5");
  ElfW(Ehdr) header;
  REQUIRE(library.module().read_code(0, &header, sizeof header));
  std::vector<ElfW(Phdr)> programs(header.e_phnum);
  REQUIRE(library.module().read_code(header.e_phoff, programs.data(), programs.size() * sizeof programs[0]));
  const auto blank = [&](Address first, std::size_t size) {
    const auto bytes = library.code().data_at(first).bytes.first(size);
    return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
  };
  CHECK(blank(0, header.e_phoff + programs.size() * sizeof programs[0]));
  unsigned dynamic = 0;
  for (const ElfW(Phdr) & program : programs) {
    if (program.p_type != PT_DYNAMIC) continue;
    ++dynamic;
    CHECK(blank(program.p_vaddr, program.p_filesz));
    CHECK_FALSE(blank(program.p_vaddr, library.code().data_at(program.p_vaddr).bytes.size()));
  }
  CHECK(dynamic == 1);
}
