/* summary: an intrusive count that starts at 0 and is owned by exceptions: copied at throw, kept by exception_ptr, nested, carried by
 *          futures to other threads, rethrown by several readers of one shared_future, or dropped with a future nobody reads
 * track: own
 * build: clang++ -std=c++17 -O2 -g faultline_futures.cpp -o OUT -pthread
 */
#include <atomic>
#include <cstdio>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace faultline {

// What went wrong at a station; several reports and exceptions refer to one.
class Incident {
public:
    explicit Incident(std::string what) : what_(std::move(what)) { made++; }
    Incident(const Incident &) = delete;
    Incident &operator=(const Incident &) = delete;

    void ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }
    void unref() const
    {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    const std::string &what() const { return what_; }
    void note() { notes_++; }
    int notes() const { return notes_; }

    static inline std::atomic<int> made{0}, gone{0};

private:
    ~Incident() { gone++; }

    mutable std::atomic<int> refs_{0};
    std::atomic<int> notes_{0};
    std::string what_;
};

template <class T> class Ref {
public:
    Ref() = default;
    explicit Ref(T *object) : object_(object) { if (object_) object_->ref(); }
    Ref(const Ref &other) : Ref(other.object_) {}
    Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref &operator=(Ref other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { if (object_) object_->unref(); }
    T *operator->() const { return object_; }
    explicit operator bool() const { return object_; }

private:
    T *object_ = nullptr;
};

class StationFault : public std::runtime_error {
public:
    StationFault(int station, Ref<Incident> incident)
        : std::runtime_error(incident->what()), station(station), incident(std::move(incident)) {}
    int station;
    Ref<Incident> incident;
};

// A fault with the fault that it followed from.
class AlarmFault : public std::runtime_error {
public:
    explicit AlarmFault(Ref<Incident> incident) : std::runtime_error("alarm: " + incident->what()), incident(std::move(incident)) {}
    Ref<Incident> incident;
};

int read_station(int station)
{
    if (station % 3 == 0) {
        Ref<Incident> incident(new Incident("station " + std::to_string(station) + " is silent"));
        throw StationFault(station, incident);      // the exception has a copy; ours goes while it flies
    }
    if (station % 7 == 0)
        throw StationFault(station, Ref<Incident>(new Incident("drift")));
    return station * 11;
}

int read_with_alarm(int station)
{
    try {
        return read_station(station);
    } catch (const StationFault &fault) {
        fault.incident->note();
        if (station % 2)
            throw;                                  // the same exception object
        std::throw_with_nested(AlarmFault(fault.incident));
    }
}

int notes_of(const std::exception &error)
{
    int notes = 0;
    if (auto *alarm = dynamic_cast<const AlarmFault *>(&error))
        notes += alarm->incident->notes();
    else if (auto *fault = dynamic_cast<const StationFault *>(&error))
        notes += fault->incident->notes();
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception &inner) {
        notes += notes_of(inner);
    }
    return notes;
}

struct Tally {
    int read = 0, faults = 0, notes = 0;
};

// Futures of a sweep; every fourth is never read, and its exception goes with it.
Tally sweep(int stations)
{
    std::vector<std::future<int>> results;
    std::vector<std::packaged_task<int()>> tasks;
    for (int station = 1; station <= stations; ++station) {
        tasks.emplace_back([station] { return read_with_alarm(station); });
        results.push_back(tasks.back().get_future());
    }
    std::thread worker([tasks = std::move(tasks)]() mutable {
        for (auto &task : tasks)
            task();
    });
    Tally tally;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (i % 4 == 3)
            continue;
        try {
            results[i].get();
            tally.read++;
        } catch (const std::exception &error) {
            tally.faults++;
            tally.notes += notes_of(error);
        }
    }
    worker.join();
    return tally;
}

// One fault for several readers; each catches by value, which is a copy, or by reference, which is none.
int broadcast(int readers)
{
    std::promise<int> promise;
    std::shared_future<int> outcome = promise.get_future().share();
    std::atomic<int> seen{0};
    std::vector<std::thread> threads;
    for (int reader = 0; reader < readers; ++reader)
        threads.emplace_back([outcome, reader, &seen] {
            try {
                outcome.get();
            } catch (StationFault fault) {
                fault.incident->note();
                seen += fault.station;
                if (reader % 2) {
                    StationFault moved = std::move(fault);
                    seen += !fault.incident;
                }
            }
        });
    promise.set_exception(std::make_exception_ptr(StationFault(100, Ref<Incident>(new Incident("flood")))));
    for (auto &thread : threads)
        thread.join();
    return seen;
}

// The journal keeps exceptions as they are; some are kept twice, one is thrown out of it and kept again.
class Journal {
public:
    void run(int station)
    {
        try {
            read_with_alarm(station);
        } catch (...) {
            kept_.push_back(std::current_exception());
            if (station % 9 == 0)
                kept_.push_back(kept_.back());
        }
    }
    void again()
    {
        try {
            std::rethrow_exception(kept_.front());
        } catch (...) {
            kept_.erase(kept_.begin());             // the handler still has it
            kept_.push_back(std::current_exception());
        }
    }
    std::size_t size() const { return kept_.size(); }

private:
    std::vector<std::exception_ptr> kept_;
};

} // namespace faultline

int main()
{
    using namespace faultline;
    static Journal journal;                         // goes with the statics, after main
    auto tally = sweep(24);
    int seen = broadcast(4);
    {
        Journal local;
        for (int station = 1; station < 20; ++station)
            local.run(station);
        local.again();
        if (local.size() != 10)
            return 1;
    }
    {
        std::promise<void> broken;
        auto unread = broken.get_future();
        broken.set_exception(std::make_exception_ptr(AlarmFault(Ref<Incident>(new Incident("unread")))));
    }
    int alive = Incident::made - Incident::gone;
    journal.run(3);
    journal.run(6);
    std::printf("%d read, %d faults, %d notes, %d seen, %d incidents\n", tally.read, tally.faults, tally.notes, seen,
                Incident::made.load());
    return alive == 0 && seen == 402 && journal.size() == 2 && Incident::made - Incident::gone == 2 ? 0 : 1;
}
