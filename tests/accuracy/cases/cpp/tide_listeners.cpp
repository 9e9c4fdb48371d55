/* summary: a raw pointer to the subscription runs its handler, which may cancel it and so put the last reference
 * kind: use-after-put
 * counts: none
 * objects: 1
 * track: own
 * build: g++ -O2 -g
 */
// Tide gauge feed of a port office: consumers subscribe to stations; some want one value, some end on a condition.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gauge {

template <class T>
class Shared {
public:
    Shared() noexcept : uses_(0) {}
    Shared(const Shared &) = delete;
    Shared &operator=(const Shared &) = delete;

    void acquire() const noexcept { uses_.fetch_add(1, std::memory_order_relaxed); }

    void release() const noexcept
    {
        if (uses_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete static_cast<const T *>(this);
    }

protected:
    ~Shared() = default;

private:
    mutable std::atomic<int> uses_;
};

template <class T>
class Handle {
public:
    Handle() = default;
    Handle(T *object) : object_(object)
    {
        if (object_)
            object_->acquire();
    }
    Handle(const Handle &other) : Handle(other.object_) {}
    Handle(Handle &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    ~Handle()
    {
        if (object_)
            object_->release();
    }
    Handle &operator=(Handle other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }
    T *get() const noexcept { return object_; }
    T *operator->() const noexcept { return object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }

private:
    T *object_ = nullptr;
};

struct Reading {
    unsigned station;
    unsigned minute;
    int level_cm;
};

class Feed;

class Subscription : public Shared<Subscription> {
public:
    using Handler = std::function<void(Feed &, const Subscription &, const Reading &)>;

    Subscription(unsigned id, unsigned station, std::string who, Handler handler)
        : id_(id), station_(station), who_(std::move(who)), handler_(std::move(handler))
    {
    }

    void deliver(Feed &feed, const Reading &reading)
    {
        handler_(feed, *this, reading);
        ++delivered_;
        last_minute_ = reading.minute;
    }

    unsigned id() const { return id_; }
    unsigned station() const { return station_; }
    unsigned delivered() const { return delivered_; }
    unsigned last_minute() const { return last_minute_; }
    const std::string &who() const { return who_; }

private:
    unsigned id_;
    unsigned station_;
    std::string who_;
    Handler handler_;
    unsigned delivered_ = 0;
    unsigned last_minute_ = 0;
};

class Feed {
public:
    Handle<Subscription> subscribe(unsigned station, std::string who, Subscription::Handler handler)
    {
        Handle<Subscription> sub(new Subscription(next_id_++, station, std::move(who), std::move(handler)));
        by_id_.emplace(sub->id(), sub);
        return sub;
    }

    bool cancel(unsigned id) { return by_id_.erase(id) != 0; }

    bool active(unsigned id) const { return by_id_.count(id) != 0; }

    void publish(const Reading &reading)
    {
        std::vector<unsigned> ids;
        ids.reserve(by_id_.size());
        for (const auto &entry : by_id_)
            if (entry.second->station() == reading.station)
                ids.push_back(entry.first);
        for (unsigned id : ids) {
            auto at = by_id_.find(id);
            if (at == by_id_.end())
                continue;
#ifdef BUG
            Subscription *sub = at->second.get(); // GUILTY
#else
            Handle<Subscription> sub = at->second;
#endif
            sub->deliver(*this, reading); // ACCEPTED
        }
        ++published_;
    }

    void report() const
    {
        for (const auto &entry : by_id_)
            std::printf("#%u %-10s station %u: %u readings, last at minute %u\n", entry.first, entry.second->who().c_str(),
                        entry.second->station(), entry.second->delivered(), entry.second->last_minute());
    }

    std::size_t size() const { return by_id_.size(); }
    unsigned published() const { return published_; }

private:
    std::map<unsigned, Handle<Subscription>> by_id_;
    unsigned next_id_ = 1;
    unsigned published_ = 0;
};

} // namespace gauge

namespace {

using gauge::Feed;
using gauge::Handle;
using gauge::Reading;
using gauge::Subscription;

struct Office {
    int highest = -1000;
    unsigned alarms = 0;
    unsigned lock_opened_at = 0;
    std::vector<int> curve;
};

int tide(unsigned station, unsigned minute)
{
    static const int shape[] = {-120, -95, -40, 15, 70, 110, 130, 118, 66, 4};
    return shape[minute / 10 % 10] + static_cast<int>(station) * 3;
}

Handle<Subscription> watch_pilot(Feed &feed, Office &office)
{
    return feed.subscribe(1, "pilots", [&office](Feed &, const Subscription &, const Reading &r) {
        if (r.level_cm > office.highest)
            office.highest = r.level_cm;
    });
}

// The lock keeper waits for enough water.
void wait_for_water(Feed &feed, Office &office, unsigned station, int level)
{
    feed.subscribe(station, "lock", [&office, level](Feed &from, const Subscription &self, const Reading &r) {
        if (r.level_cm < level)
            return;
        office.lock_opened_at = r.minute;
        from.cancel(self.id());
    });
}

Handle<Subscription> watch_flood(Feed &feed, Office &office, unsigned limit)
{
    return feed.subscribe(3, "flood", [&office, limit](Feed &from, const Subscription &self, const Reading &r) {
        if (r.level_cm > 100 && ++office.alarms == limit)
            from.cancel(self.id());
    });
}

} // namespace

int main()
{
    Feed feed;
    Office office;
    Handle<Subscription> pilots = watch_pilot(feed, office);
    Handle<Subscription> flood = watch_flood(feed, office, 2);
    Handle<Subscription> museum =
        feed.subscribe(2, "museum", [&office](Feed &, const Subscription &, const Reading &r) { office.curve.push_back(r.level_cm); });

    wait_for_water(feed, office, 2, 60);
    wait_for_water(feed, office, 1, 400);
    feed.subscribe(3, "archive", [](Feed &, const Subscription &, const Reading &) {});

    for (unsigned minute = 0; minute < 100; minute += 10) {
        for (unsigned station = 1; station <= 3; ++station)
            feed.publish({station, minute, tide(station, minute)});
        if (minute == 70) {
            feed.cancel(museum->id());
            museum = Handle<Subscription>();
        }
    }
    feed.report();
    std::printf("highest %d cm, %u alarms, lock open at minute %u, %zu values\n", office.highest, office.alarms,
                office.lock_opened_at, office.curve.size());
    std::printf("flood watch %s after %u readings, pilots %s\n", feed.active(flood->id()) ? "goes on" : "ended",
                flood->delivered(), feed.active(pilots->id()) ? "go on" : "ended");
    return feed.size() == 3 && feed.published() == 30 && office.alarms == 2 ? 0 : 1;
}
