// Reference counting methods: namespaces, templates, overloads, a counter in a base class.
#include <cstdio>

namespace net {

class Counted {
 public:
  virtual ~Counted() = default;
  long refs = 1;
};

class Conn : public Counted {
 public:
  __attribute__((noinline)) static Conn *open(int id) { return new Conn(id); }
  __attribute__((noinline)) void retain() { refs++; }
  __attribute__((noinline)) void retain(const char *why) {
    last = why;
    refs++;
  }
  __attribute__((noinline)) void release() {
    if (--refs == 0) delete this;
  }
  int id;
  const char *last = "";

 private:
  explicit Conn(int number) : id(number) {}
};

template <class T>
struct Ref {
  __attribute__((noinline)) static void take(T *object) { object->retain("ref"); }
};

}  // namespace net

net::Conn *subject;

extern "C" __attribute__((noinline)) void checkpoint(void) { __asm__ volatile(""); }

int main() {
  subject = net::Conn::open(7);
  subject->retain();
  subject->retain("twice");
  net::Ref<net::Conn>::take(subject);
  checkpoint();
  for (int i = 0; i < 4; i++) subject->release();
  return 0;
}
