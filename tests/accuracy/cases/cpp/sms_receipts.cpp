/*
 * summary: cancelling a submission forgets the heap-allocated shared_ptr that was the modem's callback data
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: shared_ptr
 * build: clang++ -O2 -g
 */
// Delivery receipts for text messages. The modem stack has a C interface with a worker thread; what
// belongs to a submission travels through it as callback data.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/* ---- modem.h ---- */
extern "C" {
typedef void (*modem_report_fn)(int status, const char *number, void *data);
}

struct modem_job {
    int id;
    char number[24];
    size_t length;
    modem_report_fn report;
    void *data;
};

/* Jobs wait in `pending` until the modem is switched on. */
class Modem {
public:
    int submit(const char *number, size_t length, modem_report_fn report, void *data)
    {
        if (length == 0 || length > 160)
            return -1;
        std::lock_guard<std::mutex> guard(lock_);
        modem_job job{};
        job.id = ++last_;
        snprintf(job.number, sizeof job.number, "%s", number);
        job.length = length;
        job.report = report;
        job.data = data;
        pending_.push_back(job);
        return job.id;
    }

    /* Takes back a job that has not been sent. The report is not called; *data is what was submitted. */
    bool cancel(int id, void **data)
    {
        std::lock_guard<std::mutex> guard(lock_);
        for (auto it = pending_.begin(); it != pending_.end(); ++it)
            if (it->id == id) {
                *data = it->data;
                pending_.erase(it);
                return true;
            }
        return false;
    }

    void power_on()
    {
        worker_ = std::thread([this] { run(); });
    }

    void drain()
    {
        {
            std::lock_guard<std::mutex> guard(lock_);
            stop_ = true;
        }
        wake_.notify_all();
        if (worker_.joinable())
            worker_.join();
    }

private:
    void run()
    {
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            wake_.wait(guard, [this] { return stop_ || !pending_.empty(); });
            if (pending_.empty())
                return;
            modem_job job = pending_.front();
            pending_.pop_front();
            guard.unlock();
            int status = job.number[0] == '+' ? 0 : 21;
            job.report(status, job.number, job.data);
            guard.lock();
        }
    }

    std::mutex lock_;
    std::condition_variable wake_;
    std::deque<modem_job> pending_;
    std::thread worker_;
    bool stop_ = false;
    int last_ = 0;
};

/* ---- campaigns ---- */
class Campaign;

class Message : public std::enable_shared_from_this<Message> {
public:
    enum State { Draft, Queued, Delivered, Failed, Cancelled };

    Message(std::weak_ptr<Campaign> campaign, std::string number, std::string text)
        : campaign_(std::move(campaign)), number_(std::move(number)), text_(std::move(text))
    {
    }
    bool submit(Modem &modem);
    bool withdraw(Modem &modem);
    State state() const { return state_; }
    const std::string &number() const { return number_; }

private:
    static void reported(int status, const char *number, void *data);
    std::weak_ptr<Campaign> campaign_;
    std::string number_, text_;
    State state_ = Draft;
    int job_ = 0;
};

class Campaign : public std::enable_shared_from_this<Campaign> {
public:
    explicit Campaign(std::string name) : name_(std::move(name)) {}

    std::shared_ptr<Message> add(const std::string &number, const std::string &text)
    {
        auto message = std::make_shared<Message>(weak_from_this(), number, text);
        std::lock_guard<std::mutex> guard(lock_);
        messages_.push_back(message);
        return message;
    }

    size_t start(Modem &modem)
    {
        size_t sent = 0;
        for (const auto &message : messages_)
            if (message->submit(modem))
                sent++;
        return sent;
    }

    size_t stop(Modem &modem, const std::string &prefix)
    {
        size_t withdrawn = 0;
        for (auto it = messages_.begin(); it != messages_.end();) {
            if ((*it)->number().compare(0, prefix.size(), prefix) == 0 && (*it)->withdraw(modem)) {
                it = messages_.erase(it);
                withdrawn++;
            } else
                ++it;
        }
        return withdrawn;
    }

    void receipt(const char *number, int status)
    {
        std::lock_guard<std::mutex> guard(lock_);
        if (status == 0)
            delivered_++;
        else
            failures_[number] = status;
    }

    void print() const
    {
        printf("%s: %u delivered\n", name_.c_str(), delivered_);
        for (const auto &failure : failures_)
            printf("  %s failed with %d\n", failure.first.c_str(), failure.second);
    }

private:
    std::string name_;
    std::mutex lock_;
    std::vector<std::shared_ptr<Message>> messages_;
    std::map<std::string, int> failures_;
    unsigned delivered_ = 0;
};

bool Message::submit(Modem &modem)
{
    auto *ticket = new std::shared_ptr<Message>(shared_from_this());
    state_ = Queued;
    int id = modem.submit(number_.c_str(), text_.size(), &Message::reported, ticket);
    if (id < 0) {
        state_ = Failed;
        delete ticket;
        return false;
    }
    job_ = id;
    return true;
}

bool Message::withdraw(Modem &modem)
{
    void *data = nullptr;
    if (state_ != Queued || !modem.cancel(job_, &data)) // ACCEPTED
        return false;
    state_ = Cancelled; // GUILTY
    job_ = 0;
#ifndef BUG
    delete static_cast<std::shared_ptr<Message> *>(data);
#endif
    return true; // ACCEPTED
}

void Message::reported(int status, const char *number, void *data)
{
    std::unique_ptr<std::shared_ptr<Message>> ticket(static_cast<std::shared_ptr<Message> *>(data));
    Message &message = **ticket;
    message.state_ = status == 0 ? Delivered : Failed;
    if (auto campaign = message.campaign_.lock())
        campaign->receipt(number, status);
}

int main()
{
    Modem modem;
    auto dentist = std::make_shared<Campaign>("dentist reminders");
    auto library = std::make_shared<Campaign>("library notices");

    static const char *const patients[] = {"+49301111", "+49302222", "+43155555", "0800777", "+49303333"};
    for (const char *number : patients)
        dentist->add(number, "Your appointment is on Monday at nine.");
    static const char *const readers[] = {"+41441234", "+43166666", "+43177777", "+41449876", "+43188888"};
    for (const char *number : readers)
        library->add(number, "The book that you asked for is ready.");
    std::shared_ptr<Message> blank = library->add("+41440000", "");

    size_t queued = dentist->start(modem) + library->start(modem);
    size_t withdrawn = library->stop(modem, "+431");
    printf("%zu queued, %zu withdrawn\n", queued, withdrawn);
    if (blank->state() != Message::Failed)
        return 1;
    blank.reset();

    modem.power_on();
    modem.drain();
    dentist->print();
    library->print();
    return 0;
}
