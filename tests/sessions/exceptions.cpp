// Constructors and gets that are sometimes left by an exception; C++ names with namespaces and overloads.
#include <cstdio>
#include <stdexcept>

extern "C" __attribute__((noinline)) void checkpoint() { asm volatile(""); }

namespace net {

class Link {
 public:
  static Link* open(int id);
  static Link* open(const char* name);
  void ref(bool allowed = true);
  void unref();
  int id = 0;
  int refs = 1;
};

__attribute__((noinline)) Link* Link::open(int id) {
  if (id < 0) throw std::invalid_argument("no such link");
  Link* link = new Link;
  link->id = id;
  return link;
}

__attribute__((noinline)) Link* Link::open(const char* name) {
  Link* link = new Link;
  link->id = name[0];
  return link;
}

__attribute__((noinline)) void Link::ref(bool allowed) {
  if (!allowed) throw std::runtime_error("closing");
  refs++;
}

__attribute__((noinline)) void Link::unref() {
  if (--refs == 0) delete this;
}

template <class T>
struct Holder {
  static void take(T* object) { object->ref(); }
};

}  // namespace net

net::Link* made[5];

int main() {
  static const int ids[] = {-1, 1, -2, 2};
  for (int i = 0; i < 4; i++) {
    try {
      made[i] = net::Link::open(ids[i]);
    } catch (const std::exception&) {
      std::puts("refused");
    }
  }
  made[4] = net::Link::open("named");
  net::Holder<net::Link>::take(made[4]);
  checkpoint();
  for (net::Link* link : made) {
    if (link != nullptr) link->unref();
  }
  made[4]->unref();
  return 0;
}
