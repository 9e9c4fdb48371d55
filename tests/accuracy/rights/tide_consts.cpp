/* summary: tables published by std::atomic<std::shared_ptr>, whose word carries a lock bit; threads keep the one they saw last until
 *          they end; deleters give the tables back to a pool that reuses them at once
 * track: shared_ptr weak_ptr
 * build: g++ -std=c++20 -O3 -g tide_consts.cpp -o OUT -pthread
 */
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

namespace tide {

struct Constituent {
    double amplitude = 0, phase = 0;
};

struct Table {
    int year = 0;
    std::array<Constituent, 8> part{};
    double check = 0;
};

// Tables go round: the memory of one that nobody has is the next one's.
class Pool {
public:
    ~Pool()
    {
        for (Table *table : idle_)
            delete table;
    }

    std::shared_ptr<const Table> make(int year)
    {
        std::unique_ptr<Table, Return> table(take(), Return{this});
        table->year = year;
        table->check = 0;
        for (std::size_t i = 0; i < table->part.size(); ++i) {
            table->part[i] = {1.0 + i, year * 0.25};
            table->check += table->part[i].amplitude + table->part[i].phase;
        }
        return table;                               // the deleter comes along
    }
    int made() const { return made_; }

private:
    struct Return {
        Pool *pool;
        void operator()(Table *table) const { pool->give(table); }
    };

    Table *take()
    {
        std::lock_guard lock(mutex_);
        if (idle_.empty()) {
            ++made_;
            return new Table;
        }
        Table *table = idle_.back();
        idle_.pop_back();
        return table;
    }
    void give(Table *table)
    {
        table->check = -1;
        std::lock_guard lock(mutex_);
        idle_.push_back(table);
    }

    std::mutex mutex_;
    std::vector<Table *> idle_;
    int made_ = 0;
};

// The order matters at the end of the process: the pool goes last.
Pool pool;
std::atomic<std::shared_ptr<const Table>> current;
std::atomic<std::weak_ptr<const Table>> first_of_decade;

// What this thread has seen last. It goes with the thread.
thread_local std::shared_ptr<const Table> seen;

const Table &look()
{
    auto now = current.load();
    if (now != seen)
        seen = std::move(now);
    return *seen;
}

bool sound(const Table &table)
{
    double sum = 0;
    for (const auto &part : table.part)
        sum += part.amplitude + part.phase;
    return sum == table.check;
}

// A constituent that keeps its table.
std::shared_ptr<const Constituent> strongest(const std::shared_ptr<const Table> &table)
{
    return {table, &table->part.back()};
}

// Replaces the table if it is still the one that the new one was computed from.
bool advance(int by)
{
    auto expected = current.load();
    auto desired = pool.make(expected->year + by);
    if (!current.compare_exchange_strong(expected, desired))
        return false;                               // desired goes to the pool unseen; expected is now another one
    if (desired->year % 10 == 0)
        first_of_decade.store(desired);
    return true;
}

struct Gauge {
    std::jthread thread;
    int faults = 0, looks = 0, decades = 0;
};

void watch(Gauge &gauge, std::stop_token stop, std::counting_semaphore<> &started)
{
    std::shared_ptr<const Constituent> peak;
    std::shared_ptr<const Table> before = current.load();
    started.release();
    do {
        const Table &table = look();
        gauge.faults += !sound(table);
        gauge.looks++;
        if (gauge.looks % 5 == 0)
            peak = strongest(seen);
        if (auto decade = first_of_decade.load().lock()) {
            gauge.faults += decade->year % 10 != 0;
            gauge.decades++;
        }
        if (gauge.looks % 7 == 0)
            advance(1);
        before.swap(seen);                          // alternately the newer and the older one
        std::this_thread::yield();
    } while (!stop.stop_requested() || gauge.looks < 20);
    if (peak)
        gauge.faults += peak->amplitude != 8.0;
}

int final_year;

void at_exit()
{
    // Runs before the statics are gone; takes the last table out of the slot.
    auto last = current.exchange(nullptr);
    if (!last || last->year != final_year || !sound(*last))
        std::_Exit(3);
}

} // namespace tide

int main()
{
    using namespace tide;
    current.store(pool.make(1990));
    std::atexit(at_exit);

    std::vector<std::unique_ptr<Gauge>> gauges;
    std::counting_semaphore<> started(0);
    for (int i = 0; i < 3; ++i) {
        auto gauge = std::make_unique<Gauge>();
        gauge->thread = std::jthread([g = gauge.get(), &started](std::stop_token stop) { watch(*g, stop, started); });
        gauges.push_back(std::move(gauge));
    }
    for (int i = 0; i < 3; ++i)
        started.acquire();
    int own_faults = 0, advanced = 0;
    for (int i = 0; i < 60; ++i) {
        advanced += advance(1 + i % 3);
        own_faults += !sound(look());
    }
    int faults = own_faults, looks = 0;
    for (auto &gauge : gauges) {
        gauge->thread.request_stop();
        gauge->thread.join();
        faults += gauge->faults;
        looks += gauge->looks;
    }
    final_year = look().year;                       // main keeps this one in `seen` to its own end
    std::printf("%s, %d faults\n", looks >= 60 && advanced ? "tables advanced" : "nothing seen", faults);
    return faults || pool.made() > 32;
}
