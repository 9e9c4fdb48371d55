/* summary: a layer's hatch override adopts the pointer that the pattern table only lends
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: clang++ -O1 -g
 */
// Plot preparation of a drawing program: layers, pens and shared hatch patterns, with the plotter's language as output.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plot {

template <class T> class Ref {
public:
    Ref() : object_(nullptr) {}
    explicit Ref(T *object) : object_(object) {
        if (object_)
            object_->ref();
    }
    Ref(const Ref &other) : object_(other.object_) {
        if (object_)
            object_->ref();
    }
    Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    ~Ref() {
        if (object_)
            object_->deref();
    }

    // takes over the reference that the caller has
    static Ref adopt(T *object) {
        Ref result;
        result.object_ = object;
        return result;
    }

    Ref &operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }

    T *get() const { return object_; }
    T *operator->() const { return object_; }
    T &operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }
    T *leak() { return std::exchange(object_, nullptr); }

private:
    T *object_;
};

class HatchPattern {
public:
    static HatchPattern *create(const std::string &name, double spacing, double angle) {
        return new HatchPattern(name, spacing, angle);
    }

    void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
    void deref() {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    const std::string &name() const { return name_; }
    double spacing() const { return spacing_; }
    double angle() const { return angle_; }
    int lines_for(double width, double height) const {
        return static_cast<int>(std::sqrt(width * width + height * height) / spacing_);
    }

private:
    HatchPattern(const std::string &name, double spacing, double angle)
        : name_(name), spacing_(spacing), angle_(angle), refs_(1) {}
    ~HatchPattern() {}

    std::string name_;
    double spacing_, angle_;
    std::atomic<int> refs_;
};

typedef Ref<HatchPattern> PatternRef;

// patterns by name: those of the standard and what the drawing defines
class PatternTable {
public:
    void define(const std::string &name, double spacing, double angle) {
        patterns_[name] = PatternRef::adopt(HatchPattern::create(name, spacing, angle));
    }

    HatchPattern *find(const std::string &name) const {
        auto found = patterns_.find(name);
        return found == patterns_.end() ? nullptr : found->second.get();
    }

    // a variant that belongs to the caller
    HatchPattern *scaled(const std::string &name, double factor) const {
        HatchPattern *base = find(name);
        if (!base)
            return nullptr;
        return HatchPattern::create(name + "*", base->spacing() * factor, base->angle());
    }

    size_t size() const { return patterns_.size(); }

private:
    std::map<std::string, PatternRef> patterns_;
};

struct Pen {
    int number = 1;
    double width = 0.25;
    PatternRef fill;
};

struct Region {
    double x, y, width, height;
    Pen pen;
};

class Layer {
public:
    Layer(const std::string &name, Pen pen) : name_(name), pen_(std::move(pen)) {}

    const std::string &name() const { return name_; }
    const Pen &pen() const { return pen_; }

    void add_region(double x, double y, double width, double height) {
        regions_.push_back(Region{x, y, width, height, pen_});
    }

    bool add_region(double x, double y, double width, double height, const PatternTable &table, const std::string &pattern) {
        HatchPattern *found = table.find(pattern);
        if (!found)
            return false;
        Pen pen = pen_;
        pen.fill = PatternRef(found);
        regions_.push_back(Region{x, y, width, height, pen});
        return true;
    }

    // the plot style may replace the fill of the whole layer, in another scale too
    bool override_fill(const PatternTable &table, const std::string &pattern, double scale) {
        PatternRef fill;
        if (scale != 1.0)
            fill = PatternRef::adopt(table.scaled(pattern, scale));
        else
#ifdef BUG
            fill = PatternRef::adopt(table.find(pattern)); // GUILTY
#else
            fill = PatternRef(table.find(pattern));
#endif
        if (!fill)
            return false;
        override_ = std::move(fill);
        return true;
    }

    int plot(std::string &out) const {
        int lines = 0;
        char text[96];
        for (const Region &region : regions_) {
            const PatternRef &fill = override_ ? override_ : region.pen.fill;
            std::snprintf(text, sizeof text, "SP%d;PW%.2f;PA%.0f,%.0f;", region.pen.number, region.pen.width, region.x, region.y);
            out += text;
            if (!fill)
                continue;
            std::snprintf(text, sizeof text, "FT3,%.1f,%.0f;RR%.0f,%.0f;", fill->spacing(), fill->angle(), region.width,
                          region.height);
            out += text;
            lines += fill->lines_for(region.width, region.height);
        }
        return lines;
    }

private:
    std::string name_;
    Pen pen_;
    PatternRef override_;
    std::vector<Region> regions_;
};

struct StyleRule {
    const char *layer;
    const char *pattern;
    double scale;
};

class Drawing {
public:
    Drawing() {
        patterns_.define("ANSI31", 3.0, 45);
        patterns_.define("ANSI37", 2.0, 45);
        patterns_.define("EARTH", 6.0, 0);
        patterns_.define("GRAVEL", 4.0, 30);
        patterns_.define("BRICK", 5.0, 0);
        patterns_.define("INSUL", 2.5, 90);
    }

    Layer &add_layer(const std::string &name, int pen_number, double width, const char *pattern) {
        Pen pen;
        pen.number = pen_number;
        pen.width = width;
        if (pattern)
            pen.fill = PatternRef(patterns_.find(pattern));
        layers_.push_back(Layer(name, pen));
        return layers_.back();
    }

    int apply(const std::vector<StyleRule> &rules) {
        int applied = 0;
        for (const StyleRule &rule : rules)
            for (Layer &layer : layers_)
                if (layer.name() == rule.layer && layer.override_fill(patterns_, rule.pattern, rule.scale))
                    ++applied;
        return applied;
    }

    void plot() const {
        for (const Layer &layer : layers_) {
            std::string commands;
            int lines = layer.plot(commands);
            std::printf("%-10s %3d hatch lines, %4zu bytes\n", layer.name().c_str(), lines, commands.size());
        }
    }

    const PatternTable &patterns() const { return patterns_; }
    void reserve(size_t layers) { layers_.reserve(layers); }

private:
    PatternTable patterns_;
    std::vector<Layer> layers_;
};

} // namespace plot

int main() {
    plot::Drawing drawing;
    drawing.reserve(8);
    plot::Layer &walls = drawing.add_layer("walls", 1, 0.50, "BRICK");
    walls.add_region(0, 0, 400, 24);
    walls.add_region(0, 276, 400, 24);
    walls.add_region(0, 24, 24, 252, drawing.patterns(), "INSUL");
    plot::Layer &site = drawing.add_layer("site", 3, 0.18, "EARTH");
    site.add_region(-200, -200, 900, 180);
    site.add_region(-200, 320, 900, 120, drawing.patterns(), "GRAVEL");
    plot::Layer &steel = drawing.add_layer("steel", 2, 0.35, "ANSI31");
    for (int i = 0; i < 4; ++i)
        steel.add_region(50 + 90 * i, 40, 12, 12);
    plot::Layer &drains = drawing.add_layer("drains", 4, 0.25, nullptr);
    drains.add_region(120, 60, 20, 160);
    if (!drains.add_region(160, 60, 20, 160, drawing.patterns(), "SAND"))
        std::printf("no pattern SAND\n");

    std::vector<plot::StyleRule> monochrome = {
        {"site", "GRAVEL", 2.0}, {"steel", "ANSI37", 1.0}, {"drains", "EARTH", 1.0}, {"walls", "CORK", 1.0}};
    drawing.plot();
    std::printf("%d rules applied\n", drawing.apply(monochrome));
    drawing.plot();
    return 0;
}
