/* summary: Sheet::assign detaches the old formula into the undo log, which takes the reference over, and then releases it as well when the cell is watched
 * kind: extra-put
 * counts: deficit
 * objects: 5
 * track: own
 * build: g++ -std=c++17 -O3 -g
 * exit: 0
 */
//
// gridcalc - the calculating half of a spreadsheet.  Formulas are immutable and
// shared: a formula that is filled down a column is one object.  An undo log
// keeps what assignments replaced.
//
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

class RefCounted {
public:
    RefCounted() = default;
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;

    void acquire() const { ++refs_; }

    void release() const
    {
        if (--refs_ == 0)
            delete this;
    }

    int refs() const { return refs_; }

protected:
    virtual ~RefCounted() = default;

private:
    mutable int refs_ = 0;
};

template <class T>
class Ref {
public:
    Ref() = default;
    Ref(std::nullptr_t) {}
    explicit Ref(T *p) : p_(p) { if (p_) p_->acquire(); }
    Ref(const Ref &o) : p_(o.p_) { if (p_) p_->acquire(); }
    Ref(Ref &&o) noexcept : p_(o.detach()) {}
    template <class U>
    Ref(const Ref<U> &o) : p_(o.get()) { if (p_) p_->acquire(); }
    ~Ref() { if (p_) p_->release(); }

    Ref &operator=(Ref o) noexcept
    {
        std::swap(p_, o.p_);
        return *this;
    }

    // The caller has the reference now.
    T *detach() { return std::exchange(p_, nullptr); }

    // Takes a reference over that somebody detached.
    static Ref attach(T *p)
    {
        Ref r;
        r.p_ = p;
        return r;
    }

    T *get() const { return p_; }
    T *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

class Sheet;

class Formula : public RefCounted {
public:
    virtual double eval(const Sheet &s, int row) const = 0;
    virtual std::string text() const = 0;
};

using FormulaRef = Ref<const Formula>;

class Number final : public Formula {
public:
    explicit Number(double v) : v_(v) {}
    double eval(const Sheet &, int) const override { return v_; }
    std::string text() const override { return std::to_string(v_); }

private:
    double v_;
};

// The cell of the same row in another column, or of some rows above.
class Relative final : public Formula {
public:
    Relative(int column, int up) : column_(column), up_(up) {}
    double eval(const Sheet &s, int row) const override;
    std::string text() const override { return "R[-" + std::to_string(up_) + "]C" + std::to_string(column_); }

private:
    int column_, up_;
};

class Binary final : public Formula {
public:
    Binary(char op, FormulaRef a, FormulaRef b) : op_(op), a_(std::move(a)), b_(std::move(b)) {}

    double eval(const Sheet &s, int row) const override
    {
        double x = a_->eval(s, row), y = b_->eval(s, row);
        switch (op_) {
        case '+': return x + y;
        case '-': return x - y;
        case '*': return x * y;
        default: return y != 0 ? x / y : 0;
        }
    }

    std::string text() const override { return "(" + a_->text() + op_ + b_->text() + ")"; }

private:
    char op_;
    FormulaRef a_, b_;
};

struct CellId {
    int row, column;
    bool operator<(const CellId &o) const { return row != o.row ? row < o.row : column < o.column; }
};

class UndoLog {
public:
    ~UndoLog()
    {
        for (auto &e : entries_)
            if (e.old)
                e.old->release();
    }

    // Takes the reference over.
    void record(CellId cell, const Formula *old) { entries_.push_back({cell, old}); }

    bool takeLast(CellId &cell, FormulaRef &old)
    {
        if (entries_.empty())
            return false;
        cell = entries_.back().cell;
        old = FormulaRef::attach(entries_.back().old);
        entries_.pop_back();
        return true;
    }

    std::size_t size() const { return entries_.size(); }

private:
    struct Entry {
        CellId cell;
        const Formula *old;
    };
    std::vector<Entry> entries_;
};

class Sheet {
public:
    using Watcher = std::function<void(CellId, const Formula *before, const Formula *now)>;

    explicit Sheet(UndoLog &log) : log_(log) {}

    void watch(CellId cell) { watched_.insert(cell); }
    void onChange(Watcher w) { watcher_ = std::move(w); }

    void assign(CellId cell, FormulaRef f)
    {
        FormulaRef &place = cells_[cell];
        const Formula *old = place.detach();
        log_.record(cell, old);
        place = std::move(f);
        if (watcher_ && watched_.count(cell)) {
            watcher_(cell, old, place.get());
#ifdef BUG
            if (old)
                old->release();             // GUILTY
#endif
        }
    }

    void fillDown(int column, int from, int to, const FormulaRef &f)
    {
        for (int row = from; row < to; ++row)
            assign({row, column}, f);
    }

    // A cell that is cleared for good leaves no trace in the log.
    void discard(CellId cell)
    {
        auto it = cells_.find(cell);
        if (it == cells_.end())
            return;
        if (const Formula *old = it->second.detach())
            old->release();
        cells_.erase(it);
    }

    bool undo()
    {
        CellId cell;
        FormulaRef old;
        if (!log_.takeLast(cell, old))
            return false;
        if (old)
            cells_[cell] = std::move(old);
        else
            cells_.erase(cell);
        return true;
    }

    double value(int row, int column) const
    {
        auto it = cells_.find({row, column});
        return it == cells_.end() || !it->second ? 0 : it->second->eval(*this, row);
    }

    std::size_t cells() const { return cells_.size(); }

private:
    UndoLog &log_;
    std::map<CellId, FormulaRef> cells_;
    std::set<CellId> watched_;
    Watcher watcher_;
};

double Relative::eval(const Sheet &s, int row) const { return row >= up_ ? s.value(row - up_, column_) : 0; }

template <class F, class... A>
static FormulaRef make(A &&...a)
{
    return FormulaRef(new F(std::forward<A>(a)...));
}

int main()
{
    UndoLog log;
    {
        // Names of the workbook keep their formulas whatever the sheet does.
        std::map<std::string, FormulaRef> names;
        names["rate"] = make<Number>(0.19);
        for (int i = 0; i < 8; ++i)
            names["tariff" + std::to_string(i)] =
                make<Binary>('*', make<Relative>(0, 0), make<Number>(1.5 + i));

        Sheet sheet(log);
        unsigned changes = 0;
        sheet.onChange([&changes](CellId, const Formula *before, const Formula *now) {
            changes += before && now && before->text() != now->text();
        });
        for (int row = 0; row < 40; ++row)
            sheet.assign({row, 0}, make<Number>(row * 10 + 3));
        for (int i = 0; i < 8; ++i)
            sheet.fillDown(1, i * 5, i * 5 + 5, names["tariff" + std::to_string(i)]);
        sheet.fillDown(2, 0, 40, make<Binary>('*', make<Relative>(1, 0), names["rate"]));
        sheet.fillDown(3, 0, 40, make<Binary>('+', make<Relative>(1, 0), make<Relative>(2, 0)));
        FormulaRef running = make<Binary>('+', make<Relative>(4, 1), make<Relative>(3, 0));
        sheet.fillDown(4, 0, 40, running);

        // The auditor looks at some of the tariffs while prices are negotiated.
        for (int row : {2, 18, 23, 27, 33})
            sheet.watch({row, 1});
        for (int round = 0; round < 3; ++round)
            for (int row = round; row < 40; row += 9 - round)
                sheet.assign({row, 1}, make<Binary>('-', names["tariff" + std::to_string(row / 5)],
                                                    make<Number>(round + row * 0.5)));
        for (int i = 0; i < 6; ++i)
            sheet.undo();
        for (int row : {5, 17, 38})
            sheet.discard({row, 0});
        double total = 0;
        for (int row = 0; row < 40; row += 13)
            total += sheet.value(row, 4);
        std::printf("%zu cells, %zu steps to undo, %u changes seen, total %.2f\n",
                    sheet.cells(), log.size(), changes, total);
    }
    std::printf("%zu steps thrown away\n", log.size());
    return 0;
}
