/* summary: a squad's death callback, stored inside each of its members, captures a counted reference to the squad that itself holds the members
 * kind: cycle
 * counts: surplus
 * objects: 6
 * track: own
 * build: g++ -O2 -g -pthread
 * exit: 0
 */
//
// squads - units and squads of a strategy game.  The world and the squads
// hold units, squads are told about losses through callbacks on the units.
//
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

static struct { long refs, unrefs, alive; } g_refs;

class Counted {
public:
    Counted() { ++g_refs.alive; }
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;

    void ref() const
    {
        assert(count_ >= 0);
        ++count_;
        ++g_refs.refs;
    }

    void unref() const
    {
        assert(count_ > 0);
        ++g_refs.unrefs;
        if (--count_ == 0)
            delete this;
    }

protected:
    virtual ~Counted() { --g_refs.alive; }

private:
    mutable int count_ = 0;     // the first Ref makes it one
};

template <class T>
class Ref {
public:
    Ref() = default;
    Ref(T *p) : p_(p)                       { if (p_) p_->ref(); }
    Ref(const Ref &o) : p_(o.p_)            { if (p_) p_->ref(); }
    Ref(Ref &&o) noexcept : p_(o.p_)        { o.p_ = nullptr; }
    ~Ref()                                  { if (p_) p_->unref(); }

    Ref &operator=(Ref o) noexcept
    {
        std::swap(p_, o.p_);
        return *this;
    }

    T *get() const              { return p_; }
    T *operator->() const       { return p_; }
    T &operator*() const        { return *p_; }
    explicit operator bool() const { return p_ != nullptr; }
    bool operator==(const Ref &o) const { return p_ == o.p_; }

private:
    T *p_ = nullptr;
};

template <class T, class... A>
Ref<T> make(A &&...a)
{
    return Ref<T>(new T(std::forward<A>(a)...));
}

class Sprite : public Counted {
public:
    explicit Sprite(std::string file) : file_(std::move(file)), pixels_(256, 7) {}

private:
    std::string file_;
    std::vector<std::uint8_t> pixels_;
};

class Unit : public Counted {
public:
    using Callback = std::function<void(Unit &)>;

    Unit(int id, Ref<Sprite> s, int hp) : id_(id), hp_(hp), sprite_(std::move(s)) {}

    int  id() const     { return id_; }
    bool dead() const   { return hp_ <= 0; }
    int  power() const  { return 3 + id_ % 5; }

    void setTarget(Ref<Unit> t)         { target_ = std::move(t); }
    const Ref<Unit> &target() const     { return target_; }

    void onDeath(const void *owner, Callback cb)
    {
        listeners_.push_back({owner, std::move(cb)});
    }

    void forget(const void *owner)
    {
        listeners_.erase(std::remove_if(listeners_.begin(), listeners_.end(),
                             [owner](const Listener &l) { return l.owner == owner; }),
                         listeners_.end());
    }

    void hit(int damage)
    {
        if (dead() || (hp_ -= damage) > 0)
            return;
        target_ = nullptr;
        std::vector<Listener> told;
        told.swap(listeners_);
        for (auto &l : told)
            l.call(*this);
    }

private:
    struct Listener {
        const void *owner;
        Callback call;
    };

    int id_, hp_;
    Ref<Sprite> sprite_;
    Ref<Unit> target_;
    std::vector<Listener> listeners_;
};

class Squad : public Counted {
public:
    explicit Squad(int team) : team_(team) {}
    ~Squad() override { disband(); }

    int team() const    { return team_; }
    int losses() const  { return losses_; }
    const std::vector<Ref<Unit>> &members() const { return members_; }

    void enlist(const Ref<Unit> &u)
    {
        members_.push_back(u);
#ifdef BUG
        Ref<Squad> self(this);              // GUILTY
#else
        Squad *self = this;
#endif
        u->onDeath(this, [self](Unit &dead) { self->lost(dead); });  // ACCEPTED
    }

    void disband()
    {
        for (auto &u : members_)
            u->forget(this);
        members_.clear();
    }

    void moveTo(Squad &other)
    {
        std::vector<Ref<Unit>> all = members_;
        disband();
        for (auto &u : all)
            other.enlist(u);
    }

private:
    void lost(Unit &u)
    {
        ++losses_;
        members_.erase(std::find(members_.begin(), members_.end(), Ref<Unit>(&u)));
    }

    int team_, losses_ = 0;
    std::vector<Ref<Unit>> members_;
};

class World {
public:
    World()
    {
        for (const char *f : {"grunt.png", "archer.png", "knight.png"})
            sprites_.push_back(make<Sprite>(f));
    }

    void spawnSquad(int team, int size)
    {
        Ref<Squad> s = make<Squad>(team);
        for (int i = 0; i < size; ++i) {
            Ref<Unit> u = make<Unit>(nextId_++, sprites_[rnd(3)], 20 + rnd(20));
            units_.push_back(u);
            s->enlist(u);
        }
        squads_.push_back(std::move(s));
    }

    void step()
    {
        for (auto &s : squads_)
            for (auto &u : s->members()) {
                if (!u->target() || u->target()->dead())
                    u->setTarget(pickEnemy(s->team()));
                if (u->target())
                    hits_.push_back({u->target(), u->power()});
            }
        for (auto &h : hits_)
            h.first->hit(h.second);
        hits_.clear();
        units_.erase(std::remove_if(units_.begin(), units_.end(),
                                    [](const Ref<Unit> &u) { return u->dead(); }),
                     units_.end());
        mergeSmall();
    }

    void end()
    {
        for (auto &u : units_)
            u->setTarget(nullptr);
        int losses[2] = {0, 0};
        for (auto &s : squads_)
            losses[s->team()] += s->losses();
        std::printf("%zu units and %zu squads left, losses %d : %d\n",
                    units_.size(), squads_.size(), losses[0], losses[1]);
    }

private:
    Ref<Unit> pickEnemy(int team)
    {
        for (int tries = 0; tries < 8; ++tries) {
            const Ref<Squad> &s = squads_[rnd(squads_.size())];
            if (s->team() != team && !s->members().empty())
                return s->members()[rnd(s->members().size())];
        }
        return nullptr;
    }

    // Two understrength squads of a team become one.
    void mergeSmall()
    {
        for (auto &a : squads_)
            for (auto &b : squads_)
                if (!(a == b) && a->team() == b->team() && !b->members().empty() &&
                    a->members().size() + b->members().size() <= 4)
                    a->moveTo(*b);
    }

    int rnd(std::size_t n)
    {
        seed_ = seed_ * 1103515245u + 12345u;
        return static_cast<int>((seed_ >> 16) % n);
    }

    std::uint32_t seed_ = 31;
    int nextId_ = 1;
    std::vector<Ref<Sprite>> sprites_;
    std::vector<Ref<Unit>> units_;
    std::vector<Ref<Squad>> squads_;
    std::vector<std::pair<Ref<Unit>, int>> hits_;
};

int main()
{
    {
        World w;
        for (int i = 0; i < 24; ++i)
            w.spawnSquad(i % 2, 5 + i % 3);
        for (int t = 0; t < 11; ++t)
            w.step();
        w.end();
    }
    std::printf("%ld refs taken\n", g_refs.refs);
    return 0;
}
