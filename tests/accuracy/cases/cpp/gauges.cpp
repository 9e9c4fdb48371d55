/* summary: RateAlarm keeps its gauge in a closure by shared_ptr, while the gauge holds its alarms: a gauge with a rate alarm is never destroyed
 * kind: cycle
 * counts: surplus
 * objects: 8
 * track: shared_ptr
 * build: clang++ -std=c++17 -O3 -g
 * exit: 0
 */
//
// gauges - monitoring of machines.  A machine has gauges, gauges have alarms,
// alarms talk to a board that everybody looks at.  Machines come and go.
//
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace plant {

class Gauge;

// What is shown on the wall.
class Board {
public:
    struct Notice {
        std::string text;
        int times;
    };

    void post(const std::string &text)
    {
        auto it = std::find_if(notices_.begin(), notices_.end(), [&](const auto &n) { return n->text == text; });
        if (it == notices_.end())
            notices_.push_back(std::make_shared<Notice>(Notice{text, 1}));
        else
            ++(*it)->times;
        while (notices_.size() > 12)
            notices_.pop_front();
        ++posted_;
    }

    std::shared_ptr<const Notice> loudest() const
    {
        std::shared_ptr<const Notice> best;
        for (const auto &n : notices_)
            if (!best || n->times > best->times)
                best = n;
        return best;
    }

    int posted() const { return posted_; }

private:
    std::deque<std::shared_ptr<Notice>> notices_;
    int posted_ = 0;
};

class Alarm {
public:
    explicit Alarm(std::shared_ptr<Board> board) : board_(std::move(board)) {}
    virtual ~Alarm() = default;
    virtual void sample(double v) = 0;

protected:
    void post(const std::string &text) { board_->post(text); }

private:
    std::shared_ptr<Board> board_;
};

class Gauge {
public:
    static std::shared_ptr<Gauge> make(std::string name, double start)
    {
        return std::shared_ptr<Gauge>(new Gauge(std::move(name), start));
    }

    const std::string &name() const { return name_; }
    double mean() const { return n_ ? sum_ / n_ : 0; }
    double last() const { return last_; }

    void attach(std::shared_ptr<Alarm> a) { alarms_.push_back(std::move(a)); }
    std::size_t alarms() const { return alarms_.size(); }

    void sample(double v)
    {
        last_ = v;
        sum_ += v;
        ++n_;
        auto told = alarms_;            // an alarm may take itself off
        for (auto &a : told)
            a->sample(v);
    }

    void detach(const Alarm *a)
    {
        alarms_.erase(std::remove_if(alarms_.begin(), alarms_.end(), [a](const auto &p) { return p.get() == a; }),
                      alarms_.end());
    }

private:
    Gauge(std::string name, double start) : name_(std::move(name)), last_(start) {}

    std::string name_;
    double last_, sum_ = 0;
    int n_ = 0;
    std::vector<std::shared_ptr<Alarm>> alarms_;
};

class LimitAlarm final : public Alarm {
public:
    LimitAlarm(std::shared_ptr<Board> b, std::string name, double limit)
        : Alarm(std::move(b)), name_(std::move(name)), limit_(limit)
    {
    }

    void sample(double v) override
    {
        if (v > limit_)
            post(name_ + " is above the limit");
    }

private:
    std::string name_;
    double limit_;
};

// Compares with another gauge, which may be gone by then.
class PairAlarm final : public Alarm {
public:
    PairAlarm(std::shared_ptr<Board> b, const std::shared_ptr<Gauge> &self, const std::shared_ptr<Gauge> &other)
        : Alarm(std::move(b)), self_(self), other_(other)
    {
    }

    void sample(double v) override
    {
        auto other = other_.lock();
        auto self = self_.lock();
        if (other && self && std::fabs(v - other->last()) > 60)
            post(self->name() + " differs from " + other->name());
        if (!other && self)
            self->detach(this);
    }

private:
    std::weak_ptr<Gauge> self_, other_;
};

// Calls a function on every sample; a helper for the simple ones.
class ClosureAlarm : public Alarm {
public:
    using Alarm::Alarm;
    void sample(double v) override { check_(v); }

protected:
    std::function<void(double)> check_;
};

class DriftAlarm final : public ClosureAlarm {
public:
    DriftAlarm(std::shared_ptr<Board> b, const std::shared_ptr<Gauge> &g) : ClosureAlarm(std::move(b))
    {
        std::weak_ptr<Gauge> gauge = g;
        check_ = [this, gauge](double v) {
            if (auto g = gauge.lock(); g && std::fabs(v - g->mean()) > 45)
                post(g->name() + " drifts");
        };
    }
};

class RateAlarm final : public ClosureAlarm {
public:
    RateAlarm(std::shared_ptr<Board> b, const std::shared_ptr<Gauge> &g, double most) : ClosureAlarm(std::move(b))
    {
#ifdef BUG
        auto gauge = g;                                 // GUILTY
#else
        auto gauge = std::weak_ptr<Gauge>(g);
#endif
        check_ = [this, gauge, most, before = g->last()](double v) mutable {    // ACCEPTED
            if (std::fabs(v - before) > most)
                if (auto p = std::shared_ptr<Gauge>(gauge))
                    post(p->name() + " changes too fast");
            before = v;
        };
    }
};

class Machine {
public:
    Machine(int id, std::shared_ptr<Board> board) : id_(id)
    {
        for (const char *what : {"temperature", "pressure", "speed"})
            gauges_.push_back(Gauge::make("machine " + std::to_string(id) + " " + what, 50 + id % 7));
        gauges_[0]->attach(std::make_shared<LimitAlarm>(board, gauges_[0]->name(), 115));
        if (id % 2)
            gauges_[1]->attach(std::make_shared<DriftAlarm>(board, gauges_[1]));
        if (id % 5 == 3)
            gauges_[2]->attach(std::make_shared<RateAlarm>(board, gauges_[2], 40));     // ACCEPTED
    }

    int id() const { return id_; }

    const std::shared_ptr<Gauge> &gauge(std::size_t i) const { return gauges_[i]; }

    void tick(std::uint32_t &seed)
    {
        for (auto &g : gauges_) {
            seed = seed * 1664525u + 1013904223u;
            g->sample(g->last() + (seed >> 24) % 61 - 30.0 + (g->last() < 20 ? 15 : 0) - (g->last() > 120 ? 15 : 0));
        }
    }

private:
    int id_;
    std::vector<std::shared_ptr<Gauge>> gauges_;
};

// Follows the gauges of all machines, as long as they are there.
class Trend {
public:
    void follow(const std::shared_ptr<Gauge> &g) { gauges_.emplace(g->name(), g); }

    double overall()
    {
        double sum = 0;
        for (auto it = gauges_.begin(); it != gauges_.end();) {
            auto g = it->second.lock();
            if (g)
                sum += g->mean();
            it = g ? std::next(it) : gauges_.erase(it);
        }
        return sum;
    }

private:
    std::map<std::string, std::weak_ptr<Gauge>> gauges_;
};

} // namespace plant

int main()
{
    using namespace plant;

    auto board = std::make_shared<Board>();
    std::vector<std::unique_ptr<Machine>> machines;
    Trend trend;
    std::uint32_t seed = 7;
    double mean = 0;

    for (int hour = 0; hour < 48; ++hour) {
        if (hour < 40) {
            machines.push_back(std::make_unique<Machine>(hour, board));
            const Machine &m = *machines.back();
            trend.follow(m.gauge(0));
            if (machines.size() > 1 && hour % 4 == 0) {
                const auto &other = machines[machines.size() - 2]->gauge(1);
                m.gauge(1)->attach(std::make_shared<PairAlarm>(board, m.gauge(1), other));
            }
        }
        for (auto &m : machines)
            m->tick(seed);
        if (machines.size() > 9)
            machines.erase(machines.begin() + hour % 3, machines.begin() + hour % 3 + 2);
        mean = trend.overall();
    }
    auto worst = board->loudest();
    std::printf("%zu machines, %d notices, mean %.3f\n", machines.size(), board->posted(), mean);
    std::printf("worst: %s, %d times\n", worst->text.c_str(), worst->times);
    machines.clear();
    return 0;
}
