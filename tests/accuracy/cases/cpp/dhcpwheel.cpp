/* summary: Server::arm puts the new lease into a timer's slot that is still armed, over the pointer whose reference the slot owned
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: own
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// dhcpwheel - leases of addresses with their timers.  A timer of the wheel is
// as C has it, a function and a pointer; an armed one owns a reference to its
// lease, which the function takes over when the timer fires.

#include <boost/intrusive_ptr.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dhcp
{

class Lease
{
public:
    Lease(std::string mac, uint32_t address) : mac_(std::move(mac)), address_(address) {}
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;

    const std::string &mac() const { return mac_; }
    uint32_t address() const { return address_; }
    unsigned renewals() const { return renewals_; }
    bool ended() const { return ended_; }

    void renew() { ++renewals_; }
    void end() { ended_ = true; }

private:
    friend void intrusive_ptr_add_ref(Lease *lease) { ++lease->refs_; }

    friend void intrusive_ptr_release(Lease *lease)
    {
        if (--lease->refs_ == 0)
            delete lease;
    }

    ~Lease() = default;

    std::string mac_;
    uint32_t address_;
    uint32_t refs_ = 0;
    unsigned renewals_ = 0;
    bool ended_ = false;
};

using LeasePtr = boost::intrusive_ptr<Lease>;

// The timers; everything in here is plain data.
struct Timer
{
    void (*fire)(void *context, void *arg) = nullptr;
    void *context = nullptr;
    void *arg = nullptr;
    unsigned due = 0;
};

class Wheel
{
public:
    Timer &slot(unsigned port) { return timers_[port]; }

    void turn(unsigned now)
    {
        for (auto &entry : timers_)
        {
            Timer &timer = entry.second;

            if (!timer.fire || timer.due > now)
                continue;
            auto fire = std::exchange(timer.fire, nullptr);
            void *arg = std::exchange(timer.arg, nullptr);
            fire(timer.context, arg);
        }
    }

private:
    std::map<unsigned, Timer> timers_;
};

class Server
{
public:
    explicit Server(unsigned ports) : ports_(ports) {}

    ~Server()
    {
        for (unsigned port = 0; port < ports_; ++port)
            disarm(wheel_.slot(port));
    }

    // A client shows up at a port: it gets its lease, or the old one again.
    LeasePtr attach(unsigned port, const std::string &mac)
    {
        LeasePtr lease = lookup(mac);

        if (!lease)
        {
            lease.reset(new Lease(mac, next_++));
            leases_[mac] = lease;
        }
        else
            lease->renew();
        arm(port, lease);
        remember(lease);
        return lease;
    }

    // The client unplugs properly.
    void leave(unsigned port)
    {
        Timer &timer = wheel_.slot(port);

        if (!timer.fire)
            return;
        LeasePtr lease(static_cast<Lease *>(timer.arg));
        disarm(timer);
        drop(lease);
    }

    void tick()
    {
        wheel_.turn(++now_);
    }

    size_t alive() const { return leases_.size(); }
    unsigned expired() const { return expired_; }

    unsigned long history() const
    {
        unsigned long sum = 0;

        for (const LeasePtr &lease : recent_)
            if (lease)
                sum = sum * 33 + lease->address() + lease->renewals() + lease->ended();
        return sum;
    }

private:
    LeasePtr lookup(const std::string &mac) const
    {
        auto at = leases_.find(mac);
        return at == leases_.end() ? LeasePtr() : at->second;
    }

    void remember(LeasePtr lease)
    {
        recent_[cursor_++ % recent_.size()].swap(lease);
    }

    void disarm(Timer &timer)
    {
        if (!timer.fire)
            return;
        timer.fire = nullptr;
        LeasePtr dropped(static_cast<Lease *>(std::exchange(timer.arg, nullptr)), false);
    }

    void arm(unsigned port, LeasePtr lease)
    {
        Timer &timer = wheel_.slot(port);

#ifndef BUG
        disarm(timer);
#endif
        timer.due = now_ + 4 + lease->address() % 5;
        timer.context = this;
        timer.arg = lease.detach();  // GUILTY
        timer.fire = &Server::on_timer;
    }

    static void on_timer(void *context, void *arg)
    {
        Server *self = static_cast<Server *>(context);
        LeasePtr lease(static_cast<Lease *>(arg), false);

        ++self->expired_;
        self->drop(lease);
    }

    void drop(const LeasePtr &lease)
    {
        lease->end();
        leases_.erase(lease->mac());
    }

    unsigned ports_;
    unsigned now_ = 0;
    unsigned expired_ = 0;
    uint32_t next_ = 0x0a000010;
    Wheel wheel_;
    std::unordered_map<std::string, LeasePtr> leases_;
    std::vector<LeasePtr> recent_{16};
    size_t cursor_ = 0;
};

}  // namespace dhcp

static std::string mac_of(unsigned n)
{
    char text[32];

    std::snprintf(text, sizeof text, "52:54:00:00:%02x:%02x", n / 256 % 256, n % 256);
    return text;
}

int main()
{
    const unsigned ports = 12;
    dhcp::Server server(ports);
    std::vector<unsigned> free_at(ports, 0);
    unsigned clients = 0, swaps = 0;
    uint32_t seed = 4711;

    for (unsigned step = 0; step < 120; ++step)
    {
        seed = seed * 1664525u + 1013904223u;
        unsigned port = (seed >> 20) % ports;

        if (free_at[port] <= step)
        {
            auto lease = server.attach(port, mac_of(clients++));

            free_at[port] = step + 10;
            if (lease->renewals())
                return 1;
        }
        else if (step % 3 == 0)
        {
            server.leave(port);
            free_at[port] = step;
        }
        // Somebody pulls a cable and plugs another machine in.
        if (step == 30 || step == 61 || step == 99)
        {
            free_at[3] = step + 12;
            server.attach(3, mac_of(1000 + step));
            server.attach(3, mac_of(2000 + step));
            ++swaps;
        }
        server.tick();
    }
    std::printf("%u clients, %u swaps, %zu leases alive, %u expired, history %lx\n", clients, swaps,
                server.alive(), server.expired(), server.history());
    return 0;
}
