#include "events/block_sizes.h"

#include <doctest/doctest.h>

namespace refhist {
namespace {

// Of one address, each block handed out behind the one before.
class Program {
 public:
  void frees(std::uint64_t size, int times) {
    for (int i = 0; i < times; ++i) {
      Block block;
      block.begin = 0x1000;
      block.size = size;
      sizes.freed(block, history_);
    }
  }
  [[nodiscard]] bool is_plain(std::uint64_t size) const { return sizes.is_plain(BlockSizes::class_of(size)); }

  BlockSizes sizes;

 private:
  History history_;
};

}  // namespace

TEST_CASE("a size is plain once many of its blocks were freed without an object") {
  Program program;
  program.frees(40, 63);
  CHECK_FALSE(program.is_plain(40));
  CHECK_FALSE(program.sizes.changed());
  program.frees(33, 1);  // the same class
  CHECK(program.is_plain(40));
  CHECK_FALSE(program.is_plain(50));
  CHECK(program.sizes.changed());
  CHECK_FALSE(program.sizes.changed());
}

TEST_CASE("a size that an object has is never plain") {
  Program program;
  program.frees(40, 100);
  CHECK(program.sizes.changed());
  program.sizes.holds_object(40);
  CHECK_FALSE(program.is_plain(40));
  CHECK(program.sizes.changed());
  program.frees(40, 100);
  CHECK_FALSE(program.is_plain(40));
  CHECK_FALSE(program.sizes.changed());
}

TEST_CASE("no size is plain where objects lie elsewhere than their counters") {
  Program program;
  program.frees(40, 100);
  program.sizes.any_may_hold();
  CHECK_FALSE(program.is_plain(40));
}

TEST_CASE("large blocks are nobody's") {
  Program program;
  program.frees(BlockSizes::kLargest + 1, 100);
  program.sizes.holds_object(1U << 20U);
  CHECK_FALSE(program.sizes.changed());
}

}  // namespace refhist
