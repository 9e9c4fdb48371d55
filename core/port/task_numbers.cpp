#include "port/task_numbers.h"

#include <sstream>
#include <string>
#include <vector>

#include "base/task_status.h"
#include "port/thread_halt.h"

namespace refhist {

namespace {
/// NSpid of /proc/PID/status: the numbers from the reader's namespace to the innermost one. Empty when it is
/// none.
std::vector<long> numbers_in_namespaces(const std::string& field) {
  std::istringstream words(field);
  std::vector<long> numbers;
  for (long number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

long innermost(long pid, long tid) {
  const std::vector<long> numbers = numbers_in_namespaces(task_status(pid, "NSpid", tid));
  return numbers.empty() ? tid : numbers.back();
}
}  // namespace

TaskNumbers::TaskNumbers(long pid)
    : pid_(pid), differ_(numbers_in_namespaces(task_status(pid, "NSpid")).size() > 1) {}

long TaskNumbers::outside(long inside) const {
  if (!differ_) return inside;
  for (const long tid : threads_of(pid_)) {
    if (innermost(pid_, tid) == inside) return tid;
  }
  return inside;
}

long TaskNumbers::inside(long outside) const { return differ_ ? innermost(pid_, outside) : outside; }

}  // namespace refhist
