/* summary: shared_ptr: aliasing, make_shared blocks pinned by weak_ptr after death, deleter that recycles the pointee, self-reference dropped in done(), refs in variant/any/function/exception_ptr/future, empty-owner alias, never destroyed singleton and registry
 * track: shared_ptr
 * build: clang++ -std=c++17 -O2 -g cpp_shared_zoo.cpp -o OUT -pthread
 */
// Everything that std::shared_ptr can do and that looks wrong from outside:
// aliasing (one control block, many addresses), make_shared with a weak_ptr
// that outlives the object (destroyed, but its memory stays), shared_ptr(new)
// with own deleters that recycle, a null-owning alias, enable_shared_from_this
// with a self reference dropped later, ownership in std::function, std::any,
// std::variant, std::exception_ptr, promise/future and a never destroyed
// singleton, locks that fail, moves through threads.
#include <any>
#include <atomic>
#include <cstdio>
#include <deque>
#include <condition_variable>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

static std::atomic<int> live{0};

struct Part { int id = 0; std::string name; };
struct Whole : std::enable_shared_from_this<Whole> {
    Part parts[4];
    std::shared_ptr<Whole> self;        // "keep me until done()" idiom
    std::vector<std::function<int()>> later;
    explicit Whole(int i) { ++live; for (int k = 0; k < 4; k++) parts[k] = {i * 4 + k, "part-number-" + std::to_string(i)}; }
    ~Whole() { --live; }
    void start() { self = shared_from_this(); }
    void done() { auto keep = std::move(self); }        // may delete this
    std::shared_ptr<Part> part(int k) { return {shared_from_this(), &parts[k]}; }
};

struct Err : std::runtime_error {
    std::shared_ptr<Whole> who;
    Err(std::shared_ptr<Whole> w) : std::runtime_error("err"), who(std::move(w)) {}
};

// A registry of the program's life, never destroyed on purpose.
static std::map<int, std::weak_ptr<Whole>>& registry() {
    static auto* r = new std::map<int, std::weak_ptr<Whole>>;
    return *r;
}
static std::mutex reg_lock;
static const std::shared_ptr<Whole>& the_default() {
    static const auto& d = *new std::shared_ptr<Whole>(std::make_shared<Whole>(-1));
    return d;
}

static std::shared_ptr<Whole> lookup(int id) {
    std::lock_guard<std::mutex> g(reg_lock);
    auto& w = registry()[id];
    auto s = w.lock();                  // fails when its last owner went
    if (!s) w = s = std::make_shared<Whole>(id);
    return s;
}

// Deleter that recycles: the pointee lives on in the pool without an owner.
struct Pool {
    std::mutex m;
    std::vector<std::unique_ptr<Whole>> idle;
    int recycled = 0;
    std::shared_ptr<Whole> get(int i) {
        std::unique_ptr<Whole> w;
        {
            std::lock_guard<std::mutex> g(m);
            if (!idle.empty()) { w = std::move(idle.back()); idle.pop_back(); }
        }
        if (!w) w.reset(new Whole(i));
        return std::shared_ptr<Whole>(w.release(), [this](Whole* p) {
            std::lock_guard<std::mutex> g(m);
            ++recycled;
            idle.emplace_back(p);
        });
    }
};

using Msg = std::variant<std::monostate, std::shared_ptr<Part>, std::shared_ptr<Whole>, std::exception_ptr, std::any>;

struct Queue {
    std::mutex m;
    std::condition_variable cv;
    std::deque<Msg> q;
    void push(Msg x) { { std::lock_guard<std::mutex> g(m); q.push_back(std::move(x)); } cv.notify_one(); }
    Msg pop() {
        std::unique_lock<std::mutex> g(m);
        cv.wait(g, [&] { return !q.empty(); });
        Msg x = std::move(q.front());
        q.pop_front();
        return x;
    }
};

static long consume(Queue& q) {
    long sum = 0;
    for (;;) {
        Msg x = q.pop();
        if (std::holds_alternative<std::monostate>(x)) return sum;
        if (auto p = std::get_if<std::shared_ptr<Part>>(&x)) sum += (*p)->id;
        else if (auto w = std::get_if<std::shared_ptr<Whole>>(&x)) sum += (*w)->parts[0].id;
        else if (auto e = std::get_if<std::exception_ptr>(&x)) {
            try { std::rethrow_exception(*e); }
            catch (const Err& err) { sum += err.who->parts[1].id; }
        } else if (auto a = std::get_if<std::any>(&x)) {
            auto held = std::any_cast<std::shared_ptr<Whole>>(*a);      // a copy
            sum += held->parts[2].id;
        }
    }
}

int main() {
    Pool pool;
    Queue q;
    std::vector<std::weak_ptr<Whole>> ghosts;   // pin dead make_shared blocks
    auto f1 = std::async(std::launch::async, [&] { return consume(q); });
    auto f2 = std::async(std::launch::async, [&] { return consume(q); });

    for (int i = 0; i < 400; i++) {
        auto w = (i & 1) ? std::make_shared<Whole>(i) : std::shared_ptr<Whole>(new Whole(i));
        ghosts.push_back(w);
        switch (i % 5) {
        case 0: q.push(w->part(i % 4)); break;                  // the alias owns all
        case 1: q.push(std::exchange(w, nullptr)); break;
        case 2: try { throw Err(w); } catch (...) { q.push(std::current_exception()); } break;
        case 3: q.push(std::any(w)); break;
        case 4: w->start(); w->later.push_back([k = w.get()] { return k->parts[0].id; }); w.reset(); break;
        }
        if (i % 5 == 4)
            if (auto g = ghosts.back().lock()) g->done();
    }
    for (int i = 0; i < 300; i++) {
        auto a = lookup(i % 30);
        if (i % 3 == 0) the_default()->later.emplace_back([a] { return 1; });
        auto p = pool.get(i);
        std::shared_ptr<void> erased = p;                       // type erased
        std::shared_ptr<Part> none(std::shared_ptr<Whole>{}, &p->parts[0]); // owns nothing
        std::shared_ptr<const Whole> c = std::static_pointer_cast<const Whole>(erased);
        if (none.use_count() != 0 || c.use_count() != 3) return 3;
        std::atomic_store(&p, std::shared_ptr<Whole>());
    }
    q.push(std::monostate{});
    q.push(std::monostate{});
    long sum = f1.get() + f2.get();
    the_default()->later.clear();
    size_t dead = 0;
    for (auto& g : ghosts) dead += g.expired();
    pool.idle.clear();
    std::printf("sum %ld dead %zu recycled %d live %d\n", sum, dead, pool.recycled, live.load());
    return dead == 400 && live == 1 ? 0 : 1;    // 1: the default one
}
