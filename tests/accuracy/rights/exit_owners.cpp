/* summary: counted objects that are rightly alive at exit: one per thread in thread_local storage (among them a thread that still waits), some whose only pointer lies in an mmap'd page, one below a pthread key, a static registry with its own references; references go between threads through an atomic mailbox with a tag in the low bits
 * track: auto
 * build: clang++ -std=c++17 -O2 -g -o OUT exit_owners.cpp -pthread
 */
// exit_owners - a server's parts that nobody takes down: the process ends and
// that is that.  All the rest is counted and comes to its end.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static std::atomic<int> alive{0};

class Object
{
public:
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;

    void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }

    void unref()
    {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

protected:
    Object() { ++alive; }
    virtual ~Object() { --alive; }

private:
    std::atomic<int> refs_{1};
};

class Statistics : public Object
{
public:
    void add(long n) { sum_ += n; ++count_; }
    long sum() const { return sum_; }
    long count() const { return count_; }

private:
    std::atomic<long> sum_{0};
    std::atomic<long> count_{0};
};

class Request : public Object
{
public:
    Request(long id, Statistics *statistics) : id_(id), statistics_(statistics), text_(20 + id % 30, 'x')
    {
        statistics_->ref();
    }

    void handle() { statistics_->add(id_ + static_cast<long>(text_.size())); }
    long id() const { return id_; }

protected:
    ~Request() override { statistics_->unref(); }

private:
    long id_;
    Statistics *statistics_;
    std::string text_;
};

class Session : public Object
{
public:
    explicit Session(std::string name) : name_(std::move(name)) {}
    const std::string &name() const { return name_; }
    void serve() { ++served_; }
    int served() const { return served_; }

private:
    std::string name_;
    int served_ = 0;
};

// ---- the thread's own session: nothing gives it back ----

static thread_local Session *t_session;

static Session *my_session(const char *name)
{
    if (!t_session)
        t_session = new Session(name);
    return t_session;
}

// ---- a page of slots; it stays mapped ----

struct Page
{
    std::atomic<int> used;
    Statistics *slots[64];
};

static Page *page;

static Statistics *publish(Statistics *statistics)
{
    statistics->ref();
    page->slots[page->used++] = statistics;
    return statistics;
}

// ---- a mailbox: one reference goes with the word, low bits say how ----

enum : uintptr_t { Plain = 0, Urgent = 1, Last = 2, TagMask = 7 };

class Mailbox
{
public:
    void send(Request *request, uintptr_t tag)
    {
        const uintptr_t word = reinterpret_cast<uintptr_t>(request) | tag;
        uintptr_t empty = 0;

        while (!word_.compare_exchange_weak(empty, word, std::memory_order_release))
        {
            empty = 0;
            std::this_thread::yield();
        }
    }

    uintptr_t receive()
    {
        uintptr_t word;

        while (!(word = word_.exchange(0, std::memory_order_acquire)))
            std::this_thread::yield();
        return word;
    }

private:
    std::atomic<uintptr_t> word_{0};
};

// ---- a registry of sessions by role, filled before main's work starts ----

class Registry
{
public:
    static Registry &get()
    {
        static Registry *registry = new Registry;  // threads may use it to the very end
        return *registry;
    }

    void enter(Session *session)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        session->ref();
        sessions_.push_back(session);
    }

    int served()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        int n = 0;
        for (Session *session : sessions_)
            n += session->served();
        return n;
    }

private:
    std::mutex mutex_;
    std::vector<Session *> sessions_;
};

static void worker(Mailbox *in, Mailbox *out, const char *name)
{
    uintptr_t word;
    Session *session = my_session(name);

    Registry::get().enter(session);
    do
    {
        word = in->receive();
        Request *request = reinterpret_cast<Request *>(word & ~TagMask);

        session->serve();
        if (word & Urgent)
        {
            request->handle();
            request->unref();
            if (word & Last)
                out->send(nullptr, Last);
            continue;
        }
        out->send(request, word & Last);
    } while (!(word & Last));
    session->unref();  // the registry's reference stays
    t_session = nullptr;
}

static void sink(Mailbox *in)
{
    uintptr_t word;

    do
    {
        word = in->receive();
        if (Request *request = reinterpret_cast<Request *>(word & ~TagMask))
        {
            request->handle();
            request->unref();
        }
    } while (!(word & Last));
}

// Waits for ever, with a session that only its thread_local knows.
static void watchdog(std::atomic<bool> *ready)
{
    my_session("watchdog")->serve();
    *ready = true;
    for (;;)
        pause();
}

int main()
{
    static pthread_key_t key;
    static std::atomic<bool> ready{false};
    Mailbox first, second;

    page = static_cast<Page *>(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (page == MAP_FAILED || pthread_key_create(&key, nullptr))
        return 1;

    std::thread(watchdog, &ready).detach();
    std::thread one(worker, &first, &second, "front");
    std::thread two(sink, &second);

    for (int i = 0; i < 4; ++i)
    {
        Statistics *made = publish(new Statistics);
        made->unref();  // the page has it now
    }
    pthread_setspecific(key, new Session("main's own"));
    my_session("main")->serve();

    for (long id = 1; id <= 120; ++id)
    {
        Request *request = new Request(id, page->slots[id % 4]);
        const bool keep = id % 10 == 0;

        if (keep)
            request->ref();
        first.send(request, (id % 7 == 0 ? Urgent : Plain) | (id == 120 ? Last : Plain));
        if (keep)
        {
            my_session("main")->serve();
            request->unref();
        }
    }
    one.join();
    two.join();
    while (!ready)
        std::this_thread::yield();

    long sum = 0, count = 0;
    for (int i = 0; i < page->used; ++i)
    {
        sum += page->slots[i]->sum();
        count += page->slots[i]->count();
    }
    Session *own = static_cast<Session *>(pthread_getspecific(key));
    std::printf("%ld requests, sum %ld, %d served in the registry, main %d, '%s' %d\n", count, sum,
                Registry::get().served(), my_session("main")->served(), own->name().c_str(), own->served());
    std::printf("%d objects alive at the end\n", alive.load());
    std::fflush(stdout);
    return 0;
}
