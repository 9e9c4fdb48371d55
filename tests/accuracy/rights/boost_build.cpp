/* summary: Boost intrusive_ptr with placement new of header and bytes, pooled operator new, raw pointers in a map, shared_ptr with aliasing, std::async, references in exceptions
 * track: intrusive_ref_counter boost shared_ptr
 * build: g++ -std=c++17 -O2 -g -o OUT boost_build.cpp -pthread
 */
// boost_build: a small build system.  Artifacts are intrusively counted and
// shared between threads, targets form a graph of shared_ptrs with weak back
// edges, and rules run under std::async and may throw.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/enable_shared_from_this.hpp>
#include <boost/make_shared.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <boost/weak_ptr.hpp>

namespace {

// ---- blobs: header and bytes in one allocation, made with placement new ----

class Blob : public boost::intrusive_ref_counter<Blob, boost::thread_safe_counter> {
public:
    static boost::intrusive_ptr<Blob> create(const std::string &text)
    {
        void *memory = ::operator new(sizeof(Blob) + text.size());
        return boost::intrusive_ptr<Blob>(new (memory) Blob(text));
    }
    void operator delete(void *p) { ::operator delete(p); }

    std::size_t size() const { return size_; }
    std::string text() const { return std::string(reinterpret_cast<const char *>(this + 1), size_); }

private:
    explicit Blob(const std::string &text) : size_(text.size())
    {
        std::copy(text.begin(), text.end(), reinterpret_cast<char *>(this + 1));
    }
    void *operator new(std::size_t, void *p) { return p; }
    void operator delete(void *, void *) {}

    std::size_t size_;
};

using BlobPtr = boost::intrusive_ptr<Blob>;

// ---- artifacts: own counter, own pool --------------------------------------

class Artifact {
public:
    Artifact(std::string name, BlobPtr blob) : name_(std::move(name)), blob_(std::move(blob)) {}

    const std::string &name() const { return name_; }
    const BlobPtr &blob() const { return blob_; }

    static void *operator new(std::size_t size)
    {
        std::lock_guard<std::mutex> guard(pool_lock_);
        if (pool_ == nullptr)
            return ::operator new(std::max(size, sizeof(Free)));
        Free *cell = pool_;
        pool_ = cell->next;
        return cell;
    }
    static void operator delete(void *p)
    {
        std::lock_guard<std::mutex> guard(pool_lock_);
        pool_ = new (p) Free{ pool_ };
    }
    static unsigned drain_pool()
    {
        unsigned n = 0;
        while (pool_ != nullptr) {
            Free *cell = pool_;
            pool_ = cell->next;
            ::operator delete(cell);
            n++;
        }
        return n;
    }

    friend void intrusive_ptr_add_ref(const Artifact *a)
    {
        a->references_.fetch_add(1, std::memory_order_relaxed);
    }
    friend void intrusive_ptr_release(const Artifact *a)
    {
        if (a->references_.fetch_sub(1, std::memory_order_release) == 1) {
            std::atomic_thread_fence(std::memory_order_acquire);
            delete a;
        }
    }

private:
    struct Free { Free *next; };
    static Free *pool_;
    static std::mutex pool_lock_;

    mutable std::atomic<unsigned> references_{ 0 };
    std::string name_;
    BlobPtr blob_;
};

Artifact::Free *Artifact::pool_;
std::mutex Artifact::pool_lock_;

using ArtifactPtr = boost::intrusive_ptr<const Artifact>;

struct RuleError : std::runtime_error {
    RuleError(const std::string &what, ArtifactPtr culprit) : std::runtime_error(what), culprit(std::move(culprit)) {}
    ArtifactPtr culprit; // travels with the exception
};

// ---- content cache ---------------------------------------------------------

class Cache {
public:
    // Raw pointers in, counted pointers out: entries are counted by hand.
    ~Cache()
    {
        for (auto &entry : entries_)
            intrusive_ptr_release(entry.second);
    }
    ArtifactPtr find(const std::string &key)
    {
        std::lock_guard<std::mutex> guard(lock_);
        auto it = entries_.find(key);
        return it == entries_.end() ? ArtifactPtr() : ArtifactPtr(it->second);
    }
    void store(const std::string &key, ArtifactPtr artifact)
    {
        std::lock_guard<std::mutex> guard(lock_);
        const Artifact *&slot = entries_[key];
        const Artifact *old = slot;
        slot = artifact.detach();
        if (old != nullptr)
            intrusive_ptr_release(old);
    }
    std::size_t size() const { return entries_.size(); }

private:
    std::mutex lock_;
    std::map<std::string, const Artifact *> entries_;
};

// ---- targets ---------------------------------------------------------------

class Target : public boost::enable_shared_from_this<Target> {
public:
    using Ptr = boost::shared_ptr<Target>;
    using Future = std::shared_future<ArtifactPtr>;

    explicit Target(std::string name) : name_(std::move(name)) {}
    virtual ~Target() { live--; }

    void depend(const Ptr &other)
    {
        inputs_.push_back(other);
        other->users_.push_back(weak_from_this()); // back edge, not owning
    }

    // Forgets what was made from this target, here and above.
    void touch()
    {
        std::vector<Ptr> users;
        {
            std::lock_guard<std::mutex> guard(lock_);
            last_.reset();
            for (const boost::weak_ptr<Target> &weak : users_)
                if (Ptr user = weak.lock())
                    users.push_back(std::move(user));
        }
        for (const Ptr &user : users)
            user->touch();
    }

    const std::string &name() const { return name_; }
    static std::atomic<int> live;

protected:
    virtual std::string rule(const std::vector<ArtifactPtr> &inputs) = 0;

private:
    friend class Build;

    ArtifactPtr run(const std::vector<Future> &parts, Cache &cache)
    {
        std::vector<ArtifactPtr> inputs;
        std::string key = name_;
        for (const Future &part : parts) {
            inputs.push_back(part.get()); // may rethrow an input's failure
            key += "|" + inputs.back()->blob()->text();
        }
        ArtifactPtr made = parts.empty() ? ArtifactPtr() : cache.find(key);
        if (!made) {
            made.reset(new Artifact(name_, Blob::create(rule(inputs))));
            if (!parts.empty())
                cache.store(key, made);
        }
        std::lock_guard<std::mutex> guard(lock_);
        last_ = made;
        return made;
    }

    std::mutex lock_;
    std::string name_;
    std::vector<Ptr> inputs_;
    std::vector<boost::weak_ptr<Target>> users_;
    ArtifactPtr last_;
};

std::atomic<int> Target::live{ 0 };

// One run over the graph.  A task keeps its target, and so all below, alive.
class Build {
public:
    explicit Build(boost::shared_ptr<Cache> cache) : cache_(std::move(cache)) {}

    Target::Future want(const Target::Ptr &target)
    {
        Target::Future &slot = futures_[target.get()];
        if (slot.valid())
            return slot;
        std::unique_lock<std::mutex> guard(target->lock_);
        if (target->last_) {
            std::promise<ArtifactPtr> known;
            known.set_value(target->last_);
            return slot = known.get_future().share();
        }
        guard.unlock();
        std::vector<Target::Future> parts;
        for (const Target::Ptr &input : target->inputs_)
            parts.push_back(want(input));
        auto policy = parts.empty() ? std::launch::deferred : std::launch::async;
        return slot = std::async(policy, [self = target->shared_from_this(), parts, cache = cache_] {
                   return self->run(parts, *cache);
               }).share();
    }

private:
    boost::shared_ptr<Cache> cache_;
    std::map<const Target *, Target::Future> futures_;
};

class Source final : public Target {
public:
    Source(std::string name, std::string text) : Target(std::move(name)), text_(std::move(text)) { live++; }
    std::string text_;

protected:
    std::string rule(const std::vector<ArtifactPtr> &) override { return text_; }
};

class Join final : public Target {
public:
    Join(std::string name, std::string glue) : Target(std::move(name)), glue_(std::move(glue)) { live++; }

protected:
    std::string rule(const std::vector<ArtifactPtr> &inputs) override
    {
        std::string out;
        for (const ArtifactPtr &input : inputs) {
            if (input->blob()->size() == 0)
                throw RuleError(name() + ": " + input->name() + " is empty", input);
            out += (out.empty() ? "" : glue_) + input->blob()->text();
        }
        return out;
    }

private:
    std::string glue_;
};

struct Project {
    std::string title;
    std::vector<Target::Ptr> goals;
    std::vector<boost::shared_ptr<Source>> sources;
};

boost::shared_ptr<Project> make_project()
{
    auto project = boost::make_shared<Project>();
    project->title = "demo";
    for (int i = 0; i < 6; i++)
        project->sources.push_back(
            boost::make_shared<Source>("src" + std::to_string(i), i == 5 ? "" : std::string(i + 1, 'a' + i)));
    for (int i = 0; i < 4; i++) {
        auto object = boost::make_shared<Join>("obj" + std::to_string(i), "+");
        object->depend(project->sources[i]);
        object->depend(project->sources[i == 3 ? 5 : i + 1]);
        project->goals.push_back(object);
    }
    auto program = boost::make_shared<Join>("program", " ");
    for (int i = 0; i < 3; i++)
        program->depend(project->goals[i]);
    project->goals.push_back(program);
    return project;
}

} // namespace

int main()
{
    auto cache = boost::make_shared<Cache>();
    std::exception_ptr failure;
    std::vector<ArtifactPtr> results;
    boost::weak_ptr<Project> gone;

    {
        auto project = make_project();
        boost::shared_ptr<const std::string> title(project, &project->title); // alias into the project
        boost::weak_ptr<Project> weak = project;
        for (int round = 0; round < 3; round++) {
            Build build(cache);
            std::vector<Target::Future> futures;
            for (const Target::Ptr &goal : project->goals)
                futures.push_back(build.want(goal));
            for (Target::Future &future : futures) {
                try {
                    results.push_back(future.get());
                } catch (const RuleError &) {
                    failure = std::current_exception();
                }
            }
            project->sources[1]->text_ += "!";
            project->sources[1]->touch();
        }
        Build(cache).want(project->goals.back()); // the last future's end waits
        project.reset();
        gone = weak;
        std::printf("%s still alive: %s\n", title->c_str(), weak.expired() ? "no" : "yes");
    }

    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const RuleError &error) {
        std::printf("failed: %s (culprit %s)\n", error.what(), error.culprit->name().c_str());
    }
    failure = nullptr;
    std::printf("%zu results, last %s\n", results.size(), results.back()->blob()->text().c_str());
    results.clear();
    std::printf("project gone: %s, targets live: %d, cached: %zu\n", gone.expired() ? "yes" : "no",
                Target::live.load(), cache->size());
    cache.reset();
    std::printf("pool held %s\n", Artifact::drain_pool() > 0 ? "cells" : "nothing");
}
