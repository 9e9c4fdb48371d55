/* summary: Playlist::Next hands out the current track in repeat-one mode without the AddRef that the caller's Release answers to
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * build: clang++ -std=c++17 -O0 -g
 * exit: 0
 */
//
// jukebox - the playing engine of a kiosk: a library of tracks, playlists that
// are given to zones (bar, terrace, ...), and a mixer that plays the zones.
// Interfaces are COM-like, every pointer that leaves through an out parameter
// is the receiver's.
//
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

typedef long HRESULT;
static const HRESULT S_OK = 0, S_FALSE = 1, E_BOUNDS = -2, E_EMPTY = -3;

struct IRefObject {
    virtual unsigned AddRef() = 0;
    virtual unsigned Release() = 0;
};

struct ITrack : IRefObject {
    virtual const char *Title() = 0;
    virtual int Seconds() = 0;
};

struct IPlaylist : IRefObject {
    virtual HRESULT Add(ITrack *track) = 0;
    virtual HRESULT Item(unsigned i, ITrack **out) = 0;
    virtual HRESULT Current(ITrack **out) = 0;
    virtual HRESULT Next(ITrack **out) = 0;
    virtual void SetRepeatOne(bool on) = 0;
};

// Tracks have fixed slots, so that their numbers stay good in the logs.
class TrackSlots {
public:
    static const unsigned kSlots = 64, kSize = 96;

    void *Take()
    {
        for (unsigned i = 0; i < kSlots; ++i)
            if (!m_used[i]) {
                m_used[i] = true;
                return m_mem[i];
            }
        throw std::bad_alloc();
    }

    void Give(void *p)
    {
        m_used[(static_cast<unsigned char *>(p) - m_mem[0]) / kSize] = false;
    }

    unsigned Used() const
    {
        unsigned n = 0;
        for (bool u : m_used)
            n += u;
        return n;
    }

private:
    alignas(16) unsigned char m_mem[kSlots][kSize];
    bool m_used[kSlots] = {};
};

static TrackSlots g_slots;

class Track final : public ITrack {
public:
    Track(const std::string &title, int seconds) : m_ref(1), m_seconds(seconds)
    {
        std::snprintf(m_title, sizeof m_title, "%s", title.c_str());
    }

    static void *operator new(std::size_t size)
    {
        static_assert(sizeof(Track) <= TrackSlots::kSize, "slots are too small");
        return size <= TrackSlots::kSize ? g_slots.Take() : nullptr;
    }
    static void operator delete(void *p) { g_slots.Give(p); }

    unsigned AddRef() override { return ++m_ref; }

    unsigned Release() override
    {
        unsigned left = --m_ref;
        if (left == 0)
            delete this;
        return left;
    }

    const char *Title() override { return m_title; }
    int Seconds() override { return m_seconds; }

private:
    ~Track() = default;
    unsigned m_ref;
    int m_seconds;
    char m_title[48];
};

class Playlist final : public IPlaylist {
public:
    unsigned AddRef() override { return ++m_ref; }

    unsigned Release() override
    {
        unsigned left = --m_ref;
        if (left == 0)
            delete this;
        return left;
    }

    HRESULT Add(ITrack *track) override
    {
        track->AddRef();
        m_items.push_back(track);
        return S_OK;
    }

    HRESULT Item(unsigned i, ITrack **out) override
    {
        *out = nullptr;
        if (i >= m_items.size())
            return E_BOUNDS;
        *out = m_items[i];
        (*out)->AddRef();
        return S_OK;
    }

    HRESULT Current(ITrack **out) override
    {
        *out = m_current;
        if (!m_current)
            return S_FALSE;
        m_current->AddRef();
        return S_OK;
    }

    HRESULT Next(ITrack **out) override
    {
        *out = nullptr;
        if (m_items.empty())
            return E_EMPTY;
        if (m_repeatOne && m_current) {
#ifdef BUG
            *out = m_current;                       // GUILTY
            return S_OK;
#else
            return Current(out);
#endif
        }
        HRESULT hr = Item(m_pos, out);
        if (hr == E_BOUNDS)
            hr = Item(m_pos = 0, out);
        ++m_pos;
        SetCurrent(*out);
        return hr;
    }

    void SetRepeatOne(bool on) override { m_repeatOne = on; }

private:
    ~Playlist()
    {
        SetCurrent(nullptr);
        for (ITrack *t : m_items)
            t->Release();
    }

    void SetCurrent(ITrack *t)
    {
        if (t)
            t->AddRef();
        if (m_current)
            m_current->Release();
        m_current = t;
    }

    unsigned m_ref = 1, m_pos = 0;
    bool m_repeatOne = false;
    ITrack *m_current = nullptr;
    std::vector<ITrack *> m_items;
};

class Library final : public IRefObject {
public:
    unsigned AddRef() override { return ++m_ref; }

    unsigned Release() override
    {
        unsigned left = --m_ref;
        if (left == 0)
            delete this;
        return left;
    }

    void Import(const std::string &title, int seconds) { m_tracks.push_back(new Track(title, seconds)); }

    HRESULT Find(const char *title, ITrack **out)
    {
        for (ITrack *t : m_tracks)
            if (std::strcmp(t->Title(), title) == 0) {
                t->AddRef();
                *out = t;
                return S_OK;
            }
        *out = nullptr;
        return S_FALSE;
    }

    unsigned Count() const { return static_cast<unsigned>(m_tracks.size()); }

private:
    ~Library()
    {
        for (ITrack *t : m_tracks)
            t->Release();
    }

    unsigned m_ref = 1;
    std::vector<ITrack *> m_tracks;
};

struct Zone {
    IPlaylist *list;
    long seconds; unsigned started;
};

static void StartNext(Zone &zone)
{
    ITrack *track = nullptr;
    if (zone.list->Next(&track) < 0)
        return;
    zone.seconds += track->Seconds();
    zone.started++;
    track->Release();                               // ACCEPTED
}

// The guest's button: that track again when this one is over.
static void Again(Zone &zone)
{
    zone.list->SetRepeatOne(true);
    StartNext(zone);
    zone.list->SetRepeatOne(false);
}

static void Show(Zone &zone, int nr)
{
    ITrack *now = nullptr;
    if (zone.list->Current(&now) == S_OK) {
        std::printf("zone %d: %s after %ld s, %u tracks started\n", nr, now->Title(), zone.seconds, zone.started);
        now->Release();
    }
}

int main()
{
    Library *library = new Library;
    for (int i = 0; i < 40; ++i)
        library->Import("track-" + std::to_string(i), 120 + i * 37 % 200);

    std::vector<Zone> zones;
    for (int z = 0; z < 5; ++z) {
        Zone zone = {new Playlist, 0, 0};
        for (int i = 0; i < 12; ++i) {
            ITrack *t = nullptr;
            std::string title = "track-" + std::to_string((z * 9 + i * 5) % 44);
            if (library->Find(title.c_str(), &t) != S_OK)
                continue;
            zone.list->Add(t);
            t->Release();
        }
        zones.push_back(zone);
    }
    for (unsigned minute = 0; minute < 50; ++minute)
        for (std::size_t z = 0; z < zones.size(); ++z) {
            if ((minute + z) % 3 == 0)
                StartNext(zones[z]);
            if (minute % 16 == 11 && z == minute / 16 + 1)
                Again(zones[z]);
        }
    for (std::size_t z = 0; z < zones.size(); ++z) {
        Show(zones[z], static_cast<int>(z));
        zones[z].list->Release();
    }
    std::printf("%u tracks known\n", library->Count());
    library->Release();
    std::printf("%u slots in use\n", g_slots.Used());
    return 0;
}
