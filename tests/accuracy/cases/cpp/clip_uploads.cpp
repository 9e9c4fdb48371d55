/*
 * summary: the context of a cancelled request is wrapped with one more reference instead of being adopted
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: own
 * libs: -pthread
 * build: g++ -O2 -g
 */
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace media {

template <typename T>
class Ref {
public:
    Ref() = default;
    Ref(T *object) : object_(object)
    {
        if (object_)
            object_->retain();
    }
    Ref(const Ref &other) : Ref(other.object_) {}
    Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    ~Ref()
    {
        if (object_)
            object_->release();
    }
    Ref &operator=(Ref other) noexcept
    {
        std::swap(object_, other.object_);
        return *this;
    }

    static Ref adopt(T *object)
    {
        Ref ref;
        ref.object_ = object;
        return ref;
    }
    T *detach() { return std::exchange(object_, nullptr); }

    T *operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

private:
    T *object_ = nullptr;
};

class Upload {
public:
    enum class State { Waiting, Sent, Failed, Cancelled };

    Upload(std::string clip, std::size_t bytes) : clip_(std::move(clip)), bytes_(bytes) {}

    void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release()
    {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    const std::string &clip() const { return clip_; }
    std::size_t bytes() const { return bytes_; }
    State state() const { return state_.load(); }

    bool settle(State to)
    {
        State from = State::Waiting;
        return state_.compare_exchange_strong(from, to);
    }

private:
    ~Upload() = default;

    std::string clip_;
    std::size_t bytes_;
    std::atomic<int> refs_{1};
    std::atomic<State> state_{State::Waiting};
};

// The wire is a C library at heart: a request has a function and its context, and knows nothing of either.
class Wire {
public:
    using Done = void (*)(void *context, int status);

    struct Request {
        unsigned ticket;
        std::size_t bytes;
        Done done;
        void *context;
    };

    explicit Wire(std::size_t limit) : limit_(limit) {}

    // 0: the wire is full or closed, and has not taken the context.
    unsigned post(std::size_t bytes, Done done, void *context)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        if (closed_ || queue_.size() >= limit_)
            return 0;
        queue_.push_back({++ticket_, bytes, done, context});
        return ticket_;
    }

    // Takes a request that was not begun off the queue, and gives it back to the caller.
    bool withdraw(unsigned ticket, Request &request)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        for (auto it = queue_.begin(); it != queue_.end(); ++it) {
            if (it->ticket == ticket) {
                request = *it;
                queue_.erase(it);
                return true;
            }
        }
        return false;
    }

    void start()
    {
        thread_ = std::thread([this] { run(); });
    }

    void finish()
    {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
        if (thread_.joinable())
            thread_.join();
    }

private:
    void run()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
            if (queue_.empty())
                return;
            Request request = queue_.front();
            queue_.pop_front();
            lock.unlock();
            request.done(request.context, request.bytes > 40000 ? 413 : 200);
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Request> queue_;
    std::thread thread_;
    std::size_t limit_;
    unsigned ticket_ = 0;
    bool closed_ = false;
};

class Uploader {
public:
    explicit Uploader(Wire &wire) : wire_(wire) {}

    bool enqueue(const Ref<Upload> &upload)
    {
        Ref<Upload> carried = upload;
        Upload *context = carried.detach();
        unsigned ticket = wire_.post(upload->bytes(), &Uploader::on_done, context);
        if (ticket == 0) {
            Ref<Upload>::adopt(context)->settle(Upload::State::Failed);
            return false;
        }
        tickets_[upload->clip()] = ticket;
        return true;
    }

    bool cancel(const std::string &clip)
    {
        auto found = tickets_.find(clip);
        if (found == tickets_.end())
            return false;
        unsigned ticket = found->second;
        tickets_.erase(found);

        Wire::Request request;
        if (!wire_.withdraw(ticket, request))
            return false;
#ifdef BUG
        Ref<Upload> upload(static_cast<Upload *>(request.context)); // GUILTY
#else
        Ref<Upload> upload = Ref<Upload>::adopt(static_cast<Upload *>(request.context));
#endif
        return upload->settle(Upload::State::Cancelled);
    }

private:
    static void on_done(void *context, int status)
    {
        Ref<Upload> upload = Ref<Upload>::adopt(static_cast<Upload *>(context));
        upload->settle(status == 200 ? Upload::State::Sent : Upload::State::Failed);
    }

    Wire &wire_;
    std::map<std::string, unsigned> tickets_;
};

} // namespace media

int main()
{
    using media::Ref;
    using media::Upload;

    media::Wire wire(8);
    media::Uploader uploader(wire);
    std::vector<Ref<Upload>> album;

    static const struct { const char *clip; std::size_t bytes; } clips[] = {
        {"harbour-1", 12000}, {"harbour-2", 18000}, {"interview", 52000}, {"crane-pan", 9000},   {"sunset", 22000},
        {"take-04", 31000},   {"take-05", 30500},   {"gulls", 4000},      {"outtakes", 77000},
    };
    for (const auto &clip : clips)
        album.push_back(Ref<Upload>::adopt(new Upload(clip.clip, clip.bytes)));

    unsigned refused = 0;
    for (const auto &upload : album)
        if (!uploader.enqueue(upload))
            refused++;

    unsigned cancelled = 0;
    for (const char *clip : {"harbour-2", "take-04", "take-04", "gulls", "aerials"})
        cancelled += uploader.cancel(clip);

    album.erase(album.begin());
    wire.start();
    wire.finish();

    std::map<Upload::State, std::size_t> bytes;
    for (const auto &upload : album)
        bytes[upload->state()] += upload->bytes();
    std::printf("%u refused, %u cancelled, %zu bytes sent, %zu bytes failed\n", refused, cancelled,
                bytes[Upload::State::Sent], bytes[Upload::State::Failed]);
    return 0;
}
