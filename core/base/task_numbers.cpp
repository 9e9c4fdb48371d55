#include "base/task_numbers.h"

#include <fmt/core.h>

#include <filesystem>
#include <sstream>

#include "base/task_status.h"

namespace refhist {

namespace {
long innermost(long pid, long tid) {
  const std::vector<long> numbers = numbers_in_namespaces(task_status(pid, "NSpid", tid));
  return numbers.empty() ? tid : numbers.back();
}
}  // namespace

std::vector<long> numbers_in_namespaces(const std::string& field) {
  std::istringstream words(field);
  std::vector<long> numbers;
  for (long number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

TaskNumbers::TaskNumbers(long pid)
    : pid_(pid), differ_(numbers_in_namespaces(task_status(pid, "NSpid")).size() > 1) {}

long TaskNumbers::outside(long inside) const {
  if (!differ_) return inside;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), gone)) {
    const long tid = std::stol(task.path().filename().string());
    if (innermost(pid_, tid) == inside) return tid;
  }
  return inside;
}

long TaskNumbers::inside(long outside) const { return differ_ ? innermost(pid_, outside) : outside; }

}  // namespace refhist
