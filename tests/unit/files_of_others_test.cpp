// Names, texts and files that others have made.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/input_file.h"
#include "base/printable.h"
#include "base/replaced_file.h"
#include "base/text.h"
#include "fixture_program.h"
#include "history/object_table.h"
#include "reports/source_places.h"
#include "symbols/module.h"

using namespace refhist;

namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "refhist-files-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("text of others means nothing to a terminal") {
  CHECK(printable("plain text\n\twith lines") == "plain text\n\twith lines");
  CHECK(printable("\x1b[31m\r\x07\x7f") == "\\x1b[31m\\x0d\\x07\\u007f");
  CHECK(printable("a\xc2\x9b"
                  "b") == "a\\u009bb");
  CHECK(printable("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f") == "\\u202e\\u2066\\u200f");
  CHECK(printable("\xef\xbf\xbe\xef\xbf\xbf") == "\\ufffe\\uffff");
  CHECK(printable("\xff\xed\xa0\x80") == "\\xff\\xed\\xa0\\x80");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(printable("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80") == "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  CHECK(one_line("name\nrefhist check: clean\t") == "name\\x0arefhist check: clean\\x09");
  CHECK(printable("\\x1b") == "\\x1b");
}

TEST_CASE("a quoted word is one word") {
  for (const std::string word : {"a b", "a'b\"c\\", "'", ""})
    CHECK(split_words(quoted_word(word)) == std::vector{word});
}

TEST_CASE("only a regular file is read, and nothing is waited for") {
  const Folder folder;
  CHECK(InputFile(folder.write("text", "a\nb")).text() == "a\nb");
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(InputFile{pipe}, (pipe + ": not a regular file").c_str(), Error);
  CHECK_THROWS_AS(InputFile{"/dev/zero"}, Error);
  CHECK_THROWS_AS(InputFile{folder.file("none")}, Error);
  CHECK_THROWS_AS(static_cast<void>(InputFile(folder.file("text")).text(2)), Error);
  CHECK(InputFile("/proc/self/environ").text().empty());
}

TEST_CASE("a program that is made shorter while it is read ends nobody") {
  const Folder folder;
  const std::string program = folder.file("program");
  std::filesystem::copy_file(test::build_fixture("../../data/discover_program.c", "-g -O2"), program);
  const auto own = Module::open(program);
  REQUIRE_FALSE(own->functions().empty());
  const FunctionSymbol function = own->functions().front();
  std::filesystem::resize_file(program, 100);
  own->source_frames(function.address);
  own->inlined_functions();
  own->type_size("int");
  own->unwind_rule(function.address);
  CHECK(own->functions_named(function.name).front().address == function.address);
}

TEST_CASE("a replaced file follows no link") {
  const Folder folder;
  const std::string victim = folder.write("victim", "untouched");
  const std::string target = folder.file("target");
  REQUIRE(symlink(victim.c_str(), target.c_str()) == 0);
  replace_file(target, "new");
  CHECK(InputFile(victim).text() == "untouched");
  CHECK(!std::filesystem::is_symlink(target));
  CHECK(InputFile(target).text() == "new");
  {
    const ReplacedFile one(target);
    const ReplacedFile other(target);
    CHECK(one.unfinished() != other.unfinished());
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.file("")), {}) == 2);
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_AS(replace_file(pipe, "nobody reads it"), Error);
}

TEST_CASE("sources of others are read below the root only") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("root"));
  const std::string inside = folder.write("root/a.c", "int a;");
  const std::string outside = folder.write("secret", "s");
  REQUIRE(symlink(outside.c_str(), folder.file("root/link.c").c_str()) == 0);
  const SourcePlaces places(folder.file("root"), ReadSources::below_root);
  CHECK(places.readable(inside) == std::filesystem::canonical(inside).string());
  CHECK(places.readable(outside).empty());
  CHECK(places.readable(folder.file("root/../secret")).empty());
  CHECK(places.readable(folder.file("root/link.c")).empty());
  CHECK(places.readable("/proc/self/environ").empty());
  CHECK(SourcePlaces(folder.file("root")).readable(inside).empty());
  CHECK(SourcePlaces("/", ReadSources::all).readable(outside) == outside);
}

TEST_CASE("objects with numbers far apart take no memory for those between") {
  ObjectTable table;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    table.skip_to(ObjectId(i * 4'000'000U));
    CHECK(table.add(Object{}).value == i * 4'000'000U);
  }
  table.skip_to(ObjectId(0xfffffff0U));
  CHECK(table.kept() == 1000);
  CHECK(table.bytes() < 300'000'000);
  CHECK(table.contains(ObjectId(4'000'000U)));
  CHECK(!table.contains(ObjectId(4'000'001U)));
  CHECK_THROWS_AS(table[ObjectId(300U)], Error);
  std::size_t seen = 0;
  for (const auto& [id, object] : table) seen += id.value % 4'000'000U == 0 ? 1 : 0;
  CHECK(seen == 1000);
}
