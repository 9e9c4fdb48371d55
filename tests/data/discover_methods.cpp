// Reference counted C++ types: methods, a namespace, a virtual destructor, a template.
#include <atomic>

namespace media {

class Frame {
 public:
  virtual ~Frame();
  void AddRef();
  void Release();

 private:
  std::atomic<int> references_{1};
};

Frame::~Frame() = default;
void Frame::AddRef() { references_.fetch_add(1); }
void Frame::Release() {
  if (references_.fetch_sub(1) == 1) delete this;
}

template <class T>
class Shared {
 public:
  void ref() { ++count_; }
  void unref() {
    if (--count_ == 0) delete this;
  }

 private:
  T value_{};
  int count_ = 1;
};

template class Shared<long>;

/// Not an object's life: the depth of a lock.
class Guard {
 public:
  void acquire();
  void release();

 private:
  int depth_ = 0;
};

void Guard::acquire() { ++depth_; }
void Guard::release() { --depth_; }

}  // namespace media

int main() {
  auto* frame = new media::Frame;
  frame->Release();
  return 0;
}
