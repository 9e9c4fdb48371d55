/* summary: the handler of a paper jam in Worker::run releases the document although its holder in the try block has released it while the stack was unwound
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * build: clang++ -std=c++17 -O2 -g -pthread
 * exit: 0
 */
// printspool: documents wait in a queue, two workers print them, the archive keeps all of them until the evening.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace spool {

class Document final {
public:
  static NOINLINE Document *create(int id, const char *owner, int pages) { return new Document(id, owner, pages); }

  NOINLINE void acquire() { users_.fetch_add(1, std::memory_order_relaxed); }

  NOINLINE void release() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }

  int id() const { return id_; }
  int pages() const { return pages_; }
  const char *owner() const { return owner_; }
  void stamp(int page) { raster_[page % sizeof raster_] ^= static_cast<unsigned char>(page + id_); }

private:
  Document(int id, const char *owner, int pages) : id_(id), pages_(pages) {
    std::strncpy(owner_, owner, sizeof owner_ - 1);
  }
  ~Document() = default;

  int id_, pages_;
  char owner_[24] = {};
  std::atomic<int> users_{1};
  unsigned char raster_[400] = {};
};

// Takes over a reference and releases it at the end of the scope.
class Holder {
public:
  explicit Holder(Document *d) : d_(d) {}
  ~Holder() {
    if (d_)
      d_->release();
  }
  Holder(const Holder &) = delete;
  Holder &operator=(const Holder &) = delete;

  Document *operator->() const { return d_; }
  Document *detach() {
    Document *d = d_;
    d_ = nullptr;
    return d;
  }

private:
  Document *d_;
};

struct PaperJam : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct NoToner : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Queue {
public:
  // Takes the caller's reference over.
  void push(Document *d) {
    std::lock_guard<std::mutex> hold(mutex_);
    waiting_.push_back(d);
    changed_.notify_one();
  }

  // Hands the queue's reference to the caller; nullptr when it is closed and empty.
  Document *pop() {
    std::unique_lock<std::mutex> hold(mutex_);
    changed_.wait(hold, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty())
      return nullptr;
    Document *d = waiting_.front();
    waiting_.pop_front();
    return d;
  }

  void close() {
    std::lock_guard<std::mutex> hold(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Document *> waiting_;
  bool closed_ = false;
};

struct Totals {
  std::atomic<int> pages{0}, jams{0}, postponed{0}, done{0};
};

class Worker {
public:
  Worker(Queue &queue, Queue &later, Totals &totals) : queue_(queue), later_(later), totals_(totals) {}

  void run() {
    while (Document *next = queue_.pop()) {
      try {
        Holder doc(next); // ACCEPTED
        try {
          print(*next);
        } catch (const NoToner &) {
          ++totals_.postponed;
          later_.push(doc.detach());
          continue;
        }
        ++totals_.done;
      } catch (const PaperJam &) {
        ++totals_.jams;
#ifdef BUG
        next->release(); // GUILTY
#endif
      }
    }
  }

private:
  void print(Document &d) {
    for (int page = 1; page <= d.pages(); ++page) {
      if (page == 13 && d.id() % 5 == 2)
        throw PaperJam(std::string("page 13 of ") + d.owner());
      if (page == 4 && d.id() % 11 == 7)
        throw NoToner("toner low");
      d.stamp(page);
      ++totals_.pages;
    }
  }

  Queue &queue_, &later_;
  Totals &totals_;
};

} // namespace spool

int main() {
  using namespace spool;
  static const char *const owners[] = {"finance", "library", "press office", "registry"};
  Queue today, tomorrow;
  Totals totals;
  std::vector<Document *> archive;

  for (int i = 0; i < 36; ++i) {
    Document *d = Document::create(i, owners[i % 4], 1 + i * 7 % 19);
    d->acquire();
    archive.push_back(d);
    today.push(d);
  }
  today.close();

  Worker a(today, tomorrow, totals), b(today, tomorrow, totals);
  std::thread one([&] { a.run(); }), two([&] { b.run(); });
  one.join();
  two.join();

  int left = 0;
  tomorrow.close();
  while (Document *d = tomorrow.pop()) {
    ++left;
    d->release();
  }
  std::printf("%d pages, %d done, %d jams, %d postponed, %d left\n", totals.pages.load(), totals.done.load(),
              totals.jams.load(), totals.postponed.load(), left);
  for (Document *d : archive)
    d->release();
  return 0;
}
