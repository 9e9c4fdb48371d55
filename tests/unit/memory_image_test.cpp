// Modules read from the memory of a process, compared with what their files say.
#include "symbols/memory_image.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "symbols/mapped_region.h"
#include "symbols/module.h"

namespace refhist {

namespace {

bool read_own(Address address, void* out, std::size_t size) {
  const std::vector<MemoryRegion> regions = read_proc_maps(getpid());
  const auto readable = [&](Address at) {
    return std::any_of(regions.begin(), regions.end(),
                       [&](const MemoryRegion& r) { return r.begin <= at && at < r.end && r.readable; });
  };
  if (!readable(address) || !readable(address + size - 1)) return false;
  std::memcpy(out, reinterpret_cast<const void*>(address), size);  // NOLINT: an address of this process
  return true;
}

/// The library that holds the function, as its file and as its memory.
struct Library {
  std::shared_ptr<const Module> file;
  std::shared_ptr<const Module> memory;
  Address bias = 0;
};

Library library_of(void* function) {
  Dl_info info;
  REQUIRE(dladdr(function, &info) != 0);
  auto image = read_memory_image(read_own, reinterpret_cast<Address>(info.dli_fbase));
  REQUIRE(image.has_value());
  Library library;
  library.bias = image->bias;
  library.file = Module::open(info.dli_fname);
  library.memory = Module::from_image("from memory", std::move(image->bytes));
  return library;
}

}  // namespace

TEST_CASE("a module in memory has the identity, exported names and call frames of its file") {
  for (void* function : {reinterpret_cast<void*>(&fputs), reinterpret_cast<void*>(&elf_version)}) {
    const Library library = library_of(function);
    CHECK(library.memory->build_id() == library.file->build_id());
    std::size_t exported = 0;
    std::size_t framed = 0;
    for (const FunctionSymbol& symbol : library.file->functions()) {
      if (!symbol.exported) continue;
      ++exported;
      const auto same = library.memory->functions_named(symbol.name);
      INFO(symbol.name);
      CHECK(std::any_of(same.begin(), same.end(), [&](const FunctionSymbol& s) {
        return s.address == symbol.address && s.size == symbol.size;
      }));
      const bool has_rule = library.file->unwind_rule(symbol.address) != nullptr;
      CHECK((library.memory->unwind_rule(symbol.address) != nullptr) == has_rule);
      framed += has_rule ? 1 : 0;
    }
    CHECK(exported > 50);
    CHECK(framed > 50);
    const auto& found = library.memory->functions();
    CHECK(std::count_if(found.begin(), found.end(), [](const FunctionSymbol& s) { return s.exported; }) ==
          static_cast<std::ptrdiff_t>(exported));
    const auto here = library.memory->function_at(reinterpret_cast<Address>(function) - library.bias);
    CHECK(here.has_value());
  }
}

TEST_CASE("memory without an ELF header, and a reader that fails, give nothing") {
  std::vector<std::uint8_t> zeros(4096);
  CHECK_FALSE(read_memory_image(read_own, reinterpret_cast<Address>(zeros.data())).has_value());
  CHECK_FALSE(read_memory_image([](Address, void*, std::size_t) { return false; }, 0x1000).has_value());
}

}  // namespace refhist
