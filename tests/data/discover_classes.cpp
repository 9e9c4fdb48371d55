// What `refhist discover` sees of classes: constructors that set the counter, a class without a linkage name
// and with thunks.
#include <atomic>
#include <vector>

#define APART __attribute__((noinline, noclone))

class Counted {
 public:
  void ref() const { ++count_; }
  void unref() const {
    if (--count_ == 0) delete this;
  }
  virtual int value() const { return 0; }

 protected:
  Counted() : count_(0) {}
  virtual ~Counted() = default;

 private:
  mutable std::atomic<int> count_;
};

class Leaf final : public Counted {
 public:
  explicit Leaf(int value) : value_(value) {}
  int value() const override { return value_; }

 private:
  int value_;
};

struct Unknown {
  virtual unsigned AddRef() = 0;
  virtual unsigned Release() = 0;
};
struct Named {
  virtual const char *name() = 0;
};

namespace {

class Filter final : public Named, public Unknown {
 public:
  explicit Filter(int kind) : refs_(1), kind_(kind) {}
  unsigned AddRef() override { return refs_.fetch_add(1) + 1; }
  unsigned Release() override {
    const unsigned left = refs_.fetch_sub(1) - 1;
    if (left == 0) delete this;
    return left;
  }
  const char *name() override { return kind_ == 0 ? "none" : "some"; }
  APART static Filter *lend(int kind) {
    Filter *filter = new Filter(kind);
    filter->AddRef();
    filter->Release();
    return filter;
  }

 private:
  ~Filter() = default;
  std::atomic<unsigned> refs_;
  int kind_;
};

}  // namespace

APART Unknown *make_filter(int kind) { return Filter::lend(kind); }

APART int sum_of(const std::vector<const Counted *> &all) {
  int sum = 0;
  for (const Counted *one : all) {
    one->ref();
    sum += one->value();
    one->unref();
  }
  return sum;
}

int main() {
  std::vector<const Counted *> all;
  for (int i = 0; i < 4; i++) {
    all.push_back(new Leaf(i));
    all.back()->ref();
  }
  const int sum = sum_of(all);
  for (const Counted *one : all) one->unref();
  Unknown *filter = make_filter(sum);
  filter->AddRef();
  filter->Release();
  filter->Release();
  return 0;
}
