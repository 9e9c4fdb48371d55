// std::shared_ptr and smart::weak_ptr in every way of making, copying, locking and dropping them, one after
// the other and among threads. The program counts its references itself.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#ifdef WITH_BOOST
#include <boost/enable_shared_from_this.hpp>
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/weak_ptr.hpp>
namespace smart = boost;
#else
namespace smart = std;
#endif

#define APART __attribute__((noinline))

static std::atomic<int> gets, puts_made, births, weak_gets, weak_puts;
int deaths;  // in the main thread only

struct Shape {
  virtual ~Shape() { ++deaths; }
  long number = 0;
};

struct Named {
  virtual ~Named() = default;
  long letter = 0;
};

/// The shared pointer points at its second base.
struct Circle : Named, Shape {
  double radius = 1;
};

struct Listed : Shape, smart::enable_shared_from_this<Listed> {};

struct Plain {
  ~Plain() { ++deaths; }
  int numbers[5] = {};
};

struct Node : Shape {
  std::vector<smart::shared_ptr<Node>> children;
  smart::shared_ptr<Node> next;  // may make a cycle
  smart::weak_ptr<Node> parent;
};

smart::shared_ptr<Shape> subject, circle, separate;
smart::shared_ptr<Plain> plain;
smart::weak_ptr<Shape> watcher;
smart::shared_ptr<void> with_deleter;

APART void checkpoint() { __asm__ volatile(""); }

/// Boost's make_shared has two pointers for a moment.
static void made_together() {
  ++births;
#ifdef WITH_BOOST
  ++gets;
  ++puts_made;
#endif
}

/// A weak reference of the object to itself, which Boost and libc++ make from one more strong one.
static void knows_itself() {
  ++weak_gets;
#if defined WITH_BOOST || defined _LIBCPP_VERSION
  ++gets;
  ++puts_made;
#endif
}

APART smart::shared_ptr<Shape> make_circle() {
  made_together();
  return smart::make_shared<Circle>();
}

APART smart::shared_ptr<Shape> make_separate() {
  ++births;
  return smart::shared_ptr<Shape>(new Shape);
}

APART smart::shared_ptr<Plain> make_plain() {
  made_together();
  return smart::make_shared<Plain>();
}

APART smart::shared_ptr<Listed> make_listed() {
  made_together();
  knows_itself();
  return smart::make_shared<Listed>();
}

APART void copy_to(std::vector<smart::shared_ptr<Shape>> &all, const smart::shared_ptr<Shape> &one) {
  ++gets;
  all.push_back(one);
  __asm__ volatile("");  // no tail call: the function's frame is looked for
}

template <class T>
APART void drop(smart::shared_ptr<T> &one) {
  if (one) ++puts_made;
  one.reset();
}

APART void assign(smart::shared_ptr<Shape> &to, const smart::shared_ptr<Shape> &from) {
  if (to == from) return;
  if (from) ++gets;
  if (to) ++puts_made;
  to = from;
}

APART void watch(smart::weak_ptr<Shape> &to, const smart::shared_ptr<Shape> &from) {
  ++weak_gets;
  to = from;
}

APART bool lock(const smart::weak_ptr<Shape> &from) {
  smart::shared_ptr<Shape> locked = from.lock();
  if (!locked) return false;
  ++gets;
  ++puts_made;
  return locked->number >= 0;
}

APART void unwatch(smart::weak_ptr<Shape> &one) {
  ++weak_puts;
  one.reset();
}

static void in_every_way() {
  subject = make_separate();
  circle = make_circle();
  plain = make_plain();
  std::vector<smart::shared_ptr<Shape>> all;
  all.reserve(64);
  for (int i = 0; i < 10; ++i) copy_to(all, i % 2 == 0 ? subject : circle);
  for (auto &one : all) drop(one);
  watch(watcher, subject);
  lock(watcher);
  smart::shared_ptr<long> number(circle, &circle->number);  // an alias
  ++gets;
  drop(number);
  {
    auto listed = make_listed();
    auto again = listed->shared_from_this();
    ++gets;
    drop(again);
    ++weak_puts;
    drop(listed);
  }
  smart::weak_ptr<Shape> late;
  separate = make_separate();
  watch(late, separate);
  lock(late);
  smart::shared_ptr<Shape> other;
  assign(other, separate);
  drop(separate);
  assign(other, circle);  // the last reference of the one before
  lock(late);
  unwatch(late);
  drop(other);
  ++births;
  with_deleter = smart::shared_ptr<void>(new Plain, [](void *p) { delete static_cast<Plain *>(p); });
}

static void race() {
  std::vector<smart::shared_ptr<Shape>> all;
  all.reserve(4);
  for (int i = 0; i < 40; ++i) {
    copy_to(all, subject);
    lock(watcher);
    drop(all.back());
    all.pop_back();
  }
}

static void among_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(race);
  for (auto &thread : threads) thread.join();
}

APART smart::shared_ptr<Node> make_node() {
  ++births;
  return smart::make_shared<Node>();
}

/// A tree whose children point back weakly; with `lost`, two nodes that hold each other.
APART void graph(int size, bool lost) {
  std::vector<smart::shared_ptr<Node>> all{make_node()};
  for (int i = 1; i < size; ++i) {
    auto node = make_node();
    node->parent = all[(i - 1) / 2];
    all[(i - 1) / 2]->children.push_back(node);
    all.push_back(std::move(node));
  }
  if (!lost) return;
  auto one = make_node();
  auto other = make_node();
  one->next = other;
  other->next = one;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (std::strcmp(how, "graph") == 0 || std::strcmp(how, "cycle") == 0) {
    graph(argc > 2 ? std::atoi(argv[2]) : 40, std::strcmp(how, "cycle") == 0);
    checkpoint();
    return 4;
  }
  in_every_way();
  if (std::strcmp(how, "threads") == 0) {
    among_threads();
    unwatch(watcher);
    drop(subject);
    drop(circle);
    drop(plain);
    drop(with_deleter);
    in_every_way();  // no thread is there any more, but the library goes on with locked instructions
  }
  std::printf("gets %d\nputs %d\nbirths %d\ndeaths %d\nweak_gets %d\nweak_puts %d\n", gets.load(),
              puts_made.load(), births.load(), deaths, weak_gets.load(), weak_puts.load());
  std::fflush(stdout);
  checkpoint();
  return 3;
}
