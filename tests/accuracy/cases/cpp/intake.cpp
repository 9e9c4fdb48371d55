/* summary: Intake::admit lets go of a refused job with detach() instead of reset(), so its reference goes nowhere
 * kind: missing-put
 * counts: surplus
 * objects: 7
 * track: own
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
//
// intake - the front of a rendering service: jobs come in from clients, are
// admitted or refused, wait in queues by priority, and are worked off in slices.
// Clients may ask for a job's state or cancel it by its number.
//
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/smart_ptr/intrusive_ptr.hpp>

namespace render {

enum class State { Fresh, Waiting, Running, Done, Cancelled, Refused };

class Job {
public:
    Job(int id, std::string client, int frames, int priority)
        : id_(id), frames_(frames), priority_(priority), client_(std::move(client)),
          scene_(static_cast<std::size_t>(frames) * 4, static_cast<std::uint8_t>(id))
    {
    }

    int id() const { return id_; }
    int priority() const { return priority_; }
    int framesLeft() const { return frames_ - done_; }
    const std::string &client() const { return client_; }
    State state() const { return state_; }
    void setState(State s) { state_ = s; }

    std::uint32_t renderFrame()
    {
        std::uint32_t h = static_cast<std::uint32_t>(done_++);
        for (std::uint8_t b : scene_)
            h = h * 16777619u ^ b;
        return h;
    }

    friend void intrusive_ptr_add_ref(const Job *j) noexcept
    {
        j->uses_.fetch_add(1, std::memory_order_relaxed);
    }

    friend void intrusive_ptr_release(const Job *j) noexcept
    {
        if (j->uses_.fetch_sub(1, std::memory_order_release) == 1) {
            std::atomic_thread_fence(std::memory_order_acquire);
            delete j;
        }
    }

private:
    ~Job() = default;

    int id_, frames_, priority_, done_ = 0;
    State state_ = State::Fresh;
    std::string client_;
    std::vector<std::uint8_t> scene_;
    mutable std::atomic<unsigned> uses_{0};
};

using JobPtr = boost::intrusive_ptr<Job>;

// How much every client may have waiting.
class Quota {
public:
    void limit(const std::string &client, int frames) { limits_[client] = frames; }

    bool take(const Job &j)
    {
        auto it = limits_.find(j.client());
        int most = it == limits_.end() ? 60 : it->second;
        int &used = used_[j.client()];
        if (used + j.framesLeft() > most)
            return false;
        used += j.framesLeft();
        return true;
    }

    void give(const Job &j, int frames) { used_[j.client()] -= frames; }

private:
    std::map<std::string, int> limits_, used_;
};

// A C interface of the machine that draws: the job travels as the user's data.
struct Renderer {
    using Finished = void (*)(void *user, std::uint32_t digest);

    bool submit(void *user, std::uint32_t (*draw)(void *user), Finished finished)
    {
        if (slots_.size() == 3)
            return false;
        slots_.push_back({user, draw, finished});
        return true;
    }

    void run()
    {
        std::vector<Slot> now;
        now.swap(slots_);
        for (Slot &s : now)
            s.finished(s.user, s.draw(s.user));
    }

private:
    struct Slot {
        void *user;
        std::uint32_t (*draw)(void *);
        Finished finished;
    };
    std::vector<Slot> slots_;
};

class Intake {
public:
    struct Counters {
        int admitted = 0, refused = 0, cancelled = 0, finished = 0, busy = 0;
        std::uint32_t digest = 0;
    };

    Quota &quota() { return quota_; }
    const Counters &counters() const { return n_; }

    // Takes the job out of the caller's hands; false when it is not wanted.
    bool admit(JobPtr &job)
    {
        if (job->framesLeft() == 0) {
            job->setState(State::Done);     // nothing to do is done at once
            ++n_.finished;
            job.reset();
            return true;
        }
        if (!quota_.take(*job)) {
            job->setState(State::Refused);
            ++n_.refused;
#ifdef BUG
            job.detach();                   // GUILTY
#else
            job.reset();
#endif
            return false;
        }
        job->setState(State::Waiting);
        byId_.emplace(job->id(), job);
        queue(*job).push_back(std::move(job));
        ++n_.admitted;
        return true;
    }

    JobPtr find(int id) const
    {
        auto it = byId_.find(id);
        return it == byId_.end() ? nullptr : it->second;
    }

    bool cancel(int id)
    {
        JobPtr job = find(id);
        if (!job || job->state() != State::Waiting)
            return false;
        auto &q = queue(*job);
        q.erase(std::remove(q.begin(), q.end(), job), q.end());
        byId_.erase(id);
        quota_.give(*job, job->framesLeft());
        job->setState(State::Cancelled);
        ++n_.cancelled;
        return true;
    }

    // Gives one frame of the most urgent jobs to the renderer.
    void slice()
    {
        for (auto q = queues_.rbegin(); q != queues_.rend(); ++q)
            while (!q->empty()) {
                JobPtr job = std::move(q->front());
                q->pop_front();
                job->setState(State::Running);
                self_ = this;
                Job *raw = job.detach();
                if (!renderer_.submit(raw, &Intake::draw, &Intake::finished)) {
                    job = JobPtr(raw, false);
                    job->setState(State::Waiting);
                    q->push_front(std::move(job));
                    ++n_.busy;
                    renderer_.run();
                    return;
                }
            }
        renderer_.run();
    }

    bool idle() const
    {
        return std::all_of(queues_.begin(), queues_.end(), [](const auto &q) { return q.empty(); });
    }

private:
    std::deque<JobPtr> &queue(const Job &j) { return queues_[static_cast<std::size_t>(j.priority()) % queues_.size()]; }

    static std::uint32_t draw(void *user) { return static_cast<Job *>(user)->renderFrame(); }

    static void finished(void *user, std::uint32_t digest)
    {
        JobPtr job(static_cast<Job *>(user), false);
        self_->n_.digest = self_->n_.digest * 31 + digest;
        self_->quota_.give(*job, 1);
        if (job->framesLeft() > 0) {
            job->setState(State::Waiting);
            self_->queue(*job).push_back(std::move(job));
            return;
        }
        job->setState(State::Done);
        self_->byId_.erase(job->id());
        ++self_->n_.finished;
    }

    static Intake *self_;

    Quota quota_;
    Renderer renderer_;
    std::array<std::deque<JobPtr>, 3> queues_;
    std::unordered_map<int, JobPtr> byId_;
    Counters n_;
};

Intake *Intake::self_;

} // namespace render

int main()
{
    static const char *const clients[] = {"north", "south", "attic", "guest"};
    render::Intake intake;
    intake.quota().limit("guest", 6);
    intake.quota().limit("attic", 20);

    int refusals = 0, seen = 0;
    for (int i = 0; i < 90; ++i) {
        render::JobPtr job(new render::Job(i, clients[(i * 7 + i / 5) % 4], (i * 5) % 8, i % 3));
        if (!intake.admit(job))             // ACCEPTED
            ++refusals;
        if (i % 11 == 6)
            intake.cancel(i - 2);
        if (render::JobPtr earlier = intake.find(i / 2))
            seen += earlier->framesLeft();
        if (i % 2)
            intake.slice();
        if (i % 3 == 2)
            intake.slice();
    }
    while (!intake.idle())
        intake.slice();

    const auto &n = intake.counters();
    std::printf("%d admitted, %d refused (%d), %d cancelled, %d finished\n",
                n.admitted, n.refused, refusals, n.cancelled, n.finished);
    std::printf("%d seen, busy %d times, digest %08x\n", seen, n.busy, static_cast<unsigned>(n.digest));
    return 0;
}
