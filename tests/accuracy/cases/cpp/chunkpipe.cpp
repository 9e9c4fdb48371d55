/* summary: a chunk is detached from its pointer before the push, and when the queue refuses it for its size nobody takes the reference back
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: own
 * libs: -pthread
 * build: g++ -std=c++17 -O2 -g
 */
// chunkpipe - a reader cuts a log into chunks, two workers count what is in
// them.  Chunks are counted, and shared by the queues and the index.

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

template <class T>
class RefCounted
{
public:
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;

    void retain() const noexcept { m_refs.fetch_add(1, std::memory_order_relaxed); }

    void release() const noexcept
    {
        if (m_refs.fetch_sub(1, std::memory_order_release) == 1)
        {
            std::atomic_thread_fence(std::memory_order_acquire);
            delete static_cast<const T *>(this);
        }
    }

protected:
    RefCounted() = default;
    ~RefCounted() = default;

private:
    mutable std::atomic<int> m_refs{0};
};

template <class T>
class IntrusivePtr
{
public:
    struct Adopt {};

    IntrusivePtr() = default;
    IntrusivePtr(T *p) : m_p(p) { if (m_p) m_p->retain(); }
    IntrusivePtr(T *p, Adopt) : m_p(p) {}
    IntrusivePtr(const IntrusivePtr &o) : IntrusivePtr(o.m_p) {}
    IntrusivePtr(IntrusivePtr &&o) noexcept : m_p(o.detach()) {}
    ~IntrusivePtr() { if (m_p) m_p->release(); }

    IntrusivePtr &operator=(IntrusivePtr o) noexcept
    {
        std::swap(m_p, o.m_p);
        return *this;
    }

    T *detach() noexcept { return std::exchange(m_p, nullptr); }
    T *operator->() const noexcept { return m_p; }
    T &operator*() const noexcept { return *m_p; }
    explicit operator bool() const noexcept { return m_p; }

private:
    T *m_p = nullptr;
};

class Chunk : public RefCounted<Chunk>
{
public:
    Chunk(int number, std::string text) : m_number(number), m_text(std::move(text)) {}
    int number() const { return m_number; }
    const std::string &text() const { return m_text; }

private:
    int m_number;
    std::string m_text;
};

using ChunkPtr = IntrusivePtr<Chunk>;

class Queue
{
public:
    // Takes the caller's reference over, but only if it returns true.
    bool push(Chunk *chunk)
    {
        std::lock_guard<std::mutex> guard(m_lock);
        if (m_closed || chunk->text().size() > 400)
            return false;
        m_chunks.emplace_back(chunk, ChunkPtr::Adopt());
        m_wake.notify_one();
        return true;
    }

    ChunkPtr pop()
    {
        std::unique_lock<std::mutex> guard(m_lock);
        m_wake.wait(guard, [this] { return m_closed || !m_chunks.empty(); });
        if (m_chunks.empty())
            return {};
        ChunkPtr chunk = std::move(m_chunks.front());
        m_chunks.pop_front();
        return chunk;
    }

    void close()
    {
        std::lock_guard<std::mutex> guard(m_lock);
        m_closed = true;
        m_wake.notify_all();
    }

private:
    std::mutex m_lock;
    std::condition_variable m_wake;
    std::deque<ChunkPtr> m_chunks;
    bool m_closed = false;
};

class Index
{
public:
    void note(const ChunkPtr &chunk, int words)
    {
        std::lock_guard<std::mutex> guard(m_lock);
        ChunkPtr &best = m_best[words];
        m_words += words;
        if (!best || chunk->number() < best->number())
            best = chunk;
    }

    void print() const
    {
        for (const auto &[words, chunk] : m_best)
            std::printf("%3d words: chunk %d\n", words, chunk->number());
        std::printf("%d words\n", m_words);
    }

private:
    std::mutex m_lock;
    std::map<int, ChunkPtr> m_best;
    int m_words = 0;
};

class Reader
{
public:
    explicit Reader(Queue &queue) : m_queue(queue) {}

    void feed(int number)
    {
        std::string text;
        for (int i = 0; i < 4 + number % 9; ++i)
            text += "line " + std::to_string(number * 10 + i) + " ok\n";
        if (number % 40 == 13)
            text += std::string(500, '#');
        submit(ChunkPtr(new Chunk(number, std::move(text))));
    }

    int refused() const { return m_refused; }

private:
    void submit(ChunkPtr chunk)
    {
        Chunk *raw = chunk.detach();  // ACCEPTED

        if (!m_queue.push(raw))  // ACCEPTED
        {
            ++m_refused;  // GUILTY
#ifndef BUG
            raw->release();
#endif
        }
    }

    Queue &m_queue;
    int m_refused = 0;
};

static void work(Queue &queue, Index &index)
{
    while (ChunkPtr chunk = queue.pop())
    {
        int words = 0;
        for (char c : chunk->text())
            words += c == ' ' || c == '\n';
        index.note(chunk, words);
    }
}

int main()
{
    Queue queue;
    Index index;
    Reader reader(queue);
    std::vector<std::thread> workers;

    for (int i = 0; i < 2; ++i)
        workers.emplace_back([&] { work(queue, index); });
    for (int number = 0; number < 150; ++number)
        reader.feed(number);
    queue.close();
    for (std::thread &worker : workers)
        worker.join();
    index.print();
    std::printf("%d chunks refused\n", reader.refused());
    return 0;
}
