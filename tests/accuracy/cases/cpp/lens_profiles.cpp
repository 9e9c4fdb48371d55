/*
 * summary: the lookup by lens takes a plain reference on profiles that have none any more and wait for the render thread to free them
 * kind: late-get
 * counts: none
 * objects: 2
 * track: own
 * build: g++ -O3 -g
 * libs: -pthread
 */
// Lens corrections of a raw converter: profiles hold textures, which only the render thread may free. The
// last Release() on any thread thus puts the profile on a list, and the render thread collects it.
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace raw {

class ProfileStore;

class LensProfile {
public:
    LensProfile(ProfileStore &store, std::string lens, double k1)
        : refs_(1), listed_(false), store_(store), lens_(std::move(lens)), k1_(k1), texture_(64)
    {
        for (size_t i = 0; i < texture_.size(); i++)
            texture_[i] = float(1 + k1 * double(i * i) / 4096);
    }

    void AddRef() { refs_.fetch_add(1, std::memory_order_relaxed); }
    bool TryAddRef()
    {
        uint32_t n = refs_.load(std::memory_order_relaxed);
        while (n != 0)
            if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_acquire))
                return true;
        return false;
    }
    void Release();

    const std::string &Lens() const { return lens_; }
    float At(double radius) const { return texture_[size_t(radius * double(texture_.size() - 1))]; }
    bool SetListed() { return listed_.exchange(true); }

private:
    std::atomic<uint32_t> refs_;
    std::atomic<bool> listed_;
    ProfileStore &store_;
    std::string lens_;
    double k1_;
    std::vector<float> texture_;
};

template <class T> class IntrusivePtr {
public:
    struct Adopt {};

    IntrusivePtr() = default;
    IntrusivePtr(T *p, Adopt) : p_(p) {}
    explicit IntrusivePtr(T *p) : p_(p) { if (p_) p_->AddRef(); }
    IntrusivePtr(const IntrusivePtr &o) : IntrusivePtr(o.p_) {}
    IntrusivePtr(IntrusivePtr &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~IntrusivePtr() { if (p_) p_->Release(); }
    IntrusivePtr &operator=(IntrusivePtr o) noexcept { std::swap(p_, o.p_); return *this; }
    T *operator->() const { return p_; }
    T *get() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

using ProfilePtr = IntrusivePtr<LensProfile>;

class ProfileStore {
public:
    ProfilePtr Lookup(const std::string &lens)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        auto it = profiles_.find(lens);

        if (it != profiles_.end()) {
#ifdef BUG
            return ProfilePtr(it->second); // GUILTY
#else
            if (it->second->TryAddRef())
                return ProfilePtr(it->second, ProfilePtr::Adopt());
#endif
        }
        auto known = coefficients_.find(lens);
        if (known == coefficients_.end())
            return ProfilePtr();
        LensProfile *p = new LensProfile(*this, lens, known->second);
        profiles_[lens] = p;
        loads_++;
        return ProfilePtr(p, ProfilePtr::Adopt());
    }

    void Calibrate(const std::string &lens, double k1) { coefficients_[lens] = k1; }

    void Retire(LensProfile *p)
    {
        std::lock_guard<std::mutex> guard(retired_mutex_);
        if (!p->SetListed())
            retired_.push_back(p);
    }

    // Render thread only.
    unsigned Collect()
    {
        std::vector<LensProfile *> list;
        {
            std::lock_guard<std::mutex> guard(retired_mutex_);
            list.swap(retired_);
        }
        std::lock_guard<std::mutex> guard(mutex_);
        for (LensProfile *p : list) {
            auto it = profiles_.find(p->Lens());
            if (it != profiles_.end() && it->second == p) // ACCEPTED
                profiles_.erase(it);
            delete p;
        }
        return unsigned(list.size());
    }

    unsigned Loads() const { return loads_; }
    size_t Known() const { return profiles_.size(); }

private:
    std::mutex mutex_, retired_mutex_;
    std::map<std::string, LensProfile *> profiles_;
    std::map<std::string, double> coefficients_;
    std::vector<LensProfile *> retired_;
    unsigned loads_ = 0;
};

void LensProfile::Release()
{
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        store_.Retire(this);
}

class RenderThread {
public:
    RenderThread() : thread_([this] { Run(); }) {}
    ~RenderThread()
    {
        Post(nullptr);
        thread_.join();
    }
    void Post(std::function<void()> job)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        jobs_.push(std::move(job));
        wake_.notify_one();
    }
    void Flush()
    {
        std::mutex m;
        std::condition_variable done;
        bool finished = false;

        Post([&] {
            std::lock_guard<std::mutex> guard(m);
            finished = true;
            done.notify_one();
        });
        std::unique_lock<std::mutex> lock(m);
        done.wait(lock, [&] { return finished; });
    }

private:
    void Run()
    {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [this] { return !jobs_.empty(); });
            std::function<void()> job = std::move(jobs_.front());
            jobs_.pop();
            lock.unlock();
            if (!job)
                return;
            job();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::queue<std::function<void()>> jobs_;
    std::thread thread_;
};

struct Photo {
    std::string name, lens;
    ProfilePtr profile;
    double brightness = 0;
};

class Darkroom {
public:
    explicit Darkroom(ProfileStore &store) : store_(store) {}

    bool Open(const char *name, const char *lens)
    {
        auto photo = std::make_unique<Photo>();
        photo->name = name;
        photo->lens = lens;
        photo->profile = store_.Lookup(lens);
        if (!photo->profile)
            return false;
        photos_.push_back(std::move(photo));
        return true;
    }
    void Render()
    {
        for (auto &photo : photos_)
            render_.Post([p = photo.get()] {
                for (double r = 0; r <= 1; r += 0.125)
                    p->brightness += p->profile->At(r);
            });
        render_.Flush();
    }
    double Close(const std::string &name)
    {
        for (auto it = photos_.begin(); it != photos_.end(); ++it)
            if ((*it)->name == name) {
                double b = (*it)->brightness;
                photos_.erase(it);
                return b;
            }
        return -1;
    }
    void Idle()
    {
        render_.Post([this] { collected_ += store_.Collect(); });
        render_.Flush();
    }
    unsigned Collected() const { return collected_; }

private:
    ProfileStore &store_;
    std::vector<std::unique_ptr<Photo>> photos_;
    RenderThread render_;
    unsigned collected_ = 0;
};

} // namespace raw

int main()
{
    raw::ProfileStore store;
    raw::Darkroom room(store);
    double sum = 0;
    bool ok = true;

    store.Calibrate("35/1.4", 0.11);
    store.Calibrate("50/1.8", 0.04);
    store.Calibrate("85/1.8", -0.02);
    store.Calibrate("14/2.8", 0.31);
    ok &= room.Open("harbour", "35/1.4") && room.Open("market", "35/1.4") && room.Open("portrait", "85/1.8");
    ok &= room.Open("church", "14/2.8") && !room.Open("scan", "unknown");
    room.Render();
    sum += room.Close("portrait") + room.Close("harbour");
    ok &= room.Open("portrait 2", "85/1.8") && room.Open("ferry", "35/1.4"); // one after the other, as in a slide show
    room.Render();
    sum += room.Close("portrait 2") + room.Close("church");
    room.Idle();
    ok &= room.Open("cellar", "14/2.8") && room.Open("still life", "50/1.8");
    room.Render();
    sum += room.Close("cellar");
    ok &= room.Open("vault", "14/2.8");
    sum += room.Close("vault");
    for (const char *name : { "market", "ferry", "still life" })
        sum += room.Close(name);
    room.Idle();
    std::printf("%.3f, %u collected, %zu known\n", sum, room.Collected(), store.Known());
    return ok && store.Known() == 0 && std::isfinite(sum) ? 0 : 1;
}
