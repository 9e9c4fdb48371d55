// The statement by which a pointer was lost, from the lines that were executed and their source.
#include "explain/loss_place.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "base/scratch_folder.h"

using namespace refhist;

namespace {

constexpr const char* kSource = R"(static int serve(struct item *from) {
  struct item *item = item_get(from);
  if (bad(item)) {
    fails++;
    return -1;
  }
  if (late(item)) return 0;
  struct item *best = item;
  if (worse(best))
    best = other;
  if (full(item))
    goto end;
  use(item);
end:
  return 1;
}
)";

class Source {
 public:
  Source() { std::ofstream(file()) << kSource; }
  [[nodiscard]] std::string file() const { return folder_.path() + "/serve.c"; }

  /// Line, or its negative where the variable is overwritten; 0: nothing. `compiled`: lines with code.
  [[nodiscard]] int lost(const std::vector<unsigned>& lines, std::size_t use,
                         const std::set<std::string>& variables, std::set<unsigned> compiled) const {
    FollowedWay way;
    way.end = FollowedWay::End::returned;
    for (const unsigned line : lines) way.steps.push_back({"serve", file(), line, {}, {}});
    way.last_use = LastUse{use, {way.steps[use]}, variables, std::move(compiled)};
    const auto place = loss_place(way);
    if (!place) return 0;
    CHECK(place->function == "serve");
    return place->overwritten ? -static_cast<int>(place->line) : static_cast<int>(place->line);
  }

 private:
  ScratchFolder folder_;
};

}  // namespace

TEST_CASE("the function leaves behind the last use") {
  const Source source;
  CHECK(source.lost({2, 3, 4, 5, 16}, 1, {"item"}, {2, 3, 4, 5, 7, 16}) == 5);
  CHECK(source.lost({2, 3, 4, 16}, 1, {"item"}, {2, 3, 4, 7, 16}) == 5);  // the return has no code
  CHECK(source.lost({2, 3, 7, 16}, 2, {"item"}, {2, 3, 4, 5, 7, 8, 16}) == 7);
  CHECK(source.lost({2, 3, 7, 11, 15, 16}, 3, {"item"}, {2, 3, 7, 11, 13, 15, 16}) == 12);
}

TEST_CASE("a branch that is not taken does not leave") {
  const Source source;
  CHECK(source.lost({2, 3, 7, 8, 9, 11, 13, 15}, 6, {"item"}, {2, 3, 4, 5, 7, 8, 9, 11, 13, 15}) == 15);
}

TEST_CASE("the variable gets another value") {
  const Source source;
  CHECK(source.lost({2, 3, 7, 8, 9, 10, 11}, 4, {"best"}, {2, 3, 7, 8, 9, 10, 11, 13}) == -10);
  CHECK(source.lost({2, 3, 7, 8, 9, 11}, 4, {"best"}, {2, 3, 7, 8, 9, 11, 13}) == -10);  // without code
}

TEST_CASE("nothing is said without a variable or its source") {
  const Source source;
  CHECK(source.lost({2, 3, 4, 5, 16}, 1, {}, {2, 3, 4, 5, 7, 16}) == 0);
  FollowedWay way;
  way.steps = {{"serve", "/nowhere/serve.c", 3, {}, {}}};
  way.last_use = LastUse{0, way.steps, {"item"}, {3}};
  CHECK(!loss_place(way));
  CHECK(!loss_place(FollowedWay()));
}
