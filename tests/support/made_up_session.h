// A session whose history is made up: objects of ten events each (a birth, four gets, five puts) on four
// threads; one in a thousand, or as asked for, is never released. The same every time.
#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "session/session_state.h"

namespace refhist {

class MadeUpSession {
 public:
  struct Shape {
    std::size_t stacks = 500;  ///< of 16 frames
    std::size_t birthplaces = 20;
    std::size_t leak_every = 1000;
  };
  MadeUpSession();
  explicit MadeUpSession(Shape shape);

  /// As many events more, `alive` objects at a time. `each` is called before every event.
  void fill(
      std::size_t events, std::size_t alive, const std::function<void()>& each = [] {});

  SessionState state;

 private:
  static constexpr std::size_t kEventsPerObject = 10;

  Event event(ObjectId object, std::size_t site, std::size_t stack);
  ObjectId birth();
  void change(ObjectId id, std::size_t count);

  Shape shape_;
  std::mt19937_64 random_{1};
  std::vector<SiteId> sites_;
  std::vector<StackId> stacks_;
  std::vector<ThreadIndex> threads_;
  std::vector<std::pair<ObjectId, std::size_t>> living_;  // and how many events they have had
  std::vector<Address> free_;                             // addresses of those that have died
  std::size_t next_ = 0;
};

}  // namespace refhist
