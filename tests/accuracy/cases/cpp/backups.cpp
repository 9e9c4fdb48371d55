/* summary: an upload in flight owns a reference to itself; Abort() gives it back, and OnFinished(), which still comes for an aborted one, gives it back once more
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: own
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// backups - uploads the files of a computer to a store.  An upload keeps itself
// alive from Start() to its end, so whoever starts one may forget it.

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace base {

template <class T>
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void AddRef() const { ++ref_count_; }

  void Release() const {
    if (--ref_count_ == 0)
      delete static_cast<const T*>(this);
  }

  bool HasOneRef() const { return ref_count_ == 1; }

 protected:
  ~RefCounted() = default;

 private:
  mutable int ref_count_ = 0;
};

template <class T>
class scoped_refptr {
 public:
  scoped_refptr() = default;
  scoped_refptr(T* p) : ptr_(p) {
    if (ptr_)
      ptr_->AddRef();
  }
  scoped_refptr(const scoped_refptr& r) : scoped_refptr(r.ptr_) {}
  scoped_refptr(scoped_refptr&& r) noexcept : ptr_(std::exchange(r.ptr_, nullptr)) {}
  ~scoped_refptr() {
    if (ptr_)
      ptr_->Release();
  }
  scoped_refptr& operator=(scoped_refptr r) noexcept {
    std::swap(ptr_, r.ptr_);
    return *this;
  }
  void reset() { scoped_refptr().swap(*this); }
  void swap(scoped_refptr& r) noexcept { std::swap(ptr_, r.ptr_); }
  T* get() const { return ptr_; }
  T* operator->() const { return ptr_; }
  explicit operator bool() const { return ptr_ != nullptr; }

 private:
  T* ptr_ = nullptr;
};

template <class T, class... Args>
scoped_refptr<T> MakeRefCounted(Args&&... args) {
  return scoped_refptr<T>(new T(std::forward<Args>(args)...));
}

class TaskRunner {
 public:
  void PostTask(std::function<void()> task) { tasks_.push_back(std::move(task)); }

  void RunSome(size_t most) {
    for (; most && !tasks_.empty(); --most) {
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }

  bool idle() const { return tasks_.empty(); }

 private:
  std::deque<std::function<void()>> tasks_;
};

}  // namespace base

namespace backup {

class Traceable {
 public:
  explicit Traceable(uint64_t id) : id_(id), tag_(id * 0x9e3779b97f4a7c15u) {}
  uint64_t id() const { return id_; }
  uint64_t tag() const { return tag_; }

 private:
  uint64_t id_;
  uint64_t tag_;
};

enum class State { kReady, kRunning, kDone, kFailed, kAborted };

class Upload : public Traceable, public base::RefCounted<Upload> {
 public:
  Upload(uint64_t id, std::string path, int chunks) : Traceable(id), path_(std::move(path)), chunks_(chunks) {}

  void Start(base::TaskRunner* runner) {
    state_ = State::kRunning;
    AddRef();  // Balanced in OnFinished() or Abort().
    PostChunk(runner);
  }

  void Abort() {
    if (state_ != State::kRunning)
      return;
    state_ = State::kAborted;
    Release();  // ACCEPTED
  }

  State state() const { return state_; }
  int sent() const { return sent_; }
  const std::string& path() const { return path_; }

 private:
  friend class base::RefCounted<Upload>;
  ~Upload() = default;

  void PostChunk(base::TaskRunner* runner) {
    base::scoped_refptr<Upload> self(this);
    runner->PostTask([self, runner] { self->SendChunk(runner); });
  }

  void SendChunk(base::TaskRunner* runner) {
    if (state_ == State::kRunning && sent_ < chunks_) {
      ++sent_;
      PostChunk(runner);
      return;
    }
    OnFinished(path_.size() % 11 != 0);
  }

  void OnFinished(bool good) {
#ifndef BUG
    if (state_ == State::kAborted)
      return;
#endif
    if (state_ == State::kRunning)
      state_ = good ? State::kDone : State::kFailed;
    Release();  // GUILTY
  }

  std::string path_;
  int chunks_;
  int sent_ = 0;
  State state_ = State::kReady;
};

using UploadRef = base::scoped_refptr<Upload>;

// What the user sees: the uploads by folder, and all of them by age.
class Overview {
 public:
  Overview() : folders_(4) {}

  void Add(const UploadRef& upload) {
    folders_[upload->id() % folders_.size()].push_back(upload);
    by_age_.push_back(upload);
  }

  void Abort(uint64_t id) {
    for (const UploadRef& each : folders_[id % folders_.size()])
      if (each->id() == id)
        each->Abort();
  }

  // Uploads that came to their end are only kept while they are among the
  // newest ones, the ones with trouble for as long as the user looks.
  void Trim(size_t newest) {
    std::vector<UploadRef> kept;
    for (size_t i = 0; i < by_age_.size(); ++i)
      if (i + newest >= by_age_.size() || by_age_[i]->state() != State::kDone)
        kept.push_back(std::move(by_age_[i]));
    by_age_.swap(kept);
    for (auto& folder : folders_)
      for (size_t i = folder.size(); i-- > 0;)
        if (folder[i]->HasOneRef() && folder[i]->state() == State::kDone)
          folder.erase(folder.begin() + i);
  }

  template <class Function>
  void ForEach(Function function) const {
    for (const auto& folder : folders_)
      for (const UploadRef& each : folder)
        function(*each.get());
  }

  size_t size() const { return by_age_.size(); }

 private:
  std::vector<std::vector<UploadRef>> folders_;
  std::vector<UploadRef> by_age_;
};

}  // namespace backup

int main() {
  base::TaskRunner runner;
  backup::Overview overview;
  unsigned seed = 99;

  for (unsigned id = 1; id <= 90; ++id) {
    seed = seed * 69069 + 5;
    std::string path = "/home/ute/photo" + std::to_string(seed >> 12) + ".raw";
    backup::UploadRef upload = base::MakeRefCounted<backup::Upload>(id, path, 1 + (seed >> 9) % 5);

    if (id % 9 == 0)  // Somebody looks for changes only and forgets the upload.
      upload->Start(&runner);
    else {
      overview.Add(upload);
      if (id % 10 != 0)
        upload->Start(&runner);
    }
    if (id == 31 || id == 47 || id == 83) {
      overview.Abort(id - 20);  // That one is done.
      overview.Abort(id);
    }
    runner.RunSome(4);
    if (id % 25 == 0)
      overview.Trim(10);
  }
  while (!runner.idle())
    runner.RunSome(16);
  overview.Trim(10);

  int states[5] = {0}, sent = 0;
  uint64_t tags = 0;
  overview.ForEach([&](const backup::Upload& upload) {
    ++states[static_cast<int>(upload.state())];
    sent += upload.sent();
    tags ^= upload.tag();
  });
  std::printf("%zu shown: %d ready, %d done, %d failed, %d aborted; %d chunks, %016llx\n", overview.size(), states[0],
              states[2], states[3], states[4], sent, static_cast<unsigned long long>(tags));
  return 0;
}
