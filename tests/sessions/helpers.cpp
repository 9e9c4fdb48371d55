// References that are taken and given back for others: by overrides that leave the counting to their base, by
// the program's own smart pointer, by functions that clear a variable, through the standard library's
// containers.
//   helpers right|override|pointer|cleanup
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace parts {

class Part {
 public:
  virtual ~Part() = default;
  virtual int AddRef() { return ++refs_; }
  virtual int Release() {
    const int left = --refs_;
    if (left == 0) delete this;
    return left;
  }
  int level = 0;

 private:
  int refs_ = 1;
};

class Gain : public Part {
 public:
  __attribute__((noinline)) int AddRef() override { return Part::AddRef(); }
  __attribute__((noinline)) int Release() override { return Part::Release(); }
};

template <class T>
class Ref {
 public:
  Ref() = default;
  __attribute__((noinline)) Ref(const Ref& other) : held_(other.held_) {
    if (held_ != nullptr) held_->AddRef();
  }
  Ref(Ref&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  __attribute__((noinline)) ~Ref() { Reset(); }
  Ref& operator=(Ref other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  __attribute__((noinline)) void Reset() {
    if (T* old = std::exchange(held_, nullptr)) old->Release();
  }
  void Adopt(T* part) { held_ = part; }
  T* Detach() { return std::exchange(held_, nullptr); }
  T* operator->() const { return held_; }

 private:
  T* held_ = nullptr;
};

}  // namespace parts

using parts::Gain;
using parts::Part;
using parts::Ref;

static std::vector<Ref<Part>> chain;
static int wrong;  // 1: override, 2: pointer, 3: cleanup
static volatile int sum;

__attribute__((noinline)) static void append(int level) {
  Ref<Part> part;
  part.Adopt(new Gain);
  part->level = level;
  chain.push_back(part);
}

// Hands a reference out.
__attribute__((noinline)) static void find(int at, Part** found) {
  *found = chain[at].operator->();
  (*found)->AddRef();
}

__attribute__((noinline)) static bool fade(int at) {
  Part* part = nullptr;
  find(at, &part);
  if (part->level > 6) {
    sum = sum + 1;
    if (wrong == 1) return false;  // lost: override
    part->Release();
    return false;
  }
  sum = sum + part->level;
  part->Release();
  return true;
}

__attribute__((noinline)) static bool send(Ref<Part> part) {
  if (part->level > 6) {
    sum = sum + 3;
    if (wrong == 2) {
      sum = sum + part.Detach()->level;  // lost: pointer
      return false;
    }
    return false;
  }
  sum = sum + part->level;
  return true;
}

static void clear(Part** part) {
  if (*part != nullptr) (*part)->Release();
  *part = nullptr;
}

__attribute__((noinline)) static bool measure(int at) {
  Part* part = nullptr;
  find(at, &part);
  if (part->level > 6) {
    sum = sum + 4;
    if (wrong == 3) return false;  // lost: cleanup
    clear(&part);
    return false;
  }
  sum = sum + part->level;
  clear(&part);
  return true;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "right";
  wrong = strcmp(how, "override") == 0  ? 1
          : strcmp(how, "pointer") == 0 ? 2
          : strcmp(how, "cleanup") == 0 ? 3
                                        : 0;
  for (int i = 0; i < 10; ++i) append(i);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 10; ++i) {
      fade(i);
      send(chain[i]);
      measure(i);
    }
  }
  chain.clear();
  chain.shrink_to_fit();
  return 0;
}
