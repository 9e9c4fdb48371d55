/* summary: intrusive_ptr adopting without add_ref, detach to void* in a channel to 2 threads, operator delete that recycles memory at once, counter base in the middle of the object, uint16_t counter in a static pool with references squeezed to 32-bit numbers (index<<3|5), std::sort over pointers, registry of borrowed pointers
 * track: own boost*
 * build: g++ -O2 -g -flto boost_adopt_lto.cpp -o OUT -pthread
 */
// boost::intrusive_ptr and intrusive_ref_counter: adoption (add_ref = false),
// detach() into void* user data, a class whose operator delete recycles the
// memory to a free list at once, a counter that is a base in the middle
// (second base), a thread-unsafe counter beside, a polymorphic release, sorted
// containers of pointers moved by std::sort, compressed 32-bit pointers into a
// static pool, and a registry of borrowed pointers that destructors leave.
#include <boost/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

static std::atomic<int> live{0}, recycled{0};

// ---- memory that comes back at once ----
struct Recycle {
    static std::mutex m;
    static std::vector<void*> spare;
    static void* operator new(size_t n) {
        {
            std::lock_guard<std::mutex> g(m);
            if (n <= 64 && !spare.empty()) { void* p = spare.back(); spare.pop_back(); ++recycled; return p; }
        }
        return std::malloc(n < 64 ? 64 : n);
    }
    static void operator delete(void* p, size_t n) {
        std::lock_guard<std::mutex> g(m);
        if (n <= 64) spare.push_back(p); else std::free(p);
    }
    static void purge() { for (void* p : spare) std::free(p); spare.clear(); }
};
std::mutex Recycle::m;
std::vector<void*> Recycle::spare;

struct Named { virtual ~Named() = default; virtual int what() const = 0; long tag = 5; };

// The counter comes after Named's vtable and data.
struct Shape : Recycle, Named, boost::intrusive_ref_counter<Shape, boost::thread_safe_counter> {
    int id;
    explicit Shape(int i) : id(i) { ++live; }
    ~Shape() override { --live; }
};
struct Circle final : Shape { using Shape::Shape; int what() const override { return id; } };
struct Square final : Shape { using Shape::Shape; double side = 2; int what() const override { return id * 2; } };
using ShapePtr = boost::intrusive_ptr<Shape>;

// ---- a type with its own functions; lives in a static pool, 32-bit names ----
struct Cell { uint16_t cnt; uint16_t next; int v; };
static Cell cells[512];
static uint16_t cell_free = 0;
static int cells_live = 0;
static void intrusive_ptr_add_ref(Cell* c) { ++c->cnt; }
static void intrusive_ptr_release(Cell* c) {
    if (--c->cnt == 0) { c->next = cell_free; cell_free = uint16_t(c - cells); --cells_live; }
}
using CellPtr = boost::intrusive_ptr<Cell>;
static CellPtr cell_make(int v) {
    static uint16_t brk = 1;            // 0 is nil
    uint16_t i = cell_free;
    if (i) cell_free = cells[i].next; else i = brk++;
    cells[i] = {1, 0, v};
    ++cells_live;
    return CellPtr(&cells[i], false);   // adopt the birth's reference
}
static uint32_t squeeze(CellPtr p) { return p ? uint32_t(p.detach() - cells) << 3 | 5 : 0; }
static CellPtr expand(uint32_t x) { return x ? CellPtr(&cells[x >> 3], false) : CellPtr(); }

// ---- borrowed registry: each Local leaves it as it dies ----
struct Local : boost::intrusive_ref_counter<Local, boost::thread_unsafe_counter> {
    static std::set<Local*>& all() { static std::set<Local*> s; return s; }
    int n;
    boost::intrusive_ptr<Local> up;
    explicit Local(int i) : n(i) { all().insert(this); }
    ~Local() { all().erase(this); }
    static boost::intrusive_ptr<Local> find(int i) {
        for (Local* l : all()) if (l->n == i) return l;         // revives? no: alive
        return nullptr;
    }
};

struct Chan {                           // C like: void* and a callback
    std::mutex m;
    std::condition_variable cv, room;
    std::deque<void*> q;
    void send(void* p) {
        std::unique_lock<std::mutex> g(m);
        room.wait(g, [&] { return q.size() < 100; });
        q.push_back(p);
        cv.notify_one();
    }
    void* recv() {
        std::unique_lock<std::mutex> g(m);
        cv.wait(g, [&] { return !q.empty(); });
        void* p = q.front();
        q.pop_front();
        room.notify_one();
        return p;
    }
};

int main() {
    Chan ch;
    std::atomic<long> sum{0};
    std::vector<std::thread> th;
    for (int t = 0; t < 2; t++)
        th.emplace_back([&] {
            std::vector<ShapePtr> batch;
            while (void* p = ch.recv()) {
                ShapePtr s(static_cast<Shape*>(p), false);      // adopt
                sum += s->what();
                batch.push_back(std::move(s));
                if (batch.size() > 30) {
                    std::sort(batch.begin(), batch.end(), [](const ShapePtr& a, const ShapePtr& b) { return a->id > b->id; });
                    batch.resize(batch.size() / 2);
                }
            }
        });

    std::vector<ShapePtr> kept;
    for (int i = 0; i < 1500; i++) {
        ShapePtr s;
        if (i & 1) s.reset(new Circle(i)); else s.reset(new Square(i));
        if (i % 10 == 0) kept.push_back(s);
        if (i % 3 == 0) ch.send(ShapePtr(s).detach());
        ch.send(s.detach());            // s is empty now
        if (i % 200 == 199) { std::sort(kept.begin(), kept.end()); kept.erase(kept.begin(), kept.begin() + kept.size() / 2); }
    }
    ch.send(nullptr);
    ch.send(nullptr);

    uint32_t table[64] = {0};
    unsigned seed = 4;
    for (int i = 0; i < 3000; i++) {
        int k = rand_r(&seed) % 64;
        CellPtr c = expand(table[k]);   // out of the table
        if (!c || i % 3 == 0) c = cell_make(i);
        int k2 = rand_r(&seed) % 64;
        if (i % 2 && k2 != k) { expand(table[k2]); table[k2] = squeeze(c); }    // the old one dies
        table[k] = squeeze(std::move(c));
    }
    for (uint32_t& x : table) { expand(x); x = 0; }

    for (int r = 0; r < 30; r++) {
        boost::intrusive_ptr<Local> top;
        for (int i = 0; i < 40; i++) {
            boost::intrusive_ptr<Local> l(new Local(i));
            l->up = top;
            top = l;
            if (auto f = Local::find(i / 2)) sum += f->use_count();
        }
        boost::intrusive_ptr<Local> mid = Local::find(20);
        top.reset();                    // 39..21 die, 20..0 stay
        if (Local::all().size() != 21) return 2;
    }
    for (auto& t : th) t.join();
    kept.clear();
    Recycle::purge();
    std::printf("sum %ld live %d cells %d locals %zu recycled %d\n", sum.load(), live.load(), cells_live, Local::all().size(), recycled.load());
    return live || cells_live || !Local::all().empty();
}
