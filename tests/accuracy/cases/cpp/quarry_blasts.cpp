/* summary: the holes of a repaired row adopt the delay chart that the store only lends
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: intrusive_ref_counter
 * build: g++ -O2 -g
 */
// Blast planning of a quarry: rows of bore holes with charges, delay charts shared by many holes, and the checks before firing.
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace quarry {

// header of everything that is kept in the quarry's archive
struct ArchiveHeader {
    unsigned long serial;
    unsigned long revision;
};

class DelayChart : public ArchiveHeader, public boost::intrusive_ref_counter<DelayChart, boost::thread_safe_counter> {
public:
    DelayChart(unsigned long serial, const char *name, int first, int step) : first_(first), step_(step), limit_(0) {
        this->serial = serial;
        this->revision = 1;
        snprintf(name_, sizeof name_, "%s", name);
    }
    const char *name() const { return name_; }
    int delay(int index) const { return first_ + step_ * index; }
    void limit(int milliseconds) {
        limit_ = milliseconds;
        revision++;
    }
    bool allows(int milliseconds) const { return limit_ == 0 || milliseconds <= limit_; }

private:
    int first_, step_, limit_;
    char name_[72];
};

typedef boost::intrusive_ptr<DelayChart> ChartPtr;

struct Hole {
    double depth;
    double charge;
    int index;
    ChartPtr chart;
};

// Reads "name first step [limit]". The caller owns the result.
static DelayChart *parse_chart(const char *line, unsigned long serial) {
    char name[64];
    int first, step, limit;
    int fields = sscanf(line, "%63s %d %d %d", name, &first, &step, &limit);
    if (fields < 3)
        return nullptr;
    ChartPtr chart(new DelayChart(serial, name, first, step));
    if (fields == 4) {
        if (limit < first)
            return nullptr;
        chart->limit(limit);
    }
    return chart.detach();
}

class ChartStore {
public:
    int load(const char *const *lines, size_t count) {
        int rejected = 0;
        for (size_t i = 0; i < count; i++) {
            ChartPtr chart(parse_chart(lines[i], 500 + i), false);
            if (!chart) {
                rejected++;
                continue;
            }
            charts_[chart->name()] = chart;
        }
        return rejected;
    }
    // The chart stays the store's.
    DelayChart *find(const std::string &name) const {
        auto found = charts_.find(name);
        return found == charts_.end() ? nullptr : found->second.get();
    }
    size_t size() const { return charts_.size(); }

private:
    std::map<std::string, ChartPtr> charts_;
};

class Row {
public:
    Row(int number, ChartPtr chart) : number_(number), chart_(std::move(chart)) {}

    void drill(double depth, double charge) {
        Hole hole;
        hole.depth = depth;
        hole.charge = charge;
        hole.index = static_cast<int>(holes_.size());
        hole.chart = chart_;
        holes_.push_back(std::move(hole));
    }
    // A hole that turned out too close to the next one fires by another chart.
    bool retime(size_t which, const ChartStore &store, const char *name) {
        if (which >= holes_.size())
            return false;
        DelayChart *chart = store.find(name);
        if (!chart || !chart->allows(chart->delay(holes_[which].index)))
            return false;
#ifdef BUG
        holes_[which].chart = ChartPtr(chart, false); // GUILTY
#else
        holes_[which].chart = ChartPtr(chart);
#endif
        return true;
    }
    void rechart(ChartPtr chart) {
        for (Hole &hole : holes_) {
            if (hole.chart == chart_)
                hole.chart = chart;
        }
        chart_ = std::move(chart);
    }
    int number() const { return number_; }
    const ChartPtr &chart() const { return chart_; }
    const std::vector<Hole> &holes() const { return holes_; }

private:
    int number_;
    ChartPtr chart_;
    std::vector<Hole> holes_;
};

class BlastPlan {
public:
    explicit BlastPlan(const char *bench) : bench_(bench) {}

    Row *add_row(const ChartStore &store, const char *chart_name) {
        ChartPtr chart(store.find(chart_name));
        if (!chart)
            return nullptr;
        rows_.emplace_back(new Row(static_cast<int>(rows_.size()) + 1, std::move(chart)));
        return rows_.back().get();
    }
    double charge() const {
        double sum = 0;
        for (const auto &row : rows_) {
            for (const Hole &hole : row->holes())
                sum += hole.charge;
        }
        return sum;
    }
    // The most that goes off within eight milliseconds: the neighbours' windows depend on it.
    double worst_instant() const {
        std::vector<std::pair<int, double>> shots;
        for (const auto &row : rows_) {
            for (const Hole &hole : row->holes())
                shots.emplace_back(hole.chart->delay(hole.index) + row->number() * 17, hole.charge);
        }
        std::sort(shots.begin(), shots.end());
        double worst = 0;
        for (size_t i = 0; i < shots.size(); i++) {
            double sum = 0;
            for (size_t j = i; j < shots.size() && shots[j].first - shots[i].first < 8; j++)
                sum += shots[j].second;
            worst = std::max(worst, sum);
        }
        return worst;
    }
    int violations() const {
        int count = 0;
        for (const auto &row : rows_) {
            for (const Hole &hole : row->holes())
                count += !hole.chart->allows(hole.chart->delay(hole.index));
        }
        return count;
    }
    void print() const {
        printf("bench %s\n", bench_);
        for (const auto &row : rows_) {
            printf("  row %d by %s:", row->number(), row->chart()->name());
            for (const Hole &hole : row->holes())
                printf(" %.1fm/%.0fkg@%d", hole.depth, hole.charge, hole.chart->delay(hole.index));
            printf("\n");
        }
    }

private:
    const char *bench_;
    std::vector<std::unique_ptr<Row>> rows_;
};

static void drill_row(Row *row, int holes, double depth, double charge) {
    for (int i = 0; i < holes; i++)
        row->drill(depth + 0.1 * i, charge - i);
}

} // namespace quarry

int main() {
    using namespace quarry;
    static const char *const lines[] = {
        "limestone-17 0 17 170",  "limestone-25 8 25 250", "marl-42 0 42",    "presplit 0 1 40",
        "broken-line",            "trim-9 4 9 120",        "toe-67 10 67 9", "cast-33 0 33 400",
    };
    ChartStore store;
    int rejected = store.load(lines, sizeof lines / sizeof *lines);

    std::unique_ptr<BlastPlan> north(new BlastPlan("north 3"));
    std::unique_ptr<BlastPlan> south(new BlastPlan("south 1"));
    Row *first = north->add_row(store, "limestone-17");
    Row *second = north->add_row(store, "limestone-25");
    Row *third = south->add_row(store, "cast-33");
    Row *fourth = south->add_row(store, "marl-42");
    if (!first || !second || !third || !fourth)
        return 1;
    drill_row(first, 5, 11.5, 62);
    drill_row(second, 6, 12.0, 70);
    drill_row(third, 4, 9.0, 48);
    drill_row(fourth, 4, 9.5, 51);
    if (south->add_row(store, "granite-9"))
        return 1;

    int retimed = 0;
    retimed += first->retime(3, store, "trim-9");
    retimed += second->retime(0, store, "presplit");
    retimed += third->retime(9, store, "presplit");
    retimed += fourth->retime(1, store, "toe-67");
    fourth->rechart(third->chart());

    north->print();
    south->print();
    printf("%zu charts, %d rejected, %d holes retimed\n", store.size(), rejected, retimed);
    printf("charge %.0f kg, at once %.0f and %.0f kg, %d violations\n", north->charge() + south->charge(),
           north->worst_instant(), south->worst_instant(), north->violations() + south->violations());
    north.reset();
    south.reset();
    return 0;
}
