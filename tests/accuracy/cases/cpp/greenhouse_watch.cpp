/* summary: Watchdog::check locks the weak pointer of a probe for one expression and goes on with the plain pointer after Greenhouse::retire dropped the probe
 * kind: use-after-put
 * counts: none
 * objects: 3
 * track: libstdcxx
 * build: clang++ -O0 -g -std=c++17
 * exit: 0
 */
// greenhouse_watch - probes in the beds of a greenhouse, and watches that sound
// an alarm.  Beds own their probes; watches must not keep them alive.

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class Probe
{
public:
    Probe(int id, int battery) : id_(id), battery_(battery) {}
    virtual ~Probe() = default;

    int id() const { return id_; }
    int failures() const { return failures_; }
    bool flat() const { return battery_ <= 0; }

    int measure(int hour)
    {
        battery_ -= drain();
        if (hour % 11 == id_ % 11)
            ++failures_;
        return sample(hour);
    }

protected:
    virtual int sample(int hour) const = 0;
    virtual int drain() const { return 1; }

private:
    int id_;
    int battery_;
    int failures_ = 0;
};

class Thermometer : public Probe
{
public:
    using Probe::Probe;

protected:
    int sample(int hour) const override { return 14 + (hour % 24 < 12 ? hour % 24 : 24 - hour % 24) + id() % 3; }
};

class Hygrometer : public Probe
{
public:
    using Probe::Probe;

protected:
    int sample(int hour) const override { return 80 - hour % 7 * 3 - id() % 5; }
    int drain() const override { return 2; }
};

std::unique_ptr<Probe> make_probe(int id)
{
    if (id % 3 == 1)
        return std::make_unique<Hygrometer>(id, 70 + id * 4);
    return std::make_unique<Thermometer>(id, 55 + id * 3);
}

class Greenhouse
{
public:
    std::shared_ptr<Probe> install(const std::string &bed, int id)
    {
        std::shared_ptr<Probe> probe = make_probe(id);

        beds_[bed].push_back(probe);
        return probe;
    }

    // Takes a probe out of its bed.
    bool retire(const Probe &probe)
    {
        for (auto &bed : beds_)
            for (auto at = bed.second.begin(); at != bed.second.end(); ++at)
                if (at->get() == &probe)
                {
                    bed.second.erase(at);
                    ++retired_;
                    return true;
                }
        return false;
    }

    double mean(const std::string &bed, int hour)
    {
        auto found = beds_.find(bed);
        long sum = 0;

        if (found == beds_.end() || found->second.empty())
            return 0;
        for (const auto &probe : found->second)
            sum += probe->measure(hour);
        return static_cast<double>(sum) / static_cast<double>(found->second.size());
    }

    size_t probes() const
    {
        size_t n = 0;

        for (const auto &bed : beds_)
            n += bed.second.size();
        return n;
    }

    int retired() const { return retired_; }

private:
    std::map<std::string, std::vector<std::shared_ptr<Probe>>> beds_;
    int retired_ = 0;
};

class AlarmLog
{
public:
    void raise(int probe, const char *what)
    {
        ++counts_[what];
        last_ = probe;
    }

    void replaced(int probe, int failures)
    {
        ++counts_["replaced"];
        failures_ += failures;
        last_ = probe;
    }

    void print() const
    {
        for (const auto &entry : counts_)
            std::printf("%s: %d\n", entry.first.c_str(), entry.second);
    }

private:
    std::map<std::string, int> counts_;
    int failures_ = 0;
    int last_ = 0;
};

class Watchdog
{
public:
    Watchdog(Greenhouse &house, AlarmLog &log) : house_(house), log_(log) {}

    void watch(const std::string &bed, const std::shared_ptr<Probe> &probe, int low, int high)
    {
        watches_.push_back({bed, probe, low, high});
    }

    void check(int hour)
    {
        std::vector<Watch> next;

        for (Watch &watch : watches_)
        {
#ifdef BUG
            Probe *probe = watch.probe.lock().get(); // GUILTY
#else
            std::shared_ptr<Probe> probe = watch.probe.lock();
#endif

            if (!probe)
            {
                ++stale_;
                continue;
            }
            if (probe->flat())
            {
                if (house_.retire(*probe))
                    replace(watch, probe->id(), probe->failures(), &next); // ACCEPTED
                continue;
            }
            int value = probe->measure(hour);
            if (value < watch.low || value > watch.high)
                log_.raise(probe->id(), value < watch.low ? "low" : "high");
            next.push_back(std::move(watch));
        }
        watches_.swap(next);
    }

    size_t watches() const { return watches_.size(); }
    int stale() const { return stale_; }

private:
    struct Watch
    {
        std::string bed;
        std::weak_ptr<Probe> probe;
        int low;
        int high;
    };

    // A new probe for one whose battery is flat, under the same limits.
    void replace(const Watch &old, int id, int failures, std::vector<Watch> *next)
    {
        log_.replaced(id, failures);
        next->push_back({old.bed, house_.install(old.bed, next_id_++), old.low, old.high});
    }

    Greenhouse &house_;
    AlarmLog &log_;
    std::vector<Watch> watches_;
    int next_id_ = 100;
    int stale_ = 0;
};

int main()
{
    static const char *const beds[] = {"tomato", "basil", "orchid"};
    Greenhouse house;
    AlarmLog log;
    Watchdog watchdog(house, log);
    double sum = 0;

    for (int id = 0; id < 9; ++id)
    {
        auto probe = house.install(beds[id % 3], id);

        if (id % 4 != 3)
            watchdog.watch(beds[id % 3], probe, 15, id % 3 == 1 ? 77 : 26);
    }
    for (int hour = 0; hour < 30; ++hour)
    {
        for (const char *bed : beds)
            sum += house.mean(bed, hour);
        watchdog.check(hour);
    }
    log.print();
    std::printf("mean %.1f, %zu probes, %d retired, %zu watched, %d stale\n", sum / 90, house.probes(),
                house.retired(), watchdog.watches(), watchdog.stale());
    return 0;
}
