/* summary: Session::offer_oversize gives the timer that the session itself owns a function with a shared_ptr to the session, and the timer keeps its function after it fired
 * kind: cycle
 * counts: surplus
 * objects: 4
 * track: shared_ptr
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// lockers - a station where parcels wait in lockers.  A session is one visit
// of somebody at the screen; it has timers that call back into it.

#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class Timer;

class Clock
{
public:
    void add(Timer *timer) { timers_.push_back(timer); }

    void remove(Timer *timer)
    {
        for (Timer *&each : timers_)
            if (each == timer)
                each = nullptr;
    }

    void advance(int seconds);

private:
    std::vector<Timer *> timers_;
};

class Timer
{
public:
    explicit Timer(Clock &clock) : clock_(clock) { clock_.add(this); }
    ~Timer() { clock_.remove(this); }
    Timer(const Timer &) = delete;
    Timer &operator=(const Timer &) = delete;

    void start(int seconds, std::function<void()> elapsed)
    {
        elapsed_ = std::move(elapsed);
        left_ = seconds;
    }

    // Once more, with the function of the last time.
    void restart(int seconds) { left_ = seconds; }
    void stop() { left_ = -1; }

    void pass(int seconds)
    {
        if (left_ < 0 || (left_ -= seconds) > 0)
            return;
        left_ = -1;
        elapsed_();
    }

private:
    Clock &clock_;
    std::function<void()> elapsed_;
    int left_ = -1;
};

void Clock::advance(int seconds)
{
    for (size_t i = 0; i < timers_.size(); ++i)
        if (timers_[i])
            timers_[i]->pass(seconds);
    std::vector<Timer *> left;
    for (Timer *timer : timers_)
        if (timer)
            left.push_back(timer);
    timers_.swap(left);
}

struct Parcel
{
    std::string code;
    int litres;
    bool collected = false;
};

using ParcelPtr = std::shared_ptr<Parcel>;

class Journal
{
public:
    void note(const std::string &what, ParcelPtr parcel)
    {
        ++counts_[what];
        last_.push_back(std::move(parcel));
        if (last_.size() > 8)
            last_.pop_front();
    }

    void print() const
    {
        for (const auto &entry : counts_)
            std::printf("%-10s %d\n", entry.first.c_str(), entry.second);
        for (const ParcelPtr &parcel : last_)
            std::printf("%s%s ", parcel->code.c_str(), parcel->collected ? "+" : "-");
        std::printf("\n");
    }

private:
    std::map<std::string, int> counts_;
    std::deque<ParcelPtr> last_;
};

class Session : public std::enable_shared_from_this<Session>
{
public:
    Session(Clock &clock, std::shared_ptr<Journal> journal, ParcelPtr parcel)
        : journal_(std::move(journal)), parcel_(std::move(parcel)), idle_(clock), door_(clock)
    {
    }

    void begin()
    {
        // The timer does not outlive us, so a plain pointer will do.
        idle_.start(60, [this] { end("timeout"); });
        if (parcel_->litres > 90)
            offer_oversize();
        else
            open_door();
    }

    void touch()
    {
        if (!ended_)
            idle_.restart(60);
    }

    bool ended() const { return ended_; }

private:
    void open_door()
    {
        door_.start(15, [this] {
            parcel_->collected = true;
            end("collected");
        });
    }

    // Big parcels are behind the counter: the clerk gets a while to come, and
    // by then the session may be gone.
    void offer_oversize()
    {
#ifdef BUG
        auto self = shared_from_this();  // ACCEPTED
#else
        auto self = weak_from_this();
#endif
        door_.start(40, [self] { clerk_came(self); });  // GUILTY
        journal_->note("oversize", parcel_);
    }

    static void clerk_came(const std::weak_ptr<Session> &weak)
    {
        std::shared_ptr<Session> session = weak.lock();

        if (!session || session->ended_)
            return;
        session->parcel_->collected = true;
        session->end("counter");
    }

    void end(const char *how)
    {
        ended_ = true;
        idle_.stop();
        door_.stop();
        journal_->note(how, parcel_);
    }

    std::shared_ptr<Journal> journal_;
    ParcelPtr parcel_;
    Timer idle_;
    Timer door_;
    bool ended_ = false;
};

class Station
{
public:
    Station() : journal_(std::make_shared<Journal>()) {}

    void deliver(int n)
    {
        auto parcel = std::make_shared<Parcel>(Parcel{"P" + std::to_string(n), 5 + n * 13 % 80});

        if (n % 24 == 11)
            parcel->litres = 120;
        lockers_[parcel->code] = parcel;
    }

    bool visit(const std::string &code)
    {
        auto at = lockers_.find(code);

        if (at == lockers_.end())
            return false;
        sessions_.push_back(std::make_shared<Session>(clock_, journal_, at->second));
        sessions_.back()->begin();
        return true;
    }

    void pass(int seconds)
    {
        clock_.advance(seconds);
        for (size_t i = sessions_.size(); i-- > 0;)
            if (sessions_[i]->ended())
                sessions_.erase(sessions_.begin() + static_cast<long>(i));
        for (auto at = lockers_.begin(); at != lockers_.end();)
            at = at->second->collected ? lockers_.erase(at) : std::next(at);
    }

    // Somebody plays with the screen and keeps all the sessions awake.
    void touch()
    {
        std::vector<std::shared_ptr<Session>> now(sessions_);

        for (const auto &session : now)
            session->touch();
    }

    void report() const
    {
        journal_->print();
        std::printf("%zu parcels left, %zu sessions\n", lockers_.size(), sessions_.size());
    }

private:
    Clock clock_;
    std::shared_ptr<Journal> journal_;
    std::map<std::string, ParcelPtr> lockers_;
    std::vector<std::shared_ptr<Session>> sessions_;
};

int main()
{
    Station station;
    int unknown = 0;

    for (int n = 0; n < 90; ++n)
    {
        station.deliver(n);
        if (n >= 2 && !station.visit("P" + std::to_string(n - 2)))
            ++unknown;
        if (n % 5 == 0)
            station.touch();
        station.pass(10);
    }
    station.pass(90);
    station.report();
    std::printf("%d unknown\n", unknown);
    return 0;
}
