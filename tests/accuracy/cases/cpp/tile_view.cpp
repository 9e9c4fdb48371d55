/* summary: Viewer::pin_marked keeps a tile that the cache only lent to it with add_ref=false, and gives it back later all the same
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: intrusive_ref_counter
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdio>
#include <deque>
#include <map>
#include <new>
#include <utility>
#include <vector>

class Tile;
using TilePtr = boost::intrusive_ptr<Tile>;

// All tiles have one size: their memory is a ring of frames, the frame that was free longest is used next.
class FrameRing {
public:
  void *take();
  void give(void *p);
  int busy() const { return busy_; }

private:
  static constexpr int kFrames = 40;
  static constexpr int kFrameSize = 128;
  alignas(16) unsigned char frame_[kFrames][kFrameSize];
  bool used_[kFrames] = {};
  int next_ = 0, busy_ = 0;
};

static FrameRing ring;
#ifdef TRUTH
static int dead_draws;
#endif

class Tile : public boost::intrusive_ref_counter<Tile> {
public:
  Tile(int key, int zoom) : key_(key), zoom_(zoom) {
    for (int i = 0; i < 16; i++)
      pixels_[i] = static_cast<unsigned char>(key * 7 + i * zoom);
  }

  static void *operator new(size_t) { return ring.take(); }
  static void operator delete(void *p) { ring.give(p); }

  int key() const { return key_; }
  bool marked() const { return key_ % 9 == 4; }

  int draw() const {
    int sum = zoom_;
#ifdef TRUTH
    dead_draws += static_cast<int>(use_count()) <= 0;
#endif
    for (unsigned char p : pixels_)
      sum += p;
    return sum;
  }

private:
  int key_;
  int zoom_;
  unsigned char pixels_[16];
};

void *FrameRing::take() {
  static_assert(sizeof(Tile) <= kFrameSize, "frames are too small");
  for (int n = 0; n < kFrames; n++) {
    int i = (next_ + n) % kFrames;
    if (used_[i])
      continue;
    used_[i] = true;
    busy_++;
    next_ = i + 1;
    return frame_[i];
  }
  throw std::bad_alloc();
}

void FrameRing::give(void *p) {
  int i = static_cast<int>((static_cast<unsigned char *>(p) - frame_[0]) / kFrameSize);
  busy_ -= used_[i];
  used_[i] = false;
}

// A queue with the calling convention of a C library: the job owns what `user` points at.
struct Job {
  int (*run)(void *user);
  void *user;
};

class JobQueue {
public:
  void post(int (*run)(void *), void *user) { jobs_.push_back({run, user}); }

  int run_all() {
    int sum = 0;
    while (!jobs_.empty()) {
      Job j = jobs_.front();
      jobs_.pop_front();
      sum += j.run(j.user);
    }
    return sum;
  }

private:
  std::deque<Job> jobs_;
};

static int encode_job(void *user) {
  TilePtr t(static_cast<Tile *>(user), false); // the job's own reference
  return t->draw() & 0xff;
}

class TileCache {
public:
  explicit TileCache(size_t limit) : limit_(limit) {}

  TilePtr get(int key, int zoom) {
    auto it = tiles_.find(key);
    if (it != tiles_.end())
      return it->second;
    TilePtr t(new Tile(key, zoom));
    if (zoom > 5)
      return t; // too detailed to be kept
    tiles_.emplace(key, t);
    order_.push_back(key);
    while (order_.size() > limit_) {
      tiles_.erase(order_.front());
      order_.pop_front();
    }
    return t;
  }

  // Lends every tile to `see` for the time of the call.
  void each(void (*see)(Tile *t, void *user), void *user) const {
    for (const auto &kv : tiles_)
      see(kv.second.get(), user);
  }

  size_t size() const { return tiles_.size(); }

private:
  size_t limit_;
  std::map<int, TilePtr> tiles_;
  std::deque<int> order_;
};

class Viewer {
public:
  Viewer(TileCache &cache, JobQueue &jobs) : cache_(cache), jobs_(jobs) {}

  void look(int first, int n, int zoom) {
    visible_.clear();
    for (int key = first; key < first + n; key++)
      visible_.push_back(cache_.get(key, zoom));
  }

  // Every second visible tile is encoded later, the job takes a reference along.
  void encode() {
    for (size_t i = 0; i < visible_.size(); i += 2) {
      TilePtr t = visible_[i];
      jobs_.post(encode_job, t.detach());
    }
  }

  // The one in the middle, by hand.
  void encode_centre() {
    if (visible_.empty())
      return;
    Tile *t = visible_[visible_.size() / 2].get();
    intrusive_ptr_add_ref(t);
    jobs_.post(encode_job, t);
  }

  void pin() { cache_.each(pin_marked, this); }
  void remember() { cache_.each(note_oldest, this); }

  int draw() const {
    int sum = 0;
    for (const TilePtr &t : visible_)
      sum += t->draw();
    for (const TilePtr &t : pinned_)
      sum += t->draw();
    return oldest_ ? sum + oldest_->key() : sum;
  }

  size_t unpin() {
    size_t n = pinned_.size();
    pinned_.clear(); // ACCEPTED
    return n;
  }

private:
  static void pin_marked(Tile *t, void *user) {
    Viewer *v = static_cast<Viewer *>(user);
    if (!t->marked())
      return;
#ifdef BUG
    v->pinned_.emplace_back(t, false); // GUILTY
#else
    v->pinned_.emplace_back(t);
#endif
  }

  static void note_oldest(Tile *t, void *user) {
    Viewer *v = static_cast<Viewer *>(user);
    if (!v->oldest_ || t->key() < v->oldest_->key())
      v->oldest_ = t;
  }

  TileCache &cache_;
  JobQueue &jobs_;
  std::vector<TilePtr> visible_;
  std::vector<TilePtr> pinned_;
  TilePtr oldest_;
};

int main() {
  static TileCache cache(8);
  JobQueue jobs;
  Viewer viewer(cache, jobs);
  int sum = 0;
  size_t pins = 0;

  for (int step = 0; step < 8; step++) {
    viewer.look(step * 6, 8, step == 3 ? 6 : 2 + step % 3);
    viewer.encode();
    viewer.encode_centre();
    if (step == 1 || step == 4)
      viewer.pin();
    if (step == 2)
      viewer.remember();
    sum += viewer.draw();
    if (step == 3 || step == 6)
      pins += viewer.unpin();
    sum += jobs.run_all();
  }
  viewer.look(0, 0, 0);
  printf("%d drawn, %zu pinned, %zu cached\n", sum, pins, cache.size());
#ifdef TRUTH
  printf("dead tiles drawn %d times, %d frames busy\n", dead_draws, ring.busy());
#endif
  return 0;
}
