/* summary: Tracker::follow gives the future a callback that holds the same future, and the callbacks of a lookup that is cancelled are never run and dropped
 * kind: cycle
 * counts: surplus
 * objects: 4
 * track: libstdcxx
 * build: clang++ -O2 -g -std=c++17
 * exit: 0
 */
// parcel_futures - asks carriers where parcels are.  A lookup ends some rounds
// later, or never; whoever waits for it has a future.

#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Position
{
    std::string depot;
    int hour = 0;
};

namespace detail
{

// What a promise and its futures share.
template <typename T> class State
{
public:
    using Callback = std::function<void(const T &)>;

    bool ready() const { return ready_; }
    const T &value() const { return value_; }

    void when_ready(Callback callback)
    {
        if (ready_)
            callback(value_);
        else
            callbacks_.push_back(std::move(callback));
    }

    void fulfil(T value)
    {
        std::vector<Callback> callbacks;

        value_ = std::move(value);
        ready_ = true;
        callbacks.swap(callbacks_);
        for (Callback &callback : callbacks)
            callback(value_);
    }

private:
    bool ready_ = false;
    T value_{};
    std::vector<Callback> callbacks_;
};

} // namespace detail

template <typename T> class Future
{
public:
    explicit Future(std::shared_ptr<detail::State<T>> state) : state_(std::move(state)) {}

    bool ready() const { return state_->ready(); }
    const T &value() const { return state_->value(); }
    void then(std::function<void(const T &)> callback) const { state_->when_ready(std::move(callback)); }

private:
    std::shared_ptr<detail::State<T>> state_;
};

template <typename T> class Promise
{
public:
    Promise() : state_(std::make_shared<detail::State<T>>()) {}

    Future<T> future() const { return Future<T>(state_); }
    void fulfil(T value) { state_->fulfil(std::move(value)); }

private:
    std::shared_ptr<detail::State<T>> state_;
};

// ---------------------------------------------------------------- carriers

class Carrier
{
public:
    Carrier(std::string name, int latency) : name_(std::move(name)), latency_(latency) {}

    Future<Position> locate(int parcel)
    {
        queue_.push_back({parcel, latency_ + parcel % 3, {}});
        return queue_.back().promise.future();
    }

    // The carrier's service goes away now and then, with all that is pending.
    size_t reset()
    {
        size_t lost = queue_.size();

        queue_.clear();
        return lost;
    }

    void round(int hour)
    {
        std::deque<Lookup> later;

        while (!queue_.empty())
        {
            Lookup lookup = std::move(queue_.front());

            queue_.pop_front();
            if (--lookup.left > 0)
                later.push_back(std::move(lookup));
            else
                lookup.promise.fulfil({name_ + "-" + std::to_string(lookup.parcel % 4), hour});
        }
        queue_.swap(later);
    }

private:
    struct Lookup
    {
        int parcel;
        int left;
        Promise<Position> promise;
    };

    std::string name_;
    int latency_;
    std::deque<Lookup> queue_;
};

// ---------------------------------------------------------------- tracker

class Board
{
public:
    void show(int parcel, const Position &at)
    {
        ++depots_[at.depot];
        latest_[parcel] = at.hour;
    }

    void print() const
    {
        for (const auto &depot : depots_)
            std::printf("%s:%d ", depot.first.c_str(), depot.second);
        std::printf("\n%zu parcels seen\n", latest_.size());
    }

private:
    std::map<std::string, int> depots_;
    std::map<int, int> latest_;
};

class Tracker
{
public:
    explicit Tracker(std::shared_ptr<Board> board) : board_(std::move(board)) {}

    void add(std::string name, int latency)
    {
        carriers_.push_back(std::make_unique<Carrier>(std::move(name), latency));
    }

    void follow(int parcel)
    {
        Carrier &carrier = *carriers_[static_cast<size_t>(parcel) % carriers_.size()];
        Future<Position> position = carrier.locate(parcel);
        Board *board = board_.get();

#ifdef BUG
        position.then([board, parcel, position](const Position &) { board->show(parcel, position.value()); }); // GUILTY
#else
        position.then([board, parcel](const Position &at) { board->show(parcel, at); });
#endif
        if (parcel % 6 == 1)
            urgent_.emplace(parcel, position);
    }

    void round(int hour)
    {
        for (const auto &carrier : carriers_)
            carrier->round(hour);
        for (auto at = urgent_.begin(); at != urgent_.end();)
        {
            if (!at->second.ready())
            {
                ++at;
                continue;
            }
            delay_ += hour - at->second.value().hour;
            ++arrived_;
            at = urgent_.erase(at);
        }
    }

    void outage(size_t carrier) { lost_ += carriers_[carrier]->reset(); }

    void finish()
    {
        std::printf("%d urgent ones, delay %d, %zu lost, %zu open\n", arrived_, delay_, lost_, urgent_.size());
        urgent_.clear();
    }

private:
    std::shared_ptr<Board> board_;
    std::vector<std::unique_ptr<Carrier>> carriers_;
    std::map<int, Future<Position>> urgent_;
    int arrived_ = 0;
    int delay_ = 0;
    size_t lost_ = 0;
};

int main()
{
    auto board = std::make_shared<Board>();
    Tracker tracker(board);

    tracker.add("north", 1);
    tracker.add("rail", 3);
    tracker.add("sea", 5);
    for (int hour = 0; hour < 30; ++hour)
    {
        tracker.follow(hour * 2);
        if (hour % 3 == 0)
            tracker.follow(hour * 2 + 1);
        tracker.round(hour);
        if (hour == 11)
            tracker.outage(1);
        if (hour == 20)
            tracker.outage(2);
    }
    for (int hour = 30; hour < 40; ++hour)
        tracker.round(hour);
    tracker.finish();
    board->print();
    return 0;
}
