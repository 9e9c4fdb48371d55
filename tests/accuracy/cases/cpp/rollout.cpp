/* summary: Two stages hold each other through shared_ptr captured in their listener lambdas
 * kind: cycle
 * counts: surplus
 * objects: 10
 * track: shared_ptr
 * build: g++ -std=c++17 -O1 -g
 * exit: 0
 */
// rollout - executes deployment plans: stages with dependencies, observers for
// progress reporting, and a retry policy for stages that fail.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <vector>

namespace rollout {

enum class State { Pending, Ready, Running, Done, Failed };

class Stage;
using StagePtr = std::shared_ptr<Stage>;
using Listener = std::function<void(Stage &)>;

class Stage {
public:
    Stage(std::string host, std::string name, unsigned cost)
        : host_(std::move(host)), name_(std::move(name)), cost_(cost), log_(64 + cost, '.')
    {
        ++live;
    }
    ~Stage() { --live; }
    Stage(const Stage &) = delete;
    Stage &operator=(const Stage &) = delete;

    void addDependency(const StagePtr &on)
    {
        ++blockers_;
        on->dependents_.push_back(this);
        depends_.push_back(on);
    }
    void onFinished(Listener l) { listeners_.push_back(std::move(l)); }

    const std::string &host() const { return host_; }
    const std::string &name() const { return name_; }
    State state() const { return state_; }
    unsigned attempts() const { return attempts_; }
    unsigned blockers() const { return blockers_; }
    void unblock() { --blockers_; }
    void setReady() { state_ = State::Ready; }

    // Returns false when the attempt failed.
    bool run(unsigned seed)
    {
        state_ = State::Running;
        ++attempts_;
        unsigned h = seed * 2654435761u + cost_ * 40503u + attempts_ * 97u;
        for (char &c : log_)
            c = static_cast<char>('a' + (h = h * 1664525u + 1013904223u) % 26);
        bool ok = attempts_ > 1 || cost_ % 9 != 4;
        state_ = ok ? State::Done : State::Failed;
        for (auto &l : listeners_)
            l(*this);
        return ok;
    }
    const std::vector<Stage *> &dependents() const { return dependents_; }

    static int live;

private:
    std::string host_, name_;
    unsigned cost_;
    std::string log_;
    State state_ = State::Pending;
    unsigned attempts_ = 0;
    unsigned blockers_ = 0;
    std::vector<StagePtr> depends_;
    std::vector<Stage *> dependents_;     // valid while the plan is alive
    std::vector<Listener> listeners_;
};

int Stage::live = 0;

struct Report {
    unsigned done = 0;
    unsigned failures = 0;
    unsigned rollbacks = 0;
    std::map<std::string, unsigned> perHost;
};

class Plan {
public:
    explicit Plan(std::string name) : name_(std::move(name)) {}

    StagePtr add(const std::string &host, const std::string &stage, unsigned cost)
    {
        auto s = std::make_shared<Stage>(host, stage, cost);
        stages_.push_back(s);
        return s;
    }
    const std::vector<StagePtr> &stages() const { return stages_; }
    const std::string &name() const { return name_; }

    void execute(unsigned seed)
    {
        std::queue<StagePtr> ready;
        for (auto &s : stages_)
            if (s->blockers() == 0) {
                s->setReady();
                ready.push(s);
            }
        while (!ready.empty()) {
            StagePtr s = ready.front();
            ready.pop();
            if (!s->run(seed)) {
                s->setReady();
                ready.push(s);
                continue;
            }
            for (Stage *d : s->dependents()) {
                d->unblock();
                if (d->blockers() == 0)
                    ready.push(find(d));
            }
        }
    }

private:
    StagePtr find(const Stage *raw) const
    {
        auto it = std::find_if(stages_.begin(), stages_.end(),
                               [raw](const StagePtr &p) { return p.get() == raw; });
        return it == stages_.end() ? nullptr : *it;
    }
    std::string name_;
    std::vector<StagePtr> stages_;
};

// The database stage is watched: on failure its canary is told to roll back,
// and the migration counts as finished only with a healthy canary.
static void watchMigration(const StagePtr &migrate, const StagePtr &canary, Report &report)
{
    migrate->onFinished([canary, &report](Stage &s) { /* ACCEPTED */
        if (s.state() == State::Failed && canary->state() == State::Done)
            ++report.rollbacks;
    });
#ifdef BUG
    canary->onFinished([migrate, &report](Stage &s) { /* GUILTY */
        auto &m = migrate;
#else
    canary->onFinished([weak = std::weak_ptr<Stage>(migrate), &report](Stage &s) {
        auto m = weak.lock();
#endif
        if (m && m->attempts() > 0 && s.state() == State::Failed)
            ++report.rollbacks;
    });
}

static std::unique_ptr<Plan> planFor(unsigned n, Report &report)
{
    auto plan = std::make_unique<Plan>("release-" + std::to_string(n));
    for (unsigned h = 0; h < 3; ++h) {
        std::string host = "node" + std::to_string((n * 3 + h) % 20);
        auto fetch = plan->add(host, "fetch", n + h);
        auto stop = plan->add(host, "stop", 2 * n + h);
        auto install = plan->add(host, "install", 3 * n + h);
        auto start = plan->add(host, "start", n + 5 * h);
        stop->addDependency(fetch);
        install->addDependency(stop);
        start->addDependency(install);
        for (const auto &s : {fetch, stop, install, start})
            s->onFinished([&report](Stage &st) {
                if (st.state() == State::Done) {
                    ++report.done;
                    ++report.perHost[st.host()];
                } else {
                    ++report.failures;
                }
            });
        if (n % 6 == 2 && h == 0) {
            auto canary = plan->add(host, "canary", n + 11);
            auto migrate = plan->add(host, "migrate", 4 * n);
            watchMigration(migrate, canary, report);
        }
    }
    return plan;
}

} // namespace rollout

int main(int argc, char **argv)
{
    using namespace rollout;
    unsigned plans = argc > 1 ? std::stoul(argv[1]) : 30;
    Report report;
    std::vector<std::weak_ptr<Stage>> audit;
    unsigned stages = 0;

    for (unsigned n = 0; n < plans; ++n) {
        auto plan = planFor(n, report);
        plan->execute(n + 1);
        stages += plan->stages().size();
        audit.push_back(plan->stages().front());
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
    auto open = std::count_if(audit.begin(), audit.end(),
                              [](const std::weak_ptr<Stage> &w) { return !w.expired(); });

    std::printf("%u plans, %u stages, %u done, %u failed attempts, %u rollbacks, %zu hosts, %ld open\n",
                plans, stages, report.done, report.failures, report.rollbacks,
                report.perHost.size(), static_cast<long>(open));
    if (std::getenv("ROLLOUT_DEBUG"))
        std::printf("live %d\n", Stage::live);
    return 0;
}
