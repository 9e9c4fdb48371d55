// That the walker can be put into any program: it asks for nothing, and nothing has to be done to it after
// loading.
#include <doctest/doctest.h>

#include "fixtures/symbols_support.h"

using namespace refhist_test;

TEST_CASE("The walker's code needs no library and no relocation") {
  const std::string object = scratch().file("walker.so");
  output_of("c++ -shared -nostdlib -Wl,-z,defs -Wl,--whole-archive " REFHIST_STACK_WALKER_LIBRARY
            " -Wl,--no-whole-archive -o " +
            object);
  CHECK(output_of("readelf -rW " + object).find("There are no relocations") != std::string::npos);
  CHECK(output_of("readelf -dW " + object).find("NEEDED") == std::string::npos);
  const std::string code = output_of("objdump -d --no-show-raw-insn " + object);
  CHECK(code.find("%rax") != std::string::npos);
  for (const char* vector : {"%xmm", "%ymm", "%zmm", "%st", "%fs:", "%gs:"}) {
    CHECK(code.find(vector) == std::string::npos);
  }
}

TEST_CASE("The agent needs no library and no relocation, and uses no vector register") {
  const std::string agent = REFHIST_AGENT_OBJECT;
  CHECK(output_of("readelf -rW " + agent).find("There are no relocations") != std::string::npos);
  CHECK(output_of("readelf -dW " + agent).find("NEEDED") == std::string::npos);
  const std::string code = output_of("objdump -d --no-show-raw-insn " + agent);
  CHECK(code.find("rdfsbase") != std::string::npos);
  for (const char* vector : {"%xmm", "%ymm", "%zmm", "%st", "%fs:", "%gs:"}) {
    CHECK(code.find(vector) == std::string::npos);
  }
}
