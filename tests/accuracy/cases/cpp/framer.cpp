/* summary: Bytes::slice() wraps the block in a second handle without retaining it when the slice is the whole of the handle
 * kind: missing-get
 * counts: deficit
 * objects: 5
 * track: own
 * build: g++ -O2 -g -pthread
 * exit: 0
 */
//
// framer - the receiving half of a network daemon: packets arrive in counted
// blocks, are cut into frames without copying, and the frames are handled by
// worker threads.  Everything received is also kept in a capture log.
//
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

// The counted storage itself, data follows the header.
class Block {
public:
    [[gnu::noinline]] static Block *create(std::size_t size)
    {
        void *mem = ::operator new(sizeof(Block) + size);
        return new (mem) Block(size);
    }

    [[gnu::noinline]] void retain();
    [[gnu::noinline]] void drop();

    std::uint8_t *data() { return reinterpret_cast<std::uint8_t *>(this + 1); }
    std::size_t size() const { return size_; }

    static std::atomic<long> created, deleted;

private:
    explicit Block(std::size_t n) : size_(n), arrived_(++created), holders_(1) {}
    ~Block() { ++deleted; }

    std::size_t size_;
    long arrived_;
    std::atomic<int> holders_;
};

std::atomic<long> Block::created{0}, Block::deleted{0};

void Block::retain()
{
    if (holders_.fetch_add(1, std::memory_order_relaxed) <= 0)
        std::fprintf(stderr, "framer: block %ld retained too late\n", arrived_);
}

void Block::drop()
{
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1)
        return;
    this->~Block();
    ::operator delete(this);
}

// A handle on part of a block.
class Bytes {
public:
    Bytes() = default;

    static Bytes allocate(std::size_t n) { return Bytes(Block::create(n), 0, n); }

    Bytes(const Bytes &o) : blk_(o.blk_), off_(o.off_), len_(o.len_)
    {
        if (blk_)
            blk_->retain();
    }

    Bytes(Bytes &&o) noexcept : blk_(o.blk_), off_(o.off_), len_(o.len_)
    {
        o.blk_ = nullptr;
        o.off_ = o.len_ = 0;
    }

    Bytes &operator=(const Bytes &o)
    {
        Bytes copy(o);
        swap(copy);
        return *this;
    }

    Bytes &operator=(Bytes &&o) noexcept
    {
        Bytes moved(std::move(o));
        swap(moved);
        return *this;
    }

    ~Bytes()
    {
        if (blk_)
            blk_->drop();
    }

    void swap(Bytes &o) noexcept
    {
        std::swap(blk_, o.blk_);
        std::swap(off_, o.off_);
        std::swap(len_, o.len_);
    }

    std::size_t size() const { return len_; }
    bool empty() const { return len_ == 0; }
    std::uint8_t *begin() const { return blk_ ? blk_->data() + off_ : nullptr; }
    std::uint8_t *end() const { return begin() + len_; }
    std::uint8_t operator[](std::size_t i) const { return begin()[i]; }

    Bytes slice(std::size_t from, std::size_t n) const
    {
        from = std::min(from, len_);
        n = std::min(n, len_ - from);
        if (n == len_)
#ifdef BUG
            return Bytes(blk_, off_, len_);     // GUILTY
#else
            return *this;
#endif
        Bytes part(*this);
        part.off_ += from;
        part.len_ = n;
        return part;
    }

private:
    // Takes over a reference.
    Bytes(Block *b, std::size_t off, std::size_t len) : blk_(b), off_(off), len_(len) {}

    Block *blk_ = nullptr;
    std::size_t off_ = 0, len_ = 0;
};

struct Frame {
    unsigned channel;
    Bytes payload;
};

class FrameQueue {
public:
    void push(Frame f)
    {
        std::lock_guard<std::mutex> l(mu_);
        q_.push_back(std::move(f));
        cv_.notify_one();
    }

    bool pop(Frame &f)
    {
        std::unique_lock<std::mutex> l(mu_);
        cv_.wait(l, [this] { return closed_ || !q_.empty(); });
        if (q_.empty())
            return false;
        f = std::move(q_.front());
        q_.pop_front();
        return true;
    }

    void close()
    {
        std::lock_guard<std::mutex> l(mu_);
        closed_ = true;
        cv_.notify_all();
    }

private:
    std::mutex mu_;
    std::condition_variable cv_;
    std::deque<Frame> q_;
    bool closed_ = false;
};

struct Totals {
    std::atomic<unsigned long> frames{0}, bytes{0}, digest{0};
};

static void handleFrames(FrameQueue &q, Totals &t)
{
    Frame f;
    while (q.pop(f)) {
        unsigned long h = f.channel;
        for (std::uint8_t b : f.payload)
            h = h * 131 + b;
        ++t.frames;
        t.bytes += f.payload.size();
        t.digest += h;
        f.payload = Bytes();
    }
}

// Packets are [channel][length][payload]..., or, when the first byte is zero,
// raw: then the whole packet is one frame.
class Receiver {
public:
    explicit Receiver(FrameQueue &q) : q_(q) {}

    void input(const Bytes &packet)
    {
        log_.push_back(packet);
        ++packets_;
        if (packet[0] == 0)
            return deliver(0, packet.slice(0, packet.size()));  // ACCEPTED
        std::size_t pos = 0;
        while (pos + 2 <= packet.size()) {
            std::size_t len = packet[pos + 1];
            deliver(packet[pos], packet.slice(pos + 2, len));
            pos += 2 + len;
        }
    }

    const std::vector<Bytes> &log() const { return log_; }
    unsigned packets() const { return packets_; }

private:
    void deliver(unsigned channel, Bytes payload)
    {
        if (!payload.empty())
            q_.push(Frame{channel, std::move(payload)});
    }

    FrameQueue &q_;
    std::vector<Bytes> log_;
    unsigned packets_ = 0;
};

static Bytes makePacket(unsigned i)
{
    if (i % 29 == 17) {             // a raw one
        Bytes b = Bytes::allocate(48);
        std::uint8_t v = 0;
        for (std::uint8_t &x : b)
            x = v, v = static_cast<std::uint8_t>(i);
        return b;
    }
    unsigned frames = 1 + i % 4, len = 5 + i % 11;
    Bytes b = Bytes::allocate(frames * (2 + len));
    std::uint8_t *p = b.begin();
    for (unsigned f = 0; f < frames; ++f) {
        *p++ = static_cast<std::uint8_t>(1 + (i + f) % 7);
        *p++ = static_cast<std::uint8_t>(len);
        for (unsigned k = 0; k < len; ++k)
            *p++ = static_cast<std::uint8_t>(i * 7 + f * 3 + k);
    }
    return b;
}

int main()
{
    FrameQueue queue;
    Totals totals;
    std::vector<std::thread> workers;
    for (int i = 0; i < 2; ++i)
        workers.emplace_back(handleFrames, std::ref(queue), std::ref(totals));
    {
        std::vector<Bytes> ring;    // the adapter's receive ring
        Receiver rx(queue);
        for (unsigned i = 0; i < 160; ++i) {
            ring.push_back(makePacket(i));
            rx.input(ring.back());
        }
        queue.close();
        for (auto &w : workers)
            w.join();
        std::size_t kept = 0;
        for (const Bytes &b : rx.log())
            kept += b.size();
        std::printf("%u packets, %zu bytes logged\n", rx.packets(), kept);
    }
    std::printf("%lu frames, %lu bytes, digest %lx\n", totals.frames.load(),
                totals.bytes.load(), totals.digest.load());
    return 0;
}
