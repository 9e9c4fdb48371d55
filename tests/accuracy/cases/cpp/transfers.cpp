/* summary: a transfer that verifies itself connects a slot to its own signal which holds a shared_ptr to the transfer, so it keeps itself alive
 * kind: cycle
 * counts: surplus
 * objects: 3
 * track: auto
 * build: g++ -std=c++17 -O2 -g
 */
// transfers - file transfers that report what they do through signals.

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

template <class... Args>
class Signal
{
public:
    using Slot = std::function<void(Args...)>;

    int connect(Slot slot)
    {
        m_slots.emplace(++m_last, std::move(slot));
        return m_last;
    }

    void disconnect(int id) { m_slots.erase(id); }

    void emit(Args... args) const
    {
        auto slots = m_slots;  // a slot may disconnect
        for (auto &entry : slots)
            entry.second(args...);
    }

    size_t size() const { return m_slots.size(); }

private:
    std::map<int, Slot> m_slots;
    int m_last = 0;
};

class Transfer : public std::enable_shared_from_this<Transfer>
{
public:
    Transfer(std::string name, int blocks) : m_name(std::move(name)), m_blocks(blocks) {}

    Signal<int> progress;
    Signal<const std::string &, bool> finished;

    void verifyAtEnd()
    {
#ifdef BUG
        auto self = shared_from_this();  // ACCEPTED
        finished.connect([self](const std::string &, bool ok) {  // GUILTY
            self->m_verified = ok && self->m_sum % 2 == 0;
        });
#else
        std::weak_ptr<Transfer> weak = shared_from_this();
        finished.connect([weak](const std::string &, bool ok) {
            if (auto self = weak.lock())
                self->m_verified = ok && self->m_sum % 2 == 0;
        });
#endif
    }

    bool step()
    {
        if (m_done == m_blocks)
            return false;
        m_sum = m_sum * 31 + m_name.size() + ++m_done;
        progress.emit(m_done * 100 / m_blocks);
        if (m_done == m_blocks)
            finished.emit(m_name, m_blocks % 11 != 0);
        return true;
    }

    const std::string &name() const { return m_name; }
    bool verified() const { return m_verified; }

private:
    std::string m_name;
    int m_blocks;
    int m_done = 0;
    unsigned m_sum = 7;
    bool m_verified = false;
};

class ProgressBar
{
public:
    // The bar holds the transfer, the transfer only knows the bar by its address.
    explicit ProgressBar(std::shared_ptr<Transfer> transfer) : m_transfer(std::move(transfer))
    {
        m_slot = m_transfer->progress.connect([this](int percent) { m_percent = percent; });
    }
    ProgressBar(const ProgressBar &) = delete;
    ProgressBar &operator=(const ProgressBar &) = delete;
    ~ProgressBar() { m_transfer->progress.disconnect(m_slot); }

    int percent() const { return m_percent; }

private:
    std::shared_ptr<Transfer> m_transfer;
    int m_slot;
    int m_percent = 0;
};

class Manager : public std::enable_shared_from_this<Manager>
{
public:
    std::shared_ptr<Transfer> start(const std::string &name, int blocks)
    {
        auto transfer = std::make_shared<Transfer>(name, blocks);
        std::weak_ptr<Manager> weak = weak_from_this();

        transfer->finished.connect([weak](const std::string &done, bool ok) {
            if (auto manager = weak.lock())
                manager->note(done, ok);
        });
        m_active.push_back(transfer);
        return transfer;
    }

    // Once the first is done, the second gets its share of each round twice.
    void chain(const std::shared_ptr<Transfer> &first, const std::shared_ptr<Transfer> &second)
    {
        int id = 0;
        auto slot = std::make_shared<int>();
        std::weak_ptr<Transfer> after = second;

        id = first->finished.connect([this, after, slot, from = first.get()](const std::string &, bool) {
            if (auto next = after.lock())
                m_active.push_back(next);
            from->finished.disconnect(*slot);
        });
        *slot = id;
    }

    void run()
    {
        while (!m_active.empty())
        {
            auto round = std::move(m_active);
            m_active.clear();
            for (auto &transfer : round)
                if (transfer->step())
                    m_active.push_back(transfer);
        }
    }

    void note(const std::string &name, bool ok) { m_log[ok] += name.size(), ++m_count[ok]; }

    void print() const { std::printf("%d good, %d bad, %d bytes of names\n", m_count[1], m_count[0], m_log[0] + m_log[1]); }

private:
    std::vector<std::shared_ptr<Transfer>> m_active;
    int m_log[2] = {0, 0};
    int m_count[2] = {0, 0};
};

static void session(Manager &manager, int number)
{
    std::vector<std::shared_ptr<Transfer>> mine;
    std::vector<std::unique_ptr<ProgressBar>> bars;
    int verified = 0, percent = 0;

    for (int i = 0; i < 12; ++i)
    {
        mine.push_back(manager.start("s" + std::to_string(number) + "/file" + std::to_string(i), 3 + (number + i) % 10));
        if (i % 2)
            bars.push_back(std::make_unique<ProgressBar>(mine.back()));
    }
    if (number % 2)
        mine[number + 1]->verifyAtEnd();
    manager.chain(mine[0], mine[1]);
    manager.run();
    for (auto &transfer : mine)
        verified += transfer->verified();
    for (auto &bar : bars)
        percent += bar->percent();
    std::printf("session %d: %d verified, bars at %d\n", number, verified, percent);
}

int main()
{
    auto manager = std::make_shared<Manager>();

    for (int number = 0; number < 6; ++number)
        session(*manager, number);
    manager->print();
    return 0;
}
