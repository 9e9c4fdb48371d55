/*
 * summary: when a buoy gets a new call sign, the handler under its old one, which holds the buoy, stays in the dispatcher
 * kind: held
 * counts: surplus
 * objects: 2
 * track: shared_ptr
 * build: clang++ -O2 -g
 * libs: -pthread
 */
// Telemetry of weather buoys: a radio thread decodes frames, the dispatcher brings them to the handlers by
// call sign, and the fleet has the buoys with their latest readings.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct Frame {
    std::string sign;
    double wave, wind;
    bool battery_low;
};

class Dispatcher {
public:
    using Handler = std::function<void(const Frame &)>;

    void Subscribe(const std::string &sign, Handler handler) { handlers_[sign] = std::move(handler); }
    void Unsubscribe(const std::string &sign) { handlers_.erase(sign); }
    bool Dispatch(const Frame &frame)
    {
        auto it = handlers_.find(frame.sign);
        if (it == handlers_.end()) {
            unknown_++;
            return false;
        }
        Handler handler = it->second;
        handler(frame);
        return true;
    }
    size_t Handlers() const { return handlers_.size(); }
    unsigned Unknown() const { return unknown_; }

private:
    std::map<std::string, Handler> handlers_;
    unsigned unknown_ = 0;
};

class Buoy : public std::enable_shared_from_this<Buoy> {
public:
    Buoy(Dispatcher &dispatcher, std::string sign, std::string place)
        : dispatcher_(dispatcher), sign_(std::move(sign)), place_(std::move(place)) {}

    void Listen()
    {
        dispatcher_.Subscribe(sign_, [self = shared_from_this()](const Frame &f) { self->OnFrame(f); });
    }
    void Silence() { dispatcher_.Unsubscribe(sign_); }
    void Rename(const std::string &sign)
    {
#ifndef BUG
        dispatcher_.Unsubscribe(sign_);
#endif
        sign_ = sign; // GUILTY
        Listen(); // ACCEPTED
    }

    const std::string &Sign() const { return sign_; }
    const std::string &Place() const { return place_; }
    double HighestWave() const { return highest_; }
    size_t Frames() const { return frames_; }
    bool NeedsService() const { return service_; }

    std::function<void(const std::shared_ptr<Buoy> &)> on_storm;

private:
    void OnFrame(const Frame &f)
    {
        frames_++;
        if (f.wave > highest_)
            highest_ = f.wave;
        service_ |= f.battery_low;
        if (f.wind > 20 && on_storm)
            on_storm(shared_from_this());
    }

    Dispatcher &dispatcher_;
    std::string sign_, place_;
    double highest_ = 0;
    size_t frames_ = 0;
    bool service_ = false;
};

class Fleet {
public:
    explicit Fleet(Dispatcher &dispatcher) : dispatcher_(dispatcher) {}

    std::shared_ptr<Buoy> Deploy(const char *sign, const char *place)
    {
        auto buoy = std::make_shared<Buoy>(dispatcher_, sign, place);
        std::weak_ptr<Buoy> weak = buoy;

        buoy->Listen();
        buoy->on_storm = [this, weak](const std::shared_ptr<Buoy> &b) {
            if (!weak.expired())
                storms_[b->Place()]++;
        };
        buoys_.push_back(buoy);
        return buoy;
    }
    std::shared_ptr<Buoy> Find(const std::string &sign) const
    {
        for (const auto &b : buoys_)
            if (b->Sign() == sign)
                return b;
        return nullptr;
    }
    bool Recover(const std::string &sign)
    {
        for (auto it = buoys_.begin(); it != buoys_.end(); ++it)
            if ((*it)->Sign() == sign) {
                (*it)->Silence();
                buoys_.erase(it);
                return true;
            }
        return false;
    }
    unsigned RecoverAll()
    {
        unsigned n = 0;
        while (!buoys_.empty() && Recover(std::string(buoys_.back()->Sign())))
            n++;
        return n;
    }
    std::vector<std::weak_ptr<Buoy>> DueForService() const
    {
        std::vector<std::weak_ptr<Buoy>> due;
        for (const auto &b : buoys_)
            if (b->NeedsService())
                due.push_back(b);
        return due;
    }
    unsigned Storms(const std::string &place) const
    {
        auto it = storms_.find(place);
        return it == storms_.end() ? 0 : it->second;
    }

private:
    Dispatcher &dispatcher_;
    std::vector<std::shared_ptr<Buoy>> buoys_;
    std::map<std::string, unsigned> storms_;
};

class Radio {
public:
    ~Radio()
    {
        if (thread_.joinable())
            thread_.join();
    }
    void Receive(std::vector<std::string> lines)
    {
        closed_ = false;
        thread_ = std::thread([this, lines = std::move(lines)] {
            for (const std::string &line : lines)
                Decode(line);
            std::lock_guard<std::mutex> guard(mutex_);
            closed_ = true;
            more_.notify_one();
        });
    }
    bool Next(Frame &frame)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        more_.wait(lock, [this] { return closed_ || !frames_.empty(); });
        if (frames_.empty()) {
            lock.unlock();
            thread_.join();
            return false;
        }
        frame = std::move(frames_.front());
        frames_.pop_front();
        return true;
    }
    unsigned Garbled() const { return garbled_; }

private:
    void Decode(const std::string &line)
    {
        char sign[16];
        Frame f{};
        int battery = 0;

        if (std::sscanf(line.c_str(), "%15[^,],%lf,%lf,%d", sign, &f.wave, &f.wind, &battery) != 4) {
            garbled_++;
            return;
        }
        f.sign = sign;
        f.battery_low = battery < 20;
        std::lock_guard<std::mutex> guard(mutex_);
        frames_.push_back(std::move(f));
        more_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<Frame> frames_;
    bool closed_ = false;
    unsigned garbled_ = 0;
    std::thread thread_;
};

// Lives as long as the process: threads of the radio may still use it while static objects go.
static Dispatcher &TheDispatcher()
{
    static Dispatcher *dispatcher = new Dispatcher;
    return *dispatcher;
}

static unsigned Drain(Radio &radio, Dispatcher &dispatcher)
{
    unsigned n = 0;
    Frame frame;

    while (radio.Next(frame))
        n += dispatcher.Dispatch(frame);
    return n;
}

int main()
{
    Dispatcher &dispatcher = TheDispatcher();
    Fleet fleet(dispatcher);
    Radio radio;
    unsigned seen;

    fleet.Deploy("DB-101", "German Bight");
    fleet.Deploy("DB-102", "Dogger");
    fleet.Deploy("DB-103", "Fisher");
    fleet.Deploy("DB-104", "Forties");
    fleet.Deploy("DB-105", "Viking");
    radio.Receive({ "DB-101,2.1,12.5,80", "DB-102,4.6,22.0,75", "DB-103,3.0,15,12", "%%", "DB-105,6.1,24.5,66" });
    seen = Drain(radio, dispatcher);
    if (auto b = fleet.Find("DB-102"))
        b->Rename("NL-220");
    if (auto b = fleet.Find("DB-104"))
        b->Rename("UK-031");
    std::vector<std::weak_ptr<Buoy>> due = fleet.DueForService();
    for (const auto &weak : due)
        if (auto b = weak.lock())
            fleet.Recover(b->Sign());
    radio.Receive({ "NL-220,5.2,25,70", "UK-031,3.3,14,90", "DB-103,3.1,15,10", "DB-101,2.0,11,79" });
    seen += Drain(radio, dispatcher);
    double wave = fleet.Find("NL-220")->HighestWave();
    std::printf("%u frames, %u unknown, %u garbled, Dogger: %.1f m, %u storms\n", seen, dispatcher.Unknown(), radio.Garbled(), wave,
                fleet.Storms("Dogger"));
    unsigned recovered = fleet.RecoverAll();
    std::printf("%u recovered\n", recovered);
    std::fflush(stdout);
    return seen == 7 && recovered == 4 && due[0].expired() ? 0 : 1;
}
