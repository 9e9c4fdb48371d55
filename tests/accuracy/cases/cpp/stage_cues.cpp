/* summary: a duplicated cue shares the gobo of its original without taking a reference
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: clang++ -O1 -g
 */
// Lighting desk of a theatre: cues with palettes and gobos, a cue list that can be edited during rehearsals, and the show run.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace desk {

// A colour palette. Cues that use the same one follow when it is changed.
class Palette {
public:
    static Palette *create(const char *name, int red, int green, int blue) {
        Palette *palette = new Palette;
        snprintf(palette->name_, sizeof palette->name_, "%s", name);
        palette->rgb_[0] = red;
        palette->rgb_[1] = green;
        palette->rgb_[2] = blue;
        return palette;
    }
    void retain() { users_.fetch_add(1, std::memory_order_relaxed); }
    void release() {
        if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    void warm(int amount) {
        rgb_[0] = rgb_[0] + amount > 255 ? 255 : rgb_[0] + amount;
        rgb_[2] = rgb_[2] < amount ? 0 : rgb_[2] - amount;
    }
    int brightness() const { return (rgb_[0] * 3 + rgb_[1] * 6 + rgb_[2]) / 10; }
    const char *name() const { return name_; }

private:
    Palette() : users_(1) {}
    ~Palette() {}
    char name_[28];
    int rgb_[3];
    std::atomic<int> users_;
};

// A pattern in front of a lamp, and how it turns.
class Gobo {
public:
    static Gobo *create(const char *pattern, double transmission) {
        Gobo *gobo = new Gobo;
        snprintf(gobo->pattern_, sizeof gobo->pattern_, "%s", pattern);
        gobo->transmission_ = transmission;
        return gobo;
    }
    void retain() { users_.fetch_add(1, std::memory_order_relaxed); }
    void release() {
        if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    void spin(double rpm) { rpm_ = rpm; }
    double transmission() const { return transmission_; }
    double rpm() const { return rpm_; }
    const char *pattern() const { return pattern_; }

private:
    Gobo() : transmission_(1), rpm_(0), users_(1) {}
    ~Gobo() {}
    char pattern_[80];
    double transmission_, rpm_;
    std::atomic<int> users_;
};

class Cue {
public:
    Cue(double number, double fade) : number_(number), fade_(fade), palette_(nullptr), gobo_(nullptr) {}
    ~Cue() {
        if (palette_)
            palette_->release();
        if (gobo_)
            gobo_->release();
    }
    Cue(const Cue &) = delete;
    Cue &operator=(const Cue &) = delete;

    void set_palette(Palette *palette) {
        if (palette)
            palette->retain();
        if (palette_)
            palette_->release();
        palette_ = palette;
    }
    void set_gobo(Gobo *gobo) {
        if (gobo)
            gobo->retain();
        if (gobo_)
            gobo_->release();
        gobo_ = gobo;
    }
    Cue *duplicate(double number) const {
        Cue *copy = new Cue(number, fade_);
        copy->channels_ = channels_;
        copy->set_palette(palette_);
#ifdef BUG
        copy->gobo_ = gobo_; // GUILTY
#else
        copy->set_gobo(gobo_);
#endif
        return copy;
    }
    void channel(int which, int level) { channels_[which] = level; }
    void fade(double seconds) { fade_ = seconds; }
    double number() const { return number_; }
    double seconds() const { return fade_; }

    double output() const {
        double sum = 0;
        for (const auto &channel : channels_)
            sum += channel.second;
        if (palette_)
            sum = sum * palette_->brightness() / 255;
        if (gobo_)
            sum *= gobo_->transmission();
        return sum;
    }
    void print() const {
        printf("cue %5.1f in %3.1fs %6.1f %s %s\n", number_, fade_, output(), palette_ ? palette_->name() : "open",
               gobo_ ? gobo_->pattern() : "-");
    }

private:
    double number_, fade_;
    Palette *palette_;
    Gobo *gobo_;
    std::map<int, int> channels_;
};

// What lies in the drawers: one reference to everything that has a name.
class Library {
public:
    ~Library() {
        for (auto &entry : palettes_)
            entry.second->release();
        for (auto &entry : gobos_)
            entry.second->release();
    }
    void add(Palette *owned) {
        Palette *&place = palettes_[owned->name()];
        if (place)
            place->release();
        place = owned;
    }
    void add(Gobo *owned) {
        Gobo *&place = gobos_[owned->pattern()];
        if (place)
            place->release();
        place = owned;
    }
    Palette *palette(const char *name) const {
        auto found = palettes_.find(name);
        return found == palettes_.end() ? nullptr : found->second;
    }
    Gobo *gobo(const char *pattern) const {
        auto found = gobos_.find(pattern);
        return found == gobos_.end() ? nullptr : found->second;
    }

private:
    std::map<std::string, Palette *> palettes_;
    std::map<std::string, Gobo *> gobos_;
};

class CueList {
public:
    ~CueList() {
        for (Cue *cue : cues_)
            delete cue;
    }
    Cue *record(double number, double fade) {
        Cue *cue = new Cue(number, fade);
        insert(cue);
        return cue;
    }
    // "copy 3 to 3.5": the way cues are made in rehearsals
    Cue *copy(double from, double to) {
        Cue *source = find(from);
        if (!source || find(to))
            return nullptr;
        Cue *cue = source->duplicate(to);
        insert(cue);
        return cue;
    }
    bool erase(double number) {
        for (auto at = cues_.begin(); at != cues_.end(); ++at) {
            if ((*at)->number() == number) {
                delete *at;
                cues_.erase(at);
                return true;
            }
        }
        return false;
    }
    Cue *find(double number) const {
        for (Cue *cue : cues_) {
            if (cue->number() == number)
                return cue;
        }
        return nullptr;
    }
    double run() const {
        double seconds = 0;
        for (const Cue *cue : cues_) {
            cue->print();
            seconds += cue->seconds();
        }
        return seconds;
    }

private:
    void insert(Cue *cue) {
        auto at = cues_.begin();
        while (at != cues_.end() && (*at)->number() < cue->number())
            ++at;
        cues_.insert(at, cue);
    }
    std::list<Cue *> cues_;
};

static void stock(Library &library) {
    library.add(Palette::create("amber", 255, 170, 20));
    library.add(Palette::create("steel", 120, 160, 230));
    library.add(Palette::create("congo", 60, 10, 140));
    library.add(Gobo::create("leaves", 0.55));
    library.add(Gobo::create("window", 0.70));
    library.add(Gobo::create("clouds", 0.80));
    library.add(Gobo::create("bars", 0.40));
    library.add(Gobo::create("flames", 0.65));
    library.gobo("leaves")->spin(0.5);
}

static Cue *light(CueList &list, const Library &library, double number, const char *palette, const char *gobo) {
    Cue *cue = list.record(number, 3.0 + number / 2);
    for (int i = 0; i < 4; i++)
        cue->channel(static_cast<int>(number) * 10 + i, 40 + 15 * i);
    cue->set_palette(library.palette(palette));
    cue->set_gobo(library.gobo(gobo));
    return cue;
}

} // namespace desk

int main() {
    using namespace desk;
    Library library;
    stock(library);
    CueList list;
    light(list, library, 1, "amber", "leaves");
    light(list, library, 2, "amber", "window");
    light(list, library, 3, "steel", "clouds");
    light(list, library, 4, "congo", "bars");
    light(list, library, 5, "steel", "none");
    light(list, library, 6, "amber", "flames");

    // rehearsal: the garden scene gets a slower start, the storm a second flash, the house lights a copy without a pattern
    if (Cue *slow = list.copy(1, 1.5))
        slow->fade(9);
    if (Cue *flash = list.copy(3, 3.5))
        flash->fade(0.2);
    list.copy(5, 5.5);
    bool twice = list.copy(1, 1.5) != nullptr;
    bool erased = list.erase(6);
    library.palette("amber")->warm(12);
    double seconds = list.run();
    printf("%.1f s, twice %d, erased %d\n", seconds, twice, erased);
    return 0;
}
