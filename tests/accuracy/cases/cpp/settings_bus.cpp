/* summary: Bus::remove stops at the first topic where it found the listener, so that a listener of two topics stays in the second one for ever
 * kind: held
 * counts: surplus
 * objects: 4
 * track: shared_ptr
 * build: clang++ -std=c++17 -O1 -g
 * exit: 0
 */
#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class Listener {
public:
  static int live;
  explicit Listener(std::string owner) : owner_(std::move(owner)) { live++; }
  virtual ~Listener() { live--; }
  virtual void changed(const std::string &topic, int value) = 0;
  const std::string &owner() const { return owner_; }

private:
  std::string owner_;
};

int Listener::live;

using ListenerPtr = std::shared_ptr<Listener>;

// Who wants to hear of which setting. It lives as long as the program.
class Bus {
public:
  static Bus &get() {
    static Bus *bus = new Bus;
    return *bus;
  }

  void add(const std::string &topic, ListenerPtr l) { topics_[topic].push_back(std::move(l)); }

  bool remove(const Listener *l) {
    bool found = false;
    for (auto &topic : topics_) {
      std::vector<ListenerPtr> &list = topic.second;
      auto it = std::find_if(list.begin(), list.end(), [l](const ListenerPtr &p) { return p.get() == l; });
      if (it == list.end())
        continue;
      list.erase(it); // ACCEPTED
      found = true;
#ifdef BUG
      break; // GUILTY
#endif
    }
    return found;
  }

  // Takes a listener out of one topic and gives the registry's reference to the caller.
  ListenerPtr take(const std::string &topic, const std::string &owner) {
    std::vector<ListenerPtr> &list = topics_[topic];
    for (size_t i = 0; i < list.size(); i++) {
      if (list[i]->owner() != owner)
        continue;
      ListenerPtr l = std::move(list[i]);
      list[i] = std::move(list.back());
      list.pop_back();
      return l;
    }
    return nullptr;
  }

  // The listeners are kept by the waiting event: one may be removed before its turn.
  void publish(const std::string &topic, int value) {
    auto it = topics_.find(topic);
    if (it == topics_.end())
      return;
    for (const ListenerPtr &l : it->second)
      waiting_.push_back({l, topic, value});
  }

  int deliver() {
    int n = 0;
    for (; !waiting_.empty(); n++) {
      Event e = std::move(waiting_.front());
      waiting_.pop_front();
      e.to->changed(e.topic, e.value);
    }
    return n;
  }

  size_t count() const {
    size_t n = 0;
    for (const auto &topic : topics_)
      n += topic.second.size();
    return n;
  }

private:
  struct Event {
    ListenerPtr to;
    std::string topic;
    int value;
  };

  std::map<std::string, std::vector<ListenerPtr>> topics_;
  std::deque<Event> waiting_;
};

class Panel;

// The panel owns its listener; the listener only watches the panel.
class PanelListener : public Listener {
public:
  PanelListener(const std::string &owner, std::weak_ptr<Panel> panel) : Listener(owner), panel_(std::move(panel)) {}
  void changed(const std::string &topic, int value) override;

private:
  std::weak_ptr<Panel> panel_;
};

// Writes down every change, from the start to the end.
class Logger : public Listener {
public:
  using Listener::Listener;
  void changed(const std::string &, int) override { lines_++; }
  int lines() const { return lines_; }

private:
  int lines_ = 0;
};

class Panel : public std::enable_shared_from_this<Panel> {
public:
  enum Kind { kPlain, kSplit, kPreview };

  Panel(std::string name, Kind kind) : name_(std::move(name)), kind_(kind) {}

  void open() {
    listener_ = std::make_shared<PanelListener>(name_, weak_from_this());
    Bus &bus = Bus::get();
    bus.add("theme", listener_);
    if (kind_ == kSplit)
      bus.add("zoom", listener_);
    if (kind_ == kPreview) {
      preview_ = std::make_shared<PanelListener>(name_ + ".preview", weak_from_this());
      bus.add("font", preview_);
    }
  }

  void close() {
    Bus::get().remove(listener_.get());
    if (preview_ && !Bus::get().remove(preview_.get()))
      missed_++;
    listener_.reset();
    preview_.reset();
  }

  // Used for a panel that goes to another window: the old listener ends, a new one begins.
  void move_to(const std::string &name) {
    ListenerPtr old = Bus::get().take("theme", name_);
    name_ = name;
    listener_ = std::make_shared<PanelListener>(name_, weak_from_this());
    Bus::get().add("theme", listener_);
  }

  void apply(int value) { state_ += value; }
  int state() const { return state_; }
  int missed() const { return missed_; }
  Kind kind() const { return kind_; }

private:
  std::string name_;
  Kind kind_;
  ListenerPtr listener_;
  ListenerPtr preview_;
  int state_ = 0;
  int missed_ = 0;
};

void PanelListener::changed(const std::string &topic, int value) {
  if (std::shared_ptr<Panel> p = panel_.lock())
    p->apply(topic == "theme" ? value : value * 2);
}

int main() {
  auto logger = std::make_shared<Logger>("log");
  Bus::get().add("theme", logger);
  Bus::get().add("quit", std::make_shared<Logger>("audit"));
  int sum = 0, events = 0, missed = 0;

  for (int window = 0; window < 4; window++) {
    std::vector<std::shared_ptr<Panel>> panels;
    std::string prefix = "w" + std::to_string(window) + ".";
    for (int i = 0; i < 5; i++) {
      Panel::Kind kind = i == 3 ? Panel::kSplit : i == 1 ? Panel::kPreview : Panel::kPlain;
      panels.push_back(std::make_shared<Panel>(prefix + std::to_string(i), kind));
      panels.back()->open();
    }
    Bus::get().publish("theme", window + 1);
    Bus::get().publish("zoom", 10);
    panels[2]->move_to(prefix + "moved");
    panels[4]->close();
    events += Bus::get().deliver();
    panels[4]->open();
    Bus::get().publish("font", 3);
    events += Bus::get().deliver();
    while (!panels.empty()) {
      std::shared_ptr<Panel> p = std::move(panels.back());
      panels.pop_back();
      p->close();
      sum += p->state();
      missed += p->missed();
    }
  }
  printf("state %d, %d logged, %d missed%s\n", sum, logger->lines(), missed, events > 30 ? "" : ", few events");
#ifdef TRUTH
  printf("listeners left: %d, entries: %zu\n", Listener::live, Bus::get().count());
#endif
  return 0;
}
