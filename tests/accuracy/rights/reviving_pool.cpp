/* summary: shapes at count 0 stay in an LRU list and are revived by a lookup (0 -> 1), evicted ones are rebuilt in the same memory at once, built-in ones are immortal with a count of 0x40000000 that gets and puts leave alone, one is made immortal while it has owners, weak counts beside the strong ones keep only the memory, static objects share the code
 * track: own
 * build: g++ -std=c++17 -O2 -g -o OUT reviving_pool.cpp
 */
// reviving_pool - a cache of shaped words for a text view.  Nobody's shapes
// are not destroyed but wait at the end of a list for somebody to want them.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shape
{

constexpr uint32_t Immortal = 0x40000000;

class Cache;

struct Shape
{
    Shape *older = nullptr;
    Shape *newer = nullptr;
    uint32_t strong = 1;
    uint32_t weak = 1;  // one for all the strong ones and the cache
    Cache *cache = nullptr;
    bool dead = false;
    std::string word;
    std::vector<uint16_t> glyphs;

    bool immortal() const { return strong >= Immortal; }
};

inline Shape *shape_get(Shape *shape)
{
    if (!shape->immortal())
        ++shape->strong;
    return shape;
}

// For one that waits: from 0 to 1.
inline Shape *shape_revive(Shape *shape)
{
    shape->strong = 1;
    return shape;
}

// The words that every program has; in static memory, and never given back.
struct Builtins
{
    Shape space, newline, ellipsis;

    Builtins()
    {
        for (Shape *each : {&space, &newline, &ellipsis})
            each->strong = Immortal;
        space.word = " ";
        newline.word = "\n";
        ellipsis.word = "...";
        ellipsis.glyphs = {5, 5, 5};
    }
};

static Builtins &builtins()
{
    static Builtins instance;
    return instance;
}

class Cache
{
public:
    explicit Cache(size_t most) : most_(most) {}

    ~Cache()
    {
        while (oldest_)
            destroy(unlink(oldest_));
        // What is immortal goes with the cache that made it so.
        for (auto &entry : byWord_)
        {
            entry.second->strong = 0;
            forget(entry.second);
        }
        for (void *memory : spare_)
            std::free(memory);
    }

    // With a reference for the caller.
    Shape *find(const std::string &word)
    {
        if (word.size() == 1 && word[0] <= ' ')
            return word[0] == ' ' ? &builtins().space : &builtins().newline;
        if (word == "...")
            return &builtins().ellipsis;

        auto at = byWord_.find(word);
        if (at == byWord_.end())
            return build(word);
        Shape *shape = at->second;
        if (shape->strong == 0)
        {
            ++revived;
            return shape_revive(unlink(shape));
        }
        return shape_get(shape);
    }

    // From now on nobody counts it; the counts there are are void.
    void pin(Shape *shape)
    {
        shape->strong = Immortal;
    }

    void rest(Shape *shape)
    {
        shape->older = newest_;
        (newest_ ? newest_->newer : oldest_) = shape;
        newest_ = shape;
        if (++waiting_ > most_)
            destroy(unlink(oldest_));
    }

    void recycle(Shape *shape)
    {
        shape->~Shape();
        spare_.push_back(shape);
    }

    unsigned revived = 0, built = 0, rebuilt = 0;

private:
    Shape *build(const std::string &word)
    {
        void *memory;

        if (spare_.empty())
            memory = std::malloc(sizeof(Shape));
        else
        {
            memory = spare_.back();
            spare_.pop_back();
            ++rebuilt;
        }
        Shape *shape = new (memory) Shape;
        shape->cache = this;
        shape->word = word;
        for (char c : word)
            shape->glyphs.push_back(static_cast<uint16_t>(c * 3));
        byWord_[word] = shape;
        ++built;
        return shape;
    }

    Shape *unlink(Shape *shape)
    {
        (shape->older ? shape->older->newer : oldest_) = shape->newer;
        (shape->newer ? shape->newer->older : newest_) = shape->older;
        shape->older = shape->newer = nullptr;
        --waiting_;
        return shape;
    }

    void destroy(Shape *shape)
    {
        byWord_.erase(shape->word);
        forget(shape);
    }

    void forget(Shape *shape)
    {
        shape->dead = true;
        shape->glyphs.clear();
        if (--shape->weak == 0)
            recycle(shape);
    }

    size_t most_;
    size_t waiting_ = 0;
    Shape *oldest_ = nullptr;
    Shape *newest_ = nullptr;
    std::unordered_map<std::string, Shape *> byWord_;
    std::vector<void *> spare_;
};

inline void shape_put(Shape *shape)
{
    if (!shape->immortal() && --shape->strong == 0)
        shape->cache->rest(shape);
}

// Weak: the word and the memory, but perhaps no glyphs any more.
class WeakShape
{
public:
    explicit WeakShape(Shape *shape) : shape_(shape) { ++shape_->weak; }
    WeakShape(WeakShape &&other) noexcept : shape_(std::exchange(other.shape_, nullptr)) {}
    WeakShape(const WeakShape &) = delete;
    WeakShape &operator=(const WeakShape &) = delete;

    ~WeakShape()
    {
        if (shape_ && --shape_->weak == 0)
            shape_->cache->recycle(shape_);
    }

    // A waiting one may be had again; only the cache takes it from its list.
    Shape *lock(Cache &cache) const
    {
        if (shape_->dead)
            return nullptr;
        return shape_->strong ? shape_get(shape_) : cache.find(shape_->word);
    }

private:
    Shape *shape_;
};

}  // namespace shape

using namespace shape;

struct Line
{
    std::vector<Shape *> shapes;

    Line() = default;
    Line(const Line &other)
    {
        for (Shape *each : other.shapes)
            shapes.push_back(shape_get(each));
    }
    Line(Line &&) = default;
    Line &operator=(Line other) noexcept { shapes.swap(other.shapes); return *this; }
    ~Line()
    {
        for (Shape *each : shapes)
            shape_put(each);
    }
};

static Line layout(Cache &cache, unsigned n)
{
    static const char *const stems[] = {"river", "moor", "heron", "reed", "otter", "mist", "boat", "oar"};
    Line line;

    for (unsigned i = 0; i < 6; ++i)
    {
        if (i)
            line.shapes.push_back(cache.find(" "));
        std::string word = stems[(n * 7 + i * i) % 8];
        if ((n + i) % 3 == 0)
            word += std::to_string((n * i) % 23);
        line.shapes.push_back(cache.find(word));
    }
    line.shapes.push_back(cache.find(n % 5 ? "\n" : "..."));
    return line;
}

int main()
{
    size_t glyphs = 0;
    unsigned locked = 0, gone = 0;
    Cache cache(12);
    {
        std::vector<WeakShape> bookmarks;
        std::vector<Line> screen(8);

        for (unsigned n = 0; n < 160; ++n)
        {
            Line &line = screen[n % screen.size()];

            line = layout(cache, n);
            if (n % 4 == 0)
                bookmarks.emplace_back(line.shapes[2]);
            if (n == 50)
                for (Shape *each : line.shapes)
                    if (each->word == "otter")
                        cache.pin(each);
            if (n % 16 == 15)
                screen[(n + 3) % screen.size()] = line;
        }
        for (const Line &line : screen)
            for (Shape *each : line.shapes)
                glyphs += each->glyphs.size();
        for (const WeakShape &bookmark : bookmarks)
        {
            Shape *shape = bookmark.lock(cache);

            ++(shape ? locked : gone);
            if (shape)
                shape_put(shape);
        }
    }
    std::printf("%zu glyphs, %u built (%u in old memory), %u revived, %u locked, %u gone\n", glyphs, cache.built,
                cache.rebuilt, cache.revived, locked, gone);
    return 0;
}
