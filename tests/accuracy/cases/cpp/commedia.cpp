/* summary: Graph::Append(): after Adopt() the graph owns the filter's reference, but when Connect() then fails the common cleanup releases it once more; the graph's list is left with a dangling pointer, which its destructor stops and releases again.
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: auto
 * build: g++ -std=c++17 -g -O2
 * exit: 0
 */
// A tiny COM: interface ids, result codes, interfaces.
#include <cstdint>

typedef int32_t HRESULT;
enum : HRESULT {
    S_OK = 0,
    E_NOINTERFACE = int32_t(0x80004002),
    E_INVALIDARG = int32_t(0x80070057),
    VFW_E_NO_TYPES = int32_t(0x80040207),
};
#define SUCCEEDED(hr) ((hr) >= 0)
#define FAILED(hr) ((hr) < 0)

enum IID { IID_IUnknown, IID_IFilter, IID_IPin, IID_IControl };

struct IUnknown {
    virtual HRESULT QueryInterface(IID iid, void **out) = 0;
    virtual uint32_t AddRef() = 0;
    virtual uint32_t Release() = 0;
};

struct IFilter : IUnknown {
    virtual const char *Name() = 0;
};

struct IPin : IUnknown {
    virtual HRESULT Connect(IPin *upstream) = 0;
    virtual unsigned Formats() = 0;
    virtual int32_t Pull(unsigned frame) = 0;
};

struct IControl : IUnknown {
    virtual HRESULT Run() = 0;
    virtual HRESULT Stop() = 0;
};

// Both return an interface pointer which the caller has to release.
HRESULT CreateFilter(const char *kind, IID iid, void **out);

#include <atomic>
#include <cstring>

namespace {

enum Format : unsigned { RGB = 1, YUV = 2, GREY = 4 };

struct Kind {
    const char *name;
    unsigned accepts, produces;
    int mul, add;
};

const Kind kinds[] = {
    {"camera", 0, YUV, 0, 3},   {"file", 0, RGB | YUV, 0, 17},
    {"scan", 0, GREY, 0, 5},    {"scale", RGB | YUV, RGB | YUV, 2, 1},
    {"csc", YUV, RGB, 3, -2},   {"gain", RGB | YUV | GREY, RGB | YUV | GREY, 5, 4},
    {"screen", RGB | YUV, 0, 1, 0}, {"disk", RGB | YUV | GREY, 0, 1, 7},
};

class Filter final : public IFilter, public IPin, public IControl {
public:
    explicit Filter(const Kind &k) : refs_(1), kind_(k) {}

    HRESULT QueryInterface(IID iid, void **out) override
    {
        switch (iid) {
        case IID_IUnknown:
        case IID_IFilter: *out = static_cast<IFilter *>(this); break;
        case IID_IPin: *out = static_cast<IPin *>(this); break;
        case IID_IControl: *out = static_cast<IControl *>(this); break;
        default: *out = nullptr; return E_NOINTERFACE;
        }
        AddRef();
        return S_OK;
    }
    uint32_t AddRef() override { return refs_.fetch_add(1) + 1; }
    uint32_t Release() override
    {
        uint32_t left = refs_.fetch_sub(1) - 1;
        if (left == 0)
            delete this;
        return left;
    }

    const char *Name() override { return kind_.name; }

    HRESULT Connect(IPin *up) override
    {
        unsigned common = kind_.accepts & (up ? up->Formats() : 0);
        if (!common)
            return VFW_E_NO_TYPES;
        format_ = common & -common;
        up->AddRef();
        if (upstream_)
            upstream_->Release();
        upstream_ = up;
        return S_OK;
    }
    unsigned Formats() override
    {
        // plain processing filters put out what they got
        return kind_.accepts == kind_.produces ? format_ : kind_.produces;
    }
    int32_t Pull(unsigned frame) override
    {
        int32_t v = upstream_ ? upstream_->Pull(frame) : int32_t(frame);
        return (running_ ? v * kind_.mul + kind_.add : v) & 0xffffff;
    }

    HRESULT Run() override { running_ = true; return S_OK; }
    HRESULT Stop() override { running_ = false; return S_OK; }

private:
    ~Filter()
    {
        if (upstream_)
            upstream_->Release();
    }
    std::atomic<uint32_t> refs_;
    const Kind &kind_;
    IPin *upstream_ = nullptr;
    unsigned format_ = 0;
    bool running_ = false;
};

} // namespace

HRESULT CreateFilter(const char *kind, IID iid, void **out)
{
    for (const Kind &k : kinds) {
        if (std::strcmp(k.name, kind) == 0) {
            Filter *f = new Filter(k);
            HRESULT hr = f->QueryInterface(iid, out);
            f->Release();
            return hr;
        }
    }
    *out = nullptr;
    return E_INVALIDARG;
}

// commedia - build and run media pipelines from an embedded list
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

const char *const pipelines[] = {
    "camera|csc|gain|screen", "file|scale|screen", "scan|gain|disk",
    "file|gain|gain|disk",    "camera|scale|csc|screen",
    "scan|gain|screen", // grey pictures do not fit the screen
    "file|disk",              "camera|csc|scale|gain|disk",
    "camera|equalize|screen", // no such filter
    "file|csc|csc2|disk",     "camera|gain|gain|screen",
};

struct Stats {
    unsigned ok = 0, unknown = 0, mismatch = 0;
    uint64_t sum = 0;
} stats;

class Graph {
public:
    ~Graph()
    {
        for (size_t i = controls_.size(); i-- > 0;) {
            controls_[i]->Stop();
            controls_[i]->Release();
        }
    }

    // Creates a filter and connects it behind `prev`; hands out its pin.
    HRESULT Append(const char *kind, IPin *prev, IPin **pin)
    {
        IControl *ctl = nullptr;
        IPin *in = nullptr;
        bool attached = false;

        HRESULT hr = CreateFilter(kind, IID_IControl, (void **)&ctl);
        if (FAILED(hr))
            goto done;
        hr = ctl->QueryInterface(IID_IPin, (void **)&in);
        if (FAILED(hr))
            goto done;

        Adopt(ctl);
        attached = true;

        if (prev) {
            hr = in->Connect(prev);
            if (FAILED(hr))
                goto done;
        }
        *pin = in;
        in = nullptr;

    done:
        if (in)
            in->Release();
#ifdef BUG
        if (FAILED(hr) && ctl)
            ctl->Release();                         /* GUILTY */
#else
        if (FAILED(hr) && ctl && !attached)
            ctl->Release();
#endif
        (void)attached;
        return hr;
    }

    void Run()
    {
        for (IControl *c : controls_)
            c->Run();
    }
    size_t Size() const { return controls_.size(); }

private:
    // The graph takes over the caller's reference.
    void Adopt(IControl *c) { controls_.push_back(c); }

    std::vector<IControl *> controls_;
};

HRESULT play(const char *desc, unsigned frames)
{
    Graph graph;
    IPin *last = nullptr;
    HRESULT hr = S_OK;
    std::string line = desc;

    for (char *tok = strtok(&line[0], "|"); tok; tok = strtok(nullptr, "|")) {
        IPin *pin = nullptr;
        hr = graph.Append(tok, last, &pin);
        if (FAILED(hr))
            break;
        if (last)
            last->Release();
        last = pin;
    }

    if (SUCCEEDED(hr)) {
        graph.Run();
        for (unsigned f = 0; f < frames; ++f)
            stats.sum = stats.sum * 131 + uint64_t(last->Pull(f));
        IFilter *info = nullptr;
        if (SUCCEEDED(last->QueryInterface(IID_IFilter, (void **)&info))) {
            stats.sum ^= std::strlen(info->Name()) + graph.Size();
            info->Release();
        }
    }
    if (last)
        last->Release();
    return hr;
}

} // namespace

int main()
{
    for (unsigned round = 0; round < 3; ++round) {
        for (const char *desc : pipelines) {
            switch (play(desc, 20 + round)) {
            case S_OK: stats.ok++; break;
            case E_INVALIDARG: stats.unknown++; break;
            default: stats.mismatch++; break;
            }
        }
    }
    std::printf("played %u, unknown filter %u, format mismatch %u, sum %016llx\n",
                stats.ok, stats.unknown, stats.mismatch,
                (unsigned long long)stats.sum);
    return 0;
}
