// AddRef and Release are virtual, and are called through the object's second base: the caller's pointer is
// not the object's. At -O0 a thunk moves it and goes on in the function; at -O2 the thunk has a copy of the
// body.
#include <atomic>
#include <cstdio>

#define APART __attribute__((noinline))

static int gets, puts_made;

struct Unknown {
  virtual unsigned AddRef() = 0;
  virtual unsigned Release() = 0;
  virtual ~Unknown() = default;
};

struct Stream : Unknown {
  virtual int read() = 0;
  virtual Stream *query(int which) = 0;
};

struct Named {
  virtual const char *name() { return "socket"; }
  virtual ~Named() = default;
  long letters = 6;
};

class Socket final : public Named, public Stream {
 public:
  unsigned AddRef() override { return ++m_refs; }
  unsigned Release() override {
    const unsigned left = --m_refs;
    if (left == 0) delete this;
    return left;
  }
  int read() override { return static_cast<int>(m_refs); }
  // Inlined here, and in the thunk's copy of this.
  Stream *query(int which) override {
    if (which < 0) return nullptr;
    AddRef();
    return this;
  }

 private:
  std::atomic<unsigned> m_refs{1};
};

Stream *subject;

APART void checkpoint() { __asm__ volatile(""); }
APART Socket *open_socket() { return new Socket; }

APART void take(Stream *stream) {
  ++gets;
  stream->AddRef();
}

APART Stream *ask(Stream *stream, int which) {
  Stream *answer = stream->query(which);
  if (answer != nullptr) ++gets;
  return answer;
}

APART void give(Stream *stream) {
  ++puts_made;
  stream->Release();
}

APART void take_directly(Named *named) {
  ++gets;
  static_cast<Socket *>(named)->AddRef();
}

int main() {
  Socket *socket = open_socket();
  subject = socket;
  take(subject);
  take_directly(socket);
  take(subject);
  if (ask(subject, -1) == nullptr && ask(subject, 1) != nullptr) give(subject);
  give(subject);
  std::printf("gets %d\nputs %d\n", gets, puts_made);
  std::fflush(stdout);
  checkpoint();
  give(subject);
  give(subject);
  give(subject);
  return 3;
}
