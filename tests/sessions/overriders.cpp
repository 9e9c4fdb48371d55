// AddRef and Release are virtual, and every class has its own, as in COM and Mozilla. With PIPE, one of them
// keeps its count at another place. The program counts its calls itself.
#include <atomic>
#include <cstdio>
#include <vector>

#define APART __attribute__((noinline))

static int gets, puts_made;

struct Unknown {
  virtual unsigned AddRef() = 0;
  virtual unsigned Release() = 0;
  virtual ~Unknown() = default;
};

struct Counted : Unknown {
 protected:
  std::atomic<unsigned> m_refs{1};
};

class Socket final : public Counted {
 public:
  unsigned AddRef() override { return ++m_refs; }
  unsigned Release() override {
    const unsigned left = --m_refs;
    if (left == 0) delete this;
    return left;
  }
};

class File final : public Counted {
 public:
  unsigned AddRef() override { return m_refs.fetch_add(1) + 1; }
  unsigned Release() override {
    const unsigned left = m_refs.fetch_sub(1) - 1;
    if (left == 0) delete this;
    return left;
  }
  char name[24] = "";
};

#ifdef PIPE
class Pipe final : public Unknown {
 public:
  unsigned AddRef() override { return ++m_refs; }
  unsigned Release() override {
    const unsigned left = --m_refs;
    if (left == 0) delete this;
    return left;
  }

 private:
  char buffer[40] = "";
  std::atomic<unsigned> m_refs{1};
};
#endif

Unknown *socket_made, *file_made, *pipe_made;

APART void checkpoint() { __asm__ volatile(""); }
APART Socket *open_socket() { return new Socket; }
APART File *open_file() { return new File; }
#ifdef PIPE
APART Pipe *open_pipe() { return new Pipe; }
#endif

APART void take(Unknown *thing) {
  ++gets;
  thing->AddRef();
}

APART void give(Unknown *thing) {
  ++puts_made;
  thing->Release();
}

int main() {
  std::vector<Unknown *> all;
  all.push_back(socket_made = open_socket());
  all.push_back(file_made = open_file());
#ifdef PIPE
  all.push_back(pipe_made = open_pipe());
#endif
  for (Unknown *thing : all) {
    take(thing);
    take(thing);
    give(thing);
  }
  std::printf("gets %d\nputs %d\n", gets, puts_made);
  std::fflush(stdout);
  checkpoint();
  for (Unknown *thing : all) {
    give(thing);
    give(thing);
  }
  return 6;
}
