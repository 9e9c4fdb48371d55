/*
 * summary: looking for the decoder among the peers, a second match replaces the first one, whose reference is never given back
 * kind: overwritten
 * counts: surplus
 * objects: 2
 * track: own
 * build: g++ -O2 -g
 */
// Television tuner: a graph of filters with pins. Interfaces are counted; enumerators and ConnectedTo()
// hand out references that their callers release.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace tv {

enum Result : int { Ok = 0, False = 1, NotConnected = -1, NotFound = -2, Refused = -3 };

enum class Media : uint8_t { Transport, Video, Audio, Picture, Sound };

class Object {
public:
    unsigned AddRef() { return ++refs_; }
    unsigned Release()
    {
        unsigned left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }

protected:
    Object() : refs_(1) {}
    virtual ~Object() = default;

private:
    std::atomic<unsigned> refs_;
};

template <class T> class Ref {
public:
    Ref() = default;
    Ref(T *p) : p_(p) { if (p_) p_->AddRef(); }
    Ref(const Ref &o) : Ref(o.p_) {}
    Ref(Ref &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~Ref() { if (p_) p_->Release(); }
    Ref &operator=(Ref o) { std::swap(p_, o.p_); return *this; }
    void Reset() { *this = Ref(); }
    T **Receive() { Reset(); return &p_; }
    T *operator->() const { return p_; }
    T *Get() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

class Filter;

class Pin : public Object {
public:
    Pin(Filter *owner, bool output, Media media) : owner_(owner), output_(output), media_(media) {}

    bool Output() const { return output_; }
    Media Type() const { return media_; }
    Filter *Owner() const { return owner_; }

    Result Connect(Pin *other)
    {
        if (peer_ || other->peer_ || output_ == other->output_ || media_ != other->media_)
            return Refused;
        peer_ = Ref<Pin>(other);
        other->peer_ = Ref<Pin>(this);
        return Ok;
    }
    void Disconnect()
    {
        if (!peer_)
            return;
        Ref<Pin> keep(this), peer = peer_;
        peer->peer_.Reset();
        peer_.Reset();
    }
    Result ConnectedTo(Pin **out) const
    {
        *out = peer_.Get();
        if (!*out)
            return NotConnected;
        (*out)->AddRef();
        return Ok;
    }

private:
    Filter *owner_; // pins are part of their filter
    bool output_;
    Media media_;
    Ref<Pin> peer_;
};

class PinEnumerator : public Object {
public:
    explicit PinEnumerator(std::vector<Ref<Pin>> pins) : pins_(std::move(pins)) {}

    Result Next(Pin **out)
    {
        if (at_ == pins_.size())
            return False;
        *out = pins_[at_++].Get();
        (*out)->AddRef();
        return Ok;
    }
    void Rewind() { at_ = 0; }

private:
    std::vector<Ref<Pin>> pins_;
    size_t at_ = 0;
};

class Filter : public Object {
public:
    Filter(std::string name, int merit) : name_(std::move(name)), merit_(merit) {}
    ~Filter() override
    {
        for (Ref<Pin> &p : pins_)
            p->Disconnect();
    }

    const std::string &Name() const { return name_; }
    int Merit() const { return merit_; }
    Pin *AddPin(bool output, Media media)
    {
        Pin *p = new Pin(this, output, media);
        pins_.emplace_back(p);
        p->Release();
        return p;
    }
    Result EnumPins(PinEnumerator **out)
    {
        *out = new PinEnumerator(pins_);
        return Ok;
    }

private:
    std::string name_;
    int merit_;
    std::vector<Ref<Pin>> pins_;
};

class Graph {
public:
    Filter *Add(const char *name, int merit)
    {
        Filter *f = new Filter(name, merit);
        filters_.emplace_back(f);
        f->Release();
        return f;
    }
    void Remove(Filter *f)
    {
        for (size_t i = 0; i < filters_.size(); i++)
            if (filters_[i].Get() == f) {
                filters_.erase(filters_.begin() + long(i));
                return;
            }
    }
    size_t Size() const { return filters_.size(); }
    Result Find(const char *name, Filter **out) const
    {
        for (const Ref<Filter> &f : filters_)
            if (f->Name() == name) {
                *out = f.Get();
                (*out)->AddRef();
                return Ok;
            }
        *out = nullptr;
        return NotFound;
    }

private:
    std::vector<Ref<Filter>> filters_;
};

// A free pin of a filter, or NotFound.
static Result FreePin(Filter *f, bool output, Media media, Pin **out)
{
    Ref<PinEnumerator> e;
    Pin *p = nullptr;
    Result r = f->EnumPins(e.Receive());

    *out = nullptr;
    if (r != Ok)
        return r;
    while (e->Next(&p) == Ok) {
        Pin *peer = nullptr;

        if (p->Output() == output && p->Type() == media && p->ConnectedTo(&peer) == NotConnected) {
            *out = p;
            return Ok;
        }
        if (peer)
            peer->Release();
        p->Release();
    }
    return NotFound;
}

static Result ConnectFilters(Filter *from, Filter *to, Media media)
{
    Ref<Pin> out, in;
    Result r = FreePin(from, true, media, out.Receive());

    if (r == Ok)
        r = FreePin(to, false, media, in.Receive());
    return r == Ok ? out->Connect(in.Get()) : r;
}

// The filter of the highest merit that a filter feeds with a kind of media.
static Result BestDownstream(Filter *f, Media media, Filter **out)
{
    Ref<PinEnumerator> e;
    Pin *p = nullptr;
    Filter *best = nullptr;

    if (f->EnumPins(e.Receive()) != Ok)
        return NotFound;
    while (e->Next(&p) == Ok) {
        Ref<Pin> peer;

        if (p->Output() && p->Type() == media && p->ConnectedTo(peer.Receive()) == Ok) {
            Filter *candidate = peer->Owner();

            if (!best || candidate->Merit() > best->Merit()) {
                candidate->AddRef(); // ACCEPTED
#ifndef BUG
                if (best)
                    best->Release();
#endif
                best = candidate; // GUILTY
            }
        }
        p->Release();
    }
    *out = best;
    return best ? Ok : NotFound;
}

} // namespace tv

using namespace tv;

int main()
{
    Graph graph;
    Filter *demux = graph.Add("demultiplexer", 50);
    Filter *soft = graph.Add("software decoder", 10), *gpu = graph.Add("graphics decoder", 80);
    Filter *dump = graph.Add("recorder", 5), *mono = graph.Add("mono decoder", 20), *surround = graph.Add("surround decoder", 40);
    int failures = 0;

    for (int i = 0; i < 3; i++)
        demux->AddPin(true, Media::Video);
    for (int i = 0; i < 2; i++)
        demux->AddPin(true, Media::Audio);
    for (Filter *f : { soft, gpu, dump })
        f->AddPin(false, Media::Video);
    for (Filter *f : { mono, surround })
        f->AddPin(false, Media::Audio);
    failures += ConnectFilters(demux, soft, Media::Video) != Ok;
    failures += ConnectFilters(demux, gpu, Media::Video) != Ok;
    failures += ConnectFilters(demux, dump, Media::Video) != Ok;
    failures += ConnectFilters(demux, mono, Media::Audio) != Ok;
    failures += ConnectFilters(demux, surround, Media::Audio) != Ok;
    failures += ConnectFilters(demux, surround, Media::Audio) != NotFound;

    Ref<Filter> video, audio, found;
    failures += BestDownstream(demux, Media::Video, video.Receive()) != Ok || video->Name() != "graphics decoder";
    failures += BestDownstream(demux, Media::Audio, audio.Receive()) != Ok || audio->Name() != "surround decoder";
    failures += BestDownstream(gpu, Media::Picture, found.Receive()) != NotFound;
    std::printf("%s, %s\n", video->Name().c_str(), audio->Name().c_str());
    graph.Remove(gpu);
    video.Reset();
    failures += BestDownstream(demux, Media::Video, video.Receive()) != Ok || video->Name() != "software decoder";
    failures += graph.Find("recorder", found.Receive()) != Ok;
    std::printf("%s and %s of %zu filters\n", video->Name().c_str(), found->Name().c_str(), graph.Size());
    return failures;
}
