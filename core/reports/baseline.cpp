#include "reports/baseline.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/replaced_file.h"

namespace refhist {

namespace {
constexpr const char* kSchema = "refhist-baseline/1";
}

Baseline Baseline::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("{}: {} (--update-baseline makes it)", path, std::strerror(errno));
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string())
    fail("{} is no baseline: refhist check --baseline FILE --update-baseline makes one", path);
  if (json["schema"] != kSchema)
    fail("{} has the schema {}, this refhist reads {}", path, json["schema"].get<std::string>(), kSchema);
  Baseline baseline;
  try {
    for (const nlohmann::json& finding : json.at("findings"))
      baseline.known_[finding.at("fingerprint").get<std::string>()] = finding.at("what").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    fail("{} is damaged: {}", path, error.what());
  }
  return baseline;
}

void Baseline::write(const std::string& path, SessionState& state,
                     const std::vector<ReportedFinding>& findings) {
  std::map<std::string, nlohmann::ordered_json> sorted;  // so that the file changes only where findings do
  for (const ReportedFinding& finding : findings) {
    sorted[finding.fingerprint] = {{"fingerprint", finding.fingerprint},
                                   {"verdict", verdict_name(finding.verdict)},
                                   {"what", finding_title(state, finding)}};
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (auto& [fingerprint, entry] : sorted) list.push_back(std::move(entry));
  const nlohmann::ordered_json json{{"schema", kSchema}, {"findings", std::move(list)}};
  replace_file(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::vector<std::string> Baseline::gone(const std::vector<ReportedFinding>& findings) const {
  std::map<std::string, std::string> left = known_;
  for (const ReportedFinding& finding : findings) left.erase(finding.fingerprint);
  std::vector<std::string> gone;
  for (const auto& [fingerprint, what] : left) gone.push_back(fmt::format("{} [{}]", what, fingerprint));
  return gone;
}

}  // namespace refhist
