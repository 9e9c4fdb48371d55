/* summary: Session::throttle queues its notice with a shared_ptr made from `this`, a second control block that deletes the session while room and gateway still own it
 * kind: second-owner
 * counts: deficit
 * objects: 2
 * track: shared_ptr
 * build: g++ -std=c++17 -O0 -g
 * exit: 0
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

// Sessions come and go all day: their memory is a fixed block of slots, a slot is wiped when its session ends.
class SlotPool {
public:
  void *take() {
    for (size_t n = 0; n < kSlots; n++) {
      size_t i = (next_ + n) % kSlots;
      if (!busy_[i]) {
        busy_[i] = true;
        next_ = i + 1;
        return slot_[i].bytes;
      }
    }
    throw std::bad_alloc();
  }

  void give(void *p) {
    for (size_t i = 0; i < kSlots; i++) {
      if (slot_[i].bytes != p)
        continue;
      if (!busy_[i])
        twice++;
      busy_[i] = false;
      memset(slot_[i].bytes, 0, kSlotSize);
    }
  }

  size_t busy() const { return std::count(busy_.begin(), busy_.end(), true); }

  static constexpr size_t kSlotSize = 192;
  int twice = 0;

private:
  static constexpr size_t kSlots = 12;
  struct Slot {
    alignas(16) unsigned char bytes[kSlotSize];
  };
  std::array<Slot, kSlots> slot_{};
  std::array<bool, kSlots> busy_{};
  size_t next_ = 0;
};

static SlotPool pool;
struct Profile {
  char nick[24];
  int karma;
};

class Session;
struct Notice {
  std::shared_ptr<Session> to;
  int code;
};

static std::deque<Notice> outbox;

class Session : public std::enable_shared_from_this<Session> {
public:
  Session(int id, const char *nick) : id_(id) { snprintf(profile_.nick, sizeof(profile_.nick), "%s%d", nick, id); }

  static void *operator new(size_t n) {
    if (n > SlotPool::kSlotSize)
      throw std::bad_alloc();
    return pool.take();
  }
  static void operator delete(void *p) { pool.give(p); }

  int id() const { return id_; }
  void received(int code) { backlog_ += code; }
  int backlog() const { return backlog_; }

  // A view of one member: keeps the whole session alive.
  std::shared_ptr<const Profile> profile() { return std::shared_ptr<const Profile>(shared_from_this(), &profile_); }

  void welcome() { outbox.push_back({shared_from_this(), 1}); }

  void remind() {
    std::shared_ptr<Session> self = shared_from_this();
    for (int code = 2; code < 4; code++)
      outbox.push_back({self, code});
  }

  void throttle() {
    profile_.karma--;
#ifdef BUG
    outbox.push_back({std::shared_ptr<Session>(this), 7}); // GUILTY
#else
    outbox.push_back({shared_from_this(), 7});
#endif
  }

  void goodbye() { outbox.push_front({shared_from_this(), 9}); }

private:
  int id_;
  int backlog_ = 0;
  Profile profile_{};
};

// Idle timers must not keep a session alive.
struct IdleTimer {
  std::weak_ptr<Session> who;
  int fire_at;
};

struct Room {
  std::vector<std::pair<int, std::shared_ptr<Session>>> members;
  std::vector<std::shared_ptr<const Profile>> roster;

  void join(const std::shared_ptr<Session> &s) {
    members.emplace_back(s->id(), s);
    roster.push_back(s->profile());
  }

  bool leave(int id) {
    for (size_t i = 0; i < members.size(); i++) {
      if (members[i].first != id)
        continue;
      members[i] = std::move(members.back());
      members.pop_back();
      roster[i].swap(roster.back());
      roster.pop_back();
      return true;
    }
    return false;
  }
};

class Gateway {
public:
  Gateway() {
    for (int i = 0; i < 3; i++)
      rooms_.push_back(std::make_shared<Room>());
  }

  std::shared_ptr<Session> open(const char *nick) {
    int id = ++last_id_;
    std::shared_ptr<Session> s(new Session(id, nick));
    sessions_[id] = s;
    timers_.push_back({s, id % 3});
    rooms_[id % rooms_.size()]->join(s);
    s->welcome();
    return s;
  }

  std::shared_ptr<Session> find(int id) const {
    auto it = sessions_.find(id);
    return it == sessions_.end() ? nullptr : it->second;
  }

  bool message(int id, int size) {
    std::shared_ptr<Session> s = find(id);
    if (!s)
      return false;
    if (size > 900) {
      s->throttle();
      return false;
    }
    s->received(size);
    return true;
  }

  void tick(int now) {
    for (IdleTimer &t : timers_)
      if (std::shared_ptr<Session> s = t.who.lock())
        if (t.fire_at == now)
          s->remind();
  }

  // Deliver what waits; each notice gives its reference back when it was handled.
  void drain() {
    while (!outbox.empty()) {
      Notice n = std::move(outbox.front());
      outbox.pop_front();
      n.to->received(n.code);
      delivered_++;
    }
  }

  void close(int id) {
    std::shared_ptr<Session> s = find(id);
    if (!s)
      return;
    s->goodbye();
    for (auto &r : rooms_)
      if (r->leave(id))
        break;
    sessions_.erase(id);
  }

  void close_all() {
    for (int id = last_id_ - 7; id <= last_id_; id++)
      rooms_[id % rooms_.size()]->leave(id);
    sessions_.clear();
    timers_.clear();
  }

  int delivered() const { return delivered_; }
  int last_id() const { return last_id_; }

private:
  std::map<int, std::shared_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Room>> rooms_;
  std::vector<IdleTimer> timers_;
  int last_id_ = 0;
  int delivered_ = 0;
};

int main() {
  static Session console(0, "console");
  Gateway gw;
  int refused = 0;
  for (int wave = 0; wave < 3; wave++) {
    for (int i = 0; i < 8; i++)
      gw.open(i % 2 ? "ann" : "bob");
    // The console lives for ever: an owner-less pointer to it is enough.
    outbox.push_back({std::shared_ptr<Session>(std::shared_ptr<Session>(), &console), 5});
    int first = gw.last_id() - 7;
    gw.tick(wave);
    gw.drain();
    gw.close(first + 1);
    for (int id = first; id < first + 10; id++)
      refused += !gw.message(id, wave == 1 && id % 3 == 2 ? 1000 : id * 10);
    gw.drain();
    gw.close_all();
  }
  printf("%d notices, %d refused, console %d\n", gw.delivered(), refused, console.backlog());
#ifdef TRUTH
  printf("slots given back twice: %d, still busy: %zu\n", pool.twice, pool.busy());
#endif
  return 0;
}
