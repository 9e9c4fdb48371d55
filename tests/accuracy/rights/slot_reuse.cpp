/* summary: sixteen messages in one allocation that are counted one by one and freed together; slots of a vector's storage where the count's word is a free-list link before placement new; an object re-initialised in place with count 1 (no put, no free); objects with their counts moved by vector growth, named by index; put of an order by its pool; first references given on without a get
 * track: own
 * build: g++ -std=c++17 -O0 -g -o OUT slot_reuse.cpp
 */
//
// slot_reuse - the order book of a small exchange.  Messages come in batches,
// orders live in numbered slots, market makers' quotes in a vector.
//
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <utility>
#include <vector>

// ---- messages ---------------------------------------------------------------

struct Batch;

struct Message {
    std::uint32_t users;
    std::uint16_t place, kind;
    unsigned price, amount;
    std::string text;

    Message(unsigned place, unsigned kind, unsigned price, unsigned amount)
        : users(1), place(static_cast<std::uint16_t>(place)), kind(static_cast<std::uint16_t>(kind)), price(price),
          amount(amount), text("message of kind " + std::to_string(kind))
    {
    }

    void get() { ++users; }
    void put();
};

// The batch itself is counted by its messages and by its writer.
struct Batch {
    static constexpr unsigned kMessages = 16;
    static int alive;

    unsigned living = 1, used = 0;
    alignas(Message) unsigned char room[kMessages][sizeof(Message)];

    Batch() { ++alive; }
    ~Batch() { --alive; }

    Message *add(unsigned kind, unsigned price, unsigned amount)
    {
        if (used == kMessages)
            return nullptr;
        ++living;
        Message *m = new (room[used]) Message(used, kind, price, amount);
        ++used;
        return m;
    }

    void messageGone()
    {
        if (--living == 0)
            delete this;
    }
};

int Batch::alive;

void Message::put()
{
    if (--users != 0)
        return;
    auto *first = reinterpret_cast<unsigned char *>(this) - place * sizeof(Message);
    auto *batch = reinterpret_cast<Batch *>(first - offsetof(Batch, room));
    this->~Message();
    batch->messageGone();
}

// ---- orders ------------------------------------------------------------------

struct Order {
    std::uint32_t uses;         // while the slot is free: the next free one
    std::uint32_t number;
    unsigned price, amount;
    Message *why;               // counted

    Order(std::uint32_t number, Message *m) : uses(1), number(number), price(m->price), amount(m->amount), why(m)
    {
        m->get();
    }
    ~Order() { why->put(); }

    void hold() { ++uses; }
};

class Orders {
public:
    explicit Orders(std::size_t n) : slots_(n)
    {
        for (std::size_t i = 0; i < n; ++i)
            link(i, i + 1);
    }

    Order *open(Message *m)
    {
        if (free_ >= slots_.size())
            return nullptr;
        unsigned char *mem = slots_[free_].mem;
        std::uint32_t next;
        std::memcpy(&next, mem, sizeof next);
        free_ = next;
        ++living_;
        return new (mem) Order(++numbers_, m);
    }

    void drop(Order *o)
    {
        if (--o->uses != 0)
            return;
        std::size_t i = static_cast<std::size_t>(reinterpret_cast<Slot *>(o) - slots_.data());
        o->~Order();
        --living_;
        link(i, free_);
        free_ = i;
    }

    // A new order in the old one's place.  When the caller is the only user the
    // old one ends right here; otherwise the others keep it.
    Order *amend(Order *o, Message *m)
    {
        if (o->uses != 1) {
            Order *fresh = open(m);
            if (fresh)
                drop(o);
            return fresh ? fresh : o;
        }
        o->~Order();
        return new (o) Order(++numbers_, m);
    }

    std::size_t living() const { return living_; }

private:
    struct Slot {
        alignas(Order) unsigned char mem[sizeof(Order)];
    };

    void link(std::size_t i, std::size_t next)
    {
        std::uint32_t n = static_cast<std::uint32_t>(next);
        std::memcpy(slots_[i].mem, &n, sizeof n);
    }

    std::vector<Slot> slots_;
    std::size_t free_ = 0, living_ = 0;
    std::uint32_t numbers_ = 0;
};

// ---- quotes: move with the vector, references are numbers -----------------------

class Quote {
public:
    Quote(std::string maker, unsigned price) : maker_(std::move(maker)), price_(price), refs_(1) {}

    // The one that is left behind has none.
    Quote(Quote &&o) noexcept : maker_(std::move(o.maker_)), price_(o.price_), refs_(std::exchange(o.refs_, 0)) {}

    void ref() { ++refs_; }
    bool unref() { return --refs_ == 0; }
    bool dead() const { return refs_ == 0; }
    unsigned price() const { return price_; }
    std::size_t size() const { return maker_.size(); }
    void end() { std::string().swap(maker_); }

private:
    std::string maker_;
    unsigned price_;
    int refs_;
};

class Quotes {
public:
    using Id = std::size_t;

    Id add(const std::string &maker, unsigned price)
    {
        quotes_.emplace_back(maker, price);
        return quotes_.size() - 1;
    }

    Quote &at(Id i) { return quotes_[i]; }
    Id ref(Id i)
    {
        quotes_[i].ref();
        return i;
    }
    void unref(Id i)
    {
        if (quotes_[i].unref())
            quotes_[i].end();
    }
    std::size_t living() const
    {
        std::size_t n = 0;
        for (const Quote &q : quotes_)
            n += !q.dead();
        return n;
    }

private:
    std::vector<Quote> quotes_;
};

int main()
{
    Orders orders(24);
    Quotes quotes;
    std::vector<Order *> book;
    std::vector<Quotes::Id> shown;
    std::deque<Message *> journal;
    Batch *batch = new Batch;
    unsigned amended = 0, refused = 0, looked = 0, traded = 0;

    for (unsigned i = 0; i < 400; ++i) {
        Message *m = batch->add(i % 5, 100 + i * 7 % 40, 1 + i % 9);
        if (!m) {
            batch->messageGone();               // the writer's share
            batch = new Batch;
            m = batch->add(i % 5, 100 + i * 7 % 40, 1 + i % 9);
        }
        switch (m->kind) {
        case 0:
        case 1:
            if (Order *o = orders.open(m))
                book.push_back(o);
            else
                ++refused;
            break;
        case 2:
            if (!book.empty()) {
                Order *&o = book[i % book.size()];
                o = orders.amend(o, m);
                ++amended;
            }
            break;
        case 3:
            if (book.size() > 12) {
                Order *o = book[i % book.size()];
                o->hold();                      // a trade looks at it while it goes
                book.erase(book.begin() + static_cast<std::ptrdiff_t>(i % book.size()));
                orders.drop(o);
                traded += o->price * o->amount;
                if (i % 20 == 3)
                    o = orders.amend(o, m);
                orders.drop(o);
            }
            break;
        case 4:
            Quotes::Id id = quotes.add("maker number " + std::to_string(i * 1000003), m->price);
            if (i % 3 == 0 && id > 2 && !quotes.at(id - 2).dead())
                shown.push_back(quotes.ref(id - 2));
            if (i % 2)
                shown.push_back(id);            // the first reference itself
            else
                quotes.unref(id);
            break;
        }
        journal.push_back(m);                   // the first reference goes here
        if (journal.size() > 40) {
            journal.front()->put();
            journal.pop_front();
        }
    }
    for (Quotes::Id id : shown) {
        looked += static_cast<unsigned>(quotes.at(id).size());
        quotes.unref(id);
    }
    std::printf("%zu orders, %zu quotes left, %u amended, %u refused, looked %u, traded %u\n", orders.living(),
                quotes.living(), amended, refused, looked, traded);
    for (Order *o : book)
        orders.drop(o);
    for (Message *m : journal)
        m->put();
    batch->messageGone();
    std::printf("%zu orders and %d batches at the end\n", orders.living(), Batch::alive);
    return 0;
}
