// Discover is scored: how many of the pairs that the shipped families list does it find (recall), and how
// much of what it proposes is right (precision) by the labels that were given by hand in
// tests/data/discover_labels.toml.
#include <doctest/doctest.h>

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "discover/discover.h"
#include "discover/refcount_names.h"
#include "families/family_catalog.h"
#include "families/family_file.h"
#include "families/function_pattern.h"
#include "fixture_program.h"
#include "sites/counter_check.h"
#include "sites/inlined_facts.h"
#include "x86/known_functions.h"

using namespace refhist;

namespace {

const std::string kData = REFHIST_TEST_DATA_DIR;

using Pair = std::pair<std::string, std::string>;

struct Labels {
  std::set<Pair> right_pairs;
  std::set<std::string> right_births;
};

std::map<std::string, Labels> read_labels() {
  std::map<std::string, Labels> labels;
  const toml::table file = toml::parse_file(kData + "/discover_labels.toml");
  for (const toml::node& node : *file["pair"].as_array()) {
    const toml::table& pair = *node.as_table();
    if (!*pair["right"].value<bool>()) continue;
    labels[*pair["module"].value<std::string>()].right_pairs.emplace(*pair["get"].value<std::string>(),
                                                                     *pair["put"].value<std::string>());
  }
  for (const toml::node& node : *file["births"].as_array()) {
    const toml::table& births = *node.as_table();
    for (const toml::node& name : *births["right"].as_array()) {
      labels[*births["module"].value<std::string>()].right_births.insert(*name.value<std::string>());
    }
  }
  return labels;
}

/// Every get with every put of the family that the module defines.
std::set<Pair> pairs_of(const Family& family, const Module& module) {
  std::vector<std::string> gets;
  std::vector<std::string> puts;
  for (const ProbeSpec& probe : family.probes) {
    if (probe.role != Role::get && probe.role != Role::put) continue;
    if (probe.function.ends_with("_fetch")) continue;  // what it does to the counter, its own code does not
    const FunctionPattern pattern(probe.function);
    for (const FunctionSymbol& function : module.functions()) {
      if (!pattern.matches(function.name, demangle(function.name))) continue;
      (probe.role == Role::get ? gets : puts).push_back(probe.function);
      break;
    }
  }
  std::set<Pair> pairs;
  for (const std::string& get : gets) {
    for (const std::string& put : puts) pairs.emplace(get, put);
  }
  return pairs;
}

bool meant_for(const Family& family, const Module& module) {
  const std::string name = file_name(module.path());
  return std::any_of(family.modules.begin(), family.modules.end(),
                     [&](const std::string& glob) { return glob_match(glob, name); });
}

struct Score {
  std::size_t wanted = 0;
  std::size_t found = 0;
  std::size_t proposed = 0;
  std::size_t right = 0;
  [[nodiscard]] double recall() const { return static_cast<double>(found) / static_cast<double>(wanted); }
  [[nodiscard]] double precision() const {
    return static_cast<double>(right) / static_cast<double>(proposed);
  }
};

/// Counts pairs and births of the proposals; a proposal without a label is wrong.
Score score(const Module& module, const std::vector<Proposal>& proposals, const std::vector<Family>& families,
            const Labels& labels) {
  Score score;
  std::set<Pair> proposed;
  for (const Proposal& proposal : proposals) {
    const std::set<Pair> pairs = pairs_of(proposal.family, module);
    proposed.insert(pairs.begin(), pairs.end());
    for (const ProbeSpec& probe : proposal.family.probes) {
      if (probe.role != Role::init) continue;
      ++score.proposed;
      score.right += labels.right_births.count(probe.function);
      if (labels.right_births.count(probe.function) == 0) {
        std::printf("  not labelled right: birth %s\n", probe.function.c_str());
      }
    }
  }
  for (const Pair& pair : proposed) {
    ++score.proposed;
    score.right += labels.right_pairs.count(pair);
    if (labels.right_pairs.count(pair) == 0) {
      std::printf("  not labelled right: %s, %s\n", pair.first.c_str(), pair.second.c_str());
    }
  }
  for (const Family& family : families) {
    for (const Pair& pair : pairs_of(family, module)) {
      ++score.wanted;
      score.found += proposed.count(pair);
      if (proposed.count(pair) == 0)
        std::printf("  not found: %s, %s\n", pair.first.c_str(), pair.second.c_str());
    }
  }
  return score;
}

/// What the family's file says; where it was written for another version of the library, what the code says.
std::optional<std::uint64_t> offset_of_counter(const Family& family,
                                               const std::shared_ptr<const Module>& module) {
  if (!family.counter.offset) return std::nullopt;
  const LoadedModule loaded{ModuleId(std::size_t{0}), module, 0, 0, ~Address{0}};
  const auto by_code = counter_by_code(family, {&loaded});
  return by_code && by_code->elsewhere ? by_code->elsewhere->offset : family.counter.offset;
}

/// Where a proposal and a family have the same get, they must agree on where and how the count is kept.
void check_counters(const std::vector<Proposal>& proposals, const std::vector<Family>& families,
                    const std::shared_ptr<const Module>& module) {
  for (const Proposal& proposal : proposals) {
    for (const Family& family : families) {
      const auto same_get = [&](const ProbeSpec& probe) {
        return probe.role == Role::get &&
               std::any_of(family.probes.begin(), family.probes.end(), [&](const ProbeSpec& other) {
                 return other.role == Role::get && other.function == probe.function;
               });
      };
      if (std::none_of(proposal.family.probes.begin(), proposal.family.probes.end(), same_get)) continue;
      CAPTURE(family.name);
      CHECK(proposal.family.counter.offset == offset_of_counter(family, module));
      CHECK(proposal.family.counter.size == family.counter.size);
      CHECK(proposal.family.counter.scale == family.counter.scale);
      CHECK(proposal.family.counter.shift == family.counter.shift);
    }
  }
}

void print(const std::string& module, const Score& score) {
  std::printf("discover %-22s recall %5.1f%% (%zu of %zu pairs)  precision %5.1f%% (%zu of %zu proposals)\n",
              module.c_str(), 100 * score.recall(), score.found, score.wanted, 100 * score.precision(),
              score.right, score.proposed);
}

void check_module(const std::shared_ptr<const Module>& module, const std::string& label,
                  const std::vector<Family>& families, Labels labels) {
  const std::vector<Proposal> proposals = discover({module}, {});
  const Score result = score(*module, proposals, families, labels);
  print(label, result);
  CAPTURE(label);
  REQUIRE(result.wanted > 0);
  REQUIRE(result.proposed > 0);
  CHECK(result.recall() >= 0.95);
  CHECK(result.precision() >= 0.90);
  check_counters(proposals, families, module);
}

const Family& family_named(const std::vector<Proposal>& proposals, std::string_view name) {
  const auto found = std::find_if(proposals.begin(), proposals.end(),
                                  [&](const Proposal& proposal) { return proposal.family.name == name; });
  REQUIRE(found != proposals.end());
  return found->family;
}

std::vector<std::string> functions(const Family& family, Role role) {
  std::vector<std::string> names;
  for (const ProbeSpec& probe : family.probes) {
    if (probe.role == role) names.push_back(probe.function);
  }
  return names;
}

}  // namespace

TEST_CASE("names are split into words") {
  using Words = std::vector<std::string>;
  CHECK(name_words("dbus_connection_ref") == Words{"dbus", "connection", "ref"});
  CHECK(name_words("ns::HTTPConn::AddRef") == Words{"ns", "http", "conn", "add", "ref"});
  CHECK(name_words("X509_up_ref") == Words{"x509", "up", "ref"});
  CHECK(name_words("map__get") == Words{"map", "get"});
  CHECK(name_words("").empty());
}

TEST_CASE("names pair up when they differ in the verb alone") {
  const std::vector<std::string> names{"conn_get",
                                       "conn_put",
                                       "conn_get_name",
                                       "conn_put_name",
                                       "Foo::AddRef",
                                       "Foo::Release",
                                       "ref_disk",
                                       "unref_disk",
                                       "x_ref_unlocked",
                                       "x_unref_and_unlock",
                                       "y_weak_ref",
                                       "y_weak_unref",
                                       "z_get",
                                       "dget",
                                       "dput",
                                       "ihold",
                                       "iput",
                                       "target",
                                       "get",
                                       "put"};
  std::set<Pair> pairs;
  for (const NamePair& pair : pair_names(names)) {
    pairs.emplace(names[pair.get], names[pair.put]);
    if (names[pair.get] == "ref_disk") CHECK(pair.spelling == "disk");
    if (names[pair.get] == "conn_get") CHECK(pair.certainty == Certainty::likely);
    if (names[pair.get] == "x_ref_unlocked") CHECK(pair.subject == std::vector<std::string>{"x"});
  }
  CHECK(pairs == std::set<Pair>{{"conn_get", "conn_put"},
                                {"Foo::AddRef", "Foo::Release"},
                                {"ref_disk", "unref_disk"},
                                {"x_ref_unlocked", "x_unref_and_unlock"},
                                {"dget", "dput"},
                                {"ihold", "iput"},
                                {"get", "put"}});
}

TEST_CASE("functions that free are known by a word of their name") {
  for (const char* name :
       {"free", "g_free", "conn_free", "conn_free_locked", "ConnDestroy", "_ZdlPv", "node_destroy"}) {
    CAPTURE(name);
    CHECK(gives_back(name));
  }
  for (const char* name : {"freeze", "conn_freeze", "carefree_walk", "lock_release", "memset", ""}) {
    CAPTURE(name);
    CHECK_FALSE(gives_back(name));
  }
}

TEST_CASE("discover finds the families of Debian's libraries from exported names alone") {
  const FamilyCatalog catalog(REFHIST_FAMILIES_DIR);
  std::map<std::string, Labels> labels = read_labels();
  for (const char* name : {"libjson-c.so.5", "libgobject-2.0.so.0", "libdbus-1.so.3", "libcrypto.so.3"}) {
    const std::string path = std::string("/usr/lib/x86_64-linux-gnu/") + name;
    const auto module =
        Module::open(std::filesystem::exists(path) ? path : std::string("/lib/x86_64-linux-gnu/") + name);
    std::vector<Family> families;
    for (const Family& family : catalog.families()) {
      if (meant_for(family, *module)) families.push_back(family);
    }
    check_module(module, name, families, labels[name]);
  }
}

TEST_CASE("discover finds the counted types of a program and leaves the decoys alone") {
  const auto families = read_family_file(kData + "/discover_program.toml");
  const Labels labels = read_labels()["discover_program"];
  for (const char* flags : {"-g -O0", "-g -O2", "-g -O3", "-g -Os"}) {
    const auto module = Module::open(test::build_fixture("../../data/discover_program.c", flags));
    check_module(module, std::string("program ") + flags, families, labels);
  }
}

TEST_CASE("a proposal says type, counter, births and conditional gets") {
  const auto module = Module::open(test::build_fixture("../../data/discover_program.c", "-g -O2"));
  const auto proposals = discover({module}, {});

  const Family& conn = family_named(proposals, "conn");
  CHECK(conn.counter.type == "conn");
  CHECK(functions(conn, Role::init) == std::vector<std::string>{"conn_new"});

  const Family& session = family_named(proposals, "session");
  CHECK(functions(session, Role::try_get) == std::vector<std::string>{"session_get_unless_zero"});
  REQUIRE(functions(session, Role::init) == std::vector<std::string>{"session_init"});
  for (const ProbeSpec& probe : session.probes) CHECK(to_string(probe.object) == "1");

  const Family& entry = family_named(proposals, "entry");
  for (const ProbeSpec& probe : entry.probes) CHECK(to_string(probe.object) == "2");
}

namespace {

std::vector<Proposal> discovered(const char* source, const char* flags) {
  DiscoverOptions options;
  options.copies = facts_of_copies;
  return discover({Module::open(test::build_fixture(source, flags))}, options);
}

}  // namespace

TEST_CASE("functions without code of their own are found by their inlined copies") {
  for (const char* flags : {"-g -O2", "-g -O3", "-g -Os"}) {
    CAPTURE(flags);
    const auto module = Module::open(test::build_fixture("../../data/discover_inlined.c", flags));
    CHECK(discover({module}, {}).empty());
    const auto proposals = discovered("../../data/discover_inlined.c", flags);
    REQUIRE(proposals.size() == 2);
    const Family& item = family_named(proposals, "item");
    CHECK(item.counter.offset == 8);
    CHECK(functions(item, Role::get) == std::vector<std::string>{"item_ref"});
    CHECK(functions(item, Role::put) == std::vector<std::string>{"item_unref"});
    const Family& page = family_named(proposals, "page");
    CHECK(page.counter.offset == 8);
    CHECK(functions(page, Role::get) == std::vector<std::string>{"page_get"});
    CHECK(functions(page, Role::put) == std::vector<std::string>{"page_put"});
    CHECK(proposals.front().why.find("is inlined everywhere") != std::string::npos);
  }
}

TEST_CASE("types tell what is counted, and where objects are made") {
  for (const char* flags : {"-g -O0", "-g -O2", "-g -O3"}) {
    CAPTURE(flags);
    const auto proposals = discovered("../../data/discover_types.c", flags);
    REQUIRE(proposals.size() == 5);  // kref is what flow counts with, and gate counts no references
    CHECK(family_named(proposals, "page").counter.offset == 4);
    CHECK(family_named(proposals, "view").counter.offset == 16);
    const Family& flow = family_named(proposals, "flow");
    CHECK(flow.counter.offset == 12);
    CHECK(functions(flow, Role::get) == std::vector<std::string>{"flow_get"});
    CHECK(functions(flow, Role::put) == std::vector<std::string>{"flow_put"});
    CHECK(functions(flow, Role::init) == std::vector<std::string>{"classify"});
    const Family& neigh = family_named(proposals, "neigh");
    CHECK(neigh.counter.offset == 12);
    CHECK(functions(neigh, Role::get) == std::vector<std::string>{"neigh_hold"});
    CHECK(functions(neigh, Role::put) == std::vector<std::string>{"neigh_release"});
    CHECK(functions(neigh, Role::init) == std::vector<std::string>{"neigh_alloc"});
    const Family& stream = family_named(proposals, "stream");
    CHECK(stream.counter.offset == 8);
    for (const ProbeSpec& probe : stream.probes)
      CHECK(to_string(probe.object) == (probe.role == Role::get   ? "1"
                                        : probe.role == Role::put ? "*1"
                                                                  : "*2"));
    CHECK(functions(stream, Role::put) == std::vector<std::string>{"stream_unref"});
    CHECK(functions(stream, Role::init) == std::vector<std::string>{"stream_new"});
  }
}

TEST_CASE("constructors make objects, and thunks are no family of their own") {
  for (const char* flags : {"-g -O0", "-g -O2", "-g -O3"}) {
    CAPTURE(flags);
    const auto proposals = discovered("../../data/discover_classes.cpp", flags);
    REQUIRE(proposals.size() == 2);
    const Family& counted = family_named(proposals, "Counted");
    CHECK(counted.born == 0);
    CHECK(functions(counted, Role::init) == std::vector<std::string>{"Counted::Counted"});
    const Family& filter = family_named(proposals, "(anonymous namespace)::Filter");
    CHECK(filter.born == 1);
    CHECK(functions(filter, Role::get) == std::vector<std::string>{"(anonymous namespace)::Filter::AddRef"});
    CHECK(functions(filter, Role::init) == std::vector<std::string>{"(anonymous namespace)::Filter::Filter"});
  }
}

TEST_CASE("a proposal is ready to paste") {
  const auto module = Module::open(test::build_fixture("../../data/discover_program.c", "-g -O2"));
  std::vector<Family> families;
  for (const Proposal& proposal : discover({module}, {})) families.push_back(proposal.family);
  const std::string text = to_toml(families);
  CHECK(to_toml(parse_families(text, "pasted.toml")) == text);
}

TEST_CASE("a pattern narrows discover down to families and functions") {
  const auto module = Module::open(test::build_fixture("../../data/discover_program.c", "-g -O2"));
  DiscoverOptions options;
  options.pattern = "conn";
  CHECK(discover({module}, options).size() == 1);
  options.pattern = "*_up_ref";
  CHECK(discover({module}, options).size() == 1);
  options.pattern = "nothing";
  CHECK(discover({module}, options).empty());
}

TEST_CASE("discover can be interrupted between modules") {
  const auto module = Module::open(test::build_fixture("../../data/discover_program.c", "-g -O2"));
  int asked = 0;
  DiscoverOptions options;
  options.progress = [&](std::string_view path) {
    CHECK(path == module->path());
    return ++asked < 2;
  };
  const auto once = discover({module}, {}).size();
  CHECK(discover({module, module}, options).size() == once);
  CHECK(asked == 2);
}

TEST_CASE("methods of C++ classes are found, in namespaces and templates too") {
  for (const char* flags : {"-g -O0", "-g -O2"}) {
    CAPTURE(flags);
    const auto module = Module::open(test::build_fixture("../../data/discover_methods.cpp", flags));
    DiscoverOptions options;
    options.pattern = "media::";
    const auto proposals = discover({module}, options);
    std::set<Pair> pairs;
    for (const Proposal& proposal : proposals) {
      for (const std::string& get : functions(proposal.family, Role::get)) {
        for (const std::string& put : functions(proposal.family, Role::put)) pairs.emplace(get, put);
      }
    }
    CHECK(pairs == std::set<Pair>{{"media::Frame::AddRef", "media::Frame::Release"},
                                  {"media::Shared<long>::ref", "media::Shared<long>::unref"}});
  }
}
