/*
 * summary: PreviewPane keeps a counted pointer to the scanner that already owns it through its connection point
 * kind: cycle
 * counts: surplus
 * objects: 4
 * track: own
 * build: g++ -O2 -g
 */
// Scan station: devices publish pages to event sinks through a connection point.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace scan {

using HResult = int32_t;
constexpr HResult kOk = 0;
constexpr HResult kNoInterface = -1;
constexpr HResult kNoConnection = -2;

enum class Iid { Unknown, Source, ConnectionPoint, Sink, Pane };

struct IUnknown {
    virtual HResult QueryInterface(Iid iid, void **out) = 0;
    virtual uint32_t AddRef() = 0;
    virtual uint32_t Release() = 0;

protected:
    ~IUnknown() = default;
};

struct Page {
    unsigned number;
    unsigned width, height;
    std::vector<uint8_t> gray;
};

struct ISource : IUnknown {
    virtual unsigned Dpi() const = 0;
    virtual const char *Model() const = 0;
    virtual HResult Scan(unsigned pages) = 0;
};

struct ISink : IUnknown {
    virtual void OnConnected(ISource *source) = 0;
    virtual void OnPage(const Page &page) = 0;
    virtual void OnDisconnected() = 0;
};

struct IConnectionPoint : IUnknown {
    virtual HResult Advise(IUnknown *sink, uint32_t *cookie) = 0;
    virtual HResult Unadvise(uint32_t cookie) = 0;
};

struct IPane : IUnknown {
    virtual std::string Caption() const = 0;
    virtual unsigned Thumbnails() const = 0;
};

template <class T>
class ComPtr {
public:
    ComPtr() = default;
    ComPtr(const ComPtr &) = delete;
    ComPtr &operator=(const ComPtr &) = delete;
    ~ComPtr() { Assign(nullptr); }
    ComPtr &operator=(T *p)
    {
        if (p)
            p->AddRef();
        Assign(p);
        return *this;
    }
    T *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }
    T **Receive() { return &p_; }

private:
    void Assign(T *p)
    {
        T *old = p_;
        p_ = p;
        if (old)
            old->Release();
    }
    T *p_ = nullptr;
};

class Scanner final : public ISource, public IConnectionPoint {
public:
    Scanner(const char *model, unsigned dpi) : model_(model), dpi_(dpi) {}

    HResult QueryInterface(Iid iid, void **out) override
    {
        if (iid == Iid::Unknown || iid == Iid::Source)
            *out = static_cast<ISource *>(this);
        else if (iid == Iid::ConnectionPoint)
            *out = static_cast<IConnectionPoint *>(this);
        else {
            *out = nullptr;
            return kNoInterface;
        }
        AddRef();
        return kOk;
    }
    uint32_t AddRef() override { return ++refs_; }
    uint32_t Release() override
    {
        uint32_t left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }

    unsigned Dpi() const override { return dpi_; }
    const char *Model() const override { return model_.c_str(); }

    HResult Scan(unsigned pages) override
    {
        for (unsigned i = 0; i < pages; i++) {
            Page page{++pageCounter_, dpi_ / 10, dpi_ / 8, {}};
            page.gray.assign(page.width * page.height, uint8_t(40 + 7 * page.number));
            for (auto &entry : sinks_)
                entry.second->OnPage(page);
        }
        return kOk;
    }

    HResult Advise(IUnknown *unknown, uint32_t *cookie) override
    {
        ISink *sink = nullptr;
        HResult hr = unknown->QueryInterface(Iid::Sink, reinterpret_cast<void **>(&sink));
        if (hr != kOk)
            return hr;
        *cookie = nextCookie_++;
        sinks_[*cookie] = sink;
        sink->OnConnected(this);
        return kOk;
    }

    HResult Unadvise(uint32_t cookie) override
    {
        auto it = sinks_.find(cookie);
        if (it == sinks_.end())
            return kNoConnection;
        ISink *sink = it->second;
        sinks_.erase(it);
        sink->OnDisconnected();
        sink->Release();
        return kOk;
    }

private:
    ~Scanner()
    {
        for (auto &entry : sinks_) {
            entry.second->OnDisconnected();
            entry.second->Release();
        }
    }
    uint32_t refs_ = 1;
    uint32_t nextCookie_ = 100;
    std::map<uint32_t, ISink *> sinks_;
    std::string model_;
    unsigned dpi_;
    unsigned pageCounter_ = 0;
};

class PreviewPane final : public ISink, public IPane {
public:
    explicit PreviewPane(const char *title) : title_(title) {}

    HResult QueryInterface(Iid iid, void **out) override
    {
        if (iid == Iid::Unknown || iid == Iid::Sink)
            *out = static_cast<ISink *>(this);
        else if (iid == Iid::Pane)
            *out = static_cast<IPane *>(this);
        else {
            *out = nullptr;
            return kNoInterface;
        }
        AddRef();
        return kOk;
    }
    uint32_t AddRef() override { return ++refs_; }
    uint32_t Release() override
    {
        uint32_t left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }

    void OnConnected(ISource *source) override { source_ = source; } // ACCEPTED
    void OnDisconnected() override { source_ = nullptr; }
    void OnPage(const Page &page) override { thumbs_.push_back(page.gray[0]); }

    unsigned Thumbnails() const override { return unsigned(thumbs_.size()); }
    std::string Caption() const override
    {
        if (!source_)
            return title_ + " (offline)";
        return title_ + " @" + source_->Model() + " " + std::to_string(source_->Dpi()) + " dpi";
    }

private:
    ~PreviewPane() = default;
    uint32_t refs_ = 1;
    std::string title_;
    std::vector<uint8_t> thumbs_;
#ifdef BUG
    ComPtr<ISource> source_; // GUILTY
#else
    ISource *source_ = nullptr;
#endif
};

class PageCounter final : public ISink {
public:
    HResult QueryInterface(Iid iid, void **out) override
    {
        bool known = iid == Iid::Unknown || iid == Iid::Sink;
        *out = known ? static_cast<ISink *>(this) : nullptr;
        if (known)
            AddRef();
        return known ? kOk : kNoInterface;
    }
    uint32_t AddRef() override { return ++refs_; }
    uint32_t Release() override
    {
        uint32_t left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }
    void OnConnected(ISource *) override {}
    void OnDisconnected() override {}
    void OnPage(const Page &) override { pages_++; }
    unsigned Pages() const { return pages_; }

private:
    ~PageCounter() = default;
    uint32_t refs_ = 1;
    unsigned pages_ = 0;
};

} // namespace scan

using namespace scan;

static uint32_t connect(Scanner *scanner, ISink *sink)
{
    ComPtr<IConnectionPoint> point;
    uint32_t cookie = 0;
    if (scanner->QueryInterface(Iid::ConnectionPoint, reinterpret_cast<void **>(point.Receive())) == kOk)
        point->Advise(sink, &cookie);
    return cookie;
}

int main()
{
    Scanner *devices[3] = {new Scanner("flatbed-4", 300), new Scanner("sheetfed-9", 200), new Scanner("film-2", 600)};
    PreviewPane *panes[3] = {new PreviewPane("Letters"), new PreviewPane("Invoices"), new PreviewPane("Slides")};
    PageCounter *total = new PageCounter;
    uint32_t totals[3], views[3];

    for (int i = 0; i < 3; i++) {
        totals[i] = connect(devices[i], total);
        views[i] = connect(devices[i], panes[i]);
        devices[i]->Scan(2 + i);
    }
    devices[1]->Unadvise(views[1]);
    devices[1]->Scan(1);
    for (int i = 0; i < 3; i++) {
        printf("%s: %u thumbnails\n", panes[i]->Caption().c_str(), panes[i]->Thumbnails());
        devices[i]->Unadvise(totals[i]);
    }
    printf("%u pages\n", total->Pages());

    for (int i = 0; i < 3; i++) {
        panes[i]->Release();
        devices[i]->Release();
    }
    total->Release();
    return 0;
}
