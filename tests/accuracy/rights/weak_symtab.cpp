/* summary: intern table of uncounted pointers whose look-up reads counters that are 0 and passes by such symbols (a twin takes the slot, the dying one then finds another in its place), parents die by a chain of last puts, weak handles with a liveness word of their own, a sweep that only reads counters, permanent symbols that carry a bias of a million for a while
 * track: own
 * build: clang++ -std=c++17 -O2 -g -o OUT weak_symtab.cpp -pthread
 */
//
// weak_symtab - the names of a compiler server.  Threads compile files at the
// same time and share interned symbols: a.b.c is the symbol c in the scope a.b.
// The table does not own its symbols; who looks for one may find it dying.
//
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sym {

class Symbol;

// Outlives its symbol as long as somebody holds it.
struct Tombstone {
    std::atomic<int> holders{1};
    std::mutex mu;
    Symbol *target;

    explicit Tombstone(Symbol *s) : target(s) {}

    void hold() { holders.fetch_add(1, std::memory_order_relaxed); }
    void letGo()
    {
        if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
};

class Symbol {
public:
    static constexpr int kPermanent = 1 << 20;

    Symbol(Symbol *scope, std::string_view name) : scope_(scope), name_(name)
    {
        if (scope_)
            scope_->retain();
        made.fetch_add(1);
    }

    void retain() { rc_.fetch_add(1, std::memory_order_relaxed); }

    // Only when it is not dying.
    bool tryRetain()
    {
        int n = rc_.load(std::memory_order_relaxed);
        while (n != 0)
            if (rc_.compare_exchange_weak(n, n + 1, std::memory_order_acquire))
                return true;
        return false;
    }

    void release();

    int count() const { return rc_.load(std::memory_order_relaxed); }
    void makePermanent() { rc_.fetch_add(kPermanent); }
    void endPermanent();

    std::string_view name() const { return name_; }
    Symbol *scope() const { return scope_; }

    std::string path() const { return scope_ ? scope_->path() + "." + name_ : name_; }

    Tombstone *tombstone()
    {
        Tombstone *t = tomb_.load(std::memory_order_acquire);
        if (!t) {
            auto *fresh = new Tombstone(this);
            if (tomb_.compare_exchange_strong(t, fresh, std::memory_order_acq_rel))
                t = fresh;
            else
                fresh->letGo();
        }
        t->hold();
        return t;
    }

    static std::atomic<long> made, gone;

private:
    friend class Table;
    ~Symbol() { gone.fetch_add(1); }

    Symbol *scope_;
    std::atomic<Tombstone *> tomb_{nullptr};
    std::string name_;
    std::atomic<int> rc_{1};
};

std::atomic<long> Symbol::made{0}, Symbol::gone{0};

class Table {
public:
    // A new reference.
    Symbol *intern(Symbol *scope, std::string_view name)
    {
        Shard &sh = shard(scope, name);
        std::lock_guard<std::mutex> l(sh.mu);
        auto it = sh.map.find({scope, name});
        if (it != sh.map.end()) {
            if (it->second->tryRetain())
                return it->second;
            sh.map.erase(it);           // its name dies with it, so the key goes too
            ++sh.passedBy;
        }
        auto *s = new Symbol(scope, name);
        sh.map.emplace(Key{scope, s->name()}, s);
        return s;
    }

    // Called for a symbol whose counter has reached zero.
    void bury(Symbol *s)
    {
        Shard &sh = shard(s->scope(), s->name());
        {
            std::lock_guard<std::mutex> l(sh.mu);
            auto it = sh.map.find({s->scope(), s->name()});
            if (it != sh.map.end() && it->second == s)
                sh.map.erase(it);
        }
        if (Tombstone *t = s->tomb_.load(std::memory_order_acquire)) {
            {
                std::lock_guard<std::mutex> l(t->mu);
                t->target = nullptr;
            }
            t->letGo();
        }
        delete s;
    }

    // How many are there, how many of them are shared by three or more.
    std::pair<int, int> sweep()
    {
        int all = 0, shared = 0;
        for (Shard &sh : shards_) {
            std::lock_guard<std::mutex> l(sh.mu);
            for (const auto &e : sh.map) {
                int n = e.second->count();
                all += n != 0;
                shared += n >= 3;
            }
        }
        return {all, shared};
    }

private:
    using Key = std::pair<Symbol *, std::string_view>;
    struct Shard {
        std::mutex mu;
        std::map<Key, Symbol *> map;
        int passedBy = 0;
    };

    Shard &shard(Symbol *, std::string_view name)
    {
        std::size_t h = 5;
        for (char c : name)
            h = h * 33 + static_cast<unsigned char>(c);
        return shards_[h % shards_.size()];
    }

    std::array<Shard, 4> shards_;
};

static Table table;

void Symbol::release()
{
    Symbol *s = this;
    while (s && s->rc_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        Symbol *up = s->scope_;
        table.bury(s);
        s = up;                 // its reference to the scope goes now
    }
}

void Symbol::endPermanent()
{
    rc_.fetch_sub(kPermanent);
    release();
}

class Weak {
public:
    explicit Weak(Symbol *s) : t_(s->tombstone()) {}
    Weak(Weak &&o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
    ~Weak() { if (t_) t_->letGo(); }

    // A new reference, or nothing.
    Symbol *lock() const
    {
        std::lock_guard<std::mutex> l(t_->mu);
        return t_->target && t_->target->tryRetain() ? t_->target : nullptr;
    }

private:
    Tombstone *t_;
};

} // namespace sym

using sym::Symbol;
using sym::table;

static Symbol *resolve(const std::string &path)
{
    Symbol *s = nullptr;
    for (std::size_t at = 0; at != std::string::npos;) {
        std::size_t dot = path.find('.', at);
        Symbol *inner = table.intern(s, std::string_view(path).substr(at, dot == std::string::npos ? dot : dot - at));
        if (s)
            s->release();
        s = inner;
        at = dot == std::string::npos ? dot : dot + 1;
    }
    return s;
}

static void compile(int unit, unsigned long *sum)
{
    std::vector<Symbol *> uses;
    std::vector<sym::Weak> hints;
    unsigned seed = static_cast<unsigned>(unit) + 99;
    for (int i = 0; i < 600; ++i) {
        seed = seed * 1103515245u + 12345u;
        std::string path = "pkg" + std::to_string((seed >> 16) % 3) + ".mod" + std::to_string((seed >> 19) % 4) +
                           ".fn" + std::to_string((seed >> 22) % 5);
        Symbol *s = resolve(path);
        for (char c : s->path())
            *sum = *sum * 131 + static_cast<unsigned char>(c);
        if (i % 7 == 0)
            hints.emplace_back(s);
        if (i % 3 == 0)
            uses.push_back(s);
        else
            s->release();
        if (uses.size() > 5) {          // the end of a function
            for (Symbol *u : uses)
                u->release();
            uses.clear();
        }
        if (i % 50 == 49) {
            for (const auto &h : hints)
                if (Symbol *again = h.lock())
                    again->release();
            hints.clear();
        }
    }
    for (Symbol *u : uses)
        u->release();
}

int main()
{
    std::vector<Symbol *> keywords;
    for (const char *k : {"if", "else", "while", "pkg0"}) {
        Symbol *s = table.intern(nullptr, k);
        s->makePermanent();             // must not die while anything runs
        keywords.push_back(s);
    }
    unsigned long sums[3] = {0, 0, 0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back(compile, t, &sums[t]);
    for (int i = 0; i < 20; ++i) {
        table.sweep();
        std::this_thread::yield();
    }
    for (auto &t : threads)
        t.join();
    auto left = table.sweep();
    std::printf("sums %lx %lx %lx, %d symbols left, %d shared\n", sums[0], sums[1], sums[2], left.first, left.second);
    for (Symbol *s : keywords)
        s->endPermanent();
    std::printf("%s\n", Symbol::made.load() == Symbol::gone.load() ? "all gone" : "some are left");
    return 0;
}
