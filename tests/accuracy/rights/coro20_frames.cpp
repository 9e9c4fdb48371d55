/* summary: C++20 coroutines: references in heap-allocated coroutine frames (parameters, locals, promise), frames destroyed while suspended, exceptions with references through awaiting chains, adopt without add_ref, count in the upper bits (steps of 256, flags below), birth at 0
 * track: own
 * build: g++ -std=c++20 -O3 -g coro20_frames.cpp -o OUT
 */
// C++20 coroutines: references that live in heap allocated coroutine frames
// (parameters, locals over a suspension, the promise), an intrusive pointer
// that adopts without add_ref, objects born with count 0, a task that is
// destroyed while suspended (its frame's destructors make the puts), an
// exception that unwinds through an awaiting chain, a counter kept as an
// upper half of a 64-bit word with flags below, and symmetric transfer.
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <stdexcept>
#include <utility>
#include <vector>

static int live = 0;

struct Obj {
    uint64_t word = 0;                  // count << 8 | flags; born with 0
    int id;
    std::vector<int> body;
    explicit Obj(int i) : id(i), body(4, i) { ++live; }
    ~Obj() { --live; }
    void mark(unsigned f) { word |= f & 0xff; }
    void ref() { word += 1u << 8; }
    void unref() { if (((word -= 1u << 8) >> 8) == 0) delete this; }
};
struct adopt_t {};
struct Ref {
    Obj* p = nullptr;
    Ref() = default;
    explicit Ref(Obj* o) : p(o) { if (p) p->ref(); }
    Ref(Obj* o, adopt_t) : p(o) {}
    Ref(const Ref& o) : p(o.p) { if (p) p->ref(); }
    Ref(Ref&& o) noexcept : p(std::exchange(o.p, nullptr)) {}
    Ref& operator=(Ref o) noexcept { std::swap(p, o.p); return *this; }
    ~Ref() { if (p) p->unref(); }
    Obj* leak() { return std::exchange(p, nullptr); }
    Obj* operator->() const { return p; }
};

static std::deque<std::coroutine_handle<>> ready;
struct Yield {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const { ready.push_back(h); }
    void await_resume() const noexcept {}
};

struct Task {
    struct promise_type {
        Ref result;
        std::exception_ptr err;
        std::coroutine_handle<> cont = std::noop_coroutine();
        Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        struct Final {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept { return h.promise().cont; }
            void await_resume() noexcept {}
        };
        Final final_suspend() noexcept { return {}; }
        void return_value(Ref r) { result = std::move(r); }
        void unhandled_exception() { err = std::current_exception(); }
    };
    std::coroutine_handle<promise_type> h;
    explicit Task(std::coroutine_handle<promise_type> x) : h(x) {}
    Task(Task&& o) noexcept : h(std::exchange(o.h, nullptr)) {}
    Task(const Task&) = delete;
    Task& operator=(Task&&) = delete;
    ~Task() { if (h) h.destroy(); }     // also while suspended
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> c) { h.promise().cont = c; return h; }
    Ref await_resume() {
        if (h.promise().err) std::rethrow_exception(h.promise().err);
        return std::move(h.promise().result);
    }
    void start() { ready.push_back(h); }
    bool done() const { return h.done(); }
};

struct Stop : std::runtime_error {
    Ref who;
    explicit Stop(Ref r) : std::runtime_error("stop"), who(std::move(r)) {}
};

static Task leaf(Ref r, int n) {        // r lives in the frame
    Ref mine(new Obj(n));
    for (int i = 0; i < 3; i++) {
        Ref copy = r;
        co_await Yield{};
        copy->body[i]++;
    }
    if (n % 5 == 3) throw Stop(r);
    if (n % 2) co_return r;             // the parameter moves out
    co_return mine;
}
static Task middle(Ref r, int n) {
    std::vector<Ref> held(3, r);
    Ref a = co_await leaf(r, n);
    held.push_back(a);
    co_await Yield{};
    Ref b = co_await leaf(std::move(a), n + 1);
    co_return b;
}
static Task top(Ref r, int n, long& sum) {
    try {
        Ref x = co_await middle(std::move(r), n);
        sum += x->id;
        co_return x;
    } catch (const Stop& s) {
        sum -= s.who->id & 1;
        co_return s.who;
    }
}
static void run(size_t steps = SIZE_MAX) {
    while (!ready.empty() && steps--) {
        auto h = ready.front();
        ready.pop_front();
        h.resume();
    }
}

int main() {
    long sum = 0;
    int cut = 0;
    {
        std::vector<Task> all;
        for (int i = 0; i < 200; i++) {
            Ref r(new Obj(i));
            r->mark(i & 3);
            Obj* raw = r.leak();                // our count goes on as a raw pointer
            all.push_back(top(Ref(raw, adopt_t{}), i, sum));
            all.back().start();
        }
        run();
        for (auto& t : all) if (!t.done()) return 2;
    }
    if (live) return 3;
    {   // cancelled in the middle: frames are destroyed while suspended
        std::vector<Task> all;
        for (int i = 0; i < 150; i++) {
            all.push_back(top(Ref(new Obj(i)), i, sum));
            all.back().start();
        }
        run(1000);
        for (auto& t : all) cut += !t.done();
        ready.clear();
    }
    std::printf("sum %ld cut %d live %d\n", sum, cut, live);
    return live != 0;
}
