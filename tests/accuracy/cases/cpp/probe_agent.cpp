/* summary: the handle's reset gives the reference back but keeps the pointer, so that its destructor gives it back again
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: g++ -O3 -g
 */

// The monitoring agent: probes are made by plug-ins, sit in slots that run them at their interval, and are shared with
// groups that report the worst state of their members. A probe that fails too often is retired from its slot.

#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace agent {

enum class Health { unknown, good, warning, broken };

class Probe {
public:
    Probe(const char *name, int interval) : interval_(interval), refs_(1) { std::snprintf(name_, sizeof name_, "%s", name); }
    Probe(const Probe &) = delete;
    Probe &operator=(const Probe &) = delete;

    void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }

    void release() {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    const char *name() const { return name_; }
    int interval() const { return interval_; }
    Health health() const { return health_; }
    int failures() const { return failures_; }

    void run(int now) {
        ++runs_;
        health_ = measure(now);
        failures_ = health_ == Health::broken ? failures_ + 1 : 0;
    }

protected:
    virtual ~Probe() = default;
    virtual Health measure(int now) = 0;

private:
    char name_[24];
    int interval_;
    int runs_ = 0;
    int failures_ = 0;
    Health health_ = Health::unknown;
    std::atomic<int> refs_;
};

// A counted pointer to a probe.
class ProbeRef {
public:
    ProbeRef() = default;
    ProbeRef(const ProbeRef &o) : p_(o.p_) {
        if (p_)
            p_->retain();
    }
    ProbeRef(ProbeRef &&o) noexcept : p_(o.p_) { o.p_ = nullptr; }
    ~ProbeRef() {
        if (p_)
            p_->release();
    }

    ProbeRef &operator=(const ProbeRef &o) {
        ProbeRef copy(o);
        return *this = std::move(copy);
    }

    ProbeRef &operator=(ProbeRef &&o) noexcept {
        Probe *old = p_;
        if (this != &o) {
            p_ = o.p_;
            o.p_ = nullptr;
            if (old)
                old->release();
        }
        return *this;
    }

    static ProbeRef take(Probe *p) {
        ProbeRef ref;
        ref.p_ = p;
        return ref;
    }

    void reset() {
        if (p_)
            p_->release();                                                      // GUILTY
#ifndef BUG
        p_ = nullptr;
#endif
    }

    Probe *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    Probe *p_ = nullptr;
};

class DiskProbe final : public Probe {
public:
    DiskProbe(const char *name, int used) : Probe(name, 2), used_(used) {}

protected:
    Health measure(int) override {
        used_ += 3;
        return used_ > 95 ? Health::broken : used_ > 80 ? Health::warning : Health::good;
    }

private:
    int used_;
};

class PingProbe final : public Probe {
public:
    PingProbe(const char *name, int dead_from) : Probe(name, 1), dead_from_(dead_from) {}

protected:
    Health measure(int now) override { return now >= dead_from_ ? Health::broken : Health::good; }

private:
    int dead_from_;
};

class Registry {
public:
    using Factory = std::function<Probe *(const char *name, int argument)>;

    void plug_in(const std::string &kind, Factory make) { kinds_[kind] = std::move(make); }

    ProbeRef make(const std::string &kind, const char *name, int argument) const {
        auto found = kinds_.find(kind);
        return found == kinds_.end() ? ProbeRef() : ProbeRef::take(found->second(name, argument));
    }

private:
    std::map<std::string, Factory> kinds_;
};

class Slot {
public:
    explicit Slot(ProbeRef probe) : probe_(std::move(probe)) {}

    bool active() const { return active_; }

    void tick(int now) {
        if (active_ && now % probe_->interval() == 0)
            probe_->run(now);
    }

    bool worn_out() const { return active_ && probe_->failures() >= 3; }

    void retire() {
        std::printf("%s is retired after %d failures\n", probe_->name(), probe_->failures());
        active_ = false;
        probe_.reset();
    }

private:
    ProbeRef probe_;
    bool active_ = true;
};

class Group {
public:
    explicit Group(const char *name) : name_(name) {}

    void add(const ProbeRef &probe) { members_.push_back(probe); }

    Health worst() const {
        Health w = Health::unknown;
        for (const ProbeRef &probe : members_)
            if (probe->health() > w)
                w = probe->health();
        return w;
    }

    void report() const {
        static const char *const words[] = {"unknown", "good", "warning", "broken"};
        std::printf("%-8s %s, %zu probes\n", name_, words[static_cast<int>(worst())], members_.size());
    }

private:
    const char *name_;
    std::vector<ProbeRef> members_;
};

class Agent {
public:
    explicit Agent(const Registry &registry) : registry_(registry) {
        groups_.emplace_back("storage");
        groups_.emplace_back("network");
    }

    bool configure(const char *line) {
        char kind[16], name[24], group[16];
        int argument;
        if (std::sscanf(line, "%15s %23s %d %15s", kind, name, &argument, group) != 4)
            return false;
        ProbeRef probe = registry_.make(kind, name, argument);
        if (!probe)
            return false;
        if (!std::strcmp(group, "storage"))
            groups_[0].add(probe);
        else if (!std::strcmp(group, "network"))
            groups_[1].add(probe);
        else if (std::strcmp(group, "-"))
            return false;
        slots_.emplace_back(std::move(probe));
        return true;
    }

    void run(int until) {
        for (; now_ < until; ++now_)
            for (Slot &slot : slots_) {
                slot.tick(now_);
                if (slot.worn_out())
                    slot.retire();
            }
    }

    int active() const {
        int n = 0;
        for (const Slot &slot : slots_)
            n += slot.active();
        return n;
    }

    void report() const {
        for (const Group &group : groups_)
            group.report();
        std::printf("%d of %zu slots are active\n", active(), slots_.size());
    }

private:
    const Registry &registry_;
    std::vector<Group> groups_;
    std::list<Slot> slots_;
    int now_ = 1;
};

} // namespace agent

int main() {
    agent::Registry registry;
    registry.plug_in("disk", [](const char *name, int used) { return new agent::DiskProbe(name, used); });
    registry.plug_in("ping", [](const char *name, int dead_from) { return new agent::PingProbe(name, dead_from); });

    agent::Agent daemon(registry);
    const char *const config[] = {
        "disk /var 70 storage",    "disk /home 20 storage",    "ping gateway 1000 network", "ping printer 6 network",
        "ping backup-link 9 -",    "snmp switch-1 3 network",  "disk /srv 55 storage",      "ping ntp 2000 office",
        "ping nameserver 500 network",
    };
    int refused = 0;
    for (const char *line : config)
        refused += !daemon.configure(line);
    std::printf("%d lines refused\n", refused);
    daemon.run(14);
    daemon.report();
    return daemon.active() == 5 && refused == 2 ? 0 : 1;
}
