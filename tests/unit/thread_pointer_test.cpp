#include "agent_host/thread_pointer.h"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "fixtures/symbols_support.h"

using namespace refhist;

namespace {

/// `rdfsbase` of one of the 16 registers, as the agent has it.
std::vector<std::uint8_t> read_into(unsigned reg) {
  const auto high = static_cast<std::uint8_t>(reg >= 8 ? 0x49 : 0x48);
  return {0xf3, high, 0x0f, 0xae, static_cast<std::uint8_t>(0xc0 + reg % 8), 0x0f, 0x1f, 0x40, 0x00};
}

std::vector<std::uint8_t> bytes_of(const std::string& path) {
  const std::string text = InputFile(path).text();
  return {text.begin(), text.end()};
}

}  // namespace

TEST_CASE("The load of the thread pointer gives what the program has") {
  for (unsigned reg = 0; reg < 16; ++reg) {
    if (reg == 4) continue;  // the stack pointer
    CAPTURE(reg);
    std::vector<std::uint8_t> code = read_into(reg);
    REQUIRE(load_thread_pointer(code) == 1);
    // push reg; mov reg, %fs:0; mov rax, reg; and back, unless that is rax.
    const auto high = static_cast<std::uint8_t>(reg >= 8 ? 1 : 0);
    const auto low = static_cast<std::uint8_t>(reg % 8);
    std::vector<std::uint8_t> function{static_cast<std::uint8_t>(0x40 + high),
                                       static_cast<std::uint8_t>(0x50 + low)};
    function.insert(function.end(), code.begin(), code.end());
    function.insert(function.end(), {static_cast<std::uint8_t>(0x48 + 4 * high), 0x89,
                                     static_cast<std::uint8_t>(0xc0 + 8 * low)});
    if (reg == 0) {
      function.insert(function.end(), {0x48, 0x83, 0xc4, 0x08});  // add rsp, 8
    } else {
      function.insert(function.end(),
                      {static_cast<std::uint8_t>(0x40 + high), static_cast<std::uint8_t>(0x58 + low)});
    }
    function.push_back(0xc3);
    void* memory =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    std::memcpy(memory, function.data(), function.size());
    const auto call = reinterpret_cast<void* (*)()>(memory);
    CHECK(call() == __builtin_thread_pointer());
    munmap(memory, 4096);
  }
}

TEST_CASE("Every place where the agent reads the thread pointer can be written over") {
  std::vector<std::uint8_t> agent = bytes_of(REFHIST_AGENT_OBJECT);
  const std::string code = refhist_test::output_of("objdump -d --no-show-raw-insn " REFHIST_AGENT_OBJECT);
  std::size_t reads = 0;
  for (std::size_t at = code.find("rdfsbase"); at != std::string::npos; at = code.find("rdfsbase", at + 1))
    ++reads;
  CHECK(reads > 0);
  CHECK(load_thread_pointer(agent) == reads);
  CHECK(load_thread_pointer(agent) == 0);
}

TEST_CASE("Other instructions stay as they are") {
  const std::vector<std::uint8_t> others[] = {
      {0xf3, 0x48, 0x0f, 0xae, 0xc8, 0x0f, 0x1f, 0x40, 0x00},  // rdgsbase
      {0xf3, 0x48, 0x0f, 0xae, 0xd0, 0x0f, 0x1f, 0x40, 0x00},  // wrfsbase
      {0xf3, 0x48, 0x0f, 0xae, 0xc0, 0x90, 0x90, 0x90, 0x90},
      {0xf3, 0x48, 0x0f, 0xae, 0xc0},
  };
  for (std::vector<std::uint8_t> code : others) {
    const std::vector<std::uint8_t> before = code;
    CHECK(load_thread_pointer(code) == 0);
    CHECK(code == before);
  }
}
