/* summary: COM: interfaces with different addresses by multiple inheritance (thunks), aggregated inner object delegating AddRef/Release to the outer, non-delegating inner count, tear-offs that pin their owner, births at 0, destructor that sets the count to 1000 and releases against it, cached interface whose reference is given back at once, static factory with constant counts
 * track: own
 * build: clang++ -std=c++17 -O2 -g com_aggregate.cpp -o OUT -pthread
 */
// COM rules: QueryInterface gives counted pointers that differ in address (the
// thunks of multiple inheritance), an aggregated inner object whose public
// AddRef/Release only delegate to the outer one, a non-delegating inner unknown
// with its own count, tear-offs with their own counter that pin the owner, the
// artificial reference around destruction (count goes 0 -> big -> and back),
// static class factories whose AddRef/Release give constants, weak sinks.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <atomic>
#include <thread>
#include <vector>

struct IUnk {
    virtual int Query(int iid, void** out) = 0;
    virtual unsigned AddRef() = 0;
    virtual unsigned Release() = 0;
protected:
    ~IUnk() = default;
};
enum { IID_UNK, IID_A, IID_B, IID_INNER, IID_TEAR, IID_FACTORY };
struct IA : IUnk { virtual int a() = 0; };
struct IB : IUnk { virtual int b() = 0; };
struct IInner : IUnk { virtual int inner() = 0; };
struct ITear : IUnk { virtual int tear() = 0; };

static std::atomic<int> live{0}, tears{0}, inners{0};

// ---- the inner object: IInner delegates, the member `nd` does not ----
class Inner final : public IInner {
    struct NonDelegating final : IUnk {
        Inner* me;
        int Query(int iid, void** out) override {
            if (iid == IID_UNK) { *out = static_cast<IUnk*>(this); AddRef(); return 0; }
            if (iid == IID_INNER) { *out = static_cast<IInner*>(me); me->AddRef(); return 0; }
            *out = nullptr;
            return -1;
        }
        unsigned AddRef() override { return ++me->m_ref; }
        unsigned Release() override {
            unsigned n = --me->m_ref;
            if (!n) delete me;
            return n;
        }
    } nd;
    std::atomic<unsigned> m_ref{1};
    IUnk* outer;                // not counted: a reference would be a cycle
    ~Inner() { --inners; }
public:
    Inner(IUnk* o) { nd.me = this; outer = o ? o : &nd; ++inners; }
    static IUnk* create(IUnk* o) { return &(new Inner(o))->nd; }
    int Query(int iid, void** out) override { return outer->Query(iid, out); }
    unsigned AddRef() override { return outer->AddRef(); }
    unsigned Release() override { return outer->Release(); }
    int inner() override { return 7; }
};

class Outer;
// ---- tear-off: made at each query, own counter, pins the owner ----
class Tear final : public ITear {
    std::atomic<unsigned> m_ref{0};     // 0: the Query adds the first
    IUnk* owner;
    ~Tear() { --tears; owner->Release(); }
public:
    explicit Tear(IUnk* o) : owner(o) { o->AddRef(); ++tears; }
    int Query(int iid, void** out) override {
        if (iid == IID_TEAR) { *out = static_cast<ITear*>(this); AddRef(); return 0; }
        return owner->Query(iid, out);
    }
    unsigned AddRef() override { return ++m_ref; }
    unsigned Release() override { unsigned n = --m_ref; if (!n) delete this; return n; }
    int tear() override { return 11; }
};

class Outer final : public IA, public IB {
    int pad[3] = {1, 2, 3};
    std::atomic<unsigned> m_ref{0};
    IUnk* innerUnk = nullptr;
    IInner* cachedInner = nullptr;      // counted on us: given back at once
    ~Outer() {
        // The rule for aggregates: guard against a second destruction, add
        // the reference that was given back before the cached one is released.
        m_ref = 1000;
        if (cachedInner) { AddRef(); cachedInner->Release(); }
        if (innerUnk) innerUnk->Release();
        --live;
    }
    Outer() { ++live; }
public:
    static int create(int iid, void** out) {
        Outer* o = new Outer;           // count 0
        o->AddRef();                    // guards the construction
        o->innerUnk = Inner::create(static_cast<IA*>(o));
        if (o->innerUnk->Query(IID_INNER, reinterpret_cast<void**>(&o->cachedInner)) == 0)
            o->Release();               // the inner one counts on us: no cycle
        int r = o->Query(iid, out);
        o->Release();
        return r;
    }
    int Query(int iid, void** out) override {
        switch (iid) {
        case IID_UNK:
        case IID_A: *out = static_cast<IA*>(this); break;
        case IID_B: *out = static_cast<IB*>(this); break;
        case IID_INNER: return innerUnk->Query(iid, out);
        case IID_TEAR: { auto* t = new Tear(static_cast<IA*>(this)); t->AddRef(); *out = static_cast<ITear*>(t); return 0; }
        default: *out = nullptr; return -1;
        }
        AddRef();
        return 0;
    }
    unsigned AddRef() override { return ++m_ref; }
    unsigned Release() override {
        unsigned n = --m_ref;
        if (n == 0) delete this;
        return n;
    }
    int a() override { return pad[0]; }
    int b() override { return pad[1]; }
};

// ---- static factory: counts are constants ----
struct Factory final : IUnk {
    int Query(int iid, void** out) override { *out = iid == IID_FACTORY ? this : nullptr; return *out ? 0 : -1; }
    unsigned AddRef() override { return 2; }
    unsigned Release() override { return 1; }
    int make(int iid, void** out) { return Outer::create(iid, out); }
};
static Factory factory;

template <class T> struct Com {         // owning; attach() takes over
    T* p = nullptr;
    ~Com() { if (p) p->Release(); }
    Com() = default;
    Com(const Com& o) : p(o.p) { if (p) p->AddRef(); }
    Com(Com&& o) noexcept : p(o.p) { o.p = nullptr; }
    Com& operator=(Com o) noexcept { std::swap(p, o.p); return *this; }
    T* operator->() const { return p; }
    void** put() { return reinterpret_cast<void**>(&p); }
    T* detach() { T* x = p; p = nullptr; return x; }
    template <class U> Com<U> as(int iid) const { Com<U> u; p->Query(iid, u.put()); return u; }
};

static long walk(Com<IA> a, int depth) {
    long sum = a->a();
    auto b = a.as<IB>(IID_B);
    sum += b->b();
    auto in = b.as<IInner>(IID_INNER);
    sum += in->inner();
    auto t = in.as<ITear>(IID_TEAR);
    sum += t->tear();
    auto again = t.as<IA>(IID_A);       // identity: the same unknown
    if (again.p != a.p) return -1000000;
    if (depth) sum += walk(std::move(again), depth - 1);
    return sum;
}

int main() {
    std::atomic<long> sum{0};
    std::vector<std::thread> th;
    Com<IA> shared;
    Factory* f = nullptr;
    factory.Query(IID_FACTORY, reinterpret_cast<void**>(&f));
    f->make(IID_A, shared.put());
    for (int t = 0; t < 2; t++)
        th.emplace_back([&sum, shared] {
            for (int i = 0; i < 120; i++) {
                Com<IInner> only;       // the outer one lives by its inner only
                factory.make(IID_INNER, only.put());
                auto a = only.as<IA>(IID_A);
                only = Com<IInner>();
                sum += walk(a, 1);
                sum += walk(shared, 0);
                auto tear = a.as<ITear>(IID_TEAR);
                a = Com<IA>();
                ITear* raw = tear.detach();             // lives by the tear-off only
                raw->AddRef();
                raw->Release();
                if (raw->Release() != 0) sum = -1;
            }
            Com<IUnk> alone;                            // not aggregated
            alone.p = Inner::create(nullptr);
            auto own = alone.as<IInner>(IID_INNER);
            sum += own->inner();
        });
    for (auto& x : th) x.join();
    f->Release();                       // means nothing
    shared = Com<IA>();
    std::printf("sum %ld live %d tears %d inners %d\n", sum.load(), live.load(), tears.load(), inners.load());
    return live || tears || inners || sum < 0;
}
