/* summary: allocate_shared in a monotonic arena: weak pointers (and the strong ones of a finished route table) lie in the arena and
 *          are dropped with it, no destructor run; the next trip's objects are born at the same addresses
 * track: shared_ptr weak_ptr
 * build: g++ -std=c++20 -O2 -g pmr_waybooks.cpp -o OUT
 */
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <string_view>
#include <vector>

namespace waybook {

using Arena = std::pmr::monotonic_buffer_resource;

// Plain data: nothing outside of the arena hangs on it.
struct Stop {
    char name[12];
    int minute;
};

class Leg : public std::enable_shared_from_this<Leg> {
public:
    Leg(std::pmr::memory_resource *memory, int number) : number_(number), next_(memory), stops_(memory) {}

    void call_at(std::string_view name, int minute)
    {
        Stop stop{};
        std::memcpy(stop.name, name.data(), std::min(name.size(), sizeof stop.name - 1));
        stop.minute = minute;
        stops_.push_back(stop);
    }
    void follow_with(const std::shared_ptr<Leg> &leg)
    {
        leg->before_ = weak_from_this();
        next_.push_back(leg);
    }
    // A stop that keeps its leg alive.
    std::shared_ptr<const Stop> stop(std::size_t i) const { return {shared_from_this(), &stops_[i]}; }
    std::size_t stops() const { return stops_.size(); }
    std::shared_ptr<Leg> before() const { return before_.lock(); }
    const std::pmr::vector<std::shared_ptr<Leg>> &next() const { return next_; }
    int number() const { return number_; }

private:
    int number_;
    std::weak_ptr<Leg> before_;
    std::pmr::vector<std::shared_ptr<Leg>> next_;
    std::pmr::vector<Stop> stops_;
};

// An index that lives and dies with the arena: its destructor is never run.
struct Index {
    std::size_t count = 0;
    std::weak_ptr<Leg> *legs = nullptr;
};

struct FareZone {
    int zone;
    int cents;
};

// Zones refer to each other's tables by strong references; they are trivial but for those.
struct ZoneRow {
    std::shared_ptr<const FareZone> home, neighbour;
};

class Trip {
public:
    Trip(Arena &arena, int day) : arena_(arena), day_(day) {}

    std::shared_ptr<Leg> plan(int legs)
    {
        std::pmr::polymorphic_allocator<Leg> from(&arena_);
        auto first = std::allocate_shared<Leg>(from, &arena_, day_ * 100);
        remember(first);
        auto last = first;
        for (int i = 1; i < legs; ++i) {
            auto leg = std::allocate_shared<Leg>(from, &arena_, day_ * 100 + i);
            leg->call_at(i % 2 ? "Uferstrasse" : "Marktplatz", 7 * i + day_);
            leg->call_at("Depot", 7 * i + day_ + 4);
            last->follow_with(leg);
            remember(leg);
            if (i % 3)                              // every third leg ends a branch
                last = leg;
        }
        return first;
    }

    // The rows are built in the arena and stay there until the arena is released as a whole.
    int price(int zones)
    {
        std::pmr::polymorphic_allocator<FareZone> from(&arena_);
        auto *rows = static_cast<ZoneRow *>(arena_.allocate(sizeof(ZoneRow) * zones, alignof(ZoneRow)));
        std::shared_ptr<const FareZone> earlier;
        int sum = 0;
        for (int z = 0; z < zones; ++z) {
            auto *row = new (&rows[z]) ZoneRow;
            row->home = std::allocate_shared<FareZone>(from, FareZone{z, 120 + 35 * z});
            row->neighbour = earlier ? earlier : row->home;
            earlier = row->home;
        }
        for (int z = 0; z < zones; ++z)
            sum += rows[z].home->cents + rows[z].neighbour->zone;
        return sum;
    }

    std::size_t alive() const
    {
        std::size_t n = 0;
        for (std::size_t i = 0; i < index_->count; ++i)
            if (auto leg = index_->legs[i].lock())
                n += leg->number() / 100 == day_;
        return n;
    }

private:
    void remember(const std::shared_ptr<Leg> &leg)
    {
        if (!index_) {
            index_ = new (arena_.allocate(sizeof(Index), alignof(Index))) Index;
            index_->legs = static_cast<std::weak_ptr<Leg> *>(
                arena_.allocate(sizeof(std::weak_ptr<Leg>) * capacity, alignof(std::weak_ptr<Leg>)));
        }
        if (index_->count < capacity)
            new (&index_->legs[index_->count++]) std::weak_ptr<Leg>(leg);
    }

    static constexpr std::size_t capacity = 16;
    Arena &arena_;
    int day_;
    Index *index_ = nullptr;
};

struct Report {
    int minutes = 0;
    int cents = 0;
    std::size_t left = 0;
};

void add_minutes(const std::shared_ptr<Leg> &leg, Report &report)
{
    for (std::size_t i = 0; i < leg->stops(); ++i)
        report.minutes += leg->stop(i)->minute;
    for (const auto &next : leg->next()) {
        if (auto before = next->before(); before != leg)
            report.minutes += 100000;
        add_minutes(next, report);
    }
}

Report one_day(Arena &arena, int day)
{
    Report report;
    {
        Trip trip(arena, day);
        auto first = trip.plan(9);
        add_minutes(first, report);
        report.cents = trip.price(5);

        std::shared_ptr<const Stop> depot = first->next().front()->stop(1);
        if (trip.alive() != 9 || std::strcmp(depot->name, "Depot") != 0)
            report.minutes += 100000;
        first.reset();                              // all legs go but the one that `depot` keeps, and what follows that one
        depot.reset();
        report.left = trip.alive();
    }
    arena.release();                                // the weak pointers of the index and the rows of zones go here
    return report;
}

} // namespace waybook

int main()
{
    std::vector<std::byte> room(32 * 1024);
    waybook::Arena arena(room.data(), room.size(), std::pmr::null_memory_resource());
    int minutes = 0, cents = 0;
    for (int day = 1; day <= 6; ++day) {
        auto report = waybook::one_day(arena, day);
        if (report.left) {
            std::fprintf(stderr, "day %d: %zu legs left\n", day, report.left);
            return 1;
        }
        minutes += report.minutes;
        cents += report.cents;
    }
    std::printf("%d minutes, %d cents\n", minutes, cents);
    return minutes < 100000 && cents > 0 ? 0 : 1;
}
