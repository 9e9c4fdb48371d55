// summary: Sprite::playOnce stores the new animation over one that is still playing, which the sprite has retained; play() and stop() release theirs
// kind: overwritten
// counts: surplus
// objects: 5
// track: auto
// build: g++ -std=c++17 -O2 -g
// exit: 0

// The scene of a small platform game.  Nodes and animations are Shared: whoever keeps one retains it.

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace scene {

class Shared {
public:
    void retain() const noexcept { ++owners_; }
    void release() const noexcept
    {
        if (--owners_ == 0)
            delete this;
    }
    int owners() const noexcept { return owners_; }

protected:
    Shared() = default;
    virtual ~Shared() = default;

private:
    Shared(const Shared &) = delete;
    Shared &operator=(const Shared &) = delete;

    mutable int owners_ = 1;
};

class Animation : public Shared {
public:
    Animation(std::string_view name, int frames, bool loops) : name_(name), frames_(frames), loops_(loops) {}

    // false when it is over
    bool step()
    {
        if (++at_ < frames_)
            return true;
        at_ = 0;
        return loops_;
    }

    int frame() const { return at_; }
    const std::string &name() const { return name_; }

private:
    std::string name_;
    int frames_, at_ = 0;
    bool loops_;
};

class Node : public Shared {
public:
    void add(Node *child)
    {
        child->retain();
        children_.push_back(child);
    }

    void removeIf(bool (*gone)(const Node &))
    {
        std::size_t kept = 0;
        for (Node *c : children_)
            if (gone(*c))
                c->release();
            else
                children_[kept++] = c;
        children_.resize(kept);
    }

    virtual void update(int tick)
    {
        for (Node *c : children_)
            c->update(tick);
    }

    virtual unsigned draw(unsigned sum) const
    {
        for (const Node *c : children_)
            sum = c->draw(sum);
        return sum;
    }

    virtual bool finished() const { return false; }
    std::size_t size() const { return children_.size(); }

protected:
    ~Node() override
    {
        for (Node *c : children_)
            c->release();
    }

private:
    std::vector<Node *> children_;
};

class Sprite : public Node {
public:
    Sprite(int x, int life) : x_(x), life_(life) {}

    // Plays a shared animation until another one comes.
    void play(Animation *a)
    {
        if (a == current_)
            return;
        a->retain();
        if (current_)
            current_->release();
        current_ = a;
    }

    // Plays an animation of its own, which starts at its first frame.
    void playOnce(std::string_view name, int frames)
    {
#ifndef BUG
        stop();
#endif
        current_ = new Animation(name, frames, false); // GUILTY
        ++tricks_;
    }

    void stop()
    {
        if (current_)
            current_->release();
        current_ = nullptr;
    }

    void update(int tick) override
    {
        --life_;
        if (current_ && !current_->step())
            stop();
        x_ += current_ ? 1 + current_->frame() % 2 : 0;
        Node::update(tick);
    }

    unsigned draw(unsigned sum) const override
    {
        sum = sum * 31 + unsigned(x_);
        if (current_)
            sum = sum * 7 + unsigned(current_->frame()) + unsigned(current_->name().size());
        return Node::draw(sum);
    }

    bool finished() const override { return life_ <= 0; }
    bool idle() const { return !current_; }
    int tricks() const { return tricks_; }

protected:
    ~Sprite() override { stop(); }

private:
    Animation *current_ = nullptr;
    int x_, life_, tricks_ = 0;
};

} // namespace scene

int main()
{
    using namespace scene;

    Node *world = new Node;
    Animation *walk = new Animation("walk", 8, true), *swim = new Animation("swim", 5, true);
    Sprite *hero = new Sprite(10, 1000);
    unsigned sum = 0;
    int spawned = 0, tricks = 0;

    world->add(hero);
    hero->play(walk);
    for (int tick = 0; tick < 240; ++tick) {
        if (tick % 9 == 0) {
            Sprite *coin = new Sprite(tick, 20 + tick % 13);
            if (tick % 2)
                coin->play(swim);
            else
                coin->playOnce("sparkle and fade away", 12);
            world->add(coin);
            coin->release();
            ++spawned;
        }
        switch (tick) {
        case 30: hero->play(swim); break;
        case 44: hero->play(walk); break;
        case 60: hero->playOnce("somersault over a turtle", 20); break;
        case 70: hero->playOnce("somersault under a bridge", 20); break;
        case 100: hero->playOnce("land on both feet", 6); break;
        case 120: hero->play(walk); break;
        case 150: hero->stop(); hero->playOnce("bow to the audience", 30); break;
        case 160: hero->playOnce("wave to the audience", 30); break;
        case 170: hero->playOnce("drop the hat by mistake", 30); break;
        case 175: hero->playOnce("pick it up again", 4); break;
        }
        world->update(tick);
        world->removeIf([](const Node &n) { return n.finished(); });
        sum = world->draw(sum);
    }
    tricks = hero->tricks();
    std::printf("%d coins, %zu nodes left, %d tricks, walk has %d owners, checksum %08x\n", spawned, world->size(), tricks,
                walk->owners() > 0, sum);
    hero->release();
    world->release();
    walk->release();
    swim->release();
    return 0;
}
