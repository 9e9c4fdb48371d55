// The reachability scan on real, stopped programs: fixtures/reachability_program.c makes the scenes.
#include "reachability/reachability.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <signal.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fixture_program.h"
#include "heap/heap_bitmap.h"
#include "heap/reachability_ranges.h"
#include "ptrace_port.h"
#include "symbols/module_map.h"
#include "symbols/unwinder.h"

namespace refhist {

namespace {

using test::PtracePort;

constexpr const char* kFlags = "-O1 -g -fno-builtin -w -pthread";
constexpr std::size_t kNode = 48;  // sizeof(struct node)

/// One scene, stopped where it is complete.
class Scene {
 public:
  explicit Scene(const std::string& name, const std::string& flags = "", PtracePort::Options options = {},
                 const std::string& argument = "")
      : Scene({build("reachability_program.c", flags), name, argument}, std::move(options)) {}
  explicit Scene(const std::vector<std::string>& command, PtracePort::Options options = {})
      : port_(command, std::move(options)), unwinder_(modules_) {}

  static std::string build(const std::string& source, const std::string& flags) {
    return test::build_fixture(source, fmt::format("{} {}", kFlags, flags));
  }

  /// Runs to the scene's SIGSTOP.
  Scene& stop() {
    const PtracePort::Stop stop = port_.go_on();
    REQUIRE(stop.kind == PtracePort::Stop::Kind::signal);
    REQUIRE(stop.detail == SIGSTOP);
    tid_ = stop.tid;
    modules_.update(port_);
    return *this;
  }

  /// Runs to the function, which must be in a module that is there right at the start of main.
  Scene& stop_at(std::string_view function) {
    modules_.update(port_);
    run_to(function_in(modules_, "main"));
    modules_.update(port_);
    run_to(function_in(modules_, function));
    return *this;
  }

  template <class T>
  T variable(std::string_view name, std::size_t offset = 0) {
    T value{};
    REQUIRE(port_.read_memory(test::variable_address(modules_, name) + offset, &value, sizeof value));
    return value;
  }
  Address object(int slot) { return ~variable<Address>("hidden", 8 * slot); }

  ReachResult scan(const std::vector<int>& slots, std::uint64_t size = kNode, ReachOptions options = {}) {
    std::vector<TrackedBlock> blocks;
    for (const int slot : slots)
      blocks.push_back({ObjectId(static_cast<std::uint32_t>(slot)), object(slot), size});
    return scan_reachability(port_, modules_, unwinder_, blocks, options);
  }
  ReachResult scan_blocks(const std::vector<TrackedBlock>& blocks, const ReachOptions& options) {
    return scan_reachability(port_, modules_, unwinder_, blocks, options);
  }

  PtracePort& port() { return port_; }
  ModuleMap& modules() { return modules_; }
  [[nodiscard]] long tid() const { return tid_; }

 private:
  static Address function_in(const ModuleMap& modules, std::string_view name) {
    return test::function_address(modules, name);
  }
  void run_to(Address address) {
    REQUIRE(port_.place_breakpoint(address));
    const PtracePort::Stop stop = port_.go_on();
    REQUIRE(stop.kind == PtracePort::Stop::Kind::breakpoint);
    REQUIRE(stop.address == address);
    port_.remove_breakpoint(address);
  }

  PtracePort port_;
  ModuleMap modules_;
  Unwinder unwinder_;
  long tid_ = 0;
};

/// "R" reachable, "L" from leaked, "U" unreachable, "F" freed: one letter for each object.
std::string fates(const ReachResult& result) {
  std::string letters;
  for (const ReachOfObject& object : result.objects) {
    if (object.freed) {
      letters += 'F';
    } else {
      letters += object.reach == Reach::reachable ? 'R' : object.reach == Reach::from_leaked ? 'L' : 'U';
    }
  }
  return letters;
}

/// "h" for each object that a lost object holds in the end.
std::string consequences(const ReachResult& result) {
  std::string letters;
  for (const ReachOfObject& object : result.objects) letters += object.held_by_leak ? 'h' : '.';
  return letters;
}

void check_walked(const ReachResult& result) {
  INFO(result.why_not << result.heap_why_not);
  CHECK(result.complete);
  CHECK(result.heap_walked);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("bitmap finds the nearest member on either side, however far") {
  const std::size_t size = 1 << 20;
  HeapBitmap bitmap(size);
  const std::vector<std::size_t> members = {3, 64, 127, 128, 4096, 262144, size - 1};
  for (const std::size_t i : members) bitmap.set(i);
  for (std::size_t i = 0; i < size; i += i < 300 ? 1 : 61) {
    std::size_t floor = HeapBitmap::kNone;
    std::size_t above = HeapBitmap::kNone;
    for (const std::size_t m : members) {
      if (m <= i) floor = m;
      if (m > i && above == HeapBitmap::kNone) above = m;
    }
    REQUIRE(bitmap.floor(i) == floor);
    REQUIRE(bitmap.above(i) == above);
  }
  CHECK(bitmap.test(64));
  CHECK_FALSE(bitmap.test(65));
  CHECK(bitmap.above(size - 1) == HeapBitmap::kNone);
}

TEST_CASE("ranges are subtracted, also when holes overlap each other and several ranges") {
  const std::vector<AddressRange> left =
      subtract({{100, 200}, {300, 400}, {0, 50}}, {{150, 350}, {160, 170}, {0, 10}, {390, 500}, {20, 20}});
  REQUIRE(left.size() == 3);
  CHECK(left[0].begin == 10);
  CHECK(left[0].end == 50);
  CHECK(left[1].begin == 100);
  CHECK(left[1].end == 150);
  CHECK(left[2].begin == 350);
  CHECK(left[2].end == 390);
}

TEST_CASE("a list that a variable holds is reachable, a lost list is leaked by its head") {
  Scene scene("lists");
  const ReachResult result = scene.stop().scan({0, 1, 2, 3, 4, 5});
  check_walked(result);
  CHECK(fates(result) == "RRRULL");
  const ReachOfObject& first = result.objects[0];
  CHECK(first.holder == test::variable_address(scene.modules(), "roots"));
  CHECK(contains(first.where, "reachability_program"));
  CHECK_FALSE(first.holder_object.valid());
  const ReachOfObject& second = result.objects[1];
  CHECK(second.holder == scene.object(0));
  CHECK(second.holder_object == ObjectId(std::uint32_t{0}));
  CHECK(result.objects[3].holder == 0);
  CHECK(result.objects[3].where.empty());
  CHECK(result.objects[4].holder_object == ObjectId(std::uint32_t{3}));
  CHECK(result.bytes_scanned > 0);
}

TEST_CASE("a lost tree is leaked by its root only") {
  const ReachResult result = Scene("tree").stop().scan({0, 1, 2, 3, 4, 5, 6});
  CHECK(fates(result) == "ULLLLLL");
  CHECK(consequences(result) == ".hhhhhh");
}

TEST_CASE("a lost cycle has no head; an object that points at itself is its own") {
  const ReachResult result = Scene("cycle").stop().scan({0, 1, 2, 3, 4, 5});
  CHECK(fates(result) == "LLULLL");
  // What a cycle holds, and what a lost object holds through a lost block, but nothing that a mere block
  // holds.
  CHECK(consequences(result) == "...hh.");
  CHECK(result.objects[0].cycle_number != 0);
  CHECK(result.objects[0].cycle_number == result.objects[1].cycle_number);
  CHECK(result.objects[3].cycle_number == 0);
  const std::vector<LostStep>& way = result.objects[1].cycle;
  REQUIRE(way.size() == 2);
  CHECK(way[0].object == ObjectId(std::uint32_t{1}));
  CHECK(way[0].word == way[0].begin);
  CHECK(way[1].object == ObjectId(std::uint32_t{0}));
  CHECK(result.objects[2].cycle.empty());
}

TEST_CASE("interior pointers hold, a pointer behind the end does not") {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{kNode}}) {
    CHECK(fates(Scene("interior").stop().scan({0, 1, 2}, size)) == "RUR");
  }
}

TEST_CASE("pointers with tags at either end hold") {
  CHECK(fates(Scene("tagged").stop().scan({0, 1, 2, 3, 4})) == "RRRRU");
}

TEST_CASE("the kernel holds what it is to give back with an event") {
  Scene scene("kernel");
  const ReachResult result = scene.stop().scan({0, 1, 2});
  check_walked(result);
  CHECK(fates(result) == "RRU");
  CHECK(contains(result.objects[0].where, "epoll data for descriptor "));
  CHECK(result.objects[1].where == "value of timer 0");
}

TEST_CASE("pointers in freed blocks hold nothing: tcache, fastbin, unsorted, large, rest of the heap") {
  Scene scene("freed");
  const ReachResult result = scene.stop().scan({0, 1, 2, 3, 4, 5});
  check_walked(result);
  CHECK(fates(result) == "UUUURU");
  CHECK(contains(result.objects[4].where, "heap block 0x"));
}

TEST_CASE("the stack holds from the stack pointer up") {
  Scene scene("stack");
  const ReachResult result = scene.stop().scan({0, 1});
  check_walked(result);
  CHECK(fates(result) == "RU");
  CHECK(result.objects[0].where == "stack of thread " + std::to_string(scene.tid()));
}

TEST_CASE("the red zone holds, what is below it does not") {
  CHECK(fates(Scene("below").stop().scan({0, 1})) == "RU");
}

TEST_CASE("a register holds") {
  Scene scene("register");
  const ReachResult result = scene.stop().scan({0});
  CHECK(fates(result) == "R");
  CHECK(result.objects[0].holder == 0);
  CHECK(result.objects[0].where == "register r12 of thread " + std::to_string(scene.tid()));
  Registers registers = *scene.port().registers(scene.tid());
  registers[kR12] = 0;
  scene.port().write_registers(scene.tid(), registers);
  CHECK(fates(scene.scan({0})) == "U");
}

TEST_CASE("a vector register holds") {
  Scene scene("vector-register");
  const ReachResult result = scene.stop().scan({0});
  CHECK(fates(result) == "R");
  CHECK(result.objects[0].where == "vector register of thread " + std::to_string(scene.tid()));
  CHECK(fates(scene.stop().scan({0})) == "U");
}

TEST_CASE("static objects are held by what points at them, and hold only then") {
  Scene scene("static");
  const ReachResult result = scene.stop().scan({0, 1, 2, 3, 4, 5, 6});
  check_walked(result);
  CHECK(fates(result) == "RUULRLL");
  CHECK(result.objects[4].holder_object == ObjectId(std::uint32_t{0}));
  // Untracked, the same memory is data of the program.
  CHECK(fates(scene.scan({4, 5, 6})) == "RRR");
}

TEST_CASE("thread-local variables of all threads hold") {
  Scene scene("tls");
  const ReachResult result = scene.stop().scan({0, 1, 2});
  check_walked(result);
  CHECK(fates(result) == "RUR");
  CHECK(contains(result.objects[0].where, "thread-local storage of thread " + std::to_string(scene.tid())));
  CHECK(contains(result.objects[2].where, "thread-local storage of thread "));
  CHECK(result.objects[2].where != result.objects[0].where);
}

TEST_CASE("other arenas, with more than one heap each, are walked") {
  Scene scene("arena");
  const ReachResult result = scene.stop().scan({0, 1, 2, 3, 4});
  check_walked(result);
  CHECK(fates(result) == "RRLUU");
  CHECK(contains(result.objects[2].where, "heap block 0x"));
}

TEST_CASE("mapped chunks are blocks, other anonymous mappings are roots") {
  Scene scene("mapped");
  const ReachResult result = scene.stop().scan({0, 1, 2, 3, 5, 6});
  check_walked(result);
  CHECK(fates(result) == "RLRRRU");
  CHECK(contains(result.objects[4].where, "anonymous memory at 0x"));
  const ReachResult lost = scene.scan({1, 4}, 0);
  CHECK(fates(lost) == "LU");
  CHECK(lost.objects[0].holder_object == ObjectId(std::uint32_t{4}));
}

TEST_CASE("many threads: each stack holds its own") {
  Scene scene("threads");
  std::vector<int> slots;
  std::string expected;
  for (int i = 0; i < 31; ++i) {
    slots.insert(slots.end(), {2 * i, 2 * i + 1});
    expected += "RU";
  }
  const ReachResult result = scene.stop().scan(slots);
  check_walked(result);
  CHECK(scene.port().threads().size() == 32);
  CHECK(fates(result) == expected);
}

TEST_CASE("stacks and thread-local storage of threads that have ended hold nothing") {
  CHECK(fates(Scene("ended-threads").stop().scan({0, 1, 2, 3})) == "UUUU");
}

TEST_CASE("objects in slabs and pools are reached one by one") {
  Scene scene("slab");
  scene.stop();
  CHECK(fates(scene.scan({0, 1, 2, 3, 4, 5})) == "RUULLR");
  CHECK(fates(scene.scan({6, 7, 8})) == "URL");
  CHECK(fates(scene.scan({9})) == "U");
}

TEST_CASE("GObjects in the slabs of the real GSlice are reached one by one, their size known or not") {
  const std::string program =
      Scene::build("reachability_gslice.c", "$(pkg-config --cflags --libs gobject-2.0)");
  for (const std::uint64_t size : {std::uint64_t{24}, std::uint64_t{0}}) {
    Scene scene(std::vector<std::string>{program});
    std::vector<int> slots;
    std::string expected;
    for (int i = 0; i < 30; ++i) {
      slots.push_back(i);
      expected += i % 3 == 0 ? 'R' : 'U';
    }
    // What a lost object and what a held object has as data.
    slots.insert(slots.end(), {30, 31});
    expected += "LR";
    const ReachResult result = scene.stop().scan(slots, size);
    check_walked(result);
    CHECK(fates(result) == expected);
  }
}

TEST_CASE("an object inside of its block is the block") {
  CHECK(fates(Scene("private").stop().scan({0, 1, 2, 3})) == "RRUL");
}

TEST_CASE("objects whose memory was given back unseen are no leaks") {
  CHECK(fates(Scene("gone").stop().scan({0, 1, 2, 3})) == "FFFU");
}

TEST_CASE("an overwritten chunk header makes the whole heap a root, and that is said") {
  const ReachResult result = Scene("corrupt").stop().scan({0, 1});
  CHECK(result.complete);
  CHECK_FALSE(result.heap_walked);
  CHECK(contains(result.heap_why_not, "chunk header at 0x"));
  CHECK(fates(result) == "RU");
}

TEST_CASE("a stack in a block of malloc is a stack") {
  Scene scene("own-stack");
  const ReachResult result = scene.stop().scan({0});
  check_walked(result);
  CHECK(fates(result) == "R");
}

TEST_CASE("at exit, what main left behind holds nothing") {
  Scene scene("return");
  scene.stop_at("_exit");
  ReachOptions at_exit;
  at_exit.at_exit = true;
  CHECK(fates(scene.scan({0})) == "R");
  CHECK(fates(scene.scan({0}, kNode, at_exit)) == "U");
}

TEST_CASE("at exit, the frame that has called exit still holds") {
  Scene scene("exit");
  scene.stop_at("_exit");
  ReachOptions at_exit;
  at_exit.at_exit = true;
  CHECK(fates(scene.scan({0}, kNode, at_exit)) == "R");
}

TEST_CASE("static, position-dependent, randomised and remote programs give the same") {
  const auto check = [](const char* flags, bool randomize, bool local) {
    INFO(flags << " randomize " << randomize << " local " << local);
    PtracePort::Options options;
    options.randomize = randomize;
    options.local = local;
    const ReachResult lists = Scene("lists", flags, options).stop().scan({0, 1, 2, 3, 4, 5});
    check_walked(lists);
    CHECK(fates(lists) == "RRRULL");
    const ReachResult freed = Scene("freed", flags, options).stop().scan({0, 1, 2, 3, 4, 5});
    check_walked(freed);
    CHECK(fates(freed) == "UUUURU");
    CHECK(fates(Scene("tls", flags, options).stop().scan({0, 1, 2})) == "RUR");
    CHECK(fates(Scene("mapped", flags, options).stop().scan({0, 1, 2, 3, 5, 6})) == "RLRRRU");
  };
  check("-static", false, true);
  check("-static-pie", true, true);
  check("-no-pie", false, true);
  check("", true, true);
  check("", false, false);
}

namespace {

/// What a graph scene must give, computed from its tables alone.
std::vector<char> expected_graph(Scene& scene, int nodes, int edges, int tables) {
  std::vector<char> freed(nodes);
  std::vector<std::array<int, 3>> edge(nodes);
  std::vector<int> work(tables);
  REQUIRE(edges == 3);
  PtracePort& port = scene.port();
  REQUIRE(port.read_memory(test::variable_address(scene.modules(), "graph_freed"), freed.data(), nodes));
  REQUIRE(port.read_memory(test::variable_address(scene.modules(), "graph_edges"), edge.data(), nodes * 12));
  REQUIRE(port.read_memory(test::variable_address(scene.modules(), "graph_roots"), work.data(), tables * 4));
  std::vector<char> fate(nodes, 'U');
  while (!work.empty()) {
    const int node = work.back();
    work.pop_back();
    if (freed[node] != 0 || fate[node] == 'R') continue;
    fate[node] = 'R';
    for (const int to : edge[node]) {
      if (to >= 0) work.push_back(to);
    }
  }
  for (int from = 0; from < nodes; ++from) {
    if (freed[from] != 0) {
      fate[from] = 'F';
      continue;
    }
    if (fate[from] == 'R') continue;
    for (const int to : edge[from]) {
      if (to >= 0 && to != from && freed[to] == 0 && fate[to] == 'U') fate[to] = 'L';
    }
  }
  return fate;
}

}  // namespace

TEST_CASE("a random graph of 20000 blocks, a third of them freed: every fate as computed from the edges") {
  constexpr int kNodes = 20000;
  Scene scene("graph");
  scene.stop();
  const std::vector<char> expected = expected_graph(scene, kNodes, 3, 64);
  std::vector<Address> places(kNodes);
  REQUIRE(scene.port().read_memory(test::variable_address(scene.modules(), "graph_hidden"), places.data(),
                                   kNodes * 8));
  std::vector<TrackedBlock> blocks;
  for (std::uint32_t i = 0; i < kNodes; ++i)
    blocks.push_back({ObjectId(i), ~places[i], i % 2 == 0 ? 24U : 0U});
  for (const std::size_t cache : {ReachOptions().cache_bytes, std::size_t{1}}) {
    ReachOptions options;
    options.cache_bytes = cache;
    const ReachResult result = scene.scan_blocks(blocks, options);
    check_walked(result);
    std::map<char, int> counts;
    int wrong = 0;
    const std::string got = fates(result);
    for (int i = 0; i < kNodes; ++i) {
      ++counts[expected[i]];
      if (got[i] != expected[i]) ++wrong;
    }
    CHECK(wrong == 0);
    for (const char fate : {'R', 'L', 'U', 'F'}) CHECK(counts[fate] > 100);
  }
}

TEST_CASE("a heap that is larger than the cache is worked through window by window") {
  Scene scene("long-list");
  scene.stop();
  ReachOptions options;
  options.cache_bytes = 8 << 20;
  const ReachResult result = scene.scan({0, 1}, kNode, options);
  check_walked(result);
  CHECK(fates(result) == "RU");
}

TEST_CASE("stopped anywhere inside of malloc, free and realloc, what is held is never lost") {
  Scene scene("churn");
  scene.stop();
  int walked = 0;
  constexpr int kScans = 300;
  unsigned steps = 1;
  for (int i = 0; i < kScans; ++i) {
    steps = (steps * 75 + 74) % 65537;
    for (unsigned n = steps % 400; n != 0; --n) scene.port().step(scene.tid());
    const ReachResult result = scene.scan({0, 1});
    REQUIRE(result.complete);
    REQUIRE(result.objects[0].reach == Reach::reachable);
    REQUIRE_FALSE(result.objects[0].freed);
    if (!result.heap_walked) continue;
    ++walked;
    REQUIRE(fates(result) == "RU");
  }
  // Halfway through splitting or joining chunks the headers contradict each other.
  CHECK(walked > kScans * 3 / 4);
}

TEST_CASE("a scan reports its progress and can be interrupted") {
  Scene scene("large", "", {}, "64");
  scene.stop();
  std::size_t calls = 0;
  std::size_t last = 0;
  ReachOptions options;
  options.progress = [&](std::size_t done, std::size_t total) {
    CHECK(done <= total);
    CHECK(done >= last);
    last = done;
    ++calls;
    return true;
  };
  CHECK(fates(scene.scan({0}, kNode, options)) == "U");
  CHECK(calls >= 64 / 4);
  options.progress = [](std::size_t done, std::size_t) { return done < (20U << 20); };
  const ReachResult result = scene.scan({0}, kNode, options);
  CHECK_FALSE(result.complete);
  CHECK(result.why_not == "interrupted");
  CHECK(fates(result) == "R");
}

}  // namespace refhist
