/* summary: Playlist::raise stores the upper entry one place lower as if it owned it, array_put_idx has put it before
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: json_object
 * packages: json-c
 * build: g++ -O2 -g
 * exit: 0
 */
// Playlists over a music library. A track's document belongs to the library and to every list that it is in.
#include <json-c/json.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// One reference to a json_object.
class Ref {
public:
  Ref() = default;
  Ref(const Ref &o) : p_(json_object_get(o.p_)) {}
  Ref(Ref &&o) noexcept : p_(o.release()) {}
  ~Ref() { json_object_put(p_); }
  Ref &operator=(Ref o) {
    std::swap(p_, o.p_);
    return *this;
  }
  static Ref adopt(json_object *p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref share(json_object *p) { return adopt(json_object_get(p)); }
  json_object *get() const { return p_; }
  json_object *release() {
    json_object *p = p_;

    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_ != nullptr; }

private:
  json_object *p_ = nullptr;
};

static std::string field(json_object *o, const char *key) {
  json_object *v = nullptr;

  return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : "";
}

class Library {
public:
  Ref add(const std::string &title, int seconds) {
    Ref doc = Ref::adopt(json_object_new_object());

    json_object_object_add(doc.get(), "title", json_object_new_string(title.c_str()));
    json_object_object_add(doc.get(), "seconds", json_object_new_int(seconds));
    tracks_[title] = doc;
    return doc;
  }
  Ref find(const std::string &title) const {
    auto it = tracks_.find(title);

    return it == tracks_.end() ? Ref() : it->second;
  }
  bool remove(const std::string &title) { return tracks_.erase(title) > 0; }
  size_t size() const { return tracks_.size(); }

private:
  std::map<std::string, Ref> tracks_;
};

class Playlist {
public:
  explicit Playlist(std::string name) : name_(std::move(name)), list_(Ref::adopt(json_object_new_array())) {}

  void append(Ref track) { json_object_array_add(list_.get(), track.release()); }

  size_t length() const { return json_object_array_length(list_.get()); }

  // One place up.
  bool raise(size_t i) {
    json_object *list = list_.get();

    if (i == 0 || i >= length())
      return false;
    json_object *lower = json_object_array_get_idx(list, i);
#ifdef BUG
    json_object *upper = json_object_array_get_idx(list, i - 1); /* ACCEPTED */

    json_object_array_put_idx(list, i - 1, json_object_get(lower)); /* ACCEPTED */
    json_object_array_put_idx(list, i, upper);                      /* GUILTY */
#else
    json_object *upper = json_object_get(json_object_array_get_idx(list, i - 1));

    json_object_array_put_idx(list, i - 1, json_object_get(lower));
    json_object_array_put_idx(list, i, upper);
#endif
    return true;
  }

  // The whole list turned round.
  void reverse() {
    Ref turned = Ref::adopt(json_object_new_array());

    for (size_t i = length(); i-- > 0;)
      json_object_array_add(turned.get(), json_object_get(json_object_array_get_idx(list_.get(), i)));
    list_ = std::move(turned);
  }

  // To the front; the others move down by one.
  void to_front(size_t i) {
    if (i == 0 || i >= length())
      return;
    Ref moved = Ref::share(json_object_array_get_idx(list_.get(), i));

    for (size_t k = i; k > 0; k--)
      json_object_array_put_idx(list_.get(), k, json_object_get(json_object_array_get_idx(list_.get(), k - 1)));
    json_object_array_put_idx(list_.get(), 0, moved.release());
  }

  bool replace(size_t i, Ref track) {
    if (!track || i >= length())
      return false;
    return json_object_array_put_idx(list_.get(), i, track.release()) == 0;
  }

  void drop(size_t i) { json_object_array_del_idx(list_.get(), i, 1); }

  Ref at(size_t i) const { return Ref::share(json_object_array_get_idx(list_.get(), i)); }

  int seconds() const {
    int sum = 0;

    for (size_t i = 0; i < length(); i++)
      sum += atoi(field(json_object_array_get_idx(list_.get(), i), "seconds").c_str());
    return sum;
  }

private:
  std::string name_;
  Ref list_;
};

class Player {
public:
  void play(const Playlist &list) {
    for (size_t i = 0; i < list.length(); i++) {
      Ref track = list.at(i);

      now_ = track;
      history_.push_back(std::move(track));
      if (history_.size() > 12)
        history_.erase(history_.begin());
      played_++;
    }
  }
  int played() const { return played_; }
  std::string now() const { return field(now_.get(), "title"); }

private:
  Ref now_;
  std::vector<Ref> history_;
  int played_ = 0;
};

int main() {
  auto library = std::make_unique<Library>();
  auto player = std::make_unique<Player>();
  auto lists = std::make_unique<std::vector<Playlist>>();

  for (int i = 0; i < 28; i++)
    library->add("track " + std::to_string(i), 100 + i * 3);
  for (int l = 0; l < 4; l++) {
    lists->emplace_back("list " + std::to_string(l));
    for (int i = 0; i < 10; i++)
      lists->back().append(library->find("track " + std::to_string((l * 5 + i * 2) % 28)));
  }
  (*lists)[0].reverse();
  (*lists)[1].to_front(6);
  (*lists)[1].to_front(3);
  (*lists)[2].raise(0);
  (*lists)[2].raise(4);
  (*lists)[3].raise(7);
  (*lists)[3].raise(40);
  (*lists)[0].replace(2, library->find("track 27"));
  (*lists)[0].replace(3, library->find("no such track"));
  (*lists)[1].drop(9);
  library->remove("track 8");
  for (const Playlist &l : *lists)
    player->play(l);

  int total = 0;

  for (const Playlist &l : *lists)
    total += l.seconds();
  printf("tracks %zu played %d seconds %d last \"%s\"\n", library->size(), player->played(), total,
         player->now().c_str());
  player.reset();
  library.reset();
  lists.reset();
  return 0;
}
