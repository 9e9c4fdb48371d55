// Files that a program has from others and does not want.
#pragma once

#include <unistd.h>

#include <set>

namespace refhist {

inline void close_all_but(const std::set<unsigned>& kept) {
  unsigned begin = 0;
  for (const unsigned number : kept) {
    if (number > begin) close_range(begin, number - 1, 0);
    begin = number + 1;
  }
  close_range(begin, ~0U, 0);
}

}  // namespace refhist
