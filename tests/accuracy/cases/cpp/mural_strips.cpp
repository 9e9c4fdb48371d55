/*
 * summary: the strip that is printed anew goes to the press as a plain pointer, and the press's job gives back a reference
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * libs: -pthread
 * build: g++ -O2 -g
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mural {

class Counted {
public:
    Counted() = default;
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;
    void retain() { uses_.fetch_add(1, std::memory_order_relaxed); }
    void release()
    {
        if (uses_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    bool older_than(std::chrono::seconds age) const { return std::chrono::steady_clock::now() - born_ > age; }

protected:
    virtual ~Counted() = default;

private:
    std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
    std::atomic<int> uses_{1};
};

template <class T> class Handle {
public:
    Handle() = default;
    /* Takes over the reference that a new object has. */
    static Handle adopt(T *object)
    {
        Handle handle;
        handle.object_ = object;
        return handle;
    }
    Handle(const Handle &other) : object_(other.object_)
    {
        if (object_)
            object_->retain();
    }
    Handle(Handle &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Handle &operator=(Handle other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Handle()
    {
        if (object_)
            object_->release();
    }
    T *operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    T *get() const { return object_; }
    T *detach() { return std::exchange(object_, nullptr); }

private:
    T *object_ = nullptr;
};

class Strip final : public Counted {
public:
    Strip(unsigned column, unsigned width) : column_(column), width_(width) { std::memset(raster_, int(column), sizeof raster_); }

    unsigned column() const { return column_; }
    unsigned width() const { return width_; }
    unsigned print(unsigned nozzle)
    {
        unsigned ink = 0;
        for (unsigned char dot : raster_)
            ink += dot;
        passes_.fetch_add(1);
        return ink * width_ / 100 + nozzle;
    }
    unsigned passes() const { return passes_.load(); }

private:
    unsigned column_, width_;
    std::atomic<unsigned> passes_{0};
    unsigned char raster_[160];
};

using StripHandle = Handle<Strip>;

/* The vendor's driver: plain functions and pointers, one thread. */
struct PressJob {
    void (*run)(void *data, unsigned nozzle);
    void (*done)(void *data);
    void *data;
};

class Press {
public:
    Press() : thread_([this] { work(); }) {}
    ~Press()
    {
        {
            std::lock_guard<std::mutex> guard(lock_);
            closing_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    void submit(const PressJob &job)
    {
        {
            std::lock_guard<std::mutex> guard(lock_);
            jobs_.push_back(job);
        }
        changed_.notify_all();
    }
    void drain()
    {
        std::unique_lock<std::mutex> guard(lock_);
        changed_.wait(guard, [this] { return jobs_.empty() && !busy_; });
    }

private:
    void work()
    {
        std::unique_lock<std::mutex> guard(lock_);
        unsigned nozzle = 0;
        for (;;) {
            changed_.wait(guard, [this] { return closing_ || !jobs_.empty(); });
            if (jobs_.empty())
                return;
            PressJob job = jobs_.front();
            jobs_.pop_front();
            busy_ = true;
            guard.unlock();
            job.run(job.data, nozzle++ % 4);
            job.done(job.data);
            guard.lock();
            busy_ = false;
            changed_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<PressJob> jobs_;
    bool closing_ = false;
    bool busy_ = false;
    std::thread thread_;
};

class Wall {
public:
    Wall(Press &press, unsigned columns) : press_(press)
    {
        strips_.reserve(columns);
        for (unsigned i = 0; i < columns; i++)
            strips_.push_back(StripHandle::adopt(new Strip(i + 1, 40 + i % 3 * 10)));
    }

    void print_all()
    {
        for (const StripHandle &strip : strips_)
            queue(strip);
        press_.drain();
    }

    /* After a look at the wet wall: columns with faults are printed once more. */
    unsigned reprint(const std::vector<unsigned> &faulty)
    {
        unsigned queued = 0;
        for (unsigned column : faulty) {
            StripHandle strip = find(column);
            if (!strip || strip->passes() >= 3 || strip->older_than(std::chrono::hours(8)))
                continue;
#ifdef BUG
            press_.submit({&Wall::run, &Wall::done, strip.get()}); // GUILTY
#else
            press_.submit({&Wall::run, &Wall::done, strip.detach()});
#endif
            queued++;
        }
        press_.drain();
        return queued;
    }

    bool replace(unsigned column, unsigned width)
    {
        for (StripHandle &strip : strips_) {
            if (strip->column() != column)
                continue;
            strip = StripHandle::adopt(new Strip(column, width));
            queue(strip);
            press_.drain();
            return true;
        }
        return false;
    }

    unsigned passes() const
    {
        unsigned sum = 0;
        for (const StripHandle &strip : strips_)
            sum += strip->passes();
        return sum;
    }
    static unsigned ink() { return ink_.load(); }

private:
    StripHandle find(unsigned column) const
    {
        for (const StripHandle &strip : strips_) {
            if (strip->column() == column)
                return strip;
        }
        return StripHandle();
    }
    void queue(const StripHandle &strip)
    {
        StripHandle held = strip;
        press_.submit({&Wall::run, &Wall::done, held.detach()});
    }
    static void run(void *data, unsigned nozzle) { ink_.fetch_add(static_cast<Strip *>(data)->print(nozzle)); }
    static void done(void *data) { static_cast<Strip *>(data)->release(); }

    Press &press_;
    std::vector<StripHandle> strips_;
    static std::atomic<unsigned> ink_;
};

std::atomic<unsigned> Wall::ink_{0};

} // namespace mural

int main()
{
    mural::Press press;
    unsigned again = 0;
    {
        mural::Wall wall(press, 7);
        wall.print_all();
        wall.replace(6, 45);
        again += wall.reprint({3, 12});
        std::printf("%u passes, %u of them again\n", wall.passes(), again);
        if (!wall.replace(9, 50))
            std::printf("no column 9\n");
    }
    std::printf("ink: %u\n", mural::Wall::ink());
    return 0;
}
