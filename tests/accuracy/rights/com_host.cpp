/* summary: COM interfaces by multiple inheritance, a smart pointer, static factories, a counter word that becomes a tagged pointer to a block for weak references, Attach and Detach through a queue, exceptions in constructors
 * track: auto
 * build: g++ -std=c++17 -O2 -g -o OUT com_host.cpp -pthread
 */
// com_host: a host for COM-like plug-ins.  Objects implement interfaces by
// multiple inheritance, are made by class factories, tell listeners about
// events, hand out weak references, and may be used from any thread.
#include <atomic>
#include <condition_variable>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>
namespace {

enum Result : int { Ok = 0, NoInterface = -1, Failed = -2 };
enum class Iid : std::uint32_t { Unknown = 1, Filter, EventSink, Factory, WeakSource, WeakRef };

struct IUnknown {
    static constexpr Iid iid = Iid::Unknown;
    virtual Result QueryInterface(Iid wanted, void **out) = 0;
    virtual unsigned AddRef() = 0;
    virtual unsigned Release() = 0;
protected:
    ~IUnknown() = default; // never deleted through an interface
};
struct IWeakRef : IUnknown {
    static constexpr Iid iid = Iid::WeakRef;
    virtual Result Resolve(Iid wanted, void **out) = 0;
};
struct IWeakSource : IUnknown {
    static constexpr Iid iid = Iid::WeakSource;
    virtual Result GetWeakRef(IWeakRef **out) = 0;
};
struct IEventSink : IUnknown {
    static constexpr Iid iid = Iid::EventSink;
    virtual void OnEvent(struct IFilter *sender, int code) = 0;
};
struct IFilter : IUnknown {
    static constexpr Iid iid = Iid::Filter;
    virtual Result Process(const std::string &in, std::string &out) = 0;
    virtual Result SetNext(IFilter *next) = 0;
    virtual Result Advise(IEventSink *sink) = 0; // null takes it off
};
struct IFactory : IUnknown {
    static constexpr Iid iid = Iid::Factory;
    virtual Result CreateInstance(Iid wanted, void **out) = 0;
};

template <class T> class ComPtr {
public:
    ComPtr() = default;
    explicit ComPtr(T *p) : p_(p) { if (p_) p_->AddRef(); }
    ComPtr(const ComPtr &o) : ComPtr(o.p_) {}
    ComPtr(ComPtr &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~ComPtr() { Reset(); }
    ComPtr &operator=(ComPtr o) noexcept { std::swap(p_, o.p_); return *this; }

    static ComPtr Attach(T *p) { ComPtr c; c.p_ = p; return c; }
    T *Detach() { return std::exchange(p_, nullptr); }
    void Reset() { if (T *old = std::exchange(p_, nullptr)) old->Release(); }
    T **Out() { Reset(); return &p_; }
    void **OutVoid() { return reinterpret_cast<void **>(Out()); }
    T *Get() const { return p_; }
    T *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }
    template <class U> ComPtr<U> As() const {
        ComPtr<U> other;
        if (p_)
            p_->QueryInterface(U::iid, other.OutVoid());
        return other;
    }
private:
    T *p_ = nullptr;
};

std::atomic<int> module_locks{ 0 };
// The object's count lives in the control block once a weak reference exists;
// the control block is the weak reference itself and is counted in turn.
class WeakRef final : public IWeakRef {
public:
    explicit WeakRef(IUnknown *object, unsigned strong) : strong_(strong), object_(object) {}

    unsigned AddStrong() { return ++strong_; }
    unsigned ReleaseStrong() { return --strong_; }

    Result Resolve(Iid wanted, void **out) override {
        unsigned n = strong_.load();
        *out = nullptr;
        while (n != 0 && !strong_.compare_exchange_weak(n, n + 1))
            ;
        if (n == 0)
            return Failed;
        Result result = object_->QueryInterface(wanted, out);
        object_->Release();
        return result;
    }
    Result QueryInterface(Iid wanted, void **out) override {
        *out = wanted == Iid::Unknown || wanted == Iid::WeakRef ? this : nullptr;
        return *out ? (AddRef(), Ok) : NoInterface;
    }
    unsigned AddRef() override { return ++refs_; }
    unsigned Release() override {
        unsigned left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }
private:
    ~WeakRef() = default;
    std::atomic<unsigned> refs_{ 1 }, strong_;
    IUnknown *object_;
};

// CRTP base: counting, QueryInterface, weak references.
template <class Self, class First> class Object : public First, public IWeakSource {
public:
    template <class... Args> static ComPtr<Self> Create(Args &&...args) {
        return ComPtr<Self>::Attach(new Self(std::forward<Args>(args)...));
    }

    Result QueryInterface(Iid wanted, void **out) override {
        *out = nullptr;
        if (wanted == Iid::Unknown || wanted == First::iid)
            *out = static_cast<First *>(this);
        else if (wanted == Iid::WeakSource)
            *out = static_cast<IWeakSource *>(this);
        return *out ? (AddRef(), Ok) : NoInterface;
    }

    // The word is a count (bit 0 set) or points to the control block.
    unsigned AddRef() override {
        std::uintptr_t word = word_.load();
        while (word & 1)
            if (word_.compare_exchange_weak(word, word + 2))
                return static_cast<unsigned>(word / 2 + 1);
        return reinterpret_cast<WeakRef *>(word)->AddStrong();
    }
    unsigned Release() override {
        std::uintptr_t word = word_.load();
        while ((word & 1) && !word_.compare_exchange_weak(word, word - 2))
            ;
        unsigned left = word & 1 ? static_cast<unsigned>(word / 2 - 1) : reinterpret_cast<WeakRef *>(word)->ReleaseStrong();
        if (left == 0)
            delete static_cast<Self *>(this);
        return left;
    }

    Result GetWeakRef(IWeakRef **out) override {
        std::uintptr_t word = word_.load();
        while (word & 1) {
            auto *fresh = new WeakRef(static_cast<First *>(this), static_cast<unsigned>(word / 2));
            if (word_.compare_exchange_strong(word, reinterpret_cast<std::uintptr_t>(fresh)))
                word = reinterpret_cast<std::uintptr_t>(fresh);
            else
                fresh->Release();
        }
        *out = reinterpret_cast<WeakRef *>(word);
        (*out)->AddRef();
        return Ok;
    }
protected:
    Object() { module_locks++; }
    ~Object() {
        if (!(word_.load() & 1))
            reinterpret_cast<WeakRef *>(word_.load())->Release();
        module_locks--;
    }
private:
    std::atomic<std::uintptr_t> word_{ 1 * 2 + 1 };
};

struct PluginError : std::runtime_error { using std::runtime_error::runtime_error; };
using Work = std::function<std::string(const std::string &)>;

class TextFilter final : public Object<TextFilter, IFilter> {
public:
    explicit TextFilter(Work work) : work_(std::move(work)) {
        if (!work_)
            throw PluginError("nothing to do"); // no reference was ever out
    }

    Result Process(const std::string &in, std::string &out) override
    try {
        std::string mine = work_(in);
        Fire(static_cast<int>(mine.size()));
        std::unique_lock<std::mutex> guard(lock_);
        ComPtr<IFilter> next = next_;
        guard.unlock();
        if (next)
            return next->Process(mine, out);
        out = std::move(mine);
        return Ok;
    } catch (const PluginError &) {
        Fire(-1);
        return Failed; // exceptions do not cross the interface
    }
    Result SetNext(IFilter *next) override {
        ComPtr<IFilter> keep(next);
        std::lock_guard<std::mutex> guard(lock_);
        std::swap(next_, keep);
        return Ok;
    }
    Result Advise(IEventSink *sink) override {
        ComPtr<IEventSink> keep(sink); // the old one is released after the lock
        std::lock_guard<std::mutex> guard(lock_);
        std::swap(sink_, keep);
        return Ok;
    }
private:
    void Fire(int code) {
        std::unique_lock<std::mutex> guard(lock_);
        ComPtr<IEventSink> sink = sink_;
        guard.unlock();
        if (sink)
            sink->OnEvent(this, code);
    }

    std::mutex lock_;
    Work work_;
    ComPtr<IFilter> next_;
    ComPtr<IEventSink> sink_;
};

// A factory lives in static storage, and its count only keeps the module.
class FilterFactory final : public IFactory {
public:
    explicit FilterFactory(const char *name) : name_(name) {}
    unsigned AddRef() override { return static_cast<unsigned>(++module_locks); }
    unsigned Release() override { return static_cast<unsigned>(--module_locks); }
    Result QueryInterface(Iid wanted, void **out) override {
        *out = wanted == Iid::Unknown || wanted == Iid::Factory ? this : nullptr;
        return *out ? (AddRef(), Ok) : NoInterface;
    }
    Result CreateInstance(Iid wanted, void **out) override
    try {
        Work work;
        std::string name = name_;
        if (name == "upper")
            work = [](std::string s) { for (char &c : s) c = static_cast<char>(std::toupper(c)); return s; };
        else if (name == "reverse")
            work = [](const std::string &s) { return std::string(s.rbegin(), s.rend()); };
        else if (name == "strict")
            work = [](const std::string &s) { return s.size() > 6 ? throw PluginError("too long") : s; };
        return TextFilter::Create(work)->QueryInterface(wanted, out);
    } catch (const PluginError &) {
        *out = nullptr;
        return Failed;
    }

    std::string name() const { return name_; }
private:
    const char *name_;
};

FilterFactory factories[] = { FilterFactory("upper"), FilterFactory("reverse"), FilterFactory("strict"),
                              FilterFactory("broken") };

// Filters own the monitor, so it only has a weak reference to the one it watches.
class Monitor final : public Object<Monitor, IEventSink> {
public:
    explicit Monitor(const ComPtr<IFilter> &watched) { watched.As<IWeakSource>()->GetWeakRef(watched_.Out()); }
    void OnEvent(IFilter *, int code) override {
        ComPtr<IFilter> watched;
        if (watched_->Resolve(IFilter::iid, watched.OutVoid()) == Ok)
            (code < 0 ? failures : events)++;
    }
    bool Orphaned() const { return watched_->Resolve(Iid::Unknown, ComPtr<IUnknown>().OutVoid()) != Ok; }
    std::atomic<int> events{ 0 }, failures{ 0 };
private:
    ComPtr<IWeakRef> watched_;
};

std::atomic<std::size_t> produced{ 0 };
// Interfaces are queued as plain pointers that carry their reference along.
class Worker {
public:
    Worker() : thread_([this] { Run(); }) {}
    ~Worker() { Post({}, ""), thread_.join(); }
    void Post(ComPtr<IFilter> filter, std::string text) {
        std::lock_guard<std::mutex> guard(lock_);
        queue_.emplace_back(filter.Detach(), std::move(text));
        wake_.notify_one();
    }
private:
    void Run() {
        for (;;) {
            std::unique_lock<std::mutex> guard(lock_);
            wake_.wait(guard, [this] { return !queue_.empty(); });
            auto [raw, text] = std::move(queue_.front());
            queue_.pop_front();
            guard.unlock();
            auto filter = ComPtr<IFilter>::Attach(raw);
            if (!filter)
                return;
            std::string out;
            if (filter->Process(text, out) == Ok)
                produced += out.size();
        }
    }

    std::mutex lock_;
    std::condition_variable wake_;
    std::deque<std::pair<IFilter *, std::string>> queue_;
    std::thread thread_;
};

ComPtr<IFilter> make_filter(const char *name) {
    ComPtr<IFilter> filter;
    for (FilterFactory &candidate : factories) {
        ComPtr<IFactory> factory(&candidate);
        if (candidate.name() == name)
            factory->CreateInstance(IFilter::iid, filter.OutVoid());
    }
    return filter;
}

} // namespace

int main() {
    std::vector<ComPtr<Monitor>> monitors;
    {
        Worker one, two;
        for (int i = 0; i < 30; i++) {
            ComPtr<IFilter> head = make_filter("strict"), tail = make_filter(i % 2 ? "upper" : "reverse");
            auto monitor = Monitor::Create(head);
            head->SetNext(tail.Get());
            head->Advise(monitor.Get());
            tail->Advise(monitor.Get());
            one.Post(head, "text" + std::to_string(i * i));
            two.Post(tail, "other");
            two.Post(std::move(head), "again");
            monitors.push_back(std::move(monitor));
        }
        std::printf("broken filter: %s\n", make_filter("broken") ? "made" : "refused");
    }
    int events = 0, failures = 0, orphaned = 0;
    for (auto &monitor : monitors) {
        events += monitor->events;
        failures += monitor->failures;
        orphaned += monitor->Orphaned();
    }
    monitors.clear();
    std::printf("events %d, failures %d, orphaned %d, produced %zu, module locks %d\n", events, failures, orphaned,
                produced.load(), module_locks.load());
    return module_locks == 0 ? 0 : 1;
}
