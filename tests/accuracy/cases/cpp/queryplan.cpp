/* summary: Step::reduced() answers for a limit that cuts nothing off with the limit's own input instead of a new step, and the planner makes a second shared_ptr for it
 * kind: second-owner
 * counts: deficit
 * objects: 6
 * track: shared_ptr
 * build: g++ -std=c++17 -O0 -g
 * exit: 0
 */
// queryplan: turns queries on a small catalogue into plans, simplifies the
// plans, and keeps them for queries that come again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plan {

// Steps lie in an arena of blocks of one size; a block is wiped when its step
// is done with.  Blocks are taken in turn, so that the cache stays warm.
class Arena {
public:
    static constexpr std::size_t kBlock = 128, kBlocks = 1024;

    void *take(std::size_t n)
    {
        if (n > kBlock)
            throw std::bad_alloc();
        for (std::size_t tried = 0; tried < kBlocks; ++tried) {
            std::size_t i = next_++ % kBlocks;
            if (!busy_[i]) {
                busy_[i] = true;
                ++in_use_;
                return blocks_[i].bytes;
            }
        }
        throw std::bad_alloc();
    }

    void give(void *p)
    {
        std::size_t i = std::size_t(static_cast<unsigned char *>(p) - blocks_[0].bytes) / sizeof(Block);
        if (busy_[i])
            --in_use_;
        busy_[i] = false;
        std::memset(blocks_[i].bytes, 0, kBlock);
    }

    std::size_t in_use() const { return in_use_; }

private:
    struct Block {
        alignas(16) unsigned char bytes[kBlock];
    };

    Block blocks_[kBlocks] = {};
    bool busy_[kBlocks] = {};
    std::size_t next_ = 0, in_use_ = 0;
};

static Arena arena;

struct Step;
using StepPtr = std::shared_ptr<Step>;

enum class Op { Empty, Scan, Filter, Limit, Join, Sort };

struct Step {
    Op op = Op::Empty;
    long rows = 0;          // an estimate
    long amount = 0;        // percent that pass a filter, rows of a limit
    std::string table;
    std::vector<StepPtr> inputs;

    Step(Op o, long r, long a, std::vector<StepPtr> in) : op(o), rows(r), amount(a), inputs(std::move(in)) {}
    Step(const Step &) = default;

    static void *operator new(std::size_t n) { return arena.take(n); }
    static void operator delete(void *p) { arena.give(p); }

    // A simpler step that yields the same, or null if this is as simple as can be.
    Step *reduced() const;

    double cost() const
    {
        double sum = op == Op::Sort ? 2.5 * double(rows) : op == Op::Join ? 1.5 * double(rows) : double(rows);
        for (const StepPtr &in : inputs)
            sum += in->cost();
        return sum;
    }
};

static StepPtr scan(const std::string &table, long rows)
{
    StepPtr s(new Step(Op::Scan, rows, 0, {}));
    s->table = table;
    return s;
}

static StepPtr filter(StepPtr in, long percent)
{
    long rows = in->rows * percent / 100;
    return StepPtr(new Step(Op::Filter, rows, percent, {std::move(in)}));
}

static StepPtr limit(StepPtr in, long most)
{
    long rows = std::min(in->rows, most);
    return StepPtr(new Step(Op::Limit, rows, most, {std::move(in)}));
}

static StepPtr sort(StepPtr in)
{
    long rows = in->rows;
    return StepPtr(new Step(Op::Sort, rows, 0, {std::move(in)}));
}

static StepPtr join(StepPtr a, StepPtr b)
{
    long rows = std::max(a->rows, b->rows);
    return StepPtr(new Step(Op::Join, rows, 0, {std::move(a), std::move(b)}));
}

Step *Step::reduced() const
{
    switch (op) {
    case Op::Filter:
        if (amount == 0)
            return new Step(Op::Empty, 0, 0, {});
        if (inputs[0]->op == Op::Filter) {
            const Step &inner = *inputs[0];
            return new Step(Op::Filter, rows, amount * inner.amount / 100, inner.inputs);
        }
        return nullptr;
    case Op::Limit:
        if (inputs[0]->op == Op::Limit)
            return new Step(Op::Limit, rows, std::min(amount, inputs[0]->amount), inputs[0]->inputs);
        if (inputs[0]->rows <= amount)
#ifdef BUG
            return inputs[0].get();     // GUILTY
#else
            return new Step(*inputs[0]);
#endif
        return nullptr;
    case Op::Sort:
        if (inputs[0]->op == Op::Sort)
            return new Step(*inputs[0]);
        return nullptr;
    case Op::Join:
        for (const StepPtr &in : inputs)
            if (in->op == Op::Empty)
                return new Step(Op::Empty, 0, 0, {});
        return nullptr;
    default:
        return nullptr;
    }
}

struct Query {
    std::string text;
    std::vector<std::string> tables;
    std::vector<long> filters;
    bool sorted = false;
    std::optional<long> most;
};

class Catalogue {
public:
    void table(const std::string &name, long rows) { tables_[name] = scan(name, rows); }

    // The scans are shared by all the plans.
    StepPtr find(const std::string &name) const
    {
        auto it = tables_.find(name);
        return it == tables_.end() ? nullptr : it->second;
    }

private:
    std::map<std::string, StepPtr> tables_;
};

class Planner {
public:
    explicit Planner(const Catalogue &c) : catalogue_(c) {}

    // Null if a table is unknown.
    StepPtr plan(const Query &q)
    {
        auto hit = cache_.find(q.text);
        if (hit != cache_.end()) {
            if (StepPtr p = hit->second.lock()) {
                ++hits_;
                return p;
            }
            cache_.erase(hit);
        }
        StepPtr p = build(q);
        if (!p)
            return nullptr;
        simplify(p);
        cache_.emplace(q.text, p);
        return p;
    }

    int hits() const { return hits_; }
    int reductions() const { return reductions_; }

private:
    StepPtr build(const Query &q) const
    {
        StepPtr p;
        for (const std::string &name : q.tables) {
            StepPtr s = catalogue_.find(name);
            if (!s)
                return nullptr;
            p = p ? join(std::move(p), std::move(s)) : std::move(s);
        }
        for (long f : q.filters)
            p = filter(std::move(p), f);
        if (q.sorted)
            p = sort(std::move(p));
        if (q.most)
            p = limit(std::move(p), *q.most);
        return p;
    }

    void simplify(StepPtr &p)
    {
        for (StepPtr &in : p->inputs)
            simplify(in);
        while (Step *simpler = p->reduced()) {
            p = StepPtr(simpler);       // ACCEPTED
            ++reductions_;
        }
    }

    const Catalogue &catalogue_;
    std::map<std::string, std::weak_ptr<Step>> cache_;
    int hits_ = 0, reductions_ = 0;
};

// The last few plans are shown in the monitor.
class Monitor {
public:
    explicit Monitor(std::size_t most) : most_(most) {}

    void ran(const std::string &who, StepPtr p)
    {
        worst_ = std::max(worst_, p->cost());
        shown_.emplace_back(who, std::move(p));
        if (shown_.size() > most_)
            shown_.erase(shown_.begin());
    }

    double worst() const { return worst_; }

private:
    std::size_t most_;
    std::vector<std::pair<std::string, StepPtr>> shown_;
    double worst_ = 0;
};

} // namespace plan

static plan::Query query(int i)
{
    static const char *const tables[] = {"client", "invoice", "parcel", "depot", "route"};
    plan::Query q;
    q.tables.push_back(tables[i % 5]);
    if (i % 3)
        q.tables.push_back(tables[(i + 1 + i % 2) % 5]);
    if (i % 7 == 6)
        q.tables.push_back("driver");
    for (int f = 0; f < i % 4; ++f)
        q.filters.push_back(i % 8 == 7 && f == 1 ? 0 : 100 / (f + 2));
    q.sorted = i % 2;
    if (i % 5 == 1)
        q.most = i % 3 == 1 ? 20000 : 100;
    q.text = "query " + std::to_string(i);
    return q;
}

int main()
{
    int failed = 0;
    double cost = 0;
    {
        plan::Catalogue catalogue;
        for (auto &t : {std::make_pair("client", 900L), {"invoice", 12000L}, {"parcel", 41000L}, {"depot", 60L}, {"route", 3500L}})
            catalogue.table(t.first, t.second);
        plan::Planner planner(catalogue);
        plan::Monitor monitor(6);
        for (int i = 0; i < 110; ++i) {
            plan::StepPtr p = planner.plan(query(i % 8 == 3 ? i - 2 : i));
            if (!p) {
                ++failed;
                continue;
            }
            cost += p->cost();
            monitor.ran("user " + std::to_string(i % 9), std::move(p));
        }
        std::printf("%d hits, %d reductions, worst %.1f\n", planner.hits(), planner.reductions(), monitor.worst());
    }
    std::printf("%d failed, cost %.1f, %zu steps left\n", failed, cost, plan::arena.in_use());
    return 0;
}
