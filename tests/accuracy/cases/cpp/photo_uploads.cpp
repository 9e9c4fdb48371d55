/* summary: an upload of several parts stores a handler that holds the upload itself
 * kind: cycle
 * counts: surplus
 * objects: 3
 * track: shared_ptr
 * libs: -pthread
 * build: g++ -O2 -g
 */
// Upload queue of a photo backup client. Uploads are driven by a transport thread; big files go up in parts, and a part that is
// refused is sent again from the upload's own handler.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace backup {

class Upload;
typedef std::shared_ptr<Upload> UploadPtr;

struct PartResult {
    int part;
    int status;
};

// carries out requests one after another on its thread
class Transport {
public:
    Transport() : stopping_(false), requests_(0), worker_([this] { loop(); }) {}

    ~Transport() {
        {
            std::lock_guard<std::mutex> hold(lock_);
            stopping_ = true;
        }
        wake_.notify_all();
        worker_.join();
    }

    void send(const std::string &name, int part, std::function<void(PartResult)> done) {
        std::lock_guard<std::mutex> hold(lock_);
        queue_.push_back(Request{name, part, std::move(done)});
        wake_.notify_one();
    }

    void drain() {
        std::unique_lock<std::mutex> hold(lock_);
        idle_.wait(hold, [this] { return queue_.empty() && !busy_; });
    }

    int requests() const { return requests_; }

private:
    struct Request {
        std::string name;
        int part;
        std::function<void(PartResult)> done;
    };

    void loop() {
        std::unique_lock<std::mutex> hold(lock_);
        for (;;) {
            wake_.wait(hold, [this] { return stopping_ || !queue_.empty(); });
            if (queue_.empty())
                return;
            Request request = std::move(queue_.front());
            queue_.pop_front();
            busy_ = true;
            hold.unlock();
            request.done(PartResult{request.part, respond(request)});
            request = Request();
            hold.lock();
            busy_ = false;
            if (queue_.empty())
                idle_.notify_all();
        }
    }

    // every third part is refused once, parts of broken files always
    int respond(const Request &request) {
        ++requests_;
        if (request.name.find("broken") != std::string::npos && request.part > 0)
            return 500;
        return request.part % 3 == 2 && refused_.insert({request.name, request.part}).second ? 503 : 200;
    }

    std::mutex lock_;
    std::condition_variable wake_, idle_;
    std::deque<Request> queue_;
    std::set<std::pair<std::string, int>> refused_;
    bool stopping_, busy_ = false;
    int requests_;
    std::thread worker_;
};

// one file on its way
class Upload : public std::enable_shared_from_this<Upload> {
public:
    enum class State { Queued, Running, Done, Failed };

    Upload(Transport &transport, const std::string &name, int parts)
        : transport_(transport), name_(name), parts_(parts), next_(0), state_(State::Queued) {}

    const std::string &name() const { return name_; }
    State state() const { return state_; }
    int sent() const { return next_; }
    int retried() const { return retried_; }

    void set_part_handler(std::function<bool(PartResult)> handler) { part_handler_ = std::move(handler); } // ACCEPTED

    void start() {
        state_ = State::Running;
        send_next();
    }

    void resend(int part) {
        ++retried_;
        UploadPtr self = shared_from_this();
        transport_.send(name_, part, [self](PartResult result) { self->finished(result); });
    }

private:
    void send_next() {
        UploadPtr self = shared_from_this();
        transport_.send(name_, next_, [self](PartResult result) { self->finished(result); });
    }

    void finished(PartResult result) {
        if (result.status != 200) {
            if (part_handler_ && part_handler_(result))
                return;
            state_ = State::Failed;
            return;
        }
        if (++next_ < parts_)
            send_next();
        else
            state_ = State::Done;
    }

    Transport &transport_;
    std::string name_;
    int parts_, next_;
    int retried_ = 0;
    State state_;
    std::function<bool(PartResult)> part_handler_;
};

class UploadQueue {
public:
    explicit UploadQueue(Transport &transport) : transport_(transport) {}

    UploadPtr add(const std::string &name, long bytes) {
        int parts = static_cast<int>((bytes + kPartBytes - 1) / kPartBytes);
        UploadPtr upload = std::make_shared<Upload>(transport_, name, parts);
        if (parts > 1)
            arm_retries(upload);
        uploads_[name] = upload;
        order_.push_back(upload);
        return upload;
    }

    bool remove(const std::string &name) {
        auto found = uploads_.find(name);
        if (found == uploads_.end() || found->second->state() != Upload::State::Queued)
            return false;
        for (auto at = order_.begin(); at != order_.end(); ++at)
            if (*at == found->second) {
                order_.erase(at);
                break;
            }
        uploads_.erase(found);
        return true;
    }

    void start_all() {
        for (const UploadPtr &upload : order_)
            upload->start();
    }

    // forgets what has arrived and returns the rest
    std::vector<UploadPtr> sweep() {
        std::vector<UploadPtr> failed;
        for (const UploadPtr &upload : order_) {
            if (upload->state() == Upload::State::Done)
                uploads_.erase(upload->name());
            else
                failed.push_back(upload);
        }
        order_.clear();
        return failed;
    }

    size_t size() const { return uploads_.size(); }

private:
    static const long kPartBytes = 4096;

    void arm_retries(const UploadPtr &upload) {
        std::shared_ptr<int> left = std::make_shared<int>(3);
#ifdef BUG
        upload->set_part_handler([upload, left](PartResult result) { // GUILTY
#else
        upload->set_part_handler([weak = std::weak_ptr<Upload>(upload), left](PartResult result) {
            UploadPtr upload = weak.lock();
            if (!upload)
                return false;
#endif
            if (--*left < 0)
                return false;
            upload->resend(result.part);
            return true;
        });
    }

    Transport &transport_;
    std::map<std::string, UploadPtr> uploads_;
    std::vector<UploadPtr> order_;
};

const char *text(Upload::State state) {
    switch (state) {
    case Upload::State::Queued:
        return "queued";
    case Upload::State::Running:
        return "running";
    case Upload::State::Done:
        return "done";
    default:
        return "failed";
    }
}

} // namespace backup

int main() {
    backup::Transport transport;
    backup::UploadQueue queue(transport);
    queue.add("img_0411.jpg", 3100);
    queue.add("img_0412.jpg", 2800);
    queue.add("pano_0413.tif", 30000);
    queue.add("img_0414.jpg", 1900);
    queue.add("img_0415.jpg", 4096);
    queue.add("clip_0416.mov", 21000);
    queue.add("broken_0417.mov", 9000);
    queue.add("img_0418.jpg", 2200);
    std::vector<backup::UploadPtr> watched;
    watched.push_back(queue.add("img_0419.jpg", 3333));
    queue.remove("img_0412.jpg");

    queue.start_all();
    transport.drain();
    std::printf("%d requests, %s is %s\n", transport.requests(), watched[0]->name().c_str(), text(watched[0]->state()));
    for (const backup::UploadPtr &upload : queue.sweep())
        std::printf("%s: %s after %d parts and %d retries\n", upload->name().c_str(), text(upload->state()), upload->sent(),
                    upload->retried());
    std::printf("%zu uploads left in the queue\n", queue.size());
    return 0;
}
