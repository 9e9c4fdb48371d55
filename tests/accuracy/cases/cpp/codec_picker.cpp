/*
 * summary: when the preferred codec lacks streaming, the fallback is created into the same pointer without releasing the first
 * kind: overwritten
 * counts: surplus
 * objects: 2
 * track: own
 * build: g++ -O0 -g
 */
// Voice recorder: codecs come from class factories that are found by class id.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace media {

typedef long HRESULT;
enum : HRESULT { OK = 0, FAIL_NOINTERFACE = -2, FAIL_CLASS = -3, FAIL_RATE = -4 };

struct Clsid {
    uint32_t value;
    bool operator==(const Clsid &o) const { return value == o.value; }
};
const Clsid CLSID_Wave = {0x57415645};
const Clsid CLSID_Adpcm = {0x41445043};
const Clsid CLSID_Ulaw = {0x554c4157};

enum Iid { IID_IUnknown, IID_IClassFactory, IID_ICodec, IID_IStreaming };

struct IUnknown {
    virtual HRESULT QueryInterface(Iid iid, void **out) = 0;
    virtual unsigned long AddRef() = 0;
    virtual unsigned long Release() = 0;
    virtual ~IUnknown() {}
};

struct ICodec : virtual IUnknown {
    virtual HRESULT Configure(unsigned rate) = 0;
    virtual std::vector<uint8_t> Encode(const std::vector<int16_t> &samples) = 0;
    virtual const char *Name() const = 0;
};

struct IStreaming : virtual IUnknown {
    virtual unsigned FrameBytes() const = 0;
};

struct IClassFactory : virtual IUnknown {
    virtual HRESULT CreateInstance(Iid iid, void **out) = 0;
};

/* Shares the counter of all classes of this module. */
class Object : public virtual IUnknown {
public:
    Object() : count(1) {}
    unsigned long AddRef() override { return ++count; }
    unsigned long Release() override
    {
        unsigned long left = --count;
        if (left == 0)
            delete this;
        return left;
    }

protected:
    unsigned long count;
};

class AdpcmCodec : public Object, public ICodec {
public:
    HRESULT QueryInterface(Iid iid, void **out) override
    {
        if (iid == IID_ICodec)
            *out = static_cast<ICodec *>(this);
        else if (iid == IID_IUnknown)
            *out = static_cast<IUnknown *>(this);
        else
            return *out = nullptr, FAIL_NOINTERFACE;
        AddRef();
        return OK;
    }
    HRESULT Configure(unsigned rate) override { return rate % 8000 ? FAIL_RATE : OK; }
    std::vector<uint8_t> Encode(const std::vector<int16_t> &samples) override
    {
        std::vector<uint8_t> out;
        int last = 0;
        for (size_t i = 0; i + 1 < samples.size(); i += 2) {
            int a = (samples[i] - last) >> 12, b = (samples[i + 1] - samples[i]) >> 12;
            last = samples[i + 1];
            out.push_back(uint8_t((a & 15) << 4 | (b & 15)));
        }
        return out;
    }
    const char *Name() const override { return "adpcm"; }
};

class LinearCodec : public Object, public ICodec, public IStreaming {
public:
    LinearCodec(const char *name, unsigned shift) : name_(name), shift_(shift) {}
    HRESULT QueryInterface(Iid iid, void **out) override
    {
        switch (iid) {
        case IID_IUnknown: *out = static_cast<IUnknown *>(this); break;
        case IID_ICodec: *out = static_cast<ICodec *>(this); break;
        case IID_IStreaming: *out = static_cast<IStreaming *>(this); break;
        default: *out = nullptr; return FAIL_NOINTERFACE;
        }
        AddRef();
        return OK;
    }
    HRESULT Configure(unsigned rate) override { return rate > 96000 ? FAIL_RATE : OK; }
    std::vector<uint8_t> Encode(const std::vector<int16_t> &samples) override
    {
        std::vector<uint8_t> out;
        for (int16_t s : samples)
            out.push_back(uint8_t(s >> shift_));
        return out;
    }
    const char *Name() const override { return name_.c_str(); }
    unsigned FrameBytes() const override { return 160; }

private:
    std::string name_;
    unsigned shift_;
};

class CodecFactory : public Object, public IClassFactory {
public:
    explicit CodecFactory(Clsid id) : id_(id) {}
    HRESULT QueryInterface(Iid iid, void **out) override
    {
        if (iid != IID_IClassFactory && iid != IID_IUnknown)
            return *out = nullptr, FAIL_NOINTERFACE;
        *out = static_cast<IClassFactory *>(this);
        AddRef();
        return OK;
    }
    HRESULT CreateInstance(Iid iid, void **out) override
    {
        IUnknown *made;
        if (id_ == CLSID_Adpcm)
            made = static_cast<ICodec *>(new AdpcmCodec);
        else
            made = static_cast<ICodec *>(new LinearCodec(id_ == CLSID_Ulaw ? "ulaw" : "wave", id_ == CLSID_Ulaw ? 6 : 8));
        HRESULT hr = made->QueryInterface(iid, out);
        made->Release();
        return hr;
    }

private:
    Clsid id_;
};

HRESULT GetClassObject(Clsid id, IClassFactory **out)
{
    if (!(id == CLSID_Wave || id == CLSID_Adpcm || id == CLSID_Ulaw)) {
        *out = nullptr;
        return FAIL_CLASS;
    }
    *out = new CodecFactory(id);
    return OK;
}

HRESULT CreateCodec(Clsid id, ICodec **out)
{
    IClassFactory *factory;
    HRESULT hr = GetClassObject(id, &factory);
    if (hr != OK)
        return hr;
    hr = factory->CreateInstance(IID_ICodec, reinterpret_cast<void **>(out));
    factory->Release();
    return hr;
}

} // namespace media

using namespace media;

class Recorder {
public:
    Recorder(std::string channel, unsigned rate) : channel_(std::move(channel)), rate_(rate) {}
    Recorder(const Recorder &) = delete;
    ~Recorder()
    {
        if (codec_)
            codec_->Release();
    }

    HRESULT Open(Clsid preferred, bool live)
    {
        HRESULT hr = CreateCodec(preferred, &codec_);
        if (hr != OK)
            return hr;
        if (live) {
            IStreaming *streaming = nullptr;
            if (codec_->QueryInterface(IID_IStreaming, reinterpret_cast<void **>(&streaming)) == OK) {
                frame_ = streaming->FrameBytes();
                streaming->Release();
            } else {
#ifndef BUG
                codec_->Release();
                codec_ = nullptr;
#endif
                hr = CreateCodec(CLSID_Ulaw, &codec_); // GUILTY
                if (hr != OK)
                    return hr;
                frame_ = 160;
            }
        }
        return codec_->Configure(rate_);
    }

    size_t Feed(const std::vector<int16_t> &samples)
    {
        std::vector<uint8_t> data = codec_->Encode(samples);
        size_t size = frame_ ? (data.size() + frame_ - 1) / frame_ * frame_ : data.size();
        written_ += size;
        return size;
    }

    void Report() const
    {
        printf("%-8s %-6s %zu bytes\n", channel_.c_str(), codec_ ? codec_->Name() : "-", written_);
    }

private:
    std::string channel_;
    unsigned rate_;
    unsigned frame_ = 0;
    size_t written_ = 0;
    ICodec *codec_ = nullptr;
};

int main()
{
    std::vector<int16_t> tone;
    for (int i = 0; i < 500; i++)
        tone.push_back(int16_t((i * 977) % 30000 - 15000));

    Recorder lobby("lobby", 8000), gate("gate", 16000), radio("radio", 44100), desk("desk", 8000), lift("lift", 8000);
    bool open = lobby.Open(CLSID_Wave, true) == OK && gate.Open(CLSID_Adpcm, true) == OK &&
                desk.Open(CLSID_Adpcm, false) == OK && lift.Open(CLSID_Adpcm, true) == OK;
    if (!open)
        return 1;
    if (radio.Open(CLSID_Adpcm, false) != FAIL_RATE)
        return 1;
    Recorder spare("spare", 8000);
    if (spare.Open(Clsid{0x4d503320}, false) != FAIL_CLASS)
        return 1;

    Recorder *active[] = {&lobby, &gate, &desk, &lift};
    for (int round = 0; round < 3; round++)
        for (Recorder *recorder : active)
            recorder->Feed(tone);
    for (Recorder *recorder : active)
        recorder->Report();
    spare.Report();
    return 0;
}
