// A counted base that is a template, behind another base, and its gets and puts inlined where the object's
// pointer lies in the frame alone: nothing but a word of the stack, and 16 bytes more, says where it is.
#include <stdio.h>

extern "C" __attribute__((noinline)) void checkpoint(void) { asm volatile("" ::: "memory"); }

namespace base {

template <class T>
class RefCounted {
 public:
  void AddRef() const { ++count_; }
  void Release() const {
    if (--count_ == 0) delete static_cast<const T*>(this);
  }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;

 private:
  mutable int count_ = 0;
};

}  // namespace base

struct Named {
  virtual ~Named() = default;
  long number = 0;
};

class Upload : public Named, public base::RefCounted<Upload> {};
class Download : public Named, public base::RefCounted<Download> {};

static int gets, puts_, births;

// Every register that outlives a call is in use.
#define SPILL \
  asm volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "memory")

template <class T>
__attribute__((noinline)) static void pass(T* made, int times) {
  T* volatile seen = made;
  for (int i = 0; i < times; ++i) {
    SPILL;
    made->AddRef();
    ++gets;
    SPILL;
    asm volatile(".nops 16");
    seen = made;
    made->Release();
    ++puts_;
  }
  SPILL;
  (void)seen;
}

template <class T>
static T* make() {
  T* made = new T;
  ++births;
  made->AddRef();
  ++gets;
  return made;
}

int main() {
  Upload* upload = make<Upload>();
  Download* download = make<Download>();
  pass(upload, 5);
  pass(download, 7);
  printf("births %d\ngets %d\nputs %d\n", births, gets, puts_);
  fflush(stdout);
  checkpoint();
  upload->Release();
  download->Release();
  return 0;
}
