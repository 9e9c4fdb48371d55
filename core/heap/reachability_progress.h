// Counts the bytes of a scan and asks now and then whether to go on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

namespace refhist {

/// Thrown inside a scan when the user interrupts it; scan_reachability turns it into a result.
struct ScanInterrupted {};

class ScanProgress {
 public:
  explicit ScanProgress(const std::function<bool(std::size_t, std::size_t)>& report) : report_(report) {}

  void expect(std::uint64_t bytes) { total_ += bytes; }
  void add(std::uint64_t bytes) {
    done_ += bytes;
    if (done_ < next_) return;
    next_ = done_ + kStep;
    ask();
  }
  void ask() const {
    if (report_ && !report_(std::min(done_, total_), total_)) throw ScanInterrupted();
  }
  [[nodiscard]] std::uint64_t bytes() const { return done_; }

 private:
  static constexpr std::uint64_t kStep = 4 << 20;
  const std::function<bool(std::size_t, std::size_t)>& report_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace refhist
