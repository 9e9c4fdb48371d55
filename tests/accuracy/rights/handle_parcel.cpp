/* summary: move-only handles: one reference goes through variant, optional, a move-only function, a priority queue (moved out of a const top), map nodes, a promise, thread arguments, an exception, a union and unique_ptr with a deleter; dup() is the only get, most references are never copied; 16-bit counter behind other members
 * track: own shared_ptr
 * build: g++ -std=c++17 -O3 -g -o OUT handle_parcel.cpp -pthread
 */
//
// handle_parcel - a sorting centre.  A parcel is a counted object, but its
// handles can only be moved: who wants a second one says dup().  Parcels travel
// through belts, lockers, trucks and the customs office.
//
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace post {

class Parcel {
public:
    inline static std::atomic<int> alive{0};

    Parcel(std::uint32_t nr, std::string to, unsigned grams) : to_(std::move(to)), nr_(nr), grams_(grams) { ++alive; }

    std::uint32_t nr() const { return nr_; }
    unsigned grams() const { return grams_; }
    const std::string &to() const { return to_; }
    void stamp(char c) { marks_[nmarks_++ % marks_.size()] = c; }
    unsigned marks() const { return nmarks_; }
    void hold() { users_.fetch_add(1, std::memory_order_relaxed); }
    void drop()
    {
        if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

private:
    ~Parcel() { --alive; }

    std::string to_;
    std::array<char, 12> marks_{};
    std::uint32_t nr_;
    unsigned grams_, nmarks_ = 0;
    std::uint16_t flags_ = 0xffff;
    std::atomic<std::uint16_t> users_{1};
};

class Handle {
public:
    Handle() = default;
    explicit Handle(Parcel *p) : p_(p) {}           // takes it over
    Handle(Handle &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    Handle &operator=(Handle &&o) noexcept
    {
        Handle old(std::exchange(p_, std::exchange(o.p_, nullptr)));
        return *this;
    }
    ~Handle() { if (p_) p_->drop(); }

    Handle dup() const
    {
        p_->hold();
        return Handle(p_);
    }
    Parcel *release() { return std::exchange(p_, nullptr); }
    Parcel *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }
    bool operator<(const Handle &o) const { return p_->nr() < o.p_->nr(); }

private:
    Parcel *p_ = nullptr;
};

// std::function wants to copy what it holds; this one does not.
class Task {
public:
    template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Task>>>
    explicit Task(F f) : impl_(new Impl<F>(std::move(f))) {}
    unsigned operator()() { return impl_->call(); }

private:
    struct Base {
        virtual ~Base() = default;
        virtual unsigned call() = 0;
    };
    template <class F> struct Impl final : Base {
        explicit Impl(F &&f) : f(std::move(f)) {}
        unsigned call() override { return f(); }
        F f;
    };
    std::unique_ptr<Base> impl_;
};

struct Dropper {
    void operator()(Parcel *p) const { p->drop(); }
};
using Owned = std::unique_ptr<Parcel, Dropper>;

struct Urgent {
    int deadline;
    Handle parcel;
    bool operator<(const Urgent &o) const { return deadline > o.deadline; }
};

// What lies on a belt: nothing, a parcel, a note, or a sack of parcels.
using Item = std::variant<std::monostate, Handle, std::string, std::vector<Handle>>;

class Belt {
public:
    void put(Item i)
    {
        std::lock_guard<std::mutex> l(mu_);
        items_.push_back(std::move(i));
        cv_.notify_one();
    }
    Item take()
    {
        std::unique_lock<std::mutex> l(mu_);
        cv_.wait(l, [this] { return !items_.empty(); });
        Item i = std::move(items_.front());
        items_.pop_front();
        return i;
    }

private:
    std::mutex mu_;
    std::condition_variable cv_;
    std::list<Item> items_;
};

// Held parcels travel with the complaint; exceptions must be copyable.
struct Complaint : std::runtime_error {
    Complaint(const char *why, Handle h) : runtime_error(why), parcel(std::make_shared<Handle>(std::move(h))) {}
    std::shared_ptr<Handle> parcel;
};

// A locker's compartment has room for a handle, whether one is there or not.
class Compartment {
public:
    Compartment() {}
    ~Compartment() { (void)open(); }

    bool lock(Handle &h)
    {
        if (full_)
            return false;
        new (&handle_) Handle(std::move(h));
        return full_ = true;
    }

    std::optional<Handle> open()
    {
        if (!full_)
            return std::nullopt;
        std::optional<Handle> h(std::move(handle_));
        handle_.~Handle();
        full_ = false;
        return h;
    }

private:
    union { Handle handle_; };
    bool full_ = false;
};

static Handle customs(Handle h)
{
    if (h->grams() % 13 == 5)
        throw Complaint("opened by customs", std::move(h));
    h->stamp('C');
    return h;
}

static unsigned sort(Belt &belt, std::promise<std::vector<Handle>> result)
{
    std::vector<Handle> kept;
    unsigned notes = 0;
    for (;;) {
        Item item = belt.take();
        if (std::holds_alternative<std::monostate>(item))
            break;
        if (auto *h = std::get_if<Handle>(&item)) {
            (*h)->stamp('S');
            if ((*h)->grams() % 3)
                kept.push_back(std::move(*h));      // else it ends here
        } else if (auto *sack = std::get_if<std::vector<Handle>>(&item)) {
            for (Handle &h : *sack)
                kept.push_back(std::move(h));
        } else
            notes += std::get<std::string>(item).size();
    }
    std::sort(kept.begin(), kept.end());
    result.set_value(std::move(kept));
    return notes;
}

} // namespace post

int main()
{
    using namespace post;

    Belt belt;
    std::promise<std::vector<Handle>> promise;
    auto future = promise.get_future();
    unsigned notes = 0, complaints = 0, carried = 0;
    std::thread sorter([&notes, &belt](auto p) { notes = sort(belt, std::move(p)); }, std::move(promise));

    std::priority_queue<Urgent> urgent;
    std::unordered_map<std::uint32_t, Handle> shelf;
    std::map<std::string, Handle> byTown;
    std::vector<Handle> sack;
    std::array<Compartment, 8> locker;
    std::vector<Task> tasks;

    for (std::uint32_t i = 0; i < 150; ++i) {
        Handle h(new Parcel(i, "town " + std::to_string(i % 17), 100 + i * 37 % 900));
        try {
            if (i % 4 == 0)
                h = customs(std::move(h));
        } catch (const Complaint &c) {
            ++complaints;
            Complaint copy = c;                     // shares the handle
            belt.put(std::string(copy.what()) + " " + (*copy.parcel)->to());
            h = std::move(*copy.parcel);
        }
        switch (i % 6) {
        case 0:
            urgent.push({static_cast<int>(i * 7 % 50), std::move(h)});
            break;
        case 1:
            shelf.insert_or_assign(i, std::move(h));
            break;
        case 2:
            belt.put(std::move(h));
            break;
        case 3:
            byTown.insert_or_assign(h->to(), std::move(h));     // the one before is dropped
            break;
        case 4:
            if (locker[i % locker.size()].lock(h))
                break;
            sack.push_back(std::move(h));
            break;
        case 5:
            tasks.emplace_back([copy = h.dup(), slip = Owned(h.release())]() mutable {
                copy->stamp('T');
                return slip ? slip->marks() + copy->grams() : 0;
            });
        }
        if (sack.size() == 3)
            belt.put(std::exchange(sack, {}));
        if (i % 40 == 39)
            while (urgent.size() > 4) {
                Handle first = std::move(const_cast<Urgent &>(urgent.top()).parcel);
                urgent.pop();
                first->stamp('U');
                if (first->nr() % 2 == 0)
                    belt.put(std::move(first));
            }
    }
    for (auto it = byTown.begin(); it != byTown.end();) {
        auto node = byTown.extract(it++);
        node.key() += "?";
        if (node.mapped()->grams() > 400)
            byTown.insert(std::move(node));         // else the node dies with its parcel
    }
    for (Compartment &c : locker)
        if (std::optional<Handle> h = c.open(); h && (*h)->nr() % 3)
            belt.put(std::move(*h));
    for (Task &t : tasks)
        carried += t();
    tasks.erase(tasks.begin(), tasks.begin() + 10);
    for (auto &[nr, h] : shelf)
        if (nr % 5 == 0)
            belt.put(h.dup());
    belt.put(std::monostate());
    sorter.join();

    std::vector<Handle> kept = future.get();
    std::printf("%zu kept, first %u, %u complaints, %u in notes, %u carried\n", kept.size(),
                kept.front()->nr(), complaints, notes, carried);
    std::printf("%d parcels are there, %zu by town\n", Parcel::alive.load(), byTown.size());
    return 0;
}
