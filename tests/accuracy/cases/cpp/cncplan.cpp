/* summary: ToolPath::simplify puts the thinned points in the place of the old ones, whose reference the path owned and nobody releases
 * kind: overwritten
 * counts: surplus
 * objects: 10
 * track: own
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// cncplan - plans the paths of a milling machine.  Paths are values that share
// their points until one of them is changed, so that a part which is milled
// twenty times does not need twenty copies.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace cnc {

struct Point {
    double x, y, z;
};

inline bool operator==(const Point &a, const Point &b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static double distance(const Point &a, const Point &b)
{
    return std::sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z));
}

static long g_created, g_deleted;

class PathData {
public:
    static PathData *create() { return new PathData; }

    PathData *clone() const
    {
        PathData *d = create();
        d->points = points;
        d->feed = feed;
        return d;
    }

    void retain() { ++refs_; }
    void release()
    {
        if (--refs_ == 0)
            delete this;
    }
    bool shared() const { return refs_ > 1; }

    std::vector<Point> points;
    double feed = 600; // mm per minute

private:
    PathData() { ++g_created; }
    ~PathData() { ++g_deleted; }

    int refs_ = 1;
};

class ToolPath {
public:
    ToolPath() : d_(PathData::create()) {}
    ToolPath(const ToolPath &o) : d_(o.d_) { d_->retain(); }
    ~ToolPath() { d_->release(); }

    ToolPath &operator=(const ToolPath &o)
    {
        o.d_->retain();
        d_->release();
        d_ = o.d_;
        return *this;
    }

    std::size_t size() const { return d_->points.size(); }
    const Point &at(std::size_t i) const { return d_->points[i]; }
    double feed() const { return d_->feed; }
    bool shares(const ToolPath &o) const { return d_ == o.d_; }

    void append(const Point &p)
    {
        detach();
        d_->points.push_back(p);
    }

    void set_feed(double feed)
    {
        if (feed == d_->feed)
            return;
        detach();
        d_->feed = feed;
    }

    void move_by(double dx, double dy)
    {
        if (dx == 0 && dy == 0)
            return;
        detach();
        for (Point &p : d_->points) {
            p.x += dx;
            p.y += dy;
        }
    }

    void reverse()
    {
        PathData *r = PathData::create();
        r->feed = d_->feed;
        r->points.assign(d_->points.rbegin(), d_->points.rend());
        d_->release();
        d_ = r;
    }

    // Leaves points out that lie closer than the tolerance to the one before.
    void simplify(double tolerance)
    {
        if (size() < 3)
            return;
        PathData *thin = PathData::create();
        thin->feed = d_->feed;
        thin->points.push_back(d_->points.front());
        for (std::size_t i = 1; i + 1 < d_->points.size(); ++i)
            if (distance(thin->points.back(), d_->points[i]) >= tolerance)
                thin->points.push_back(d_->points[i]);
        thin->points.push_back(d_->points.back());
        if (thin->points.size() == d_->points.size()) {
            thin->release(); // nothing gained, stay shared
            return;
        }
#ifdef BUG
        d_ = thin; // GUILTY
#else
        d_->release();
        d_ = thin;
#endif
    }

    double length() const
    {
        double sum = 0;
        for (std::size_t i = 1; i < size(); ++i)
            sum += distance(at(i - 1), at(i));
        return sum;
    }

private:
    void detach()
    {
        if (!d_->shared())
            return;
        PathData *own = d_->clone();
        d_->release();
        d_ = own;
    }

    PathData *d_;
};

// Outline of a pocket: a polygon that winds inwards.
static ToolPath pocket(int corners, double radius, double depth)
{
    ToolPath path;
    for (int i = 0; i < corners * 4; ++i) {
        double a = 2 * M_PI * i / corners, r = radius * (1 - 0.2 * (i / corners));
        path.append({std::round(r * std::cos(a) * 100) / 100, std::round(r * std::sin(a) * 100) / 100, -depth});
    }
    return path;
}

static ToolPath slot(double length, double depth)
{
    ToolPath path;
    for (double x = 0; x <= length; x += 2.5)
        path.append({x, 0, -depth});
    return path;
}

struct Job {
    std::string part;
    ToolPath path;
    int times;
};

class Plan {
public:
    void add(const std::string &part, const ToolPath &path, int times) { jobs_.push_back({part, path, times}); }

    // The same part in several places of the sheet.
    std::vector<ToolPath> place(double pitch) const
    {
        std::vector<ToolPath> all;
        int at = 0;
        for (const Job &j : jobs_)
            for (int i = 0; i < j.times; ++i, ++at) {
                all.push_back(j.path);
                all.back().move_by(at % 5 * pitch, at / 5 * pitch);
                if (at % 2)
                    all.back().reverse();
            }
        return all;
    }

    int optimise(double tolerance)
    {
        int changed = 0;
        for (Job &j : jobs_) {
            std::size_t before = j.path.size();
            j.path.simplify(tolerance);
            changed += j.path.size() != before;
        }
        return changed;
    }

    void slow_down(std::size_t every)
    {
        for (std::size_t i = 0; i < jobs_.size(); i += every)
            jobs_[i].path.set_feed(420);
    }

    int sharing() const
    {
        int n = 0;
        for (std::size_t i = 1; i < jobs_.size(); ++i)
            n += jobs_[i].path.shares(jobs_[i - 1].path);
        return n;
    }

private:
    std::vector<Job> jobs_;
};

} // namespace cnc

int main()
{
    for (int sheet = 0; sheet < 4; ++sheet) {
        cnc::Plan plan;
        for (int i = 0; i < 6; ++i) {
            // The cover of a part is the part's own outline, cut less deep later.
            cnc::ToolPath path = i % 2 ? cnc::slot(30 + 10 * i, 2) : cnc::pocket(6 + 3 * i, 12 + i + sheet, 3);
            plan.add("part " + std::to_string(i), path, 1 + (i + sheet) % 3);
            if (i == 1 || i == 3)
                plan.add("cover " + std::to_string(i), path, 1);
        }
        int sharing = plan.sharing();
        plan.slow_down(3);
        int changed = plan.optimise(1.6 + 0.8 * sheet);
        double length = 0, minutes = 0;
        auto all = plan.place(80);
        for (const cnc::ToolPath &p : all) {
            length += p.length();
            minutes += p.length() / p.feed();
        }
        std::printf("sheet %d: %zu cuts, %d shared, %d thinned, %.1f mm in %.2f min\n", sheet, all.size(), sharing,
                    changed, length, minutes);
    }
#ifdef TRUTH
    std::printf("left: %ld of %ld\n", cnc::g_created - cnc::g_deleted, cnc::g_created);
#endif
    return 0;
}
