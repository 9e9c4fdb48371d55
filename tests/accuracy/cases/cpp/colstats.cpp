/* summary: Operand::take() adopts the column even when the operand only borrows it from the table, so an alias takes no reference
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: own
 * build: clang++ -std=c++17 -O3 -g
 * exit: 0
 */
//
// colstats - monthly reports: tables of columns, where further columns are
// computed by formulas in postfix notation from those that are there.
//
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace report {

class Column {
public:
    static Column *create(std::size_t rows) { return new Column(rows); }

    void retain() const { ++refs_; }
    void release() const
    {
        if (--refs_ == 0)
            delete this;
    }

    std::size_t rows() const { return cells_.size(); }
    double &at(std::size_t i) { return cells_[i]; }
    double at(std::size_t i) const { return cells_[i]; }
    double total() const
    {
        double sum = 0;
        for (double c : cells_)
            sum += c;
        return sum;
    }

private:
    explicit Column(std::size_t rows) : cells_(rows), refs_(1) {}
    ~Column() = default;

    std::vector<double> cells_;
    mutable std::uint32_t refs_;
};

template <class T>
class Ref {
public:
    Ref() = default;
    explicit Ref(T *p) : p_(p)
    {
        if (p_)
            p_->retain();
    }
    Ref(const Ref &o) : Ref(o.p_) {}
    Ref(Ref &&o) noexcept : p_(o.detach()) {}
    ~Ref()
    {
        if (p_)
            p_->release();
    }
    Ref &operator=(Ref o) noexcept { return std::swap(p_, o.p_), *this; }

    static Ref adopt(T *p)
    {
        Ref r;
        r.p_ = p;
        return r;
    }
    [[nodiscard]] T *detach() noexcept { return std::exchange(p_, nullptr); }

    T *get() const { return p_; }
    T *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

using ColumnRef = Ref<Column>;

// A column on the stack of a formula: one of the table's, which stays where it
// is while the formula runs, or an intermediate result that belongs to us.
class Operand {
public:
    static Operand borrow(Column &c) { return Operand(&c, false); }
    static Operand own(ColumnRef c) { return Operand(c.detach(), true); }

    Operand(Operand &&o) noexcept : col_(std::exchange(o.col_, nullptr)), owned_(std::exchange(o.owned_, false)) {}
    Operand &operator=(Operand &&o) noexcept
    {
        std::swap(col_, o.col_);
        std::swap(owned_, o.owned_);
        return *this;
    }
    Operand(const Operand &o) : col_(o.col_), owned_(o.owned_)
    {
        if (owned_)
            col_->retain();
    }
    Operand &operator=(const Operand &) = delete;
    ~Operand()
    {
        if (owned_)
            col_->release();
    }

    const Column &column() const { return *col_; }

    // The column, for somebody who keeps it.
    ColumnRef take() &&
    {
        bool mine = std::exchange(owned_, false);
        Column *c = std::exchange(col_, nullptr);
#ifdef BUG
        (void)mine;
        return ColumnRef::adopt(c); // GUILTY
#else
        return mine ? ColumnRef::adopt(c) : ColumnRef(c);
#endif
    }

    // The column for writing: an intermediate result is changed in place.
    ColumnRef scratch() &&
    {
        if (owned_)
            return std::move(*this).take();
        ColumnRef copy = ColumnRef::adopt(Column::create(col_->rows()));
        for (std::size_t i = 0; i < col_->rows(); ++i)
            copy->at(i) = col_->at(i);
        return copy;
    }

private:
    Operand(Column *c, bool owned) : col_(c), owned_(owned) {}

    Column *col_;
    bool owned_;
};

class Table {
public:
    explicit Table(std::size_t rows) : rows_(rows) {}

    std::size_t rows() const { return rows_; }
    std::size_t width() const { return columns_.size(); }
    void put(const std::string &name, ColumnRef c) { columns_[name] = std::move(c); }
    Column *find(const std::string &name) const
    {
        auto it = columns_.find(name);
        return it == columns_.end() ? nullptr : it->second.get();
    }
    // Best column by its total, for the head of the report.
    ColumnRef largest() const
    {
        ColumnRef best;
        for (auto &c : columns_)
            if (!best || c.second->total() > best->total())
                best = c.second;
        return best;
    }

private:
    std::size_t rows_;
    std::map<std::string, ColumnRef> columns_;
};

class Formula {
public:
    explicit Formula(const Table &t) : table_(t) {}

    std::optional<Operand> run(const std::string &text)
    {
        std::istringstream words(text);
        std::string w;
        stack_.clear();
        while (words >> w)
            if (!step(w))
                return std::nullopt;
        return pop();
    }

private:
    bool step(const std::string &w)
    {
        if (w == "dup") {
            if (stack_.empty())
                return false;
            Operand top = stack_.back();
            stack_.push_back(std::move(top));
            return true;
        }
        if (w == "cum") {
            auto a = pop();
            if (!a)
                return false;
            ColumnRef c = std::move(*a).scratch();
            for (std::size_t i = 1; i < c->rows(); ++i)
                c->at(i) += c->at(i - 1);
            stack_.push_back(Operand::own(std::move(c)));
            return true;
        }
        if (w.size() == 1 && std::string("+-*/").find(w) != std::string::npos)
            return binary(w[0]);
        if (Column *c = table_.find(w)) {
            stack_.push_back(Operand::borrow(*c)); // ACCEPTED
            return true;
        }
        char *end = nullptr;
        double v = std::strtod(w.c_str(), &end);
        if (*end)
            return false;
        ColumnRef c = ColumnRef::adopt(Column::create(table_.rows()));
        for (std::size_t i = 0; i < c->rows(); ++i)
            c->at(i) = v;
        stack_.push_back(Operand::own(std::move(c)));
        return true;
    }

    bool binary(char op)
    {
        auto b = pop(), a = pop();
        if (!a || !b)
            return false;
        ColumnRef out = ColumnRef::adopt(Column::create(table_.rows()));
        for (std::size_t i = 0; i < out->rows(); ++i) {
            double x = a->column().at(i), y = b->column().at(i);
            out->at(i) = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : std::fabs(y) < 1e-9 ? 0 : x / y;
        }
        stack_.push_back(Operand::own(std::move(out)));
        return true;
    }

    std::optional<Operand> pop()
    {
        if (stack_.empty())
            return std::nullopt;
        std::optional<Operand> top(std::move(stack_.back()));
        stack_.pop_back();
        return top;
    }

    const Table &table_;
    std::vector<Operand> stack_;
};

class Month {
public:
    Month(int number, std::size_t days) : number_(number), table_(days)
    {
        for (const char *name : {"gross", "qty", "returns"}) {
            ColumnRef c = ColumnRef::adopt(Column::create(days));
            for (std::size_t d = 0; d < days; ++d)
                c->at(d) = double((d * 37 + std::size_t(number) * 11 + std::size_t(name[0])) % 90) / 2;
            table_.put(name, std::move(c));
        }
    }

    bool define(const std::string &name, const std::string &text)
    {
        Formula f(table_);
        auto result = f.run(text);
        if (!result)
            return false;
        table_.put(name, std::move(*result).take()); // ACCEPTED
        return true;
    }

    double head() const
    {
        ColumnRef c = table_.largest();
        return c->total() / double(c->rows());
    }
    int number() const { return number_; }
    std::size_t width() const { return table_.width(); }

private:
    int number_;
    Table table_;
};

} // namespace report

int main()
{
    std::vector<std::unique_ptr<report::Month>> year;
    int failed = 0;
    for (int m = 1; m <= 12; ++m) {
        year.push_back(std::make_unique<report::Month>(m, m == 2 ? 28 : 30));
        report::Month &month = *year.back();
        // No tax in the first quarter of the year and in August.
        const char *net = m <= 3 || m == 8 ? "gross" : "gross 0.81 *";
        failed += !month.define("net", net);
        failed += !month.define("price", "net qty /");
        failed += !month.define("sofar", m % 5 ? "net returns - cum" : "net returns fees - -");
        failed += !month.define("square", "price dup * 100 /");
        failed += !month.define("share", "returns gross dup qty + /");
    }
    std::size_t columns = 0;
    double heads = 0;
    for (auto &m : year) {
        columns += m->width();
        heads += m->head() * m->number();
    }
    std::printf("%zu columns, %d formulas failed, %.4f\n", columns, failed, heads);
    return 0;
}
