/* summary: a mission in the air holds itself; Mission::recall lands a mission that has not reached its field yet without letting go of itself
 * kind: missing-put
 * counts: surplus
 * objects: 9
 * track: shared_ptr
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// drone_missions: spraying drones over the fields of a farm.  Nobody needs to
// keep a mission: it keeps itself while it is in the air.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace farm {

static int g_missions, g_tanks;

struct Field {
  std::string name;
  int rows;
  int sprayed = 0;
};

// What a drone carries; two drones may be filled from the same one.
struct Tank {
  explicit Tank(int litres) : left(litres) { ++g_tanks; }
  ~Tank() { --g_tanks; }
  int left;
};

class Tower;

class Mission : public std::enable_shared_from_this<Mission> {
public:
  enum class State { Waiting, Outbound, Spraying, Home, Failed };
  using Done = std::function<void(const Mission &)>;

  Mission(int number, std::shared_ptr<Field> field, std::shared_ptr<Tank> tank, int distance)
      : number_(number), field_(std::move(field)), tank_(std::move(tank)), distance_(distance) {
    ++g_missions;
  }
  ~Mission() { --g_missions; }

  int number() const { return number_; }
  State state() const { return state_; }
  int sprayed() const { return sprayed_; }
  void on_done(Done d) { done_ = std::move(d); }

  void take_off() {
    self_ = shared_from_this();
    state_ = State::Outbound;
  }

  // One minute in the air.
  void minute(int wind) {
    switch (state_) {
    case State::Outbound:
      if (wind > 8)
        recall();
      else if (--distance_ <= 0)
        state_ = State::Spraying;
      break;
    case State::Spraying:
      spray(wind);
      break;
    default:
      break;
    }
  }

  // The weather turns, or the tower wants the drone back.
  void recall() {
    if (state_ == State::Outbound) {
      state_ = State::Failed;
      if (done_)
        done_(*this);
#ifdef BUG
      return; // GUILTY
#else
      self_.reset();
      return;
#endif
    }
    if (state_ == State::Spraying)
      land(State::Home);
  }

private:
  void spray(int wind) {
    int row = std::min({1 + wind % 2, tank_->left, field_->rows - field_->sprayed});
    tank_->left -= row;
    field_->sprayed += row;
    sprayed_ += row;
    if (row == 0)
      land(sprayed_ ? State::Home : State::Failed);
  }

  void land(State how) {
    auto last = std::move(self_);
    state_ = how;
    if (done_)
      done_(*this);
  }

  int number_;
  std::shared_ptr<Field> field_;
  std::shared_ptr<Tank> tank_;
  int distance_;
  State state_ = State::Waiting;
  int sprayed_ = 0;
  Done done_;
  std::shared_ptr<Mission> self_; // only while in the air
};

class Tower {
public:
  struct Tally {
    int home = 0, failed = 0, sprayed = 0;
  };

  std::shared_ptr<Field> field(const std::string &name, int rows) {
    auto f = std::make_shared<Field>(Field{name, rows});
    fields_.emplace(name, f);
    return f;
  }

  // The mission is not ours, we only look whether it still flies.
  bool launch(const std::string &name, std::shared_ptr<Tank> tank, int distance) {
    auto it = fields_.find(name);
    if (it == fields_.end() || tank->left == 0)
      return false;
    auto m = std::make_shared<Mission>(++last_number_, it->second, std::move(tank), distance);
    m->on_done([this](const Mission &done) { count(done); });
    queue_.push_back(std::move(m));
    return true;
  }

  void minute(int wind) {
    for (int slots = 1; slots > 0 && !queue_.empty() && wind < 7; --slots) {
      queue_.front()->take_off();
      in_air_.push_back(queue_.front());
      queue_.pop_front();
    }
    for (auto &weak : in_air_)
      if (auto m = weak.lock())
        m->minute(wind);
    in_air_.erase(std::remove_if(in_air_.begin(), in_air_.end(), [](const auto &w) { return landed(w); }),
                  in_air_.end());
  }

  // In the evening all come home.
  void close() {
    for (auto &weak : in_air_)
      if (auto m = weak.lock()) {
        while (m->state() == Mission::State::Outbound)
          m->minute(0);
        m->recall();
      }
    in_air_.clear();
    cancelled_ += int(queue_.size());
    queue_.clear();
  }

  const Tally &tally() const { return tally_; }
  int cancelled() const { return cancelled_; }
  std::size_t in_air() const { return in_air_.size(); }

private:
  static bool landed(const std::weak_ptr<Mission> &w) {
    auto m = w.lock();
    return !m || m->state() == Mission::State::Home || m->state() == Mission::State::Failed;
  }

  void count(const Mission &m) {
    (m.state() == Mission::State::Home ? tally_.home : tally_.failed)++;
    tally_.sprayed += m.sprayed();
  }

  std::map<std::string, std::shared_ptr<Field>> fields_;
  std::deque<std::shared_ptr<Mission>> queue_;
  std::vector<std::weak_ptr<Mission>> in_air_;
  Tally tally_;
  int last_number_ = 0, cancelled_ = 0;
};

} // namespace farm

int main() {
  std::uint32_t seed = 77;
  for (int day = 0; day < 3; ++day) {
    farm::Tower tower;
    int refused = 0;
    std::vector<std::shared_ptr<farm::Field>> fields;
    for (int i = 0; i < 4; ++i)
      fields.push_back(tower.field("field " + std::to_string(i), 14 + 5 * i));
    std::shared_ptr<farm::Tank> tank;
    for (int i = 0; i < 12; ++i) {
      if (i % 2 == 0)
        tank = std::make_shared<farm::Tank>(i == 6 ? 0 : 9 + i);
      refused += !tower.launch("field " + std::to_string(i * 3 % 5), tank, 2 + (i * 3 + day) % 5);
    }
    tank.reset();
    for (int m = 0; m < 26; ++m) {
      seed = seed * 1664525u + 1013904223u;
      tower.minute(m % 10 == 6 ? 9 : int(seed >> 24) % 8);
    }
    std::size_t late = tower.in_air();
    tower.close();
    std::printf("day %d: %d home, %d failed, %d rows, %d cancelled, %d refused, %zu late\n", day, tower.tally().home,
                tower.tally().failed, tower.tally().sprayed, tower.cancelled(), refused, late);
  }
#ifdef TRUTH
  std::printf("left: %d missions, %d tanks\n", farm::g_missions, farm::g_tanks);
#endif
  return 0;
}
