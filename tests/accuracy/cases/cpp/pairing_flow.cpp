/*
 * summary: the pairing session stores a timeout callback in itself that captures a strong pointer to the session
 * kind: cycle
 * counts: surplus
 * objects: 3
 * track: shared_ptr
 * build: g++ -O2 -g
 */
// Pairing of radio thermostats and switches with a home base: each session walks through
// a handshake; timers and radio frames call back into it.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace home {

class Clock {
public:
    using Callback = std::function<void()>;
    uint64_t Now() const { return now_; }
    unsigned After(unsigned ms, Callback callback)
    {
        unsigned id = ++last_;
        timers_.emplace(now_ + ms, std::make_pair(id, std::move(callback)));
        return id;
    }
    void Cancel(unsigned id)
    {
        for (auto it = timers_.begin(); it != timers_.end(); ++it)
            if (it->second.first == id) {
                timers_.erase(it);
                return;
            }
    }
    void Advance(unsigned ms)
    {
        uint64_t until = now_ + ms;
        while (!timers_.empty() && timers_.begin()->first <= until) {
            auto timer = timers_.begin();
            now_ = timer->first;
            Callback callback = std::move(timer->second.second);
            timers_.erase(timer);
            callback();
        }
        now_ = until;
    }

private:
    uint64_t now_ = 0;
    unsigned last_ = 0;
    std::multimap<uint64_t, std::pair<unsigned, Callback>> timers_;
};

struct Frame {
    uint16_t device;
    enum Kind { Hello, Challenge, Answer, Accept, Refuse } kind;
    uint32_t value;
};

class Radio {
public:
    void Send(const Frame &frame) { air_.push(frame); }
    bool Receive(Frame *frame)
    {
        if (air_.empty())
            return false;
        *frame = air_.front();
        air_.pop();
        return true;
    }

private:
    std::queue<Frame> air_;
};

enum class Outcome { Running, Paired, Refused, TimedOut };

class Session : public std::enable_shared_from_this<Session> {
public:
    using Done = std::function<void(const std::shared_ptr<Session> &)>;

    Session(Clock &clock, Radio &radio, uint16_t device) : clock_(clock), radio_(radio), device_(device) {}

    void Start(unsigned timeout, unsigned retries, Done done)
    {
        timeout_ = timeout;
        retries_ = retries;
        done_ = std::move(done);
#ifdef BUG
        auto self = shared_from_this(); // GUILTY
        onTimeout_ = [self] { // ACCEPTED
#else
        std::weak_ptr<Session> weak = shared_from_this();
        onTimeout_ = [weak] {
            auto self = weak.lock();
#endif
            if (self)
                self->HandleTimeout();
        };
        radio_.Send({device_, Frame::Hello, 0});
        Arm();
    }

    void HandleFrame(const Frame &frame)
    {
        if (outcome_ != Outcome::Running)
            return;
        switch (frame.kind) {
        case Frame::Challenge:
            clock_.Cancel(timer_);
            radio_.Send({device_, Frame::Answer, frame.value * 2654435761u});
            Arm();
            break;
        case Frame::Accept:
            key_ = frame.value;
            Finish(Outcome::Paired);
            break;
        case Frame::Refuse:
            Finish(Outcome::Refused);
            break;
        default:
            break;
        }
    }

    Outcome Result() const { return outcome_; }
    uint16_t Device() const { return device_; }
    uint32_t Key() const { return key_; }

private:
    void Arm()
    {
        std::weak_ptr<Session> weak = weak_from_this();
        timer_ = clock_.After(timeout_, [weak] {
            if (auto self = weak.lock())
                self->onTimeout_();
        });
    }

    void HandleTimeout()
    {
        if (outcome_ != Outcome::Running)
            return;
        if (retries_ == 0) {
            Finish(Outcome::TimedOut);
            return;
        }
        retries_--;
        radio_.Send({device_, Frame::Hello, 0});
        Arm();
    }

    void Finish(Outcome outcome)
    {
        outcome_ = outcome;
        clock_.Cancel(timer_);
        if (outcome != Outcome::TimedOut) // ACCEPTED
            onTimeout_ = nullptr;
        Done done = std::move(done_);
        done_ = nullptr;
        done(shared_from_this());
    }

    Clock &clock_;
    Radio &radio_;
    uint16_t device_;
    unsigned timeout_ = 0, retries_ = 0, timer_ = 0;
    Outcome outcome_ = Outcome::Running;
    uint32_t key_ = 0;
    std::function<void()> onTimeout_;
    Done done_;
};

struct Device {
    std::string name;
    uint32_t key;
};

class Base {
public:
    Base(Clock &clock, Radio &radio) : clock_(clock), radio_(radio) {}

    void Pair(uint16_t address, const char *name)
    {
        auto session = std::make_shared<Session>(clock_, radio_, address);
        sessions_[address] = session;
        std::string label = name;
        session->Start(400, 2, [this, label](const std::shared_ptr<Session> &finished) { Finished(finished, label); });
    }

    void Dispatch(const Frame &frame)
    {
        auto it = sessions_.find(frame.device);
        if (it == sessions_.end())
            return;
        std::shared_ptr<Session> session = it->second;
        session->HandleFrame(frame);
    }

    size_t Running() const { return sessions_.size(); }

    void Report() const
    {
        for (const auto &device : devices_)
            printf("%-12s key %08x\n", device->name.c_str(), device->key);
        printf("%u refused, %u silent\n", refused_, silent_);
    }

private:
    void Finished(const std::shared_ptr<Session> &session, const std::string &label)
    {
        switch (session->Result()) {
        case Outcome::Paired:
            devices_.push_back(std::make_shared<Device>(Device{label, session->Key()}));
            break;
        case Outcome::Refused:
            refused_++;
            break;
        default:
            silent_++;
        }
        sessions_.erase(session->Device());
    }

    Clock &clock_;
    Radio &radio_;
    std::map<uint16_t, std::shared_ptr<Session>> sessions_;
    std::vector<std::shared_ptr<Device>> devices_;
    unsigned refused_ = 0, silent_ = 0;
};

/* What the devices in the house answer. */
class House {
public:
    bool Answer(const Frame &in, Frame *out)
    {
        if (in.device % 4 == 3)
            return false;
        *out = in;
        if (in.kind == Frame::Hello) {
            out->kind = Frame::Challenge;
            out->value = in.device * 77u;
            return true;
        }
        if (in.kind == Frame::Answer) {
            out->kind = in.device % 5 == 0 ? Frame::Refuse : Frame::Accept;
            out->value = in.value ^ 0x5aa55aa5u;
            return true;
        }
        return false;
    }
};

} // namespace home

int main()
{
    home::Clock clock;
    home::Radio radio;
    home::Base base(clock, radio);
    home::House house;
    static const char *const names[] = {"kitchen", "bath", "hall", "bedroom", "study", "cellar",
                                        "attic",   "porch", "garage", "shed", "nursery", "stairs"};

    for (uint16_t i = 0; i < 12; i++)
        base.Pair(i + 1, names[i]);
    for (int tick = 0; tick < 40 && base.Running(); tick++) {
        home::Frame request, reply;
        std::vector<home::Frame> replies;
        while (radio.Receive(&request))
            if (house.Answer(request, &reply))
                replies.push_back(reply);
        for (const home::Frame &frame : replies)
            base.Dispatch(frame);
        clock.Advance(100);
    }
    base.Report();
    return base.Running() ? 1 : 0;
}
