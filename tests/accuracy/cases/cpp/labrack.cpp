/* summary: A ComPtr reused in a loop is filled through GetAddressOf(), which does not release the pointer it held
 * kind: overwritten
 * counts: surplus
 * objects: 7
 * track: own
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// labrack - driver layer for a rack of bench instruments.
//
// Every instrument is a component with two interfaces, IInstrument for
// measuring and ICalibration for the yearly paperwork.  Lifetime follows the
// usual COM rules.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

enum class Iid : std::uint32_t { Unknown = 1, Instrument, Calibration };

using HRes = int;
constexpr HRes kOk = 0;
constexpr HRes kNoInterface = -2;
constexpr HRes kNotFound = -3;

struct IUnknownLike {
    virtual HRes QueryInterface(Iid iid, void **out) = 0;
    virtual unsigned long AddRef() = 0;
    virtual unsigned long Release() = 0;

protected:
    ~IUnknownLike() = default;
};

struct IInstrument : IUnknownLike {
    static constexpr Iid iid = Iid::Instrument;
    virtual double Measure(unsigned tick) = 0;
    virtual const char *Name() const = 0;
    virtual unsigned Slot() const = 0;
};

struct ICalibration : IUnknownLike {
    static constexpr Iid iid = Iid::Calibration;
    virtual unsigned DaysLeft() const = 0;
    virtual HRes Recalibrate(double reference) = 0;
};

template <class T>
class ComPtr {
public:
    ComPtr() = default;
    ComPtr(const ComPtr &o) : p_(o.p_) { if (p_) p_->AddRef(); }
    ComPtr(ComPtr &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~ComPtr() { Reset(); }
    ComPtr &operator=(ComPtr o) noexcept { std::swap(p_, o.p_); return *this; }

    void Reset() { if (T *old = std::exchange(p_, nullptr)) old->Release(); }
    void Attach(T *p) { Reset(); p_ = p; }
    T *Detach() { return std::exchange(p_, nullptr); }
    T *Get() const { return p_; }
    T *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

    T **GetAddressOf() { return &p_; }
    T **ReleaseAndGetAddressOf() { Reset(); return &p_; }

    template <class U>
    HRes As(ComPtr<U> *out) const
    {
        return p_->QueryInterface(U::iid, reinterpret_cast<void **>(out->ReleaseAndGetAddressOf()));
    }

private:
    T *p_ = nullptr;
};

class Voltmeter final : public IInstrument, public ICalibration {
public:
    Voltmeter(unsigned slot, unsigned days)
        : slot_(slot), days_(days), name_("DVM-" + std::to_string(slot)) {}

    HRes QueryInterface(Iid iid, void **out) override
    {
        switch (iid) {
        case Iid::Unknown:
        case Iid::Instrument:
            *out = static_cast<IInstrument *>(this);
            break;
        case Iid::Calibration:
            *out = static_cast<ICalibration *>(this);
            break;
        default:
            *out = nullptr;
            return kNoInterface;
        }
        AddRef();
        return kOk;
    }
    unsigned long AddRef() override { return ++refs_; }
    unsigned long Release() override
    {
        unsigned long left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }

    double Measure(unsigned tick) override
    {
        return 5.0 + offset_ + 0.001 * ((slot_ * 7919u + tick * 104729u) % 100);
    }
    const char *Name() const override { return name_.c_str(); }
    unsigned Slot() const override { return slot_; }
    unsigned DaysLeft() const override { return days_; }
    HRes Recalibrate(double reference) override
    {
        offset_ = reference - 5.05;
        days_ = 365;
        return kOk;
    }

private:
    ~Voltmeter() = default;
    std::atomic<unsigned long> refs_{1};
    unsigned slot_;
    unsigned days_;
    double offset_ = 0.0;
    std::string name_;
};

class Rack {
public:
    void Plug(unsigned slot, unsigned days)
    {
        ComPtr<IInstrument> dev;
        dev.Attach(new Voltmeter(slot, days));
        devices_.push_back(std::move(dev));
    }
    std::size_t Count() const { return devices_.size(); }
    HRes GetInstrument(std::size_t i, IInstrument **out) const
    {
        if (i >= devices_.size())
            return kNotFound;
        *out = devices_[i].Get();
        (*out)->AddRef();
        return kOk;
    }
    HRes FindCalibration(unsigned slot, ICalibration **out) const
    {
        for (const auto &d : devices_)
            if (d->Slot() == slot)
                return d->QueryInterface(Iid::Calibration, reinterpret_cast<void **>(out));
        return kNotFound;
    }
    // Replaces the instrument in a slot by a fresh one.
    void Swap(unsigned slot)
    {
        for (auto &d : devices_)
            if (d->Slot() == slot)
                d.Attach(new Voltmeter(slot, 365));
    }

private:
    std::vector<ComPtr<IInstrument>> devices_;
};

struct Survey {
    double sum = 0;
    unsigned samples = 0;
    unsigned overdue = 0;
    unsigned recalibrated = 0;
};

static void MeasureAll(const Rack &rack, unsigned tick, Survey &s)
{
    for (std::size_t i = 0; i < rack.Count(); ++i) {
        ComPtr<IInstrument> dev;
        if (rack.GetInstrument(i, dev.GetAddressOf()) != kOk)
            continue;
        s.sum += dev->Measure(tick);
        ++s.samples;
        ComPtr<ICalibration> cal;
        if (dev.As(&cal) == kOk && cal->DaysLeft() < 30)
            ++s.overdue;
    }
}

// The technician brings a list of slots whose certificate runs out.
static unsigned RecalibrateSlots(const Rack &rack, const std::vector<unsigned> &slots, double ref)
{
    ComPtr<ICalibration> cal;
    unsigned done = 0;

    for (unsigned slot : slots) {
#ifdef BUG
        if (rack.FindCalibration(slot, cal.GetAddressOf()) != kOk) /* GUILTY */
#else
        if (rack.FindCalibration(slot, cal.ReleaseAndGetAddressOf()) != kOk)
#endif
            continue;
        if (cal->DaysLeft() < 30 && cal->Recalibrate(ref) == kOk)
            ++done;
    }
    return done;
}

int main()
{
    Rack rack;
    Survey survey;

    for (unsigned slot = 0; slot < 64; ++slot)
        rack.Plug(slot, slot % 8 == 5 ? 10 + slot % 16 : 40 + slot);

    for (unsigned tick = 0; tick < 60; ++tick) {
        MeasureAll(rack, tick, survey);
        if (tick == 30) {
            std::vector<unsigned> due;
            for (unsigned slot = 5; slot < 64; slot += 8)
                due.push_back(slot);
            survey.recalibrated += RecalibrateSlots(rack, due, 5.0);
        }
        if (tick % 6 == 4)
            rack.Swap(tick % 64);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }

    std::printf("%u samples, mean %.4f V, overdue %u, recalibrated %u\n", survey.samples,
                survey.sum / survey.samples, survey.overdue, survey.recalibrated);
    return 0;
}
