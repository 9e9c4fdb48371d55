#include "fixture_program.h"

#include <stdlib.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>

namespace refhist::test {

namespace {

namespace fs = std::filesystem;

class Builder {
 public:
  Builder() {
    std::string name = (fs::temp_directory_path() / "refhist-fixtures-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory for fixtures");
    folder_ = name;
  }
  ~Builder() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string build(const std::string& source, const std::string& flags) {
    const auto known = built_.find({source, flags});
    if (known != built_.end()) return known->second;
    const fs::path input = fs::path(__FILE__).parent_path() / "fixtures" / source;
    const fs::path output = folder_ / (input.stem().string() + "-" + std::to_string(built_.size()));
    const std::string compiler = input.extension() == ".c" ? "cc" : "c++";
    const std::string command = compiler + " " + input.string() + " -o " + output.string() + " " + flags;
    if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
    return built_.emplace(std::pair(source, flags), output.string()).first->second;
  }

 private:
  fs::path folder_;
  std::map<std::pair<std::string, std::string>, std::string> built_;
};

}  // namespace

std::string build_fixture(const std::string& source, const std::string& flags) {
  static Builder builder;
  return builder.build(source, flags);
}

}  // namespace refhist::test
