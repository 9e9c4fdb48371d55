/* summary: Target::watch_output(): the lambda stored in the target's own hooks_ list captures a strong shared_ptr to that target, so generated targets (proto.h) own themselves and are never destroyed, together with their dependencies.
 * kind: cycle
 * counts: surplus
 * objects: 5
 * track: auto
 * build: g++ -std=c++17 -g -O3
 * exit: 0
 */
// depgraph - a build tool's dependency graph, evaluated for several configurations
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

const char makefile[] =
    "app: main.o net.o util.o libcore.a\n"
    "libcore.a: core.o list.o hash.o\n"
    "main.o: main.c config.h\n"
    "net.o: net.c config.h proto.h\n"
    "util.o: util.c\n"
    "core.o: core.c config.h\n"
    "list.o: list.c\n"
    "hash.o: hash.c proto.h\n"
    "proto.h! proto.idl\n" // generated, restat after the command ran
    "docs: manual.html proto.html\n"
    "manual.html: manual.txt\n"
    "proto.html: proto.idl\n"
    "all: app docs\n";

const char *const configs[] = {
    "debug all", "release all", "release app", "debug docs", "asan app",
    "release docs", "debug libcore.a", "asan docs", "release proto.html",
    "asan util.o", "debug list.o", "debug manual.html",
};

class Target;
using TargetPtr = std::shared_ptr<Target>;
using Hook = std::function<void(bool changed)>;

struct Stats {
    unsigned built = 0, restats = 0, skipped = 0, hooks = 0;
    uint64_t digest = 1469598103934665603ull;
    void mix(const std::string &s)
    {
        for (unsigned char c : s)
            digest = (digest ^ c) * 1099511628211ull;
    }
};

// Flags are the same for all targets of a configuration; the last set used is
// kept, as the next configuration very often asks for the same again.
std::shared_ptr<const std::string> flags_for(const std::string &config)
{
    static std::shared_ptr<const std::string> last;
    std::string f = config == "debug"  ? "-O0 -g"
                    : config == "asan" ? "-O1 -g -fsanitize=address"
                                       : "-O2";
    if (!last || *last != f)
        last = std::make_shared<const std::string>(std::move(f));
    return last;
}

class Target : public std::enable_shared_from_this<Target> {
public:
    Target(std::string name, std::shared_ptr<const std::string> flags)
        : name_(std::move(name)), flags_(std::move(flags)) {}

    const std::string &name() const { return name_; }

    void add_dep(const TargetPtr &dep)
    {
        deps_.push_back(dep);
        dep->users_.push_back(weak_from_this());
    }

    void on_built(Hook h) { hooks_.push_back(std::move(h)); }

    // The generator may leave the file as it was: look at it again afterwards.
    void watch_output(Stats &st)
    {
#ifdef BUG
        auto self = shared_from_this();
        on_built([self, &st](bool changed) {        /* GUILTY */
            if (!changed)
                return;
            self->generation_++;
            st.restats++;
            st.mix(self->name_ + "@restat");
        });
#else
        std::weak_ptr<Target> weak = weak_from_this();
        on_built([weak, &st](bool changed) {
            auto self = weak.lock();
            if (!changed || !self)
                return;
            self->generation_++;
            st.restats++;
            st.mix(self->name_ + "@restat");
        });
#endif
    }

    // Rebuild counters live with the users: count what each target caused.
    unsigned live_users() const
    {
        return unsigned(std::count_if(users_.begin(), users_.end(),
                                      [](auto &w) { return !w.expired(); }));
    }

    bool build(Stats &st)
    {
        if (state_ != State::Fresh)
            return state_ == State::Changed;
        bool changed = deps_.empty();
        state_ = State::Clean;
        for (const TargetPtr &d : deps_)
            changed |= d->build(st);
        if (changed) {
            state_ = State::Changed;
            st.built++;
            st.mix(name_ + " " + *flags_);
        } else {
            st.skipped++;
        }
        for (const Hook &h : hooks_) {
            st.hooks++;
            h(changed);
        }
        return changed;
    }

private:
    enum class State { Fresh, Clean, Changed };
    std::string name_;
    std::shared_ptr<const std::string> flags_;
    std::vector<TargetPtr> deps_;
    std::vector<std::weak_ptr<Target>> users_;
    std::vector<Hook> hooks_;
    State state_ = State::Fresh;
    unsigned generation_ = 0;
};

class Graph {
public:
    Graph(const std::string &config, Stats &st) : flags_(flags_for(config)), st_(st) {}

    // Loads `goal` and whatever it needs.
    TargetPtr load(const std::string &goal)
    {
        auto it = index_.find(goal);
        if (it != index_.end())
            if (TargetPtr t = it->second.lock())
                return t;

        auto t = std::make_shared<Target>(goal, flags_);
        index_[goal] = t;

        std::istringstream in(makefile);
        for (std::string line; std::getline(in, line);) {
            size_t p = line.find_first_of(":!");
            if (line.compare(0, p, goal) != 0)
                continue;
            std::istringstream deps(line.substr(p + 1));
            for (std::string d; deps >> d;)
                t->add_dep(load(d));
            if (line[p] == '!')
                t->watch_output(st_);
            else
                t->on_built([this](bool changed) { updated_ += changed; });
        }
        return t;
    }
    unsigned updated() const { return updated_; }
    unsigned alive() const
    {
        unsigned n = 0;
        for (auto &e : index_)
            n += !e.second.expired();
        return n;
    }

private:
    std::shared_ptr<const std::string> flags_;
    Stats &st_;
    std::map<std::string, std::weak_ptr<Target>> index_;
    unsigned updated_ = 0;
};

} // namespace

int main()
{
    Stats st;
    for (const char *c : configs) {
        std::istringstream in(c);
        std::string config, goal;
        in >> config >> goal;

        Graph g(config, st);
        TargetPtr top = g.load(goal);
        top->build(st);
        std::printf("%-18s %2u targets, %2u updated, %u users\n", c, g.alive(),
                    g.updated(), top->live_users());
    }
    std::printf("built %u skipped %u restats %u hooks %u digest %016llx\n",
                st.built, st.skipped, st.restats, st.hooks,
                (unsigned long long)st.digest);
    return 0;
}
