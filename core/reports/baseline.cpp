#include "reports/baseline.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input_file.h"
#include "base/printable.h"
#include "base/replaced_file.h"

namespace refhist {

namespace {
constexpr const char* kBaselineSchema = "refhist-baseline/1";
}

Baseline Baseline::read(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0)
    fail("{}: {} (--update-baseline creates it)", path, std::strerror(errno));
  const nlohmann::json json = nlohmann::json::parse(InputFile(path).text(), nullptr, false);
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    fail("{} is not a baseline: refhist check --baseline FILE --update-baseline creates one", path);
  if (json["schema"] != kBaselineSchema)
    fail("{} has the schema {}, this refhist reads {}", path, json["schema"].get<std::string>(),
         kBaselineSchema);
  Baseline baseline;
  try {
    for (const nlohmann::json& finding : json.at("findings"))
      baseline.known_[finding.at("fingerprint").get<std::string>()] = finding.at("what").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    fail("{} is damaged: {}", path, error.what());
  }
  return baseline;
}

void Baseline::write(const std::string& path, const std::map<std::string, Entry>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [fingerprint, entry] : findings) {
    list.push_back(
        {{"fingerprint", fingerprint}, {"verdict", verdict_name(entry.verdict)}, {"what", entry.what}});
  }
  const nlohmann::ordered_json json{{"schema", kBaselineSchema}, {"findings", std::move(list)}};
  replace_file(path, printable(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n");
}

std::vector<std::string> Baseline::gone(const std::vector<ReportedFinding>& findings) const {
  std::map<std::string, std::string> left = known_;
  for (const ReportedFinding& finding : findings) left.erase(finding.fingerprint);
  std::vector<std::string> gone;
  for (const auto& [fingerprint, what] : left) gone.push_back(fmt::format("{} [{}]", what, fingerprint));
  return gone;
}

}  // namespace refhist
