#include "fleet/run_facts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>

#include "base/usage_error.h"

namespace refhist {

namespace {

constexpr std::size_t kLongestHostName = 256;
constexpr std::size_t kMostLabels = 32;
constexpr std::size_t kLongestLabel = 100;

std::string first_set(std::initializer_list<const char*> variables, const char* otherwise) {
  for (const char* name : variables) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != 0) return value;
  }
  return otherwise;
}

std::string host_name() {
  std::array<char, kLongestHostName> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? name.data() : "unknown";
}

}  // namespace

RunFacts RunFacts::from_environment() {
  RunFacts facts;
  facts.project = first_set({"REFHIST_PROJECT", "CI_PROJECT_PATH", "GITHUB_REPOSITORY"}, "default");
  // A pull request's own branch: GITHUB_REF_NAME is "12/merge" there.
  facts.branch =
      first_set({"REFHIST_BRANCH", "CI_COMMIT_REF_NAME", "GITHUB_HEAD_REF", "GITHUB_REF_NAME"}, "unknown");
  facts.commit = first_set({"REFHIST_COMMIT", "CI_COMMIT_SHA", "GITHUB_SHA"}, "");
  facts.host = host_name();
  return facts;
}

void RunFacts::add_label(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) fail_usage("--label must be KEY=VALUE, not {}", text);
  if (text.size() > kLongestLabel) fail_usage("a label has at most {} bytes: {}", kLongestLabel, text);
  labels[text.substr(0, equals)] = text.substr(equals + 1);
  if (labels.size() > kMostLabels) fail_usage("a run has at most {} labels", kMostLabels);
}

void RunFacts::set_history(const std::string& text) {
  if (text == "always") {
    history = SendHistory::always;
  } else if (text == "on-findings") {
    history = SendHistory::on_findings;
  } else if (text == "never") {
    history = SendHistory::never;
  } else {
    fail_usage("--send-history must be always, on-findings or never, not {}", text);
  }
}

void refuse_password(const std::string& target) {
  const std::size_t scheme = target.find("://");
  const std::size_t end = scheme == std::string::npos ? 0 : target.find('/', scheme + 3);
  const std::string authority =
      scheme == std::string::npos ? "" : target.substr(scheme + 3, end - scheme - 3);
  const std::size_t at = authority.rfind('@');
  const bool in_authority = at != std::string::npos && authority.substr(0, at).find(':') != std::string::npos;
  std::string packed = target;
  std::erase(packed, ' ');  // libpq takes "password = x" as well
  if (in_authority || packed.find("password=") != std::string::npos)
    fail_usage(
        "everybody on this machine can read a password on a command line: use ~/.pgpass, a service file "
        "(service=NAME) or PGPASSWORD");
}

}  // namespace refhist
