// Counts inside of objects behind a virtual table, so that the counter's class begins 8 bytes into the
// object: boost::intrusive_ref_counter, and a base class of our own as absl and folly have it. Everything
// about them is inlined. The program counts itself.
#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#define APART __attribute__((noinline))

namespace {
int shapes, shapes_ended, gets, puts_made, buffers, buffers_ended, refs, unrefs;
}

struct Named {
  virtual const char *name() const = 0;
  virtual ~Named() { ++shapes_ended; }
};

struct Shape : Named, boost::intrusive_ref_counter<Shape> {
  Shape() { ++shapes; }
  const char *name() const override { return "shape"; }
  double area = 0;
};

struct Circle final : Shape {
  const char *name() const override { return "circle"; }
  double radius = 1;
};

namespace net {

template <class T>
class RefCounted {
 public:
  void Ref() const { count_.fetch_add(1, std::memory_order_relaxed); }
  bool Unref() const { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 protected:
  RefCounted() = default;

 private:
  mutable std::atomic<int> count_{1};
};

struct Owner {
  virtual ~Owner() { ++buffers_ended; }
};

class Buffer final : public Owner, public RefCounted<Buffer> {
 public:
  Buffer() { ++buffers; }
  char bytes[40];
};

}  // namespace net

using ShapePtr = boost::intrusive_ptr<Shape>;
std::vector<ShapePtr> shelf;
Shape *subject;
net::Buffer *buffer;

APART void checkpoint() { __asm__ volatile(""); }

APART ShapePtr draw() {
  ++gets;
  return ShapePtr(new Circle);
}

APART void keep(const ShapePtr &shape) {
  shelf.push_back(shape);
  ++gets;
}

APART void forget() {
  shelf.pop_back();
  ++puts_made;
}

APART void lose() {
  ++gets;
  intrusive_ptr_add_ref(subject);
}

APART void take(net::Buffer *shared) {
  shared->Ref();
  ++refs;
}

APART void give(net::Buffer *shared) {
  ++unrefs;
  if (shared->Unref()) delete shared;
}

int main(int argc, char **argv) {
  shelf.reserve(8);
  ShapePtr first = draw();
  subject = first.get();
  keep(first);
  keep(first);
  keep(draw());  // the temporary goes
  ++puts_made;
  forget();
  forget();
  if (argc > 1 && std::strcmp(argv[1], "leak") == 0) lose();
  buffer = new net::Buffer;
  take(buffer);
  take(buffer);
  give(buffer);
  std::printf("shapes %d\nshapes_ended %d\ngets %d\nputs %d\nbuffers %d\nrefs %d\nunrefs %d\n", shapes,
              shapes_ended, gets, puts_made, buffers, refs, unrefs);
  std::fflush(stdout);
  checkpoint();
  give(buffer);
  give(buffer);
  shelf.clear();
  subject = nullptr;
  first.reset();
  return 4;
}
