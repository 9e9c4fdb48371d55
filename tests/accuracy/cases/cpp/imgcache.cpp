/* summary: TileCache::load(): the placeholder image returned by the codec already carries a reference for the caller, but the ref_ptr is built with the default add_ref=true, so it counts one reference too many (the normal way passes false).
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: auto
 * build: clang++ -std=c++17 -g -O2 -pthread
 * exit: 0
 */
// Minimal intrusive smart pointer.
#include <atomic>
#include <cstddef>
#include <utility>

class RefCounted {
public:
    void retain() const noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
    void release() const noexcept
    {
        if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    bool unique() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

protected:
    RefCounted() = default;
    virtual ~RefCounted() = default;

private:
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;
    mutable std::atomic<int> count_{1};
};

template <class T> class ref_ptr {
public:
    ref_ptr() noexcept = default;
    explicit ref_ptr(T *p, bool add_ref = true) noexcept : p_(p)
    {
        if (p_ && add_ref)
            p_->retain();
    }
    ref_ptr(const ref_ptr &o) noexcept : ref_ptr(o.p_) {}
    ref_ptr(ref_ptr &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~ref_ptr()
    {
        if (p_)
            p_->release();
    }
    ref_ptr &operator=(ref_ptr o) noexcept
    {
        std::swap(p_, o.p_);
        return *this;
    }
    T *get() const noexcept { return p_; }
    T *operator->() const noexcept { return p_; }
    T &operator*() const noexcept { return *p_; }
    explicit operator bool() const noexcept { return p_ != nullptr; }
    // Hands the reference to the caller.
    [[nodiscard]] T *detach() noexcept { return std::exchange(p_, nullptr); }

private:
    T *p_ = nullptr;
};

// imgcache - two workers decode tiles of a map through per-worker LRU caches

#include <array>
#include <cstdint>
#include <cstdio>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

class Palette final : public RefCounted {
public:
    explicit Palette(uint32_t base)
    {
        for (size_t i = 0; i < colours.size(); ++i)
            colours[i] = base * uint32_t(i * 2 + 1);
    }
    std::array<uint32_t, 16> colours{};
};

class Image final : public RefCounted {
public:
    Image(unsigned id, unsigned w, unsigned h, ref_ptr<Palette> pal)
        : id(id), width(w), pixels(w * h), palette(std::move(pal)) {}
    uint32_t checksum() const
    {
        uint32_t s = id;
        for (uint8_t p : pixels)
            s = s * 31 + palette->colours[p & 15];
        return s;
    }
    const unsigned id, width;
    std::vector<uint8_t> pixels;
    const ref_ptr<Palette> palette;
};

// Palettes are few and used by everybody: created once, kept for ever.
ref_ptr<Palette> shared_palette(unsigned n)
{
    static std::mutex lock;
    static Palette *table[3];
    std::lock_guard<std::mutex> g(lock);
    Palette *&slot = table[n % 3];
    if (!slot)
        slot = new Palette(0x01030507u + n % 3);
    return ref_ptr<Palette>(slot);
}

struct DecodeError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// C style codec interface: results come with one reference for the caller.
class Codec {
public:
    Image *decode(unsigned id)
    {
        ref_ptr<Image> img(new Image(id, 16, 16, shared_palette(id)), false);
        uint32_t x = id * 2654435761u + 1;
        for (uint8_t &p : img->pixels) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5;
            p = uint8_t(x);
        }
        if (id % 29 == 17)
            throw DecodeError("bad huffman table in tile " + std::to_string(id));
        return img.detach();
    }
    Image *placeholder(unsigned id)
    {
        ref_ptr<Image> img(new Image(id, 8, 8, shared_palette(0)), false);
        for (size_t i = 0; i < img->pixels.size(); ++i)
            img->pixels[i] = (i / 8 + i) & 1 ? 15 : 1;
        return img.detach();
    }
};

class TileCache {
public:
    explicit TileCache(size_t limit) : limit_(limit) {}

    ref_ptr<Image> fetch(unsigned id)
    {
        auto it = index_.find(id);
        if (it != index_.end()) {
            ++hits;
            lru_.splice(lru_.begin(), lru_, it->second);
            return lru_.front();
        }
        ++misses;
        insert(load(id));
        return lru_.front();
    }

    size_t hits = 0, misses = 0, errors = 0;

private:
    ref_ptr<Image> load(unsigned id)
    {
        try {
            return ref_ptr<Image>(codec_.decode(id), false);
        } catch (const DecodeError &) {
            ++errors;
#ifdef BUG
            return ref_ptr<Image>(codec_.placeholder(id));  /* GUILTY */
#else
            return ref_ptr<Image>(codec_.placeholder(id), false);
#endif
        }
    }

    void insert(ref_ptr<Image> img)
    {
        const unsigned id = img->id;
        lru_.push_front(std::move(img));
        index_[id] = lru_.begin();
        // drop the oldest tiles, but not those somebody still draws
        auto it = lru_.end();
        while (lru_.size() > limit_ && it != lru_.begin()) {
            --it;
            if (!(*it)->unique() || it == lru_.begin())
                continue;
            index_.erase((*it)->id);
            it = lru_.erase(it);
        }
    }

    size_t limit_;
    Codec codec_;
    std::list<ref_ptr<Image>> lru_;
    std::unordered_map<unsigned, std::list<ref_ptr<Image>>::iterator> index_;
};

struct Result {
    uint64_t sum = 0;
    size_t hits = 0, misses = 0, errors = 0;
};

// Each worker pans its own viewport of 3 tiles over its half of the map.
void worker(unsigned first, unsigned count, Result &out)
{
    TileCache cache(8);
    std::vector<ref_ptr<Image>> viewport;

    for (int pass = 0; pass < 2; ++pass) {
        for (unsigned pos = 0; pos + 3 <= count; pos += 2) {
            std::vector<ref_ptr<Image>> next;
            for (unsigned k = 0; k < 3; ++k)
                next.push_back(cache.fetch(first + pos + k));
            viewport.swap(next);
            for (const auto &img : viewport)
                out.sum += img->checksum();
        }
    }
    out.hits = cache.hits;
    out.misses = cache.misses;
    out.errors = cache.errors;
}

} // namespace

int main()
{
    Result res[2];
    std::thread a(worker, 0u, 61u, std::ref(res[0]));
    std::thread b(worker, 100u, 41u, std::ref(res[1]));
    a.join();
    b.join();

    for (const Result &r : res)
        std::printf("hits %zu misses %zu errors %zu sum %016llx\n", r.hits,
                    r.misses, r.errors, (unsigned long long)r.sum);
    return 0;
}
