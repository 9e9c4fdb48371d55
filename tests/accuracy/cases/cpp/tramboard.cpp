/* summary: Board::retract moves the earlier position up over the shown one, whose reference the slot owned and nobody releases
 * kind: overwritten
 * counts: surplus
 * objects: 6
 * track: own
 * build: g++ -std=c++17 -O2 -g -pthread
 * exit: 0
 */
// tramboard - shows where the trams of a town are.
//
// The trams' messages come in by three radio channels, each of which has a
// thread of its own.  The board keeps for each tram the position that is shown
// and the one before it, in plain pointers, because its slots are also read by
// the display firmware (C, not part of this program).
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tram {

class Position {
public:
    Position(unsigned tram, unsigned stamp, double km) : m_tram(tram), m_stamp(stamp), m_km(km) {}

    void retain() { m_users.fetch_add(1, std::memory_order_relaxed); }
    void release()
    {
        if (m_users.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    unsigned tram() const { return m_tram; }
    unsigned stamp() const { return m_stamp; }
    double km() const { return m_km; }

private:
    ~Position() = default;

    std::atomic<int> m_users{1};
    unsigned m_tram, m_stamp;
    double m_km;
};

// What the C++ side holds positions with.
class Pos {
public:
    Pos() = default;
    Pos(const Pos &o) : m_p(o.m_p)
    {
        if (m_p)
            m_p->retain();
    }
    Pos(Pos &&o) noexcept : m_p(std::exchange(o.m_p, nullptr)) {}
    ~Pos()
    {
        if (m_p)
            m_p->release();
    }
    Pos &operator=(Pos o) noexcept
    {
        std::swap(m_p, o.m_p);
        return *this;
    }

    static Pos make(unsigned tram, unsigned stamp, double km) { return Pos(new Position(tram, stamp, km)); }
    static Pos share(Position *p)
    {
        if (p)
            p->retain();
        return Pos(p);
    }

    Position *leak() && { return std::exchange(m_p, nullptr); }
    Position *operator->() const { return m_p; }
    explicit operator bool() const { return m_p != nullptr; }

private:
    explicit Pos(Position *p) : m_p(p) {}

    Position *m_p = nullptr;
};

struct Message {
    enum Kind { At, Retract, Lost } kind;
    unsigned tram, stamp;
    double km;
};

class Board {
public:
    using Watcher = std::function<void(const Pos &)>;

    explicit Board(unsigned trams) : m_slots(trams) {}
    ~Board()
    {
        for (Slot &s : m_slots)
            clear(s);
    }
    Board(const Board &) = delete;
    Board &operator=(const Board &) = delete;

    void watch(Watcher w) { m_watchers.push_back(std::move(w)); }

    bool post(Pos p)
    {
        Slot &s = m_slots[p->tram()];
        {
            std::lock_guard<std::mutex> hold(s.lock);
            if (s.now && s.now->stamp() >= p->stamp())
                return false; // overtaken on the way
            if (s.before)
                s.before->release();
            s.before = s.now;
            s.now = Pos(p).leak(); // ACCEPTED
        }
        for (auto &w : m_watchers)
            w(p);
        return true;
    }

    // The tram's last message was wrong: what it said before is shown again.
    bool retract(unsigned tram, unsigned stamp)
    {
        Slot &s = m_slots[tram];
        std::lock_guard<std::mutex> hold(s.lock);
        if (!s.now || s.now->stamp() != stamp)
            return false;
#ifdef BUG
        s.now = std::exchange(s.before, nullptr); // GUILTY
#else
        std::exchange(s.now, std::exchange(s.before, nullptr))->release();
#endif
        return true;
    }

    void lost(unsigned tram)
    {
        Slot &s = m_slots[tram];
        std::lock_guard<std::mutex> hold(s.lock);
        clear(s);
    }

    Pos shown(unsigned tram) const
    {
        const Slot &s = m_slots[tram];
        std::lock_guard<std::mutex> hold(s.lock);
        return Pos::share(s.now);
    }

    // Kilometres between the last two positions.
    double moved(unsigned tram) const
    {
        const Slot &s = m_slots[tram];
        std::lock_guard<std::mutex> hold(s.lock);
        return s.now && s.before ? s.now->km() - s.before->km() : 0;
    }

    unsigned trams() const { return static_cast<unsigned>(m_slots.size()); }

private:
    struct Slot {
        mutable std::mutex lock;
        Position *now = nullptr, *before = nullptr;
    };

    static void clear(Slot &s)
    {
        for (Position **p : {&s.now, &s.before})
            if (Position *old = std::exchange(*p, nullptr))
                old->release();
    }

    std::vector<Slot> m_slots;
    std::vector<Watcher> m_watchers;
};

// Every so often a position goes to the archive, for the punctuality figures.
class Archive {
public:
    void note(const Pos &p)
    {
        if (p->stamp() % 8 != 3)
            return;
        std::lock_guard<std::mutex> hold(m_lock);
        m_kept.push_back(p);
    }

    double kilometres() const
    {
        double sum = 0;
        for (const Pos &p : m_kept)
            sum += p->km();
        return sum;
    }
    std::size_t size() const { return m_kept.size(); }

private:
    std::mutex m_lock;
    std::vector<Pos> m_kept;
};

class Channel {
public:
    explicit Channel(Board &board) : m_board(board), m_thread([this] { run(); }) {}
    ~Channel()
    {
        if (m_thread.joinable())
            finish();
    }

    void send(const Message &m)
    {
        std::lock_guard<std::mutex> hold(m_lock);
        m_queue.push_back(m);
        m_ready.notify_one();
    }

    void finish()
    {
        {
            std::lock_guard<std::mutex> hold(m_lock);
            m_closed = true;
            m_ready.notify_one();
        }
        m_thread.join();
    }

    int stale() const { return m_stale; }

private:
    void run()
    {
        for (;;) {
            std::unique_lock<std::mutex> hold(m_lock);
            m_ready.wait(hold, [this] { return m_closed || !m_queue.empty(); });
            if (m_queue.empty())
                return;
            Message m = m_queue.front();
            m_queue.pop_front();
            hold.unlock();
            handle(m);
        }
    }

    void handle(const Message &m)
    {
        switch (m.kind) {
        case Message::At:
            m_stale += !m_board.post(Pos::make(m.tram, m.stamp, m.km));
            break;
        case Message::Retract:
            m_stale += !m_board.retract(m.tram, m.stamp);
            break;
        case Message::Lost:
            m_board.lost(m.tram);
            break;
        }
    }

    Board &m_board;
    std::mutex m_lock;
    std::condition_variable m_ready;
    std::deque<Message> m_queue;
    bool m_closed = false;
    int m_stale = 0;
    std::thread m_thread; // the last member: it uses the others
};

} // namespace tram

int main()
{
    tram::Board board(15);
    tram::Archive archive;
    board.watch([&archive](const tram::Pos &p) { archive.note(p); });

    int stale = 0;
    double seen = 0;
    {
        tram::Channel channels[] = {tram::Channel(board), tram::Channel(board), tram::Channel(board)};
        std::uint32_t rng = 99;
        for (unsigned stamp = 1; stamp <= 24; ++stamp)
            for (unsigned t = 0; t < board.trams(); ++t) {
                rng = rng * 69069u + 12345u;
                unsigned said = (rng >> 20) % 13 == 0 && stamp > 3 ? stamp - 2 : stamp;
                channels[t % 3].send({tram::Message::At, t, said, stamp * 0.4 + (rng >> 28) * 0.01});
                if ((rng >> 16) % 41 == 0)
                    channels[t % 3].send({tram::Message::Retract, t, said, 0});
                if ((rng >> 12) % 67 == 0)
                    channels[t % 3].send({tram::Message::Lost, t, 0, 0});
                if (tram::Pos p = board.shown(t * 7 % board.trams()))
                    seen += p->km() < 0;
            }
        for (tram::Channel &c : channels) {
            c.finish();
            stale += c.stale();
        }
    }
    double moved = 0;
    unsigned dark = 0;
    for (unsigned t = 0; t < board.trams(); ++t) {
        moved += board.moved(t);
        dark += !board.shown(t);
    }
    std::printf("%d stale messages, %u trams dark, %zu archived\n", stale, dark, archive.size());
    std::printf("moved %.2f km, archive %.2f km%s\n", moved, archive.kilometres(), seen > 0 ? " (!)" : "");
    return 0;
}
