/* summary: FontCache::fallbackFor adopts the face it found in the cache's own list, as if it had just been created, so the reference is never taken
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: own
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
//
// typeset - breaks paragraphs into lines.  Text comes in runs of one script and
// one style; every run is shaped with a face from the font cache, and shaped
// runs are remembered because the same words come again and again.
//
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace wtf {

template <class T>
class RefCounted {
public:
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;

    void ref() const { count_.fetch_add(1, std::memory_order_relaxed); }

    void deref() const
    {
        if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete static_cast<const T *>(this);
    }

    bool hasOneRef() const { return count_.load() == 1; }

protected:
    RefCounted() = default;
    ~RefCounted() = default;

private:
    mutable std::atomic<int> count_{1};     // whoever creates it has the first
};

struct AdoptTag {};

template <class T>
class Ref {
public:
    Ref() = default;
    Ref(T *p) : p_(p) { if (p_) p_->ref(); }
    Ref(T *p, AdoptTag) : p_(p) {}
    Ref(const Ref &o) : Ref(o.p_) {}
    Ref(Ref &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~Ref() { if (p_) p_->deref(); }

    Ref &operator=(Ref o) noexcept
    {
        std::swap(p_, o.p_);
        return *this;
    }

    T *get() const { return p_; }
    T *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

template <class T>
Ref<T> adoptRef(T *p) { return Ref<T>(p, AdoptTag()); }

} // namespace wtf

using wtf::adoptRef;
using wtf::Ref;

enum Script { Latin, Greek, Cyrillic, Hebrew, Arabic, Thai, Hangul, Kana, Runic, Ogham, NScripts };

constexpr unsigned bit(int s) { return 1u << s; }

class Resource {
public:
    Resource(std::string name, int weight) : name_(std::move(name)), weight_(weight) {}
    const std::string &name() const { return name_; }
    int weight() const { return weight_; }

private:
    std::string name_;
    int weight_;
};

class Face : public Resource, public wtf::RefCounted<Face> {
public:
    static Ref<Face> load(std::string family, int weight, unsigned scripts)
    {
        return adoptRef(new Face(std::move(family), weight, scripts));
    }

    bool covers(int script) const { return scripts_ & bit(script); }
    unsigned scripts() const { return scripts_; }
    int advance(unsigned char c) const { return widths_[c & 63]; }

private:
    Face(std::string family, int weight, unsigned scripts)
        : Resource(std::move(family), weight), scripts_(scripts)
    {
        for (std::size_t i = 0; i < widths_.size(); ++i)
            widths_[i] = static_cast<std::int16_t>(400 + weight / 2 + (i * 37 + name().size() * 11) % 230);
    }

    unsigned scripts_;
    std::array<std::int16_t, 64> widths_;
};

class ShapedRun : public wtf::RefCounted<ShapedRun> {
public:
    static Ref<ShapedRun> shape(const std::string &text, Ref<Face> face)
    {
        return adoptRef(new ShapedRun(text, std::move(face)));
    }

    int width() const { return width_; }

private:
    ShapedRun(const std::string &text, Ref<Face> face) : text_(text), width_(0), face_(std::move(face))
    {
        for (unsigned char c : text_)
            width_ += face_->advance(c);
    }

    std::string text_;
    int width_;
    Ref<Face> face_;
};

struct Style {
    const char *family;
    int weight;
};

class FontCache {
public:
    // The face that was asked for; it is loaded when it is new.
    Ref<Face> find(const std::string &family, int weight, unsigned scripts = bit(Latin))
    {
        for (const auto &f : faces_)
            if (f->name() == family && f->weight() == weight)
                return f;
        Ref<Face> fresh = Face::load(family, weight, scripts);
        faces_.push_back(fresh);
        return fresh;
    }

    // What the user wants for a script, if anything.
    Ref<Face> preferred(int script) const
    {
        auto it = preferences_.find(script);
        return it == preferences_.end() ? Ref<Face>() : Ref<Face>(it->second);
    }

    void prefer(int script, const Ref<Face> &f) { preferences_[script] = f.get(); }

    // The most specialised face that has the script at all.
    Ref<Face> fallbackFor(int script)
    {
        Face *best = nullptr;
        for (const auto &f : faces_)
            if (f->covers(script) && (!best || f->scripts() < best->scripts()))
                best = f.get();
        if (!best)
            return find("Last Resort", 400, ~0u);
#ifdef BUG
        return adoptRef(best);          // GUILTY
#else
        return Ref<Face>(best);
#endif
    }

    std::size_t size() const { return faces_.size(); }

private:
    std::vector<Ref<Face>> faces_;
    std::map<int, Face *> preferences_;     // all of them are in faces_
};

class Typesetter {
public:
    explicit Typesetter(FontCache &cache) : cache_(cache) {}

    Ref<ShapedRun> shape(const std::string &text, int script, const Style &style)
    {
        auto key = std::make_tuple(text, script, std::string(style.family), style.weight);
        auto it = shaped_.find(key);
        if (it != shaped_.end()) {
            ++hits_;
            return it->second;
        }
        Ref<ShapedRun> run = ShapedRun::shape(text, faceFor(script, style));
        shaped_.emplace(std::move(key), run);
        return run;
    }

    // Runs nobody uses any more.
    void trim()
    {
        for (auto it = shaped_.begin(); it != shaped_.end();)
            it = it->second->hasOneRef() ? shaped_.erase(it) : std::next(it);
    }

    unsigned hits() const { return hits_; }
    std::size_t remembered() const { return shaped_.size(); }

private:
    Ref<Face> faceFor(int script, const Style &style)
    {
        Ref<Face> face = cache_.find(style.family, style.weight);
        if (face->covers(script))
            return face;
        if (Ref<Face> wanted = cache_.preferred(script))
            return wanted;
        if (!fallback_[script])
            fallback_[script] = cache_.fallbackFor(script);     // ACCEPTED
        return fallback_[script];
    }

    FontCache &cache_;
    std::array<Ref<Face>, NScripts> fallback_;
    std::map<std::tuple<std::string, int, std::string, int>, Ref<ShapedRun>> shaped_;
    unsigned hits_ = 0;
};

struct Paragraph {
    std::vector<Ref<ShapedRun>> runs;

    int lines(int measure) const
    {
        int n = 1, used = 0;
        for (const auto &r : runs) {
            if (used && used + r->width() > measure)
                ++n, used = 0;
            used += r->width();
        }
        return n;
    }
};

static void loadFonts(FontCache &cache)
{
    for (const char *family : {"Serif", "Sans", "Mono"})
        for (int weight : {300, 400, 700})
            cache.find(family, weight, bit(Latin) | (*family == 'S' ? bit(Greek) : 0));
    cache.find("Wide", 400, bit(Latin) | bit(Greek) | bit(Cyrillic) | bit(Hebrew) | bit(Runic) | bit(Ogham));
    cache.find("Neva", 400, bit(Cyrillic));
    cache.find("David", 400, bit(Hebrew));
    cache.find("Naskh", 400, bit(Arabic));
    cache.find("Garuda", 400, bit(Thai));
    cache.find("Batang", 400, bit(Hangul));
    cache.prefer(Kana, cache.find("Mincho", 400, bit(Kana)));
    cache.prefer(Greek, cache.find("Serif", 400));
}

int main()
{
    static const Style styles[] = {{"Serif", 400}, {"Serif", 700}, {"Sans", 300}, {"Mono", 400}};
    static const char *const words[] = {"in ", "the ", "beginning ", "was ", "a ", "typesetter ", "and "};
    static const int scripts[] = {Latin, Latin, Latin, Greek, Latin, Cyrillic, Latin, Kana, Latin, Hebrew,
                                  Latin, Latin, Arabic, Latin, Greek, Thai};
    FontCache cache;
    loadFonts(cache);
    {
        Typesetter setter(cache);
        std::vector<Paragraph> page;
        int lines = 0;
        for (unsigned p = 0; p < 60; ++p) {
            Paragraph par;
            for (unsigned w = 0; w < 12 + p % 7; ++w)
                par.runs.push_back(setter.shape(words[(p * 5 + w * 3) % 7], scripts[(p + w * w) % 16],
                                                styles[(p / 4 + w / 5) % 4]));
            page.push_back(std::move(par));
            if (page.size() == 15) {
                for (const Paragraph &q : page)
                    lines += q.lines(24000);
                page.erase(page.begin(), page.begin() + 12);
                setter.trim();
            }
        }
        std::printf("%d lines, %u hits, %zu runs remembered\n", lines, setter.hits(), setter.remembered());
    }
    std::printf("%zu faces\n", cache.size());
    return 0;
}
