/*
 * summary: a failed load gives back the reference of the job by hand although the adopting intrusive_ptr does so as well
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: g++ -O3 -g
 * libs: -pthread
 */
// Streaming of voxel chunks: the world map asks a loader thread for chunks; a job carries its chunk
// as a detached reference through a C-style ring.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/intrusive_ptr.hpp>

namespace voxel {

using Coord = std::pair<int, int>;
enum class State { Requested, Ready, Failed };

class Chunk {
public:
    Chunk(int x, int z) : x_(x), z_(z) {}
    Chunk(const Chunk &) = delete;

    Coord At() const { return {x_, z_}; }
    State GetState() const { return state_.load(std::memory_order_acquire); }
    void Fill(std::vector<uint8_t> &&cells)
    {
        cells_ = std::move(cells);
        state_.store(State::Ready, std::memory_order_release);
    }
    void Fail(int code)
    {
        error_ = code;
        state_.store(State::Failed, std::memory_order_release);
    }
    int Error() const { return error_; }
    unsigned Solid() const
    {
        unsigned n = 0;
        for (uint8_t cell : cells_)
            n += cell != 0;
        return n;
    }

private:
    ~Chunk() = default;
    friend void intrusive_ptr_add_ref(Chunk *chunk);
    friend void intrusive_ptr_release(Chunk *chunk);

    int x_, z_;
    std::vector<uint8_t> cells_;
    std::atomic<State> state_{State::Requested};
    int error_ = 0;
    std::atomic<int> refs_{0};
};

void intrusive_ptr_add_ref(Chunk *chunk)
{
    chunk->refs_.fetch_add(1, std::memory_order_relaxed);
}

void intrusive_ptr_release(Chunk *chunk)
{
    if (chunk->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete chunk;
}

using ChunkPtr = boost::intrusive_ptr<Chunk>;

struct LoadJob {
    Chunk *chunk;
    unsigned seed;
};

/* Fixed ring between the world and the loader. */
class JobRing {
public:
    bool Push(const LoadJob &job)
    {
        std::lock_guard<std::mutex> guard(lock_);
        if (count_ == ring_.size())
            return false;
        ring_[(head_ + count_++) % ring_.size()] = job;
        ready_.notify_one();
        return true;
    }
    bool Pop(LoadJob *job)
    {
        std::unique_lock<std::mutex> guard(lock_);
        ready_.wait(guard, [this] { return closed_ || count_ > 0; });
        if (count_ == 0)
            return false;
        *job = ring_[head_];
        head_ = (head_ + 1) % ring_.size();
        count_--;
        return true;
    }
    void Close()
    {
        std::lock_guard<std::mutex> guard(lock_);
        closed_ = true;
        ready_.notify_all();
    }

private:
    std::mutex lock_;
    std::condition_variable ready_;
    std::array<LoadJob, 16> ring_;
    size_t head_ = 0, count_ = 0;
    bool closed_ = false;
};

class Loader {
public:
    explicit Loader(JobRing &ring) : ring_(ring) {}
    void Start() { thread_ = std::thread(&Loader::Run, this); }
    void Join() { thread_.join(); }
    unsigned Loaded() const { return loaded_; }

private:
    void Run()
    {
        LoadJob job;
        while (ring_.Pop(&job))
            Process(job);
    }

    static int Generate(const Coord &at, unsigned seed, std::vector<uint8_t> *cells)
    {
        if (at.first == 3 && at.second < 2)
            return 5;
        cells->resize(16 * 16 * 8);
        unsigned value = seed ^ unsigned(at.first * 73856093) ^ unsigned(at.second * 19349663);
        for (uint8_t &cell : *cells) {
            value = value * 1664525u + 1013904223u;
            cell = (value >> 24) > 150 ? uint8_t(1 + (value >> 30)) : 0;
        }
        return 0;
    }

    void Process(const LoadJob &job)
    {
        ChunkPtr chunk(job.chunk, false); // ACCEPTED
        std::vector<uint8_t> cells;
        int code = Generate(chunk->At(), job.seed, &cells);
        if (code != 0) {
            chunk->Fail(code);
#ifdef BUG
            intrusive_ptr_release(job.chunk); // GUILTY
#endif
            return;
        }
        chunk->Fill(std::move(cells));
        loaded_++;
    }

    JobRing &ring_;
    std::thread thread_;
    unsigned loaded_ = 0;
};

class World {
public:
    World(JobRing &ring, unsigned seed) : ring_(ring), seed_(seed) {}

    ChunkPtr Request(int x, int z)
    {
        auto found = chunks_.find({x, z});
        if (found != chunks_.end())
            return found->second;
        ChunkPtr chunk(new Chunk(x, z));
        ChunkPtr forJob = chunk;
        if (!ring_.Push({forJob.get(), seed_}))
            return nullptr;
        forJob.detach();
        chunks_[{x, z}] = chunk;
        return chunk;
    }

    void RequestAround(int cx, int cz, int radius)
    {
        for (int x = cx - radius; x <= cx + radius; x++)
            for (int z = cz - radius; z <= cz + radius; z++)
                if (!Request(x, z))
                    refused_++;
    }

    /* Chunks out of sight wait in a short history, in case that the player turns back. */
    void Move(int cx, int cz, int radius)
    {
        for (auto it = chunks_.begin(); it != chunks_.end();) {
            int dx = it->first.first - cx, dz = it->first.second - cz;
            if (dx * dx <= radius * radius && dz * dz <= radius * radius) {
                ++it;
                continue;
            }
            if (it->second->GetState() == State::Ready) {
                history_.push_back(std::move(it->second));
                if (history_.size() > 4)
                    history_.pop_front();
            }
            it = chunks_.erase(it);
        }
    }

    void Print() const
    {
        unsigned solid = 0, ready = 0, failed = 0;
        for (const auto &entry : chunks_) {
            const ChunkPtr &chunk = entry.second;
            if (chunk->GetState() == State::Ready) {
                ready++;
                solid += chunk->Solid();
            } else if (chunk->GetState() == State::Failed) {
                failed++;
            }
        }
        printf("%u ready with %u solid cells, %u failed, %u refused, %zu in history\n", ready, solid, failed, refused_,
               history_.size());
    }

private:
    JobRing &ring_;
    unsigned seed_;
    std::map<Coord, ChunkPtr> chunks_;
    std::deque<ChunkPtr> history_;
    unsigned refused_ = 0;
};

} // namespace voxel

int main()
{
    voxel::JobRing ring;
    voxel::World world(ring, 4711);
    voxel::Loader loader(ring);

    world.RequestAround(2, 1, 1);
    for (int x = 5; x < 14; x++) {
        voxel::ChunkPtr edge = world.Request(x, -1);
        if (!edge)
            printf("no room for %d\n", x);
    }
    loader.Start();
    ring.Close();
    loader.Join();

    printf("%u loaded\n", loader.Loaded());
    world.Print();
    world.Move(3, 0, 1);
    world.Print();
    return 0;
}
