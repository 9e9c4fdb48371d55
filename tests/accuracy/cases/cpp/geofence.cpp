/* summary: Dispatch::retire binds a reference to what the temporary pointer from Registry::take() points at, and counts the zone after the grid has given the last reference back
 * kind: use-after-put
 * counts: none
 * objects: 15
 * track: intrusive_ref_counter
 * build: g++ -std=c++17 -O1 -g
 * exit: 0
 */
// geofence: which delivery vehicle is in which zone of the town.  Zones are
// drawn and retired all day, and a vehicle that is inside of a zone keeps to
// its rules until it leaves, even when the zone is no longer on the map.
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace geo {

struct Point {
  int x = 0, y = 0;
};

struct Rect {
  int left, top, right, bottom;

  bool contains(Point p) const { return p.x >= left && p.x < right && p.y >= top && p.y < bottom; }
  long area() const { return long(right - left) * (bottom - top); }
};

enum class Rule { Slow, NoEntry, Toll };

class Zone : public boost::intrusive_ref_counter<Zone, boost::thread_unsafe_counter> {
public:
  Zone(int id, Rule rule, int since, Rect where) : id_(id), rule_(rule), since_(since), where_(where) {}

  int id() const { return id_; }
  Rule rule() const { return rule_; }
  const Rect &where() const { return where_; }
  int since() const { return since_; }
  int visits() const { return visits_; }
  long tolls() const { return tolls_; }

  void enter(long toll) {
    ++visits_;
    if (rule_ == Rule::Toll)
      tolls_ += toll;
  }

private:
  int id_;
  Rule rule_;
  int since_;
  Rect where_;
  int visits_ = 0;
  long tolls_ = 0;
};

using ZonePtr = boost::intrusive_ptr<Zone>;

// The zones by number; what is retired is taken out.
class Registry {
public:
  ZonePtr add(Rule rule, int since, Rect where) {
    ZonePtr z(new Zone(next_++, rule, since, where));
    zones_.emplace(z->id(), z);
    return z;
  }

  bool has(int id) const { return zones_.count(id) != 0; }

  ZonePtr take(int id) {
    auto it = zones_.find(id);
    if (it == zones_.end())
      return nullptr;
    ZonePtr z = std::move(it->second);
    zones_.erase(it);
    return z;
  }

  template <class F> void each(F f) const {
    for (const auto &z : zones_)
      f(*z.second);
  }

  std::size_t size() const { return zones_.size(); }

private:
  std::map<int, ZonePtr> zones_;
  int next_ = 1;
};

// A coarse grid over the town that tells the zones near a point.
class Grid {
public:
  static constexpr int kCell = 50, kSide = 8;

  Grid() : cells_(kSide * kSide) {}

  void insert(const ZonePtr &z) {
    over(z->where(), [&](auto &cell) { cell.push_back(z); });
  }

  void remove(int id, Rect where) {
    over(where, [id](auto &cell) {
      cell.erase(std::remove_if(cell.begin(), cell.end(), [id](const ZonePtr &z) { return z->id() == id; }),
                 cell.end());
    });
  }

  // The youngest one there, which rules over those that it lies on.
  ZonePtr at(Point p) const {
    ZonePtr best;
    for (const ZonePtr &z : cells_[index(p.x / kCell, p.y / kCell)])
      if (z->where().contains(p) && (!best || z->since() > best->since()))
        best = z;
    return best;
  }

private:
  static std::size_t index(int cx, int cy) {
    return std::size_t(std::clamp(cy, 0, kSide - 1) * kSide + std::clamp(cx, 0, kSide - 1));
  }

  template <class F> void over(const Rect &r, F f) {
    for (int cy = r.top / kCell; cy <= (r.bottom - 1) / kCell; ++cy)
      for (int cx = r.left / kCell; cx <= (r.right - 1) / kCell; ++cx)
        f(cells_[index(cx, cy)]);
  }

  std::vector<std::vector<ZonePtr>> cells_;
};

class Vehicle {
public:
  Vehicle(int id, Point start) : id_(id), at_(start) {}

  int id() const { return id_; }
  Point at() const { return at_; }
  const ZonePtr &inside() const { return inside_; }

  void step(std::uint32_t r) {
    int most = inside_ && inside_->rule() == Rule::Slow ? 6 : 21;
    heading_ = std::clamp(heading_ + int(r % 3) - 1, -2, 2);
    at_.x = (at_.x + 400 + int(r >> 8) % most / 2 + heading_) % 400;
    at_.y = (at_.y + 400 + int(r >> 16) % most / 3 - heading_) % 400;
  }

  // Tells whether that is another zone than before.
  bool settle(ZonePtr z) {
    if (inside_ && inside_->where().contains(at_) && !z)
      return false; // off the map, but we are in it
    if (z == inside_)
      return false;
    inside_ = std::move(z);
    return inside_ != nullptr;
  }

private:
  int id_;
  Point at_;
  int heading_ = 0;
  ZonePtr inside_;
};

struct Report {
  int zones = 0, visits = 0;
  long area = 0, tolls = 0;

  void count(const Zone &z) {
    ++zones;
    visits += z.visits();
    area += z.where().area();
    tolls += z.tolls();
  }
};

class Dispatch {
public:
  explicit Dispatch(int vehicles) {
    for (int i = 0; i < vehicles; ++i)
      vehicles_.emplace_back(i, Point{i * 53 % 400, i * 91 % 400});
  }

  int draw(Rule rule, Rect where) {
    ZonePtr z = registry_.add(rule, now_, where);
    grid_.insert(z);
    return z->id();
  }

  // Makes a zone larger: a new one in its place, with a number of its own.
  std::optional<int> widen(int id, int by) {
    ZonePtr old = registry_.take(id);
    if (!old)
      return std::nullopt;
    grid_.remove(id, old->where());
    widened_.count(*old);
    const Rect &w = old->where();
    return draw(old->rule(), {std::max(0, w.left - by), std::max(0, w.top - by), std::min(400, w.right + by),
                              std::min(400, w.bottom + by)});
  }

  bool retire(int id) {
    if (!registry_.has(id))
      return false;
#ifdef BUG
    const Zone &zone = *registry_.take(id); // GUILTY
#else
    ZonePtr taken = registry_.take(id);
    const Zone &zone = *taken;
#endif
    grid_.remove(id, zone.where()); // ACCEPTED
    retired_.count(zone); // ACCEPTED
    return true;
  }

  void tick(std::uint32_t &seed) {
    ++now_;
    for (Vehicle &v : vehicles_) {
      seed = seed * 1103515245u + 12345u;
      v.step(seed >> 7);
      ZonePtr z = grid_.at(v.at());
      if (z && z->rule() == Rule::NoEntry && z != v.inside()) {
        ++turned_;
        continue;
      }
      if (v.settle(std::move(z)))
        v.inside()->enter(5 + v.id() % 4);
    }
  }

  Report current() const {
    Report r;
    registry_.each([&r](const Zone &z) { r.count(z); });
    return r;
  }

  const Report &retired() const { return retired_; }
  const Report &widened() const { return widened_; }
  int turned() const { return turned_; }
  std::size_t inRetired() const {
    return std::size_t(std::count_if(vehicles_.begin(), vehicles_.end(), [this](const Vehicle &v) {
      return v.inside() && !registry_.has(v.inside()->id());
    }));
  }

private:
  Registry registry_;
  Grid grid_;
  std::vector<Vehicle> vehicles_;
  Report retired_, widened_;
  int turned_ = 0, now_ = 0;
};

} // namespace geo

static void print(const char *what, const geo::Report &r) {
  std::printf("%s: %d zones, %d visits, area %ld, tolls %ld\n", what, r.zones, r.visits, r.area, r.tolls);
}

int main() {
  geo::Dispatch dispatch(48);
  std::vector<int> ids;
  std::uint32_t seed = 2024;
  int unknown = 0;

  for (int minute = 0; minute < 240; ++minute) {
    if (minute % 5 == 0) {
      int x = minute * 37 % 330, y = minute * 59 % 330;
      geo::Rect where{x, y, x + 20 + minute % 50, y + 30 + minute % 35};
      ids.push_back(dispatch.draw(geo::Rule(minute / 5 % 3), where));
    }
    if (minute % 24 == 23)
      if (auto id = dispatch.widen(ids[ids.size() / 2], 10))
        ids.push_back(*id);
    if (minute % 8 == 7)
      unknown += !dispatch.retire(ids[std::size_t(minute) / 8]);
    dispatch.tick(seed);
  }
  print("current", dispatch.current());
  print("retired", dispatch.retired());
  print("widened", dispatch.widened());
  std::printf("%d turned away, %zu still in a retired zone, %d unknown\n", dispatch.turned(), dispatch.inRetired(),
              unknown);
  return 0;
}
