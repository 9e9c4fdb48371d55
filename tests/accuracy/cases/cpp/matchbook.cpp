/* summary: cancel() adopts a borrowed raw pointer into an intrusive_ptr with add_ref=false, so the index's reference is dropped at scope end
 * kind: missing-get
 * counts: deficit
 * objects: 13
 * track: own
 * build: g++ -std=c++17 -O3 -g
 * exit: 0
 */
// matchbook - price/time priority matching for a handful of symbols.
//
// Orders are intrusive-counted because they travel between the book, the
// by-id index of each session and the trade tape.
#include <algorithm>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace match {

enum class Side : std::uint8_t { Buy, Sell };

class Order {
public:
    Order(std::uint64_t id, unsigned session, Side side, int price, int qty)
        : id(id), session(session), side(side), price(price), open(qty), qty(qty)
    {
        tag = "S" + std::to_string(session) + "-order-" + std::to_string(id);
    }
    const std::uint64_t id;
    const unsigned session;
    const Side side;
    const int price;
    int open;
    const int qty;
    std::string tag;
    bool cancelled = false;

private:
    int useCount_ = 0;
    friend void intrusive_ptr_add_ref(Order *o) { ++o->useCount_; }
    friend void intrusive_ptr_release(Order *o)
    {
        if (--o->useCount_ == 0)
            delete o;
    }
};

using OrderPtr = boost::intrusive_ptr<Order>;

struct Trade {
    OrderPtr taker;
    OrderPtr maker;
    int price;
    int qty;
};

// Last trades for the display; older ones fall off the end.
class Tape {
public:
    void print(OrderPtr taker, OrderPtr maker, int price, int qty)
    {
        trades_.push_back({std::move(taker), std::move(maker), price, qty});
        volume_ += qty;
        if (trades_.size() > 48)
            trades_.pop_front();
    }
    long volume() const { return volume_; }
    std::size_t selfTrades() const
    {
        std::size_t n = 0;
        for (const Trade &t : trades_)
            n += t.taker->session == t.maker->session;
        return n;
    }

private:
    std::deque<Trade> trades_;
    long volume_ = 0;
};

class Book {
public:
    explicit Book(Tape &tape) : tape_(tape) {}

    void submit(const OrderPtr &o)
    {
        if (o->side == Side::Buy)
            cross(o, asks_, [&](int p) { return p <= o->price; });
        else
            cross(o, bids_, [&](int p) { return p >= o->price; });
        if (o->open > 0)
            (o->side == Side::Buy ? bids_ : asks_)[o->price].push_back(o);
    }
    void purgeCancelled()
    {
        for (auto *levels : {&bids_, &asks_})
            for (auto it = levels->begin(); it != levels->end();) {
                auto &q = it->second;
                for (auto o = q.begin(); o != q.end();)
                    o = (*o)->cancelled ? q.erase(o) : o + 1;
                it = q.empty() ? levels->erase(it) : std::next(it);
            }
    }
    std::size_t resting() const
    {
        std::size_t n = 0;
        for (auto *levels : {&bids_, &asks_})
            for (auto &l : *levels)
                n += l.second.size();
        return n;
    }

private:
    using Levels = std::map<int, std::deque<OrderPtr>>;

    template <class Accept>
    void cross(const OrderPtr &taker, Levels &other, Accept accept)
    {
        while (taker->open > 0 && !other.empty()) {
            auto level = taker->side == Side::Buy ? other.begin() : std::prev(other.end());
            if (!accept(level->first))
                break;
            OrderPtr maker = level->second.front();
            int n = std::min(taker->open, maker->open);
            taker->open -= n;
            maker->open -= n;
            tape_.print(taker, maker, level->first, n);
            if (maker->open == 0) {
                level->second.pop_front();
                if (level->second.empty())
                    other.erase(level);
            }
        }
    }
    Tape &tape_;
    Levels bids_, asks_;
};

class Session {
public:
    void remember(const OrderPtr &o) { orders_[o->id] = o; }
    void forgetFilled()
    {
        for (auto it = orders_.begin(); it != orders_.end();)
            it = it->second->open == 0 || it->second->cancelled ? orders_.erase(it)
                                                                : std::next(it);
    }
    Order *find(std::uint64_t id) const
    {
        auto it = orders_.find(id);
        return it == orders_.end() ? nullptr : it->second.get();
    }
    std::size_t size() const { return orders_.size(); }

private:
    std::unordered_map<std::uint64_t, OrderPtr> orders_;
};

class Engine {
public:
    Engine() : book_(tape_), sessions_(4) {}

    void enter(std::uint64_t id, Side side, int price, int qty)
    {
        unsigned s = id % sessions_.size();
        OrderPtr o(new Order(id, s, side, price, qty));
        sessions_[s].remember(o);
        book_.submit(o);
    }
    bool cancel(std::uint64_t id)
    {
        Order *raw = sessions_[id % sessions_.size()].find(id);
        if (raw == nullptr)
            return false;
#ifdef BUG
        OrderPtr o(raw, false); /* GUILTY */
#else
        OrderPtr o(raw);
#endif
        o->cancelled = true;
        journal_.push_back(o->tag + " cancelled, open " + std::to_string(o->open));
        return true;
    }
    void housekeeping()
    {
        book_.purgeCancelled();
        for (Session &s : sessions_)
            s.forgetFilled();
    }
    void report() const
    {
        std::size_t open = 0;
        for (const Session &s : sessions_)
            open += s.size();
        std::printf("volume %ld, resting %zu, open %zu, cancels %zu, self trades %zu\n",
                    tape_.volume(), book_.resting(), open, journal_.size(), tape_.selfTrades());
    }

private:
    Tape tape_;
    Book book_;
    std::vector<Session> sessions_;
    std::vector<std::string> journal_;
};

} // namespace match

int main()
{
    match::Engine engine;
    std::uint32_t rng = 12345;
    auto next = [&rng] { return (rng = rng * 1664525u + 1013904223u) >> 8; };

    for (std::uint64_t id = 1; id <= 600; ++id) {
        auto side = next() % 2 ? match::Side::Buy : match::Side::Sell;
        int mid = 1000 + static_cast<int>(id / 60);
        int price = side == match::Side::Buy ? mid + 2 - static_cast<int>(next() % 12)
                                             : mid - 2 + static_cast<int>(next() % 12);
        engine.enter(id, side, price, 1 + next() % 50);
        if (id % 45 == 0)
            engine.cancel(id - 3);
        if (id % 20 == 0) {
            engine.housekeeping();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    engine.report();
    return 0;
}
