#pragma once

#include <unistd.h>

namespace refhist {

/// What open(2) has returned: a descriptor, which is closed with this, or less than 0.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int number() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace refhist
