/* summary: the parser of comparisons returns without giving back the left operand when the right one cannot be parsed
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: own
 * build: g++ -O1 -g
 */

// Rules of the alerting daemon: "cpu.load > 4 and not mem.free > 2000". Expressions are COM-like objects, as the console
// and the evaluator keep parts of each other's trees; a reload replaces the rules that parse and keeps the others.

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

using Metrics = std::map<std::string, double>;

enum class Status { ok, syntax, unknown_metric, too_deep };

struct IExpr {
    virtual unsigned long AddRef() = 0;
    virtual unsigned long Release() = 0;
    virtual double Eval(const Metrics &now) const = 0;

protected:
    ~IExpr() = default;
};

class ExprBase : public IExpr {
public:
    unsigned long AddRef() override { return ++refs_; }

    unsigned long Release() override {
        unsigned long left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }

protected:
    ExprBase() : refs_(1) {}
    virtual ~ExprBase() = default;

private:
    std::atomic<unsigned long> refs_;
};

class Number final : public ExprBase {
public:
    explicit Number(double value) : value_(value) {}
    double Eval(const Metrics &) const override { return value_; }

private:
    double value_;
};

class Metric final : public ExprBase {
public:
    explicit Metric(const std::string &name) : name_(name) {}

    double Eval(const Metrics &now) const override {
        return now.count(name_) ? now.at(name_) : 0;
    }

private:
    std::string name_;
};

class Not final : public ExprBase {
public:
    explicit Not(IExpr *of) : of_(of) { of_->AddRef(); }
    double Eval(const Metrics &now) const override { return of_->Eval(now) == 0; }

private:
    ~Not() override { of_->Release(); }
    IExpr *of_;
};

class Binary final : public ExprBase {
public:
    Binary(char op, IExpr *left, IExpr *right) : op_(op), left_(left), right_(right) {
        left_->AddRef();
        right_->AddRef();
    }

    double Eval(const Metrics &now) const override {
        double a = left_->Eval(now), b = right_->Eval(now);
        switch (op_) {
        case '<': return a < b;
        case '>': return a > b;
        case '&': return a != 0 && b != 0;
        default: return a != 0 || b != 0;
        }
    }

private:
    ~Binary() override {
        left_->Release();
        right_->Release();
    }

    char op_;
    IExpr *left_;
    IExpr *right_;
};

// Every Parse function leaves a new reference in *out, or nothing if it fails.
class Parser {
public:
    Parser(const std::string &text, const Metrics &known) : text_(text), known_(known) {}

    Status Parse(IExpr **out) {
        IExpr *whole = nullptr;
        Status s = ParseLogic(&whole);
        if (s != Status::ok)
            return s;
        if (SkipBlanks(); pos_ != text_.size()) {
            whole->Release();
            return Status::syntax;
        }
        *out = whole;
        return Status::ok;
    }

private:
    void SkipBlanks() {
        while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_])))
            ++pos_;
    }

    bool Take(const char *word) {
        SkipBlanks();
        std::string w(word);
        if (text_.compare(pos_, w.size(), w) != 0)
            return false;
        pos_ += w.size();
        return true;
    }

    Status ParseLogic(IExpr **out) {
        IExpr *left = nullptr;
        Status s = ParseComparison(&left);
        while (s == Status::ok) {
            char op = Take("and ") ? '&' : Take("or ") ? '|' : 0;
            if (!op) {
                *out = left;
                return Status::ok;
            }
            IExpr *right = nullptr;
            s = ParseComparison(&right);
            if (s != Status::ok) {
                left->Release();
                return s;
            }
            IExpr *both = new Binary(op, left, right);
            left->Release();
            right->Release();
            left = both;
        }
        return s;
    }

    Status ParseComparison(IExpr **out) {
        IExpr *left = nullptr;
        Status s = ParseTerm(&left);
        if (s != Status::ok)
            return s;
        char op = Take("<") ? '<' : Take(">") ? '>' : 0;
        if (!op) {
            *out = left;
            return Status::ok;
        }
        IExpr *right = nullptr;
        s = ParseTerm(&right);
        if (s != Status::ok) {
#ifndef BUG
            left->Release();
#endif
            return s;                                                                           // GUILTY
        }
        *out = new Binary(op, left, right);
        left->Release();
        right->Release();
        return Status::ok;
    }

    Status ParseTerm(IExpr **out) {
        if (++depth_ > 20)
            return Status::too_deep;
        if (Take("not ")) {
            IExpr *of = nullptr;
            Status s = ParseComparison(&of);
            if (s != Status::ok)
                return s;
            *out = new Not(of);
            of->Release();
            return Status::ok;
        }
        if (Take("(")) {
            IExpr *inner = nullptr;
            Status s = ParseLogic(&inner);
            if (s != Status::ok)
                return s;
            if (!Take(")")) {
                inner->Release();
                return Status::syntax;
            }
            *out = inner;
            return Status::ok;
        }
        SkipBlanks();
        std::string word;
        while (pos_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '.'))
            word += text_[pos_++];
        if (word.empty())
            return Status::syntax;
        if (std::isdigit(static_cast<unsigned char>(word[0]))) {
            *out = new Number(std::strtod(word.c_str(), nullptr));
            return Status::ok;
        }
        if (known_.find(word) == known_.end())
            return Status::unknown_metric;
        *out = new Metric(word);
        return Status::ok;
    }

    std::string text_;
    const Metrics &known_;
    std::size_t pos_ = 0;
    int depth_ = 0;
};

class RuleSet {
public:
    ~RuleSet() {
        for (auto &rule : rules_)
            rule.second->Release();
    }

    Status Load(const std::string &name, const std::string &text, const Metrics &known) {
        IExpr *expr = nullptr;
        Status s = Parser(text, known).Parse(&expr);
        if (s != Status::ok)
            return s;
        IExpr *&slot = rules_[name];
        if (slot)
            slot->Release();
        slot = expr;
        return s;
    }

    std::vector<std::string> Firing(const Metrics &now) const {
        std::vector<std::string> names;
        for (auto &rule : rules_)
            if (rule.second->Eval(now) != 0)
                names.push_back(rule.first);
        return names;
    }

private:
    std::map<std::string, IExpr *> rules_;
};

} // namespace

int main() {
    const Metrics now = {{"cpu.load", 5.5}, {"mem.free", 900}, {"disk.used", 71}, {"net.errors", 0}};
    const char *const lines[][2] = {
        {"busy", "cpu.load > 4 and mem.free < 1000"},      {"disk", "disk.used > 90 or (disk.used > 70 and cpu.load > 5)"},
        {"calm", "not cpu.load > 1 and not net.errors"},   {"swap", "mem.free < 100 and swap.used > 10"},
        {"net", "net.errors > errors.limit"},              {"busy", "cpu.load > 6 or (mem.free < 500"},
        {"disk", "disk.used > "},                          {"net", "net.errors > 0 or cpu.load > 100 )"},
        {"calm", "not net.errors > 0 and cpu.load < 10"},
    };
    RuleSet rules;
    int refused = 0;

    for (auto &line : lines)
        refused += rules.Load(line[0], line[1], now) != Status::ok;
    std::printf("%d rules refused\n", refused);
    for (const std::string &name : rules.Firing(now))
        std::printf("firing: %s\n", name.c_str());
    return 0;
}
