// std::make_shared of what cannot be made: the control block is freed though its count is 1, and rightly so.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "conn.h"

struct Setting {
  int value;
  explicit Setting(int wanted) : value(wanted) {
    if (wanted % 2 != 0) throw std::invalid_argument("odd");
  }
};

int main() {
  std::vector<std::shared_ptr<Setting>> made;
  int refused = 0;
  for (int i = 0; i < 8; i++) {
    try {
      made.push_back(std::make_shared<Setting>(i));
    } catch (const std::exception &) {
      refused++;
    }
  }
  std::printf("made %zu\nrefused %d\n", made.size(), refused);
  made.clear();
  checkpoint();
  return 0;
}
