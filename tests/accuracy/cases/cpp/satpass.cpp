/*
 * summary: calling off a pass takes it out of the C scheduler without deleting the shared pointer that was handed in as its data
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: shared_ptr
 * build: g++ -O1 -g -pthread
 */
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/* sched.h: a scheduler in plain C, which knows of a job only its time, its function and its data. */

extern "C" {

typedef void (*sched_fn)(void *data);

struct sched_job {
    int id;
    int at;
    sched_fn run;
    void *data;
    struct sched_job *next;
};

struct sched {
    struct sched_job *jobs;
    int now;
    int last_id;
};

static int sched_at(struct sched *s, int at, sched_fn run, void *data)
{
    struct sched_job **link = &s->jobs;
    struct sched_job *job = static_cast<struct sched_job *>(std::malloc(sizeof *job));

    if (job == nullptr)
        std::abort();
    while (*link != nullptr && (*link)->at <= at)
        link = &(*link)->next;
    *job = { ++s->last_id, at, run, data, *link };
    *link = job;
    return job->id;
}

/* Gives the data back, or NULL where there is no such job. */
static void *sched_cancel(struct sched *s, int id)
{
    for (struct sched_job **link = &s->jobs; *link != nullptr; link = &(*link)->next) {
        struct sched_job *job = *link;
        if (job->id != id)
            continue;
        void *data = job->data;
        *link = job->next;
        std::free(job);
        return data;
    }
    return nullptr;
}

static int sched_run_until(struct sched *s, int until)
{
    int ran = 0;

    while (s->jobs != nullptr && s->jobs->at <= until) {
        struct sched_job *job = s->jobs;
        s->jobs = job->next;
        s->now = job->at;
        job->run(job->data);
        std::free(job);
        ran++;
    }
    s->now = until;
    return ran;
}

}

/* A pass of a satellite over the station. */
struct Pass {
    Pass(std::string sat, int rise, int minutes) : satellite(std::move(sat)), rise(rise), minutes(minutes) {}

    std::string satellite;
    int rise, minutes;
    bool taken = false;
    std::vector<unsigned> samples;
};

using PassPtr = std::shared_ptr<Pass>;

/* Decodes what was received, in a thread of its own. */
class Decoder {
public:
    Decoder() : thread_([this] { work(); }) {}

    ~Decoder()
    {
        finish();
    }

    void push(PassPtr pass)
    {
        std::lock_guard<std::mutex> guard(lock_);
        queue_.push(std::move(pass));
        wake_.notify_one();
    }

    void finish()
    {
        {
            std::lock_guard<std::mutex> guard(lock_);
            closing_ = true;
            wake_.notify_one();
        }
        if (thread_.joinable())
            thread_.join();
    }

    const std::map<std::string, unsigned> &frames() const { return frames_; }

private:
    void work()
    {
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            wake_.wait(guard, [this] { return closing_ || !queue_.empty(); });
            if (queue_.empty())
                return;
            PassPtr pass = std::move(queue_.front());
            queue_.pop();
            guard.unlock();
            unsigned sum = 0;
            for (unsigned sample : pass->samples)
                sum += sample % 7;
            guard.lock();
            frames_[pass->satellite] += sum;
        }
    }

    std::mutex lock_;
    std::condition_variable wake_;
    std::queue<PassPtr> queue_;
    std::map<std::string, unsigned> frames_;
    bool closing_ = false;
    std::thread thread_;
};

class Station {
public:
    explicit Station(Decoder &decoder) : decoder_(decoder) { instance_ = this; }

    ~Station()
    {
        while (!booked_.empty())
            drop(booked_.begin()->first);
        instance_ = nullptr;
    }

    int book(const std::string &satellite, int rise, int minutes)
    {
        auto pass = std::make_shared<Pass>(satellite, rise, minutes);
        int id = sched_at(&sched_, rise, &Station::rising, new PassPtr(pass));
        booked_.emplace(id, std::move(pass));
        return id;
    }

    /* Bad weather: passes that rise within a span are called off. */
    int callOff(int from, int to)
    {
        std::vector<int> ids;
        for (const auto &[id, pass] : booked_)
            if (!pass->taken && pass->rise >= from && pass->rise < to)
                ids.push_back(id);
        for (int id : ids) {
            const PassPtr &pass = booked_.at(id);
            std::printf("called off %s at %d\n", pass->satellite.c_str(), pass->rise);
#ifdef BUG
            sched_cancel(&sched_, id); /* GUILTY */
#else
            delete static_cast<PassPtr *>(sched_cancel(&sched_, id));
#endif
            booked_.erase(id);
        }
        return static_cast<int>(ids.size());
    }

    bool postpone(int id, int minutes)
    {
        auto it = booked_.find(id);
        if (it == booked_.end() || it->second->taken)
            return false;
        void *data = sched_cancel(&sched_, id);
        if (data == nullptr)
            return false;
        PassPtr pass = it->second;
        booked_.erase(it);
        pass->rise += minutes;
        int later = sched_at(&sched_, pass->rise, &Station::rising, data);
        booked_.emplace(later, std::move(pass));
        return true;
    }

    int run(int until) { return sched_run_until(&sched_, until); }
    size_t booked() const { return booked_.size(); }

private:
    static void rising(void *data)
    {
        std::unique_ptr<PassPtr> holder(static_cast<PassPtr *>(data));
        instance_->receive(*holder);
    }

    void receive(const PassPtr &pass)
    {
        pass->taken = true;
        for (int i = 0; i < pass->minutes * 4; i++)
            pass->samples.push_back(static_cast<unsigned>(i * 13 + pass->rise));
        decoder_.push(pass);
        auto it = std::find_if(booked_.begin(), booked_.end(), [&](const auto &entry) { return entry.second == pass; });
        if (it != booked_.end())
            booked_.erase(it);
    }

    void drop(int id)
    {
        std::unique_ptr<PassPtr> holder(static_cast<PassPtr *>(sched_cancel(&sched_, id)));
        booked_.erase(id);
    }

    static Station *instance_;
    Decoder &decoder_;
    sched sched_{};
    std::map<int, PassPtr> booked_;
};

Station *Station::instance_ = nullptr;

int main()
{
    Decoder decoder;
    {
        Station station(decoder);
        const char *const names[] = { "NOAA 18", "Meteor", "Metop B", "NOAA 19", "Elektro" };
        int last = 0;

        for (int i = 0; i < 10; i++)
            last = station.book(names[i % 5], 60 + 45 * i, 8 + i % 4);
        int ran = station.run(150);
        int off = station.callOff(190, 330);
        station.postpone(last, 30);
        ran += station.run(420);
        std::printf("%d received, %d called off, %zu still booked\n", ran, off, station.booked());
    }
    decoder.finish();
    for (const auto &[satellite, frames] : decoder.frames())
        std::printf("%-8s %u frames\n", satellite.c_str(), frames);
    return 0;
}
