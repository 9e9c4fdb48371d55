// What is lost holds itself: through containers, through a closure, in a pair; and memory that only points
// back.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conn.h"

namespace farm {

struct Sheep;

struct Shepherd {
  std::vector<std::shared_ptr<Sheep>> flock;
  std::map<std::string, std::shared_ptr<Sheep>> by_name;
};

struct Sheep {
  std::shared_ptr<Shepherd> shepherd;
  ~Sheep() { checkpoint(); }
};

struct Dog : std::enable_shared_from_this<Dog> {
  std::function<void()> bark;
  int times = 0;
};

__attribute__((noinline)) std::shared_ptr<Shepherd> hire(bool knows_each) {
  auto shepherd = std::make_shared<Shepherd>();
  for (int i = 0; i < 3; i++) {
    auto sheep = std::make_shared<Sheep>();
    if (knows_each) sheep->shepherd = shepherd;  // the mistake
    shepherd->flock.push_back(sheep);
    shepherd->by_name["sheep " + std::to_string(i)] = sheep;
  }
  return shepherd;
}

__attribute__((noinline)) void train(bool by_itself) {
  std::shared_ptr<Dog> dog(new Dog);
  Dog *plain = dog.get();
  if (by_itself)
    dog->bark = [dog] { dog->times++; };  // the mistake
  else
    dog->bark = [plain] { plain->times++; };
  dog->bark();
}

}  // namespace farm

// The private part of a connection points back at it, and holds it not.
struct private_part {
  struct conn *owner;
  char text[40];
};

extern "C" __attribute__((noinline)) struct conn *conn_with_private_part(int id) {
  struct conn *conn = conn_new(id);
  private_part *part = static_cast<private_part *>(calloc(1, sizeof *part));
  part->owner = conn;
  conn->next = reinterpret_cast<struct conn *>(part);
  return conn;
}

int main(int argc, char **argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  for (int i = 0; i < 20; i++) {
    if (mode == "containers") farm::hire(i == 7);
    if (mode == "closure") farm::train(i == 7);
    if (mode == "private") {
      struct conn *conn = conn_with_private_part(i);
      if (i != 7) {
        free(conn->next);
        conn_put(conn);
      }
      conn = nullptr;
    }
  }
  return 0;
}
