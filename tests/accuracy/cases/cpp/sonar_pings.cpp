/* summary: the survey held for the callback of a ping stays held when the ping is cancelled
 * kind: missing-put
 * counts: surplus
 * objects: 2
 * track: shared_ptr
 * libs: -pthread
 * build: clang++ -O2 -g
 */
// Depth survey with a multi-channel sonar. The driver has a C interface with callbacks and opaque pointers; surveys are shared
// between the mission plan, the log and the pings under way.
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

typedef void (*ping_done_fn)(void *opaque, int ping_id, int depth_cm);

struct ping_request {
    int id;
    int channel;
    int range_m;
    ping_done_fn done;
    void *opaque;
};

struct ping_driver {
    std::mutex lock;
    std::condition_variable wake;
    std::deque<ping_request> queue;
    std::thread worker;
    bool stopping = false;
    int next_id = 1;
    unsigned channels_off = 0;
};

static int echo_cm(const ping_request &request) {
    int depth = 180 + request.channel * 37 + request.id * 11 % 90;
    return depth > request.range_m * 100 ? -1 : depth;
}

static void ping_worker(ping_driver *driver) {
    std::unique_lock<std::mutex> hold(driver->lock);
    for (;;) {
        driver->wake.wait(hold, [driver] { return driver->stopping || !driver->queue.empty(); });
        if (driver->queue.empty())
            return;
        ping_request request = driver->queue.front();
        driver->queue.pop_front();
        hold.unlock();
        request.done(request.opaque, request.id, echo_cm(request));
        hold.lock();
    }
}

// a ping's number, or a negative errno; done is called once for each ping that was accepted and not cancelled
static int ping_submit(ping_driver *driver, int channel, int range_m, ping_done_fn done, void *opaque) {
    std::lock_guard<std::mutex> hold(driver->lock);
    if (channel < 0 || channel > 7)
        return -EINVAL;
    if (driver->channels_off & (1u << channel))
        return -ENODEV;
    int id = driver->next_id++;
    driver->queue.push_back(ping_request{id, channel, range_m, done, opaque});
    driver->wake.notify_one();
    return id;
}

// takes a ping out of the queue; what was its opaque pointer is stored in *opaque
static int ping_cancel(ping_driver *driver, int id, void **opaque) {
    std::lock_guard<std::mutex> hold(driver->lock);
    for (auto at = driver->queue.begin(); at != driver->queue.end(); ++at)
        if (at->id == id) {
            *opaque = at->opaque;
            driver->queue.erase(at);
            return 0;
        }
    return -ENOENT;
}

static void ping_start(ping_driver *driver) { driver->worker = std::thread(ping_worker, driver); }

static void ping_stop(ping_driver *driver) {
    {
        std::lock_guard<std::mutex> hold(driver->lock);
        driver->stopping = true;
    }
    driver->wake.notify_all();
    driver->worker.join();
}

class Survey : public std::enable_shared_from_this<Survey> {
public:
    Survey(std::string name, int range_m) : name_(std::move(name)), range_m_(range_m) {}

    const std::string &name() const { return name_; }

    int ping_channels(ping_driver *driver, int first, int last) {
        int sent = 0;
        std::lock_guard<std::mutex> hold(lock_);
        for (int channel = first; channel <= last; ++channel) {
            auto *held = new std::shared_ptr<Survey>(shared_from_this());
            int id = ping_submit(driver, channel, range_m_, &Survey::on_echo, held);
            if (id < 0) {
                std::printf("%s: channel %d: error %d\n", name_.c_str(), channel, -id);
                delete held;
                continue;
            }
            pending_[id] = channel;
            ++sent;
        }
        return sent;
    }

    int abort(ping_driver *driver) {
        std::map<int, int> pending;
        {
            std::lock_guard<std::mutex> hold(lock_);
            pending.swap(pending_);
        }
        int cancelled = 0;
        for (const auto &entry : pending) {
            void *opaque = nullptr;
            if (ping_cancel(driver, entry.first, &opaque) != 0) // ACCEPTED
                continue;
            ++cancelled; // GUILTY
#ifndef BUG
            delete static_cast<std::shared_ptr<Survey> *>(opaque);
#endif
        }
        return cancelled;
    }

    std::string summary() {
        std::lock_guard<std::mutex> hold(lock_);
        char text[120];
        int best = depths_.empty() ? 0 : depths_.front();
        for (int depth : depths_)
            best = depth < best ? depth : best;
        std::snprintf(text, sizeof text, "%-12s %2zu echoes, %d lost, shallowest %d cm, %zu pending", name_.c_str(), depths_.size(),
                      lost_, best, pending_.size());
        return text;
    }

private:
    static void on_echo(void *opaque, int ping_id, int depth_cm) {
        std::unique_ptr<std::shared_ptr<Survey>> held(static_cast<std::shared_ptr<Survey> *>(opaque));
        (*held)->record(ping_id, depth_cm);
    }

    void record(int ping_id, int depth_cm) {
        std::lock_guard<std::mutex> hold(lock_);
        pending_.erase(ping_id);
        if (depth_cm < 0)
            ++lost_;
        else
            depths_.push_back(depth_cm);
    }

    std::mutex lock_;
    std::string name_;
    int range_m_;
    int lost_ = 0;
    std::vector<int> depths_;
    std::map<int, int> pending_;
};

class Mission {
public:
    explicit Mission(ping_driver *driver) : driver_(driver) {}

    std::shared_ptr<Survey> plan(const char *name, int range_m, int first, int last) {
        auto survey = std::make_shared<Survey>(name, range_m);
        surveys_.push_back(survey);
        pings_ += survey->ping_channels(driver_, first, last);
        return survey;
    }

    // drops a survey from the plan with all that is still to be done for it
    bool scrap(const std::string &name) {
        for (auto at = surveys_.begin(); at != surveys_.end(); ++at) {
            if ((*at)->name() != name)
                continue;
            int cancelled = (*at)->abort(driver_);
            std::printf("%s scrapped, %d pings taken back\n", name.c_str(), cancelled);
            surveys_.erase(at);
            return true;
        }
        return false;
    }

    void add_to_log(const std::shared_ptr<Survey> &survey) { log_[survey->name()] = survey; }

    std::shared_ptr<Survey> logged(const std::string &name) const {
        auto found = log_.find(name);
        return found == log_.end() ? nullptr : found->second;
    }

    void report() const {
        for (const auto &survey : surveys_)
            std::printf("%s\n", survey->summary().c_str());
        std::printf("%d pings in all\n", pings_);
    }

private:
    ping_driver *driver_;
    int pings_ = 0;
    std::vector<std::shared_ptr<Survey>> surveys_;
    std::map<std::string, std::shared_ptr<Survey>> log_;
};

int main() {
    ping_driver driver;
    driver.channels_off = 1u << 6;
    {
        Mission mission(&driver);
        auto harbour = mission.plan("harbour", 4, 0, 7);
        mission.add_to_log(harbour);
        mission.plan("fairway", 8, 0, 5);
        mission.plan("north_bank", 3, 2, 5);
        mission.add_to_log(mission.plan("anchorage", 6, 0, 3));
        mission.plan("wreck", 9, 1, 3);
        mission.plan("pipeline", 9, 4, 7);

        // the tide does not allow these today
        mission.scrap("north_bank");
        mission.scrap("wreck");
        if (!mission.scrap("south_bank"))
            std::printf("south_bank is not planned\n");

        ping_start(&driver);
        mission.plan("quay", 5, 0, 2);
        mission.plan("lock", 2, 8, 8);
        ping_stop(&driver);
        mission.report();
        if (auto anchorage = mission.logged("anchorage"))
            std::printf("log: %s\n", anchorage->summary().c_str());
    }
    return 0;
}
