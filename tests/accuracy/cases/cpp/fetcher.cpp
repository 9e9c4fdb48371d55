/* summary: a resumable Transfer connects a lambda holding shared_from_this() to its own progress signal and so keeps itself alive
 * kind: cycle
 * counts: surplus
 * objects: 9
 * track: shared_ptr
 * build: g++ -std=c++17 -O2 -g -pthread
 * exit: 0
 */
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fetch {

template <typename... Args>
class Signal {
public:
    using Slot = std::function<void(Args...)>;

    void connect(Slot slot) { slots_.push_back(std::move(slot)); }

    void emit(Args... args) const
    {
        for (const auto &slot : slots_)
            slot(args...);
    }

private:
    std::vector<Slot> slots_;
};

/* A block of data on its way from the network to checksumming. */
struct Chunk {
    std::uint64_t offset;
    std::vector<std::uint8_t> data;
};

/* Tasks posted by anybody, run by whoever calls run(). */
class Loop {
public:
    using Task = std::function<void()>;

    void post(Task task)
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        cond_.notify_one();
    }

    void run()
    {
        for (;;) {
            Task task;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                cond_.wait(lock, [this] { return !tasks_.empty(); });
                task = std::move(tasks_.front());
                tasks_.pop_front();
            }
            if (!task)
                return;
            task();
        }
    }

    void quit() { post(nullptr); }

private:
    std::mutex mutex_;
    std::condition_variable cond_;
    std::deque<Task> tasks_;
};

/* Where an interrupted transfer could go on. */
class Journal {
public:
    void note(const std::string &url, std::uint64_t offset)
    {
        positions_[url] = offset;
        ++writes_;
    }
    void forget(const std::string &url) { positions_.erase(url); }
    std::size_t open() const { return positions_.size(); }
    int writes() const { return writes_; }

private:
    std::map<std::string, std::uint64_t> positions_;
    int writes_ = 0;
};

class Transfer : public std::enable_shared_from_this<Transfer> {
public:
    Transfer(std::string url, std::uint64_t size, bool resumable)
        : url_(std::move(url)), size_(size), resumable_(resumable)
    {
    }

    Signal<std::uint64_t> progress;
    Signal<const Transfer &> finished;

    const std::string &url() const { return url_; }
    std::uint64_t size() const { return size_; }
    std::uint32_t sum() const { return sum_; }

    void start(Loop &worker, Loop &ui, const std::shared_ptr<Journal> &journal)
    {
        journal_ = journal;
        if (resumable_)
            watch_position();
        for (std::uint64_t pos = 0; pos < size_; pos += block_size)
            fetch_block(worker, ui, pos);
    }

private:
    static constexpr std::uint64_t block_size = 512;

    void watch_position()
    {
#ifdef BUG
        progress.connect([self = shared_from_this()](std::uint64_t done) {   /* GUILTY */
            self->save_position(done);
        });
#else
        progress.connect([weak = weak_from_this()](std::uint64_t done) {
            if (auto self = weak.lock())
                self->save_position(done);
        });
#endif
    }

    void save_position(std::uint64_t done)
    {
        if (done - saved_ < 2 * block_size && done != size_)
            return;
        saved_ = done;
        if (done == size_)
            journal_->forget(url_);
        else
            journal_->note(url_, done);
    }

    void fetch_block(Loop &worker, Loop &ui, std::uint64_t pos)
    {
        auto chunk = std::make_shared<Chunk>();

        chunk->offset = pos;
        chunk->data.resize(std::min(block_size, size_ - pos));
        for (std::size_t i = 0; i < chunk->data.size(); i++)
            chunk->data[i] = static_cast<std::uint8_t>(pos / 7 + i + url_.size());

        auto self = shared_from_this();
        worker.post([self, chunk, &ui] {
            std::uint32_t sum = 0;
            for (std::uint8_t byte : chunk->data)
                sum = sum * 31 + byte;
            ui.post([self, chunk, sum] { self->block_done(*chunk, sum); });
        });
    }

    void block_done(const Chunk &chunk, std::uint32_t sum)
    {
        sum_ ^= sum;
        done_ = chunk.offset + chunk.data.size();
        progress.emit(done_);
        if (done_ == size_)
            finished.emit(*this);
    }

    std::string url_;
    std::uint64_t size_;
    bool resumable_;
    std::uint64_t done_ = 0, saved_ = 0;
    std::uint32_t sum_ = 0;
    std::shared_ptr<Journal> journal_;
};

/* What the user sees; kept by whoever wants to look at it. */
struct Totals {
    int finished = 0;
    std::uint64_t bytes = 0;
    std::uint32_t sum = 0;
    int repaints = 0;
};

class Manager {
public:
    Manager() : journal_(std::make_shared<Journal>()), totals_(std::make_shared<Totals>()) {}

    void add(const std::string &url, std::uint64_t size, bool resumable)
    {
        auto t = std::make_shared<Transfer>(url, size, resumable);

        t->progress.connect([totals = totals_](std::uint64_t) { totals->repaints++; });
        t->finished.connect([this](const Transfer &done) { on_finished(done); });
        active_.emplace(url, std::move(t));
    }

    void run()
    {
        std::thread thread([this] { worker_.run(); });

        for (const auto &entry : active_)
            entry.second->start(worker_, ui_, journal_);
        ui_.run();
        worker_.quit();
        thread.join();
    }

    std::shared_ptr<const Journal> journal() const { return journal_; }
    std::shared_ptr<const Totals> totals() const { return totals_; }

private:
    void on_finished(const Transfer &t)
    {
        totals_->finished++;
        totals_->bytes += t.size();
        totals_->sum ^= t.sum();
        active_.erase(t.url());
        if (active_.empty())
            ui_.quit();
    }

    std::shared_ptr<Journal> journal_;
    std::shared_ptr<Totals> totals_;
    std::map<std::string, std::shared_ptr<Transfer>> active_;
    Loop ui_, worker_;
};

}  // namespace fetch

int main()
{
    std::shared_ptr<const fetch::Journal> journal;
    std::shared_ptr<const fetch::Totals> totals;

    {
        fetch::Manager manager;

        for (int i = 0; i < 44; i++) {
            const bool image = i % 5 == 1;
            const std::string name = (image ? "disk" : "page") + std::to_string(i);

            manager.add("http://mirror.example/" + name, image ? 9000 + i * 100 : 300 + i * 40, image);
        }
        manager.run();
        journal = manager.journal();
        totals = manager.totals();
    }
    std::printf("%d transfers, %llu bytes, checksum %08x\n", totals->finished,
                static_cast<unsigned long long>(totals->bytes), totals->sum);
    std::printf("%d repaints, %d journal writes, %zu left in the journal\n", totals->repaints,
                journal->writes(), journal->open());
    return 0;
}
