/*
 * summary: the alarm list makes a second, independent shared_ptr from the raw pointer of a track that the table owns
 * kind: second-owner
 * counts: none
 * objects: 2
 * track: shared_ptr
 * build: g++ -O1 -g
 */
// Plot extraction for a harbour radar: plots are joined to tracks, tracks that come near the
// fairway are watched. Tracks are short-lived and many, so they live in a slab of their own.
#include <bitset>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace radar {

template <class T, size_t N>
class Slab {
public:
    void *Take()
    {
        std::lock_guard<std::mutex> guard(lock_);
        for (size_t i = 0; i < N; i++) {
            size_t slot = (next_ + i) % N;
            if (!used_[slot]) {
                used_[slot] = true;
                next_ = slot + 1;
                return cells_[slot].bytes;
            }
        }
        throw std::bad_alloc();
    }
    void Give(void *p)
    {
        std::lock_guard<std::mutex> guard(lock_);
        used_[size_t(static_cast<Cell *>(p) - cells_)] = false;
    }
    size_t InUse() const { return used_.count(); }

private:
    struct Cell {
        alignas(T) unsigned char bytes[sizeof(T)];
    };
    std::mutex lock_;
    std::bitset<N> used_;
    size_t next_ = 0;
    Cell cells_[N];
};

struct Plot {
    float x, y;
    unsigned scan;
};

class Track {
public:
    Track(unsigned number, const Plot &plot) : number_(number), x_(plot.x), y_(plot.y), lastScan_(plot.scan) {}

    static void *operator new(size_t);
    static void operator delete(void *p);

    bool Gate(const Plot &plot) const
    {
        float dt = float(plot.scan - lastScan_);
        return std::hypot(plot.x - (x_ + vx_ * dt), plot.y - (y_ + vy_ * dt)) < 12.0f + 2.0f * dt;
    }
    void Update(const Plot &plot)
    {
        float dt = float(plot.scan - lastScan_);
        if (dt > 0) {
            vx_ = 0.5f * vx_ + 0.5f * (plot.x - x_) / dt;
            vy_ = 0.5f * vy_ + 0.5f * (plot.y - y_) / dt;
        }
        x_ = plot.x;
        y_ = plot.y;
        lastScan_ = plot.scan;
        hits_++;
    }
    bool Stale(unsigned scan) const { return scan > lastScan_ + 3; }
    float DistanceTo(float x, float y) const { return std::hypot(x_ - x, y_ - y); }
    unsigned Number() const { return number_; }
    unsigned Hits() const { return hits_; }

private:
    unsigned number_;
    float x_, y_, vx_ = 0, vy_ = 0;
    unsigned lastScan_, hits_ = 1;
};

static Slab<Track, 64> trackSlab;

void *Track::operator new(size_t)
{
    return trackSlab.Take();
}

void Track::operator delete(void *p)
{
    trackSlab.Give(p);
}

using TrackPtr = std::shared_ptr<Track>;

class TrackTable {
public:
    void Join(const Plot &plot)
    {
        for (const TrackPtr &track : tracks_)
            if (track->Gate(plot)) {
                track->Update(plot);
                return;
            }
        tracks_.emplace_back(new Track(++numbers_, plot));
    }
    void Drop(unsigned scan)
    {
        std::vector<TrackPtr> kept;
        for (TrackPtr &track : tracks_)
            if (!track->Stale(scan))
                kept.push_back(std::move(track));
        tracks_.swap(kept);
    }
    Track *Nearest(float x, float y) const
    {
        Track *best = nullptr;
        for (const TrackPtr &track : tracks_)
            if (!best || track->DistanceTo(x, y) < best->DistanceTo(x, y))
                best = track.get();
        return best;
    }
    TrackPtr ByNumber(unsigned number) const
    {
        for (const TrackPtr &track : tracks_)
            if (track->Number() == number)
                return track;
        return nullptr;
    }
    size_t Count() const { return tracks_.size(); }

private:
    std::vector<TrackPtr> tracks_;
    unsigned numbers_ = 0;
};

struct Buoy {
    const char *name;
    float x, y, radius;
};

class FairwayWatch {
public:
    explicit FairwayWatch(const TrackTable &table) : table_(table) {}

    void Check(const Buoy &buoy)
    {
        Track *near = table_.Nearest(buoy.x, buoy.y);
        if (!near || near->DistanceTo(buoy.x, buoy.y) > buoy.radius || near->Hits() < 3)
            return;
        for (const Alarm &alarm : alarms_)
            if (alarm.track.get() == near)
                return;
#ifdef BUG
        TrackPtr watched(near); // GUILTY
#else
        TrackPtr watched = table_.ByNumber(near->Number());
#endif
        alarms_.push_back({buoy.name, watched});
    }

    void Follow(unsigned number, const char *reason)
    {
        if (TrackPtr track = table_.ByNumber(number))
            alarms_.push_back({reason, track});
    }

    void Print(unsigned scan) const
    {
        for (const Alarm &alarm : alarms_)
            printf("scan %2u: track %u, %u hits, %s\n", scan, alarm.track->Number(), alarm.track->Hits(), alarm.reason);
    }

    size_t Release(unsigned scan)
    {
        size_t before = alarms_.size();
        std::vector<Alarm> kept;
        for (Alarm &alarm : alarms_)
            if (!alarm.track->Stale(scan))
                kept.push_back(std::move(alarm));
        alarms_.swap(kept);
        return before - alarms_.size();
    }

private:
    struct Alarm {
        const char *reason;
        TrackPtr track;
    };
    const TrackTable &table_;
    std::vector<Alarm> alarms_;
};

/* Ships of the exercise: where they start, where they go, and in which scans they are seen. */
struct Ship {
    float x, y, dx, dy;
    unsigned from, to;
};

static const Ship ships[] = {
    {0, 0, 9, 4, 1, 12},     {400, 30, -8, 3, 1, 9},  {60, 300, 5, -7, 2, 14},   {500, 500, -3, -3, 1, 30},
    {250, 420, 0, -9, 3, 16}, {700, 90, -6, 0, 5, 30}, {120, 640, 4, 1, 1, 30}, {810, 610, 1, 5, 8, 11},
};

} // namespace radar

using namespace radar;

int main()
{
    TrackTable table;
    FairwayWatch watch(table);
    const Buoy buoys[] = {{"buoy A", 45, 20, 25}, {"buoy C", 80, 270, 30}, {"buoy F", 900, 900, 40}};
    size_t released = 0;

    for (unsigned scan = 1; scan <= 20; scan++) {
        for (const Ship &ship : ships)
            if (scan >= ship.from && scan <= ship.to) {
                float t = float(scan - ship.from);
                table.Join({ship.x + ship.dx * t, ship.y + ship.dy * t, scan});
            }
        for (const Buoy &buoy : buoys)
            watch.Check(buoy);
        if (scan == 6) {
            watch.Follow(4, "pilot on board");
            watch.Follow(99, "tow");
        }
        if (scan % 6 == 0)
            watch.Print(scan);
        released += watch.Release(scan);
        table.Drop(scan);
    }
    printf("%zu tracks, %zu released, %zu cells\n", table.Count(), released, trackSlab.InUse());
    return 0;
}
