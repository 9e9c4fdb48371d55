/* summary: a ballot on its way holds its batch; Batch::settle files a ballot that a clerk has decided without letting go of that, and batch and ballot hold each other
 * kind: cycle
 * counts: surplus
 * objects: 10
 * track: shared_ptr
 * libs: -pthread
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
// ballot_batches: scanned ballots are read by several threads.  Ballots come in
// batches; a batch must stay until the last of its ballots has been counted
// in it, so a ballot that is on its way holds its batch.
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace vote {

constexpr int kLists = 4;

static int g_batches, g_ballots; // under the lock below
static std::mutex g_live;

static void live(int &n, int by) {
  std::lock_guard<std::mutex> l(g_live);
  n += by;
}

class Batch;

class Ballot {
public:
  Ballot(int serial, std::uint32_t scan, std::shared_ptr<Batch> batch)
      : serial_(serial), scan_(scan), batch_(std::move(batch)) {
    live(g_ballots, 1);
  }
  ~Ballot() { live(g_ballots, -1); }
  Ballot(const Ballot &) = delete;

  int serial() const { return serial_; }
  int list() const { return list_; }
  const std::shared_ptr<Batch> &batch() const { return batch_; }
  void leave_batch() { batch_.reset(); }

  // False: more than one cross, or none; a clerk has to look at it.
  bool read() {
    int crosses = 0;
    for (int i = 0; i < kLists; ++i)
      if (scan_ >> (4 * i) & 8) {
        ++crosses;
        list_ = i;
      }
    return crosses == 1;
  }

  void decide(int list) { list_ = list; }

private:
  int serial_;
  std::uint32_t scan_;
  int list_ = -1;
  std::shared_ptr<Batch> batch_; // while it is on its way
};

using BallotPtr = std::shared_ptr<Ballot>;

class Batch {
public:
  explicit Batch(int number) : number_(number) { live(g_batches, 1); }
  ~Batch() { live(g_batches, -1); }
  Batch(const Batch &) = delete;

  int number() const { return number_; }

  // A clear one is counted and not needed any more.
  void tally(const Ballot &b) {
    std::lock_guard<std::mutex> l(lock_);
    ++votes_[std::size_t(b.list())];
  }

  // A clerk has decided; spoilt ones are only counted, the others are kept for a recount.
  void settle(BallotPtr b, int list) {
    std::lock_guard<std::mutex> l(lock_);
    if (list < 0) {
      ++spoilt_;
      return;
    }
    b->decide(list); // ACCEPTED
#ifndef BUG
    b->leave_batch();
#endif
    filed_.push_back(std::move(b)); // GUILTY
  }

  void close(std::array<int, kLists> &votes, int &spoilt, int &settled) const {
    std::lock_guard<std::mutex> l(lock_);
    for (std::size_t i = 0; i < votes.size(); ++i)
      votes[i] += votes_[i];
    for (const BallotPtr &b : filed_)
      ++votes[std::size_t(b->list())];
    spoilt += spoilt_;
    settled += int(filed_.size());
  }

private:
  int number_;
  mutable std::mutex lock_;
  std::vector<BallotPtr> filed_;
  std::array<int, kLists> votes_{};
  int spoilt_ = 0;
};

class Tray {
public:
  void put(BallotPtr b) {
    {
      std::lock_guard<std::mutex> l(lock_);
      ballots_.push_back(std::move(b));
    }
    more_.notify_one();
  }

  void finish() {
    {
      std::lock_guard<std::mutex> l(lock_);
      finished_ = true;
    }
    more_.notify_all();
  }

  BallotPtr take() {
    std::unique_lock<std::mutex> l(lock_);
    more_.wait(l, [this] { return finished_ || !ballots_.empty(); });
    if (ballots_.empty())
      return nullptr;
    BallotPtr b = std::move(ballots_.front());
    ballots_.pop_front();
    return b;
  }

  // Those that are in it, by serial number.
  std::map<int, BallotPtr> empty() {
    std::lock_guard<std::mutex> l(lock_);
    std::map<int, BallotPtr> all;
    for (BallotPtr &b : ballots_)
      all.emplace(b->serial(), std::move(b));
    ballots_.clear();
    return all;
  }

private:
  std::mutex lock_;
  std::condition_variable more_;
  std::deque<BallotPtr> ballots_;
  bool finished_ = false;
};

class Count {
public:
  void scan_batch(int number, int size) {
    auto batch = std::make_shared<Batch>(number);
    for (int i = 0; i < size; ++i) {
      int serial = number * 100 + i;
      incoming_.put(std::make_shared<Ballot>(serial, scan(serial), batch));
    }
    batches_.push_back(std::move(batch));
  }

  void read(int readers) {
    std::vector<std::thread> threads;
    incoming_.finish();
    for (int i = 0; i < readers; ++i)
      threads.emplace_back([this] {
        while (BallotPtr b = incoming_.take()) {
          if (!b->read()) {
            doubtful_.put(std::move(b));
            continue;
          }
          b->batch()->tally(*b);
        }
      });
    for (std::thread &t : threads)
      t.join();
  }

  void clerk() {
    for (auto &d : doubtful_.empty()) {
      std::shared_ptr<Batch> batch = d.second->batch();
      batch->settle(std::move(d.second), d.first % 4 == 1 ? d.first % kLists : -1);
    }
  }

  void report() {
    std::array<int, kLists> votes{};
    int spoilt = 0, settled = 0;
    for (const auto &b : batches_)
      b->close(votes, spoilt, settled);
    std::printf("%zu batches, %d votes (", batches_.size(), std::accumulate(votes.begin(), votes.end(), 0));
    for (int v : votes)
      std::printf(" %d", v);
    std::printf(" ), %d decided, %d spoilt\n", settled, spoilt);
    batches_.clear();
  }

private:
  static std::uint32_t scan(int serial) {
    std::uint32_t marks = 8u << (4 * (serial * 7 % kLists)) | (serial % 3 ? 0x1021u : 0x0210u);
    if (serial % 29 == 7)
      marks |= 0x0880u;
    return serial % 37 == 20 ? 0x1111u : marks;
  }

  Tray incoming_, doubtful_;
  std::vector<std::shared_ptr<Batch>> batches_;
};

} // namespace vote

int main() {
  for (int station = 0; station < 3; ++station) {
    vote::Count count;
    for (int b = 0; b < 5; ++b)
      count.scan_batch(station * 5 + b, 24 + b * 3);
    count.read(3);
    count.clerk();
    count.report();
  }
#ifdef TRUTH
  std::printf("left: %d batches, %d ballots\n", vote::g_batches, vote::g_ballots);
#endif
  return 0;
}
