/* summary: Gantry::dispatch detaches a sighting to send it through a mailbox of plain pointers, and does not take it back when the mailbox of that lane is closed
 * kind: missing-put
 * counts: surplus
 * objects: 14
 * track: boost
 * build: g++ -O1 -g -std=c++17 -pthread
 * exit: 0
 */
// plate_reader - a toll gantry.  The cameras make sightings, a thread for each
// lane looks up the tariffs.  Between them are mailboxes of a C library.

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

class Sighting : public boost::intrusive_ref_counter<Sighting, boost::thread_safe_counter>
{
public:
    Sighting(std::string plate, int lane, int axles) : plate_(std::move(plate)), lane_(lane), axles_(axles) {}

    const std::string &plate() const { return plate_; }
    int lane() const { return lane_; }
    int axles() const { return axles_; }

private:
    std::string plate_;
    int lane_;
    int axles_;
};

using SightingPtr = boost::intrusive_ptr<Sighting>;

// ---------------------------------------------------------------- mailbox

// A queue of a few plain pointers, as the driver's library has it.
class Mailbox
{
public:
    // Waits while it is full.  False if it is closed.
    bool post(void *item)
    {
        std::unique_lock<std::mutex> lock(mutex_);

        changed_.wait(lock, [this] { return closed_ || items_.size() < 4; });
        if (closed_)
            return false;
        items_.push_back(item);
        changed_.notify_all();
        return true;
    }

    // Null if it is closed and empty.
    void *fetch()
    {
        std::unique_lock<std::mutex> lock(mutex_);

        changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
        if (items_.empty())
            return nullptr;
        void *item = items_.front();
        items_.pop_front();
        changed_.notify_all();
        return item;
    }

    void close()
    {
        std::lock_guard<std::mutex> lock(mutex_);

        closed_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<void *> items_;
    bool closed_ = false;
};

// ---------------------------------------------------------------- ledger

class Ledger
{
public:
    void charge(SightingPtr sighting, int cents)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        total_ += cents;
        ++passages_[sighting->plate()];
        // The last one of each lane is shown on the operator's screen.
        last_[sighting->lane()] = std::move(sighting);
    }

    void print() const
    {
        std::printf("%ld cents, %zu vehicles\n", total_, passages_.size());
        for (const auto &entry : last_)
            std::printf("lane %d: %s\n", entry.first, entry.second->plate().c_str());
    }

private:
    std::mutex mutex_;
    long total_ = 0;
    std::map<std::string, int> passages_;
    std::map<int, SightingPtr> last_;
};

class LaneWorker
{
public:
    LaneWorker(Ledger &ledger, int lane) : ledger_(ledger), lane_(lane), thread_([this] { run(); }) {}

    ~LaneWorker()
    {
        mailbox_.close();
        thread_.join();
    }

    Mailbox &mailbox() { return mailbox_; }

private:
    void run()
    {
        while (void *item = mailbox_.fetch())
        {
            SightingPtr sighting(static_cast<Sighting *>(item), false);
            int cents = tariff(*sighting);

            if (cents > 0)
                ledger_.charge(sighting, cents);
        }
    }

    int tariff(const Sighting &sighting) const
    {
        if (sighting.plate().compare(0, 3, "BUS") == 0)
            return 0;
        return sighting.axles() * (lane_ == 0 ? 80 : 120);
    }

    Ledger &ledger_;
    int lane_;
    Mailbox mailbox_;
    std::thread thread_;
};

// ---------------------------------------------------------------- gantry

class Gantry
{
public:
    static constexpr int kLanes = 3;

    explicit Gantry(Ledger &ledger)
    {
        for (int lane = 0; lane < kLanes; ++lane)
            workers_[static_cast<size_t>(lane)] = std::make_unique<LaneWorker>(ledger, lane);
    }

    void pass(const std::string &plate, int lane, int axles)
    {
        SightingPtr sighting(new Sighting(plate, lane, axles));

        // Two cameras see every vehicle; the second one often has nothing new.
        if (!recent_.empty() && recent_.back()->plate() == plate && recent_.back()->lane() == lane)
        {
            ++duplicates_;
            return;
        }
        recent_.push_back(sighting);
        if (recent_.size() > 6)
            recent_.pop_front();
        dispatch(std::move(sighting));
    }

    void closeLane(int lane) { workers_[static_cast<size_t>(lane)]->mailbox().close(); }

    void stop()
    {
        for (auto &worker : workers_)
            worker.reset();
        recent_.clear();
        std::printf("%d duplicates, %d missed\n", duplicates_, missed_);
    }

private:
    void dispatch(SightingPtr sighting)
    {
        Mailbox &mailbox = workers_[static_cast<size_t>(sighting->lane())]->mailbox();
        Sighting *item = sighting.detach(); // ACCEPTED

        if (!mailbox.post(item))
        {
#ifndef BUG
            sighting.reset(item, false);
#endif
            ++missed_;
            return; // GUILTY
        }
        ++sent_;
    }

    std::array<std::unique_ptr<LaneWorker>, kLanes> workers_;
    std::deque<SightingPtr> recent_;
    int duplicates_ = 0;
    int missed_ = 0;
    int sent_ = 0;
};

int main()
{
    Ledger ledger;
    Gantry gantry(ledger);

    for (int n = 0; n < 120; ++n)
    {
        std::string plate = (n % 14 == 3 ? "BUS-" : "KL-") + std::to_string(100 + n * 37 % 91);
        int lane = n * 5 % 7 % Gantry::kLanes;

        gantry.pass(plate, lane, 2 + n % 4);
        if (n % 6 == 0)
            gantry.pass(plate, lane, 2 + n % 4);
        if (n == 70)
            gantry.closeLane(2);
    }
    gantry.stop();
    ledger.print();
    return 0;
}
