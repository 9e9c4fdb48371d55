/* summary: Interlocking::section_cleared posts the section of an overrun to the ring without a reference for it, the ring's reader gives one back
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: own
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
// signalbox: the sections of a small station, the routes that are set over
// them, and the events that go to the panel and to the log.
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace box {

// Everything that more than one table may hold.
class Part {
public:
  explicit Part(std::string name);
  Part(const Part &) = delete;
  Part &operator=(const Part &) = delete;

  void ref();
  void deref();
  const std::string &name() const { return name_; }

protected:
  virtual ~Part() = default;

private:
  std::string name_;
  int refs_;
};

Part::Part(std::string name) : name_(std::move(name)), refs_(1) {}

void Part::ref() { ++refs_; }

void Part::deref() {
  if (--refs_ == 0)
    delete this;
}

template <class T> class Ref {
public:
  Ref() = default;
  explicit Ref(T *p) : p_(p) {
    if (p_)
      p_->ref();
  }
  Ref(const Ref &o) : Ref(o.p_) {}
  Ref(Ref &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~Ref() {
    if (p_)
      p_->deref();
  }
  Ref &operator=(Ref o) {
    std::swap(p_, o.p_);
    return *this;
  }

  static Ref adopt(T *p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  // The caller has the reference from now on.
  T *leak() { return std::exchange(p_, nullptr); }

  T *get() const { return p_; }
  T *operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref &o) const { return p_ == o.p_; }

private:
  T *p_ = nullptr;
};

class Section final : public Part {
public:
  explicit Section(std::string name, int metres) : Part(std::move(name)), metres_(metres) {}

  bool occupied = false;
  int locked_by = 0; // number of the route
  int passes = 0;
  bool overrun = false;
  int metres() const { return metres_; }

private:
  int metres_;
};

class Route final : public Part {
public:
  Route(std::string name, int number) : Part(std::move(name)), number_(number) {}

  int number() const { return number_; }
  std::vector<Ref<Section>> sections;

private:
  int number_;
};

enum class Event : std::uint8_t { Locked, Entered, Cleared, Overrun };

// Of fixed size, because the panel's side cannot wait. An entry has a
// reference to its section, which goes to who takes the entry out.
class Ring {
public:
  bool post(Event e, Section *s) {
    if (count_ == slots_.size()) {
      s->deref();
      ++lost_;
      return false;
    }
    slots_[(head_ + count_++) % slots_.size()] = {e, s};
    return true;
  }

  bool take(Event &e, Ref<Section> &s) {
    if (count_ == 0)
      return false;
    e = slots_[head_].first;
    s = Ref<Section>::adopt(slots_[head_].second);
    head_ = (head_ + 1) % slots_.size();
    --count_;
    return true;
  }

  int lost() const { return lost_; }

private:
  std::array<std::pair<Event, Section *>, 12> slots_{};
  std::size_t head_ = 0, count_ = 0;
  int lost_ = 0;
};

class Interlocking {
public:
  ~Interlocking() { drain(); }

  void add_section(const std::string &name, int metres) {
    sections_[name] = Ref<Section>::adopt(new Section(name, metres));
  }

  void add_route(const std::string &name, const std::vector<std::string> &over) {
    Ref<Route> r = Ref<Route>::adopt(new Route(name, int(routes_.size()) + 1));
    for (const std::string &s : over)
      if (auto it = sections_.find(s); it != sections_.end())
        r->sections.push_back(it->second);
    routes_.emplace(name, std::move(r));
  }

  bool set(const std::string &name) {
    auto it = routes_.find(name);
    if (it == routes_.end())
      return false;
    Ref<Route> route = it->second;
    for (const Ref<Section> &s : route->sections)
      if (s->occupied || (s->locked_by && s->locked_by != route->number())) {
        ++refused_;
        return false;
      }
    for (const Ref<Section> &s : route->sections) {
      s->locked_by = route->number();
      ring_.post(Event::Locked, Ref<Section>(s).leak());
    }
    set_.push_back(std::move(route));
    return true;
  }

  // A train goes over the oldest route that is set; a long one may stop with
  // its end beyond the last section's signal.
  void run(int train_metres) {
    if (set_.empty())
      return;
    Ref<Route> route = std::move(set_.front());
    set_.erase(set_.begin());
    for (std::size_t i = 0; i < route->sections.size(); ++i) {
      Ref<Section> s = route->sections[i];
      s->occupied = true;
      ++s->passes;
      ring_.post(Event::Entered, Ref<Section>(s).leak());
      bool last = i + 1 == route->sections.size();
      section_cleared(s, last && train_metres > s->metres());
    }
  }

  void drain() {
    Event e;
    Ref<Section> s;
    while (ring_.take(e, s)) {
      ++counts_[std::size_t(e)];
      if (e == Event::Cleared && !panel_last_.empty() && panel_last_.back() == s)
        ++repeated_;
      panel_last_.push_back(std::move(s));
      if (panel_last_.size() > 3)
        panel_last_.erase(panel_last_.begin());
    }
  }

  void print() const {
    for (const auto &[name, s] : sections_)
      std::printf("%s: %d passes%s\n", name.c_str(), s->passes, s->overrun ? ", overrun" : "");
    std::printf("locked %d, entered %d, cleared %d, overrun %d, repeated %d, refused %d, lost %d\n", counts_[0],
                counts_[1], counts_[2], counts_[3], repeated_, refused_, ring_.lost());
  }

private:
  void section_cleared(const Ref<Section> &s, bool overrun) {
    s->occupied = false;
    s->locked_by = 0;
    if (overrun && !s->overrun) {
      s->overrun = true; // told once, the fitters come for it
#ifdef BUG
      ring_.post(Event::Overrun, s.get()); // GUILTY
#else
      ring_.post(Event::Overrun, Ref<Section>(s).leak());
#endif
      return;
    }
    ring_.post(Event::Cleared, Ref<Section>(s).leak());
  }

  std::map<std::string, Ref<Section>> sections_;
  std::map<std::string, Ref<Route>> routes_;
  std::vector<Ref<Route>> set_;
  std::vector<Ref<Section>> panel_last_; // what the panel shows as the latest
  Ring ring_;
  std::array<int, 4> counts_{};
  int repeated_ = 0, refused_ = 0;
};

} // namespace box

int main() {
  box::Interlocking box;
  for (int i = 0; i < 9; ++i)
    box.add_section("T" + std::to_string(i + 1), 180 + i * 35);
  box.add_route("A-1", {"T1", "T2", "T4"});
  box.add_route("A-2", {"T1", "T3", "T5"});
  box.add_route("1-B", {"T4", "T6", "T8"});
  box.add_route("2-B", {"T5", "T6", "T8"});
  box.add_route("2-C", {"T5", "T7", "T9"});
  box.add_route("yard", {"T3", "T7"});

  static const char *const plan[] = {"A-1", "2-C", "A-2", "1-B", "yard", "2-B", "C-1"};
  for (int minute = 0; minute < 84; ++minute) {
    box.set(plan[minute * 5 % 7]);
    if (minute % 2)
      box.run(120 + minute * 53 % 330);
    if (minute % 3 != 1)
      box.drain();
  }
  box.drain();
  box.print();
}
