/* summary: Fetcher::start_mirrored stores in the transfer's on_fail a function that holds the transfer itself, and a transfer that succeeds never drops on_fail
 * kind: cycle
 * counts: surplus
 * objects: 3
 * track: shared_ptr
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class Transfer;
using TransferPtr = std::shared_ptr<Transfer>;

static int live_transfers;

class Transfer {
public:
  using Done = std::function<void(int bytes)>;
  using Fail = std::function<void()>;
  using Progress = std::function<void(int percent)>;

  Transfer(std::string url, int size) : url_(std::move(url)), left_(size), size_(size) { live_transfers++; }
  ~Transfer() { live_transfers--; }

  void on_done(Done f) { done_ = std::move(f); }
  void on_fail(Fail f) { fail_ = std::move(f); }
  void on_progress(Progress f) { progress_ = std::move(f); }

  // Moves one block. True while there is more to do.
  bool step() {
    if (url_.find("gone") != std::string::npos && left_ < size_ / 2) {
      Fail f = std::exchange(fail_, nullptr);
      done_ = nullptr;
      if (f)
        f();
      return false;
    }
    left_ -= 10;
    if (progress_)
      progress_(100 - left_ * 100 / size_);
    if (left_ > 0)
      return true;
    // The function may hold the transfer: it is dropped with its first and only call.
    if (Done f = std::exchange(done_, nullptr))
      f(size_);
    return false;
  }

  const std::string &url() const { return url_; }
  int size() const { return size_; }
  void redirect(const std::string &url) { url_ = url; }
  void rewind() { left_ = size_; }

private:
  std::string url_;
  int left_, size_;
  Done done_;
  Fail fail_;
  Progress progress_;
};

// Finished transfers, newest first; the oldest ones fall out.
class History {
public:
  void add(const TransferPtr &t) {
    list_.push_front(t);
    if (list_.size() > 4)
      list_.pop_back();
  }
  TransferPtr last() const { return list_.empty() ? nullptr : list_.front(); }
  size_t size() const { return list_.size(); }

private:
  std::deque<TransferPtr> list_;
};

class Fetcher {
public:
  // Plain: the function owns the transfer until it was called, so that the caller need not keep it.
  void start(const std::string &url, int size) {
    TransferPtr t = std::make_shared<Transfer>(url, size);
    t->on_done([this, t](int bytes) {
      total_ += bytes;
      history_.add(t);
    });
    queue_.push_back(t);
  }

  // With a progress bar: the function stays for the transfer's life, so it only watches it.
  TransferPtr start_watched(const std::string &url, int size) {
    auto t = std::make_shared<Transfer>(url, size);
    std::weak_ptr<Transfer> weak = t;
    t->on_progress([this, weak](int percent) {
      TransferPtr self = weak.lock();
      if (self && percent >= 50)
        half_[self->url()] = percent;
    });
    t->on_done([this](int bytes) { total_ += bytes; });
    queue_.push_back(t);
    return t;
  }

  // After a failure the same transfer is tried again at the mirror.
  void start_mirrored(const std::string &url, int size, const std::string &mirror) {
    TransferPtr t = std::make_shared<Transfer>(url, size);
    t->on_done([this](int bytes) { total_ += bytes; });
#ifdef BUG
    t->on_fail([this, t, mirror] { // GUILTY
      retry(t, mirror);
    }); // ACCEPTED
#else
    t->on_fail([this, weak = std::weak_ptr<Transfer>(t), mirror] {
      if (TransferPtr self = weak.lock())
        retry(self, mirror);
    });
#endif
    queue_.push_back(std::move(t));
  }

  // Two transfers, the second begins when the first has ended.
  void start_chain(const std::string &first, const std::string &second) {
    TransferPtr a = std::make_shared<Transfer>(first, 30);
    TransferPtr b = std::make_shared<Transfer>(second, 20);
    b->on_done([this, a](int bytes) { total_ += bytes + a->size(); });
    a->on_done([this, b = std::move(b)](int) { queue_.push_back(b); });
    queue_.push_back(std::move(a));
  }

  bool cancel(const std::string &url) {
    for (auto it = queue_.begin(); it != queue_.end(); ++it) {
      if ((*it)->url() != url)
        continue;
      (*it)->on_done(nullptr);
      (*it)->on_fail(nullptr);
      queue_.erase(it);
      return true;
    }
    return false;
  }

  void run() {
    while (!queue_.empty()) {
      TransferPtr t = std::move(queue_.front());
      queue_.pop_front();
      if (t->step())
        queue_.push_back(std::move(t));
    }
  }

  const History &history() const { return history_; }
  int total() const { return total_; }
  int retries() const { return retries_; }
  size_t watched() const { return half_.size(); }

private:
  void retry(const TransferPtr &t, const std::string &mirror) {
    retries_++;
    t->redirect(mirror + "/again");
    t->rewind();
    t->on_done([this](int bytes) { total_ += bytes; });
    queue_.push_back(t);
  }

  std::deque<TransferPtr> queue_;
  History history_;
  std::map<std::string, int> half_;
  int total_ = 0;
  int retries_ = 0;
};

int main() {
  {
    Fetcher f;
    std::vector<TransferPtr> shown;

    for (int day = 0; day < 3; day++) {
      std::string host = "host" + std::to_string(day);
      for (int i = 0; i < 4; i++)
        f.start(host + "/page" + std::to_string(i), 20 + i * 10);
      for (int i = 0; i < 2; i++)
        shown.push_back(f.start_watched(host + "/film" + std::to_string(i), 80));
      f.start_mirrored(host + "/gone/map", 60, "mirror");
      f.start_mirrored(host + "/gone/index", 40, "mirror");
      f.start_mirrored(host + "/index", 40, "mirror");
      f.start_mirrored(host + "/notes", 40, "mirror");
      f.start_chain(host + "/list", host + "/item");
      f.cancel(host + "/page1");
      f.cancel(host + "/notes");
      f.cancel(host + "/nothing");
      f.run();
      if (day == 1)
        shown.erase(shown.begin(), shown.begin() + 3);
    }
    TransferPtr last = f.history().last();
    printf("%d bytes, %d retries, %zu watched, last %s\n", f.total(), f.retries(), f.watched(), last->url().c_str());
  }
#ifdef TRUTH
  printf("transfers left: %d\n", live_transfers);
#endif
  return 0;
}
