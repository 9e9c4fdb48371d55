// Types whose user does not tell how many references a new object has: what makes it stores that.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define APART __attribute__((noinline))

APART void checkpoint() { __asm__ volatile(""); }

/// The first smart pointer takes the first reference.
class Tile {
 public:
  APART Tile() : weight_(3), refs_(0) {}
  APART void ref() { ++refs_; }
  APART void unref() {
    if (--refs_ == 0) delete this;
  }
  int weight() const { return weight_; }

 private:
  int weight_;
  int refs_;
};

class TilePtr {
 public:
  explicit TilePtr(Tile *tile) : tile_(tile) { tile_->ref(); }
  TilePtr(const TilePtr &other) : tile_(other.tile_) { tile_->ref(); }
  TilePtr &operator=(const TilePtr &) = delete;
  ~TilePtr() { tile_->unref(); }
  Tile *get() const { return tile_; }

 private:
  Tile *tile_;
};

struct device {
  long state[12];
  int usage;
  device *next;
};
extern "C" {
APART void device_init(device *made) { std::memset(made, 0, sizeof *made); }
APART void device_get(device *subject) { ++subject->usage; }
APART void device_put(device *subject) {
  if (--subject->usage == 0) std::free(subject);
}
}

/// Two constructors: one begins with the two references of who asks and of the table.
class Entry {
 public:
  APART Entry() : left_(nullptr), right_(nullptr), refs_(2) {}
  APART void hold() { ++refs_; }
  APART void drop() {
    if (--refs_ == 0) delete this;
  }

 private:
  Entry *left_, *right_;
  int refs_;
};

APART static int weigh(TilePtr tile) { return tile.get()->weight(); }

static int tiles(bool wrong) {
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    TilePtr tile(new Tile);
    sum += weigh(tile);
    if (wrong && i == 2) tile.get()->ref();  // the leak of a tile
  }
  return sum;
}

static void devices(bool wrong) {
  for (int i = 0; i < 4; i++) {
    auto *made = static_cast<device *>(std::malloc(sizeof(device)));
    device_init(made);
    device_get(made);
    device_get(made);
    if (!wrong || i != 1) device_put(made);  // the leak of a device
    device_put(made);
  }
}

static void entries(bool wrong) {
  for (int i = 0; i < 4; i++) {
    auto *entry = new Entry;
    entry->hold();
    entry->drop();
    if (!wrong || i != 3) entry->drop();  // the leak of an entry
    entry->drop();
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  std::printf("%d\n", tiles(std::strcmp(what, "tile") == 0));
  devices(std::strcmp(what, "device") == 0);
  entries(std::strcmp(what, "entry") == 0);
  checkpoint();
  return 0;
}
