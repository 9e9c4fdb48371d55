/* summary: Relay::send_bulk detaches its message for the wire, and when the wire refuses it the detached reference is lost
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: own
 * libs: -pthread
 * build: clang++ -std=c++17 -O0 -g
 * exit: 0
 */
#include <cstdio>
#include <deque>
#include <list>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace relay {

// A mail on its way. Born with one reference, which belongs to the one who called create().
class Message {
public:
  static Message *create(int id, const std::string &to, int size) { return new Message(id, to, size); }

  Message *ref() {
    refs_++;
    return this;
  }

  void unref() {
    if (--refs_ == 0)
      delete this;
  }

  int id() const { return id_; }
  int size() const { return size_; }
  const std::string &to() const { return to_; }
  void tried() { tries_++; }
  int tries() const { return tries_; }

  static int live;

private:
  Message(int id, std::string to, int size) : id_(id), size_(size), to_(std::move(to)) { live++; }
  ~Message() { live--; }

  int refs_ = 1;
  int id_;
  int size_;
  int tries_ = 0;
  std::string to_;
};

int Message::live;

class Handle {
public:
  Handle() = default;
  Handle(const Handle &o) : m_(o.m_ ? o.m_->ref() : nullptr) {}
  Handle(Handle &&o) noexcept : m_(o.detach()) {}
  ~Handle() {
    if (m_)
      m_->unref();
  }
  Handle &operator=(Handle o) noexcept {
    std::swap(m_, o.m_);
    return *this;
  }

  static Handle adopt(Message *m) {
    Handle h;
    h.m_ = m;
    return h;
  }
  static Handle share(Message *m) { return adopt(m->ref()); }

  Message *get() const { return m_; }
  Message *operator->() const { return m_; }
  Message *detach() { return std::exchange(m_, nullptr); }
  explicit operator bool() const { return m_ != nullptr; }

private:
  Message *m_ = nullptr;
};

// The network side. What it has accepted belongs to it until its thread has sent it.
class Wire {
public:
  explicit Wire(size_t room) : room_(room) {}
  ~Wire() {
    for (Message *m : out_)
      m->unref();
  }

  // Takes the caller's reference, but only when the result is 0.
  int post(Message *m) {
    m->tried();
    if (m->to().find('@') == std::string::npos)
      return -1;
    if (out_.size() >= room_)
      return -2;
    out_.push_back(m);
    return 0;
  }

  // Takes the caller's reference in any case.
  int post_or_drop(Message *m) {
    int r = post(m);
    if (r)
      m->unref();
    return r;
  }

  void flush() {
    std::thread sender([this] {
      while (!out_.empty()) {
        Message *m = out_.back();
        out_.pop_back();
        sent_ += m->size();
        m->unref();
      }
    });
    sender.join();
  }

  int sent() const { return sent_; }

private:
  size_t room_;
  std::vector<Message *> out_;
  int sent_ = 0;
};

class Relay {
public:
  explicit Relay(Wire &wire) : wire_(wire) {}

  void accept(Message *m) {
    Handle h = Handle::adopt(m);
    journal_.push_back(h);
    if (journal_.size() > 6)
      journal_.pop_front();
    inbox_.push_back(std::move(h));
  }

  void run() {
    while (!inbox_.empty()) {
      Handle h = std::move(inbox_.front());
      inbox_.pop_front();
      bool ok;
      if (h->size() > 50)
        ok = send_bulk(h);
      else if (h->id() % 3 == 0)
        ok = send_notice(h);
      else
        ok = send_letter(std::move(h));
      refused_ += !ok;
    }
  }

  // What did not fit is tried again; after the third time it goes.
  void retry() {
    for (auto it = later_.begin(); it != later_.end();) {
      if (wire_.post((*it)->ref()) == 0) {
        it = later_.erase(it);
        continue;
      }
      (*it)->unref();
      if ((*it)->tries() > 2)
        it = later_.erase(it);
      else
        ++it;
    }
  }

  const Message *oldest() const { return journal_.empty() ? nullptr : journal_.front().get(); }
  int refused() const { return refused_; }
  size_t waiting() const { return later_.size(); }

private:
  // The wire gets its own reference, the caller's handle stays good.
  bool send_notice(const Handle &h) { return wire_.post_or_drop(h->ref()) == 0; }

  // A letter that is refused waits for the next round.
  bool send_letter(Handle h) {
    int r = wire_.post(h.get());
    if (r == 0) {
      h.detach();
      return true;
    }
    if (r == -2)
      later_.push_back(std::move(h));
    return false;
  }

  // Bulk mail is not tried again.
  bool send_bulk(Handle h) {
    int size = h->size();
    Message *m = h.detach(); // ACCEPTED
    if (wire_.post(m) != 0) { // ACCEPTED
#ifndef BUG
      Handle::adopt(m);
#endif
      return false; // GUILTY
    }
    bulk_ += size;
    return true;
  }

  Wire &wire_;
  std::deque<Handle> inbox_;
  std::deque<Handle> journal_;
  std::list<Handle> later_;
  int refused_ = 0;
  int bulk_ = 0;
};

} // namespace relay

int main() {
  {
    relay::Wire wire(7);
    relay::Relay r(wire);
    relay::Handle first;
    int id = 0;
    for (int round = 0; round < 4; round++) {
      for (int i = 0; i < 9; i++) {
        id++;
        std::string to = i == 4 ? "nobody" : "user" + std::to_string(i) + "@site";
        relay::Message *m = relay::Message::create(id, to, i == 1 || i == 4 ? 80 : 10 + i);
        if (!first)
          first = relay::Handle::share(m);
        r.accept(m);
      }
      r.run();
      r.retry();
      wire.flush();
      r.retry();
    }
    printf("%d bytes sent, %d refused, %zu waiting, oldest %d, first tried %d\n", wire.sent(), r.refused(), r.waiting(),
           r.oldest()->id(), first->tries());
  }
#ifdef TRUTH
  printf("messages left: %d\n", relay::Message::live);
#endif
  return 0;
}
