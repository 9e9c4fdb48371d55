/* summary: Farm::reroute puts a shared_ptr made from the raw pointer of an assignment into the new printer's queue, where a shared_ptr that owns the job exists already
 * kind: second-owner
 * counts: deficit
 * objects: 2
 * track: shared_ptr
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// Print jobs of a copy shop. The jobs come out of a slab of their own, since there are many and they are small;
// the slab gives a place out once per day.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

class Slab {
public:
  static constexpr std::size_t places = 256, place_size = 128;

  void *take(std::size_t n) {
    if (n > place_size || used_ == places)
      throw std::bad_alloc();
    return memory_.data() + place_size * used_++;
  }

  std::size_t used() const { return used_; }

private:
  alignas(std::max_align_t) std::array<unsigned char, places * place_size> memory_{};
  std::size_t used_ = 0;
};

static Slab slab;

enum class Paper { A4, A3, Photo };

struct Job {
  Job(int number, std::string customer, Paper paper, int pages)
      : number(number), customer(std::move(customer)), paper(paper), pages(pages) {}

  static void *operator new(std::size_t n) { return slab.take(n); }
  static void operator delete(void *) noexcept {} // with the slab, at the end of the day

  const int number;
  std::string customer;
  Paper paper;
  int pages;
  int printed = 0;
};

using JobPtr = std::shared_ptr<Job>;

class Printer {
public:
  Printer(std::string name, Paper loaded) : name_(std::move(name)), loaded_(loaded) {}

  bool can(Paper p) const { return !broken_ && loaded_ == p; }
  std::size_t waiting() const { return queue_.size(); }
  void enqueue(JobPtr j) { queue_.push_back(std::move(j)); }
  void fail() { broken_ = true; }
  void repair() { broken_ = false; }

  // What has to be printed elsewhere; the queue is empty then.
  std::deque<JobPtr> evacuate() { return std::exchange(queue_, {}); }

  int work(int pages) {
    int done = 0;
    while (!broken_ && pages > 0 && !queue_.empty()) {
      Job &j = *queue_.front();
      int n = std::min(pages, j.pages - j.printed);
      j.printed += n;
      pages -= n;
      done += n;
      if (j.printed == j.pages)
        queue_.pop_front();
    }
    return done;
  }

  const std::string &name() const { return name_; }

private:
  std::string name_;
  Paper loaded_;
  bool broken_ = false;
  std::deque<JobPtr> queue_;
};

class Farm {
public:
  Farm() : printers_{{"north", Paper::A4}, {"south", Paper::A4}, {"plotter", Paper::A3}, {"gloss", Paper::Photo}} {}

  void submit(std::string customer, Paper paper, int pages) {
    auto j = std::make_shared<int>(0); // the customer's receipt
    JobPtr job(new Job(++numbers_, std::move(customer), paper, pages));
    *j = job->number;
    receipts_.push_back(std::move(j));
    route(job);
    ledger_.emplace(job->number, std::move(job));
  }

  void fail(std::size_t which) {
    Printer &p = printers_.at(which);
    p.fail();
    for (const JobPtr &j : p.evacuate())
      reroute(j.get());
  }

  void repair(std::size_t which) { printers_.at(which).repair(); }

  void work() {
    for (Printer &p : printers_)
      pages_ += p.work(25);
  }

  int forget_printed() {
    int n = 0;
    for (auto i = ledger_.begin(); i != ledger_.end();)
      if (i->second->printed == i->second->pages) {
        i = ledger_.erase(i);
        ++n;
      } else
        ++i;
    return n;
  }

  int pages() const { return pages_; }
  int parked() const { return parked_; }
  std::size_t open() const { return ledger_.size(); }

private:
  Printer *idlest(Paper p) {
    Printer *best = nullptr;
    for (Printer &c : printers_)
      if (c.can(p) && (!best || c.waiting() < best->waiting()))
        best = &c;
    return best;
  }

  void route(const JobPtr &job) {
    if (Printer *p = idlest(job->paper))
      p->enqueue(job);
    else
      ++parked_;
  }

  void reroute(Job *job) {
    if (Printer *p = idlest(job->paper)) {
#ifdef BUG
      p->enqueue(JobPtr(job)); // GUILTY
#else
      p->enqueue(ledger_.at(job->number));
#endif
      return;
    }
    job->printed = job->pages; // the customer comes back tomorrow
    ++parked_;
  }

  std::vector<Printer> printers_;
  std::unordered_map<int, JobPtr> ledger_;
  std::vector<std::shared_ptr<int>> receipts_;
  int numbers_ = 0, pages_ = 0, parked_ = 0;
};

int main() {
  Farm farm;
  std::uint32_t r = 5;
  int forgotten = 0;

  for (int hour = 0; hour < 40; ++hour) {
    for (int k = 0; k < 3; ++k) {
      r = r * 1664525u + 1013904223u;
      Paper p = r >> 28 < 10 ? Paper::A4 : r >> 28 < 13 ? Paper::A3 : Paper::Photo;
      farm.submit("customer " + std::to_string(r >> 20), p, 1 + (r >> 8) % 30);
    }
    if (hour == 17)
      farm.fail(0);
    if (hour == 25)
      farm.fail(3);
    if (hour == 30)
      farm.repair(0);
    farm.work();
    if (hour % 4 == 3)
      forgotten += farm.forget_printed();
  }
  for (int i = 0; i < 30; ++i)
    farm.work();
  forgotten += farm.forget_printed();
  std::cout << farm.pages() << " pages, " << forgotten << " jobs done, " << farm.parked() << " parked, " << farm.open()
            << " open\n";
}
