// A shared_ptr made from a plain pointer to what another one owns already, and what only looks like it.
//   second_owner dies | stays | weak | inplace | used | right
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "conn.h"

struct Session : std::enable_shared_from_this<Session> {
  explicit Session(int number) : id(number) {}
  int id;
  int seats[4] = {1, 2, 3, 4};
};

struct Notice {
  std::shared_ptr<Session> to;
  int code;
};

static std::vector<std::shared_ptr<Session>>* kept;  // nobody's to destroy
static std::vector<Notice>* notices;
static volatile int total;

__attribute__((noinline)) static void open_sessions() {
  for (int i = 0; i < 3; ++i) kept->push_back(std::shared_ptr<Session>(new Session(i)));
}

__attribute__((noinline)) static void add_again(Session* session) {
  total = total + 1;
  notices->push_back({std::shared_ptr<Session>(session), 7});  // second owner
}

__attribute__((noinline)) static void look_once(Session* session) {
  std::shared_ptr<Session> mine(session);  // second owner, for a moment
  total = total + mine->id;
}

// Deletes a session once, whoever asks.
struct Closer {
  void operator()(Session* session) const {
    if (session->id < 0) return;
    session->id = -1;
    delete session;
  }
};

__attribute__((noinline)) static int watch(const std::shared_ptr<Session>& session) {
  std::shared_ptr<Session> mine(session.get(), Closer());  // second owner, which deletes it
  return mine->seats[0];
}

__attribute__((noinline)) static void use_after_watch() {
  const std::shared_ptr<Session> session(new Session(5), Closer());
  total = total + watch(session);
  total = total + session->seats[1];  // used
}

// The same memory again and again; and whoever points there without owning it.
__attribute__((noinline)) static void right() {
  for (int i = 0; i < 50; ++i) {
    std::shared_ptr<Session> one(new Session(i));
    std::weak_ptr<Session> weak = one;
    std::shared_ptr<int> part(one, &one->seats[1]);
    one.reset();
    part.reset();
    std::shared_ptr<Session> next(new Session(i + 1));
    total = total + (weak.expired() ? next->id : 0);
  }
  const std::shared_ptr<Session>& one = kept->front();
  const std::shared_ptr<Session> self = one->shared_from_this();
  const std::shared_ptr<Session> observer(one.get(), [](Session*) {});
  const std::shared_ptr<Session> guest(one.get(), [owner = one](Session* it) { total = total + it->id; });
  total = total + static_cast<int>(self.use_count() + observer.use_count() + guest.use_count());
  std::unique_ptr<Session> only(new Session(7));
  Session* plain = only.get();
  const std::shared_ptr<Session> shared(std::move(only));
  total = total + plain->id;
  const std::shared_ptr<Session> made = std::make_shared<Session>(8);
  const std::shared_ptr<int> seat(made, &made->seats[0]);
  total = total + *seat;
}

int main(int argc, char** argv) {
  const char how = argc > 1 ? argv[1][0] : 'r';
  kept = new std::vector<std::shared_ptr<Session>>;
  notices = new std::vector<Notice>;
  open_sessions();
  if (how == 'u') use_after_watch();
  if (how == 'd') look_once((*kept)[1].get());
  if (how == 's') add_again((*kept)[1].get());
  if (how == 'w') {  // the first one has deleted it, and stays for the sake of a weak reference
    static std::weak_ptr<Session> watched = (*kept)[1];
    add_again((*kept)[1].get());
    (*kept)[1].reset();
    total = total + (watched.expired() ? 1 : 0);
  }
  if (how == 'i') {
    kept->push_back(std::make_shared<Session>(9));
    add_again(kept->back().get());
  }
  right();
  checkpoint();
  _exit(0);
}
