/* summary: Shape's move assignment takes over the other's data without giving up its own
 * kind: overwritten
 * counts: surplus
 * objects: 13
 * track: auto
 * build: g++ -O2 -g -std=c++17
 * exit: 0
 */
// route_shapes - shapes of bus routes.  A Shape is a value that shares its
// points with its copies until one of them is changed.

#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

struct Point
{
    double x;
    double y;
};

class ShapeData
{
public:
    ShapeData() : refs_(1) {}
    ShapeData(const ShapeData &other) : points(other.points), closed(other.closed), refs_(1) {}
    ShapeData &operator=(const ShapeData &) = delete;

    void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }

    void unref()
    {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    bool shared() const { return refs_.load(std::memory_order_acquire) != 1; }

    std::vector<Point> points;
    bool closed = false;

private:
    ~ShapeData() = default;

    std::atomic<int> refs_;
};

class Shape
{
public:
    Shape() = default;
    Shape(const Shape &other) : d_(other.d_)
    {
        if (d_)
            d_->ref();
    }
    Shape(Shape &&other) noexcept : d_(std::exchange(other.d_, nullptr)) {}
    ~Shape()
    {
        if (d_)
            d_->unref();
    }

    Shape &operator=(const Shape &other)
    {
        if (other.d_)
            other.d_->ref();
        if (d_)
            d_->unref();
        d_ = other.d_;
        return *this;
    }

    Shape &operator=(Shape &&other) noexcept
    {
#ifdef BUG
        d_ = std::exchange(other.d_, nullptr); // GUILTY
#else
        std::swap(d_, other.d_);
#endif
        return *this;
    }

    size_t size() const { return d_ ? d_->points.size() : 0; }
    const Point &at(size_t i) const { return d_->points[i]; }
    bool sameData(const Shape &other) const { return d_ == other.d_; }

    void append(Point p) { detach()->points.push_back(p); }
    void close() { detach()->closed = true; }

    void move(double dx, double dy)
    {
        if (!d_ || (dx == 0 && dy == 0))
            return;
        for (Point &p : detach()->points)
        {
            p.x += dx;
            p.y += dy;
        }
    }

    double length() const
    {
        double sum = 0;

        for (size_t i = 1; i < size(); ++i)
            sum += std::hypot(at(i).x - at(i - 1).x, at(i).y - at(i - 1).y);
        if (d_ && d_->closed && size() > 1)
            sum += std::hypot(at(0).x - at(size() - 1).x, at(0).y - at(size() - 1).y);
        return sum;
    }

private:
    ShapeData *detach()
    {
        if (!d_)
            d_ = new ShapeData;
        else if (d_->shared())
        {
            auto *copy = new ShapeData(*d_);

            d_->unref();
            d_ = copy;
        }
        return d_;
    }

    ShapeData *d_ = nullptr;
};

// Leaves out the points that are nearly on the line.
static Shape simplified(const Shape &shape, double tolerance)
{
    Shape result;

    if (shape.size() < 3)
        return shape;
    result.append(shape.at(0));
    for (size_t i = 1; i + 1 < shape.size(); ++i)
    {
        const Point &a = result.at(result.size() - 1), &b = shape.at(i), &c = shape.at(i + 1);
        double area = std::fabs((b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y));

        if (area > tolerance)
            result.append(b);
    }
    result.append(shape.at(shape.size() - 1));
    return result;
}

class Network
{
public:
    void define(const std::string &route, const Shape &shape) { routes_[route] = shape; }

    bool alias(const std::string &route, const std::string &of)
    {
        auto found = routes_.find(of);

        if (found == routes_.end())
            return false;
        Shape shape = found->second;
        routes_.emplace(route, std::move(shape));
        return true;
    }

    // For works on the road: the first part of the route lies elsewhere.
    void divert(const std::string &route, double dx, double dy)
    {
        auto found = routes_.find(route);

        if (found != routes_.end())
            found->second.move(dx, dy);
    }

    // The shapes for one zoom level of the map.
    std::map<std::string, Shape> level(double tolerance) const
    {
        std::map<std::string, Shape> result(routes_);

        for (auto &entry : result)
            if (entry.second.size() > 8)
                entry.second = simplified(entry.second, tolerance);
        return result;
    }

    // Publishes the routes as they are for the next night, without noise.
    int tidy(double tolerance)
    {
        int changed = 0;

        for (auto &entry : routes_)
        {
            Shape better = simplified(entry.second, tolerance);

            if (better.size() < entry.second.size())
            {
                entry.second = std::move(better);
                ++changed;
            }
        }
        return changed;
    }

    double total() const
    {
        double sum = 0;

        for (const auto &entry : routes_)
            sum += entry.second.length();
        return sum;
    }

private:
    std::map<std::string, Shape> routes_;
};

static Shape survey(int n)
{
    Shape shape;

    for (int i = 0; i < 5 + n % 8; ++i)
        shape.append({i * 10.0 + n, std::sin(i * 0.7 + n) * (i % 3 ? 0.4 : 6.0)});
    if (n % 5 == 0)
        shape.close();
    return shape;
}

int main()
{
    Network network;
    size_t points = 0;

    for (int n = 0; n < 16; ++n)
    {
        network.define("bus" + std::to_string(n), survey(n));
        if (n % 4 == 3)
            network.alias("night" + std::to_string(n), "bus" + std::to_string(n - 1));
    }
    network.divert("bus2", 4, 1);
    network.divert("night7", 0, 3);

    for (double tolerance : {1.0, 8.0})
        for (const auto &entry : network.level(tolerance))
            points += entry.second.size();
    int changed = network.tidy(4.0);

    std::printf("%zu points, %d tidied, %.1f km\n", points, changed, network.total() / 10);
    return 0;
}
