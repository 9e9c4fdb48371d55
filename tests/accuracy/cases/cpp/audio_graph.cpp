/* summary: Graph::Fade leaves at a muted part without releasing the volume interface that QueryInterface gave to it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>
namespace audio {

enum Result { kOk, kFalse, kNoInterface, kBadKind };
enum Iid { kIidPart, kIidVolume };
struct IBase {
  virtual Result QueryInterface(Iid iid, void **out) = 0;
  virtual unsigned long AddRef() = 0;
  virtual unsigned long Release() = 0;
};
struct IPart : IBase {
  virtual int Render(int in) = 0;
};
struct IVolume : IBase {
  virtual bool Muted() const = 0;
  virtual void Set(int percent) = 0;
  virtual int Get() const = 0;
};

// The counter that all parts share. A part is born with the reference of its creator.
class PartBase : public IPart {
public:
  static int live;
  unsigned long AddRef() override { return ++refs_; }
  unsigned long Release() override {
    if (--refs_)
      return refs_;
    delete this;
    return 0;
  }
  Result QueryInterface(Iid iid, void **out) override {
    if (iid != kIidPart)
      return kNoInterface;
    AddRef();
    *out = static_cast<IPart *>(this);
    return kOk;
  }

protected:
  PartBase() { live++; }
  virtual ~PartBase() { live--; }
private:
  unsigned long refs_ = 1;
};
int PartBase::live;

class Tone final : public PartBase {
public:
  int Render(int in) override { return in + 3; }
};

class Gain final : public PartBase, public IVolume {
public:
  explicit Gain(bool muted) : muted_(muted) {}
  unsigned long AddRef() override { return PartBase::AddRef(); }
  unsigned long Release() override { return PartBase::Release(); }
  Result QueryInterface(Iid iid, void **out) override {
    if (iid != kIidVolume)
      return PartBase::QueryInterface(iid, out);
    AddRef();
    *out = static_cast<IVolume *>(this);
    return kOk;
  }
  int Render(int in) override { return muted_ ? 0 : in * percent_ / 100; }
  bool Muted() const override { return muted_; }
  void Set(int percent) override { percent_ = percent; }
  int Get() const override { return percent_; }
private:
  bool muted_;
  int percent_ = 100;
};

// *out gets the creator's reference.
Result CreatePart(const char *kind, IPart **out) {
  *out = nullptr;
  if (!strncmp(kind, "tone", 4))
    *out = new Tone();
  else if (!strncmp(kind, "gain", 4))
    *out = new Gain(strchr(kind, 'm') != nullptr);
  return *out ? kOk : kBadKind;
}

template <class T> class Ref {
public:
  Ref() = default;
  Ref(const Ref &o) : p_(o.p_) {
    if (p_)
      p_->AddRef();
  }
  Ref(Ref &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~Ref() { Reset(); }
  Ref &operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  void Reset() {
    if (T *old = std::exchange(p_, nullptr))
      old->Release();
  }
  void Attach(T *p) {
    Reset();
    p_ = p;
  }
  T *Detach() { return std::exchange(p_, nullptr); }
  T **Put() {
    Reset();
    return &p_;
  }
  T *Get() const { return p_; }
  T *operator->() const { return p_; }
  explicit operator bool() const { return p_ != nullptr; }

  template <class U> Ref<U> As(Iid iid) const {
    Ref<U> r;
    void *raw = nullptr;
    if (p_->QueryInterface(iid, &raw) == kOk)
      r.Attach(static_cast<U *>(raw));
    return r;
  }
private:
  T *p_ = nullptr;
};

class Graph {
public:
  ~Graph() { Purge(0); }
  bool Append(const std::string &kind) {
    Ref<IPart> part;
    if (CreatePart(kind.c_str(), part.Put()) != kOk || by_name_.count(kind))
      return false;
    by_name_[kind] = part;
    chain_.emplace_back(kind, std::move(part));
    return true;
  }

  // The caller owns *out.
  Result Find(const std::string &name, IPart **out) {
    auto it = by_name_.find(name);
    *out = it == by_name_.end() ? nullptr : it->second.Get();
    if (!*out)
      return kFalse;
    (*out)->AddRef();
    return kOk;
  }

  // Lower one part step by step; parts without a volume or muted ones are left alone.
  Result Fade(const std::string &name, int to) {
    IPart *part = nullptr;
    if (Find(name, &part) != kOk)
      return kFalse;
    void *raw = nullptr;
    Result r = part->QueryInterface(kIidVolume, &raw); // ACCEPTED
    part->Release();
    if (r != kOk)
      return r;
    IVolume *vol = static_cast<IVolume *>(raw);
    if (vol->Muted()) { // ACCEPTED
#ifndef BUG
      vol->Release();
#endif
      return kFalse; // GUILTY
    }
    while (vol->Get() > to)
      vol->Set(vol->Get() - 10);
    vol->Release();
    return kOk;
  }

  int Loudest() const {
    int best = 0;
    for (const auto &link : chain_)
      if (Ref<IVolume> v = link.second.As<IVolume>(kIidVolume))
        best = v->Muted() || v->Get() < best ? best : v->Get();
    return best;
  }

  // The reference of the chain moves to the undo list.
  bool Remove(const std::string &name) {
    for (size_t i = 0; i < chain_.size(); i++) {
      if (name != chain_[i].first)
        continue;
      undo_.emplace_back(name, chain_[i].second.Detach());
      chain_.erase(chain_.begin() + i);
      by_name_.erase(name);
      return true;
    }
    return false;
  }

  void Undo() {
    Ref<IPart> part;
    part.Attach(undo_.back().second);
    by_name_[undo_.back().first] = part;
    chain_.emplace(chain_.begin(), undo_.back().first, std::move(part));
    undo_.pop_back();
  }

  void Purge(size_t keep) {
    for (; undo_.size() > keep; undo_.pop_front())
      undo_.front().second->Release();
  }

  int Render(int in) {
    for (const auto &link : chain_) {
      IPart *p = link.second.Get(); // borrowed: the chain keeps it
      in = p->Render(in) + 1;
    }
    return in;
  }
private:
  std::vector<std::pair<std::string, Ref<IPart>>> chain_;
  std::map<std::string, Ref<IPart>> by_name_;
  std::deque<std::pair<std::string, IPart *>> undo_;
};
} // namespace audio
int main() {
  int sum = 0, faded = 0;
  for (int song = 0; song < 3; song++) {
    audio::Graph g;
    for (int i = 0; i < 10; i++)
      g.Append((i % 2 ? "gain" : "tone") + std::to_string(i) + (i == 7 ? "m" : ""));
    faded += g.Append("tone4") + g.Append("reverb");
    for (const char *n : {"tone2", "gain3", "gain5", "gain7m", "gain9", "gain8"})
      faded += g.Fade(n, 50 + song * 10) == audio::kOk;
    for (const char *n : {"gain7m", "tone4", "gain3", "tone0"})
      g.Remove(n);
    g.Undo();
    g.Purge(2);
    faded += g.Fade("gain7m", 10) == audio::kOk;
    sum += g.Render(song) + g.Loudest();
  }
  printf("mix %d, %d fades\n", sum, faded);
#ifdef TRUTH
  printf("parts left: %d\n", audio::PartBase::live);
#endif
}
