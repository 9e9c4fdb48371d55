/*
 * summary: a display that is switched off while it shows an error leaves the bridge without Unadvise, and both hold each other
 * kind: cycle
 * counts: surplus
 * objects: 2
 * track: own
 * build: clang++ -O2 -g
 */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace weigh {

using Result = std::int32_t;
constexpr Result kOk = 0;
constexpr Result kFalse = 1;
constexpr Result kNoInterface = -1;
constexpr Result kPointer = -2;
constexpr Result kNoConnection = -3;

inline bool Failed(Result result) { return result < 0; }

struct IUnknown {
    static constexpr const char *kId = "weigh.unknown";
    virtual Result QueryInterface(const char *id, void **out) = 0;
    virtual std::uint32_t AddRef() = 0;
    virtual std::uint32_t Release() = 0;

protected:
    ~IUnknown() = default;
};

struct IWeightSink : IUnknown {
    static constexpr const char *kId = "weigh.sink";
    virtual Result OnWeight(long kilograms, bool steady) = 0;
};

struct IInstrument : IUnknown {
    static constexpr const char *kId = "weigh.instrument";
    virtual Result Advise(IWeightSink *sink, std::uint32_t *cookie) = 0;
    virtual Result Unadvise(std::uint32_t cookie) = 0;
    virtual Result Tare() = 0;
};


/* The count, and the interface that Object implements. */
template <class Interface> class Object : public Interface {
public:
    Object() = default;
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;

    std::uint32_t AddRef() override { return ++references_; }
    std::uint32_t Release() override
    {
        std::uint32_t left = --references_;
        if (left == 0)
            delete this;
        return left;
    }
    Result QueryInterface(const char *id, void **out) override
    {
        if (!out)
            return kPointer;
        if (std::strcmp(id, Interface::kId) != 0 && std::strcmp(id, IUnknown::kId) != 0) {
            *out = nullptr;
            return kNoInterface;
        }
        *out = static_cast<Interface *>(this);
        AddRef();
        return kOk;
    }

protected:
    virtual ~Object() = default;

private:
    std::uint32_t references_ = 1;
};

class Bridge final : public Object<IInstrument> {
public:
    explicit Bridge(std::string site) : site_(std::move(site)) {}

    Result Advise(IWeightSink *sink, std::uint32_t *cookie) override
    {
        if (!sink || !cookie)
            return kPointer;
        sink->AddRef();
        sinks_.push_back({++last_cookie_, sink});
        *cookie = last_cookie_;
        return kOk;
    }
    Result Unadvise(std::uint32_t cookie) override
    {
        for (auto at = sinks_.begin(); at != sinks_.end(); ++at) {
            if (at->cookie != cookie)
                continue;
            IWeightSink *sink = at->sink;
            sinks_.erase(at);
            sink->Release();
            return kOk;
        }
        return kNoConnection;
    }
    Result Tare() override
    {
        tare_ = gross_;
        return kOk;
    }
    void Load(long gross, bool steady)
    {
        gross_ = gross;
        for (const Connection &connection : sinks_)
            connection.sink->OnWeight(gross_ - tare_, steady);
    }

private:
    struct Connection {
        std::uint32_t cookie;
        IWeightSink *sink;
    };
    ~Bridge() override
    {
        for (const Connection &connection : sinks_)
            connection.sink->Release();
    }

    std::string site_;
    std::vector<Connection> sinks_;
    std::uint32_t last_cookie_ = 0;
    long gross_ = 0, tare_ = 0;
};


/* What the bridge calls. */
class Display final : public Object<IWeightSink> {
public:
    explicit Display(std::string place, long limit) : place_(std::move(place)), limit_(limit) {}

    Result Attach(IInstrument *instrument)
    {
        if (instrument_)
            return kFalse;
        void *found = nullptr;
        Result result = instrument->QueryInterface(IInstrument::kId, &found);
        if (Failed(result))
            return result;
        instrument_ = static_cast<IInstrument *>(found);
        result = instrument_->Advise(this, &cookie_);
        if (Failed(result)) {
            instrument_->Release();
            instrument_ = nullptr;
        }
        return result;
    }

    Result Detach()
    {
        if (!instrument_)
            return kFalse;
        if (overload_) { // ACCEPTED
            std::printf("%s: switched off at overload\n", place_.c_str());
#ifdef BUG
            return kFalse; // GUILTY
#else
            overload_ = false;
#endif
        }
        Result result = instrument_->Unadvise(cookie_);
        instrument_->Release();
        instrument_ = nullptr;
        cookie_ = 0;
        return result;
    }

    Result OnWeight(long kilograms, bool steady) override
    {
        overload_ = kilograms > limit_;
        if (steady && !overload_)
            shown_ = kilograms;
        updates_++;
        return overload_ ? kFalse : kOk;
    }
    long shown() const { return shown_; }
    unsigned updates() const { return updates_; }
    const char *place() const { return place_.c_str(); }

private:
    ~Display() override
    {
        if (instrument_)
            instrument_->Release();
    }

    std::string place_;
    long limit_;
    IInstrument *instrument_ = nullptr;
    std::uint32_t cookie_ = 0;
    long shown_ = 0;
    bool overload_ = false;
    unsigned updates_ = 0;
};

/* One yard: a bridge with its displays. */
class Yard {
public:
    explicit Yard(const std::string &name) : bridge_(new Bridge(name)) {}
    ~Yard()
    {
        for (Display *display : displays_) {
            display->Detach();
            display->Release();
        }
        bridge_->Release();
    }
    Yard(const Yard &) = delete;
    Yard &operator=(const Yard &) = delete;

    void Equip(const std::string &place, long limit)
    {
        Display *display = new Display(place, limit);
        if (Failed(display->Attach(bridge_))) {
            display->Release();
            return;
        }
        displays_.push_back(display);
    }
    void Weigh(long empty, long laden)
    {
        bridge_->Load(empty, true);
        bridge_->Tare();
        bridge_->Load(laden / 2, false);
        bridge_->Load(laden, true);
    }
    void Report() const
    {
        for (const Display *display : displays_)
            std::printf("%s: %ld kg, %u updates\n", display->place(), display->shown(), display->updates());
    }

private:
    Bridge *bridge_;
    std::vector<Display *> displays_;
};

} // namespace weigh

int main()
{
    weigh::Yard quarry("quarry"), grain("grain silo"), scrap("scrap yard");

    quarry.Equip("quarry cabin", 60000);
    quarry.Equip("quarry gate", 60000);
    grain.Equip("silo office", 40000);
    scrap.Equip("scrap crane", 25000);
    scrap.Equip("scrap office", 40000);

    quarry.Weigh(14200, 39800);
    grain.Weigh(13100, 33050);
    grain.Weigh(12950, 36400);
    scrap.Weigh(9800, 38700);

    quarry.Report();
    grain.Report();
    scrap.Report();
    return 0;
}
