/*
 * summary: grading a tray passes the address of a smart pointer that still has the lens of the slot before, whose reference is lost
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: own
 * build: g++ -O2 -g
 */
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace optics {

enum Result : int32_t { OK = 0, EMPTY = 1, NO_INTERFACE = -1, BAD_INDEX = -2 };
enum InterfaceId : uint32_t { IID_OBJECT = 1, IID_LENS = 2, IID_COATED = 3 };

/* What every part of the bench derives from. */
class Object {
public:
    Object() : refs_(1) {}
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;

    uint32_t AddRef()
    {
        return refs_.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    uint32_t Release()
    {
        uint32_t left = refs_.fetch_sub(1, std::memory_order_acq_rel) - 1;
        if (left == 0)
            delete this;
        return left;
    }

    virtual Result QueryInterface(InterfaceId iid, void **out)
    {
        if (iid != IID_OBJECT)
            return NO_INTERFACE;
        AddRef();
        *out = this;
        return OK;
    }

protected:
    virtual ~Object() = default;

private:
    std::atomic<uint32_t> refs_;
};

/* Owns one reference. */
template <class T> class Ref {
public:
    Ref() = default;
    Ref(const Ref &other) : p_(other.p_) { if (p_) p_->AddRef(); }
    Ref(Ref &&other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
    ~Ref() { if (p_) p_->Release(); }

    Ref &operator=(Ref other) noexcept
    {
        std::swap(p_, other.p_);
        return *this;
    }

    static Ref adopt(T *p)
    {
        Ref r;
        r.p_ = p;
        return r;
    }

    void reset()
    {
        if (T *old = std::exchange(p_, nullptr))
            old->Release();
    }

    T **operator&() { return &p_; } /* ACCEPTED */
    T *get() const { return p_; }
    T *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

class Lens : public Object {
public:
    Lens(std::string serial, double dioptre) : serial_(std::move(serial)), dioptre_(dioptre) {}

    Result QueryInterface(InterfaceId iid, void **out) override
    {
        if (iid != IID_LENS)
            return Object::QueryInterface(iid, out);
        AddRef();
        *out = this;
        return OK;
    }

    const std::string &serial() const { return serial_; }
    double dioptre() const { return dioptre_; }
    void grade(char g) { grade_ = g; }
    char grade() const { return grade_; }

private:
    std::string serial_;
    double dioptre_;
    char grade_ = '-';
};

class CoatedLens : public Lens {
public:
    CoatedLens(std::string serial, double dioptre, int layers) : Lens(std::move(serial), dioptre), layers_(layers) {}

    Result QueryInterface(InterfaceId iid, void **out) override
    {
        if (iid != IID_COATED)
            return Lens::QueryInterface(iid, out);
        AddRef();
        *out = this;
        return OK;
    }

    int layers() const { return layers_; }

private:
    int layers_;
};

/* A tray has a fixed number of slots, some of them empty. */
class Tray : public Object {
public:
    Tray(std::string label, size_t slots) : label_(std::move(label)), slots_(slots) {}

    Result Place(size_t index, Lens *lens)
    {
        if (index >= slots_.size())
            return BAD_INDEX;
        lens->AddRef();
        slots_[index] = Ref<Lens>::adopt(lens);
        return OK;
    }

    Result GetSlot(size_t index, Lens **out) const
    {
        if (index >= slots_.size())
            return BAD_INDEX;
        Lens *lens = slots_[index].get();
        if (!lens)
            return EMPTY;
        lens->AddRef();
        *out = lens;
        return OK;
    }

    size_t size() const { return slots_.size(); }
    const std::string &label() const { return label_; }

private:
    std::string label_;
    std::vector<Ref<Lens>> slots_;
};

class Bench {
public:
    Ref<Tray> tray(const std::string &label, size_t slots)
    {
        Ref<Tray> tray = Ref<Tray>::adopt(new Tray(label, slots));
        trays_.push_back(tray);
        return tray;
    }

    int gradeTray(const Tray &tray);
    int countLayers() const;
    Ref<Lens> strongest() const;

    std::vector<Ref<Lens>> rejects() const { return rejects_; }

private:
    static char judge(const Lens &lens)
    {
        double d = lens.dioptre() < 0 ? -lens.dioptre() : lens.dioptre();
        return d < 2.0 ? 'A' : d < 5.0 ? 'B' : 'C';
    }

    std::vector<Ref<Tray>> trays_;
    std::vector<Ref<Lens>> rejects_;
};

int Bench::gradeTray(const Tray &tray)
{
    Ref<Lens> lens;
    int graded = 0;

    for (size_t i = 0; i < tray.size(); i++) {
#ifndef BUG
        lens.reset();
#endif
        Result result = tray.GetSlot(i, &lens); /* GUILTY */
        if (result == EMPTY)
            continue;
        if (result != OK)
            break;
        lens->grade(judge(*lens.get()));
        if (lens->grade() == 'C')
            rejects_.push_back(lens);
        graded++;
    }
    return graded;
}

int Bench::countLayers() const
{
    int layers = 0;

    for (const Ref<Tray> &tray : trays_) {
        for (size_t i = 0; i < tray->size(); i++) {
            Ref<Lens> lens;
            void *raw = nullptr;
            if (tray->GetSlot(i, &lens) != OK)
                continue;
            if (lens->QueryInterface(IID_COATED, &raw) != OK)
                continue;
            Ref<CoatedLens> coated = Ref<CoatedLens>::adopt(static_cast<CoatedLens *>(raw));
            layers += coated->layers();
        }
    }
    return layers;
}

Ref<Lens> Bench::strongest() const
{
    Ref<Lens> best;

    for (const Ref<Tray> &tray : trays_) {
        for (size_t i = 0; i < tray->size(); i++) {
            Ref<Lens> lens;
            if (tray->GetSlot(i, &lens) == OK && (!best || lens->dioptre() > best->dioptre()))
                best = lens;
        }
    }
    return best;
}

} // namespace optics

using namespace optics;

int main()
{
    Bench bench;
    Ref<Tray> plain = bench.tray("plain", 5), coated = bench.tray("coated", 4), spare = bench.tray("spare", 2);

    for (size_t i = 0; i < plain->size(); i++) {
        if (i == 3)
            continue;
        Ref<Lens> lens = Ref<Lens>::adopt(new Lens("P" + std::to_string(100 + i), 0.75 + 1.5 * double(i)));
        plain->Place(i, lens.get());
    }
    for (size_t i = 0; i < 2; i++) {
        Ref<Lens> lens = Ref<Lens>::adopt(new CoatedLens("C" + std::to_string(200 + i), -1.0 - 2.5 * double(i), 3 + int(i)));
        if (coated->Place(2 * i, lens.get()) != OK)
            std::printf("no room for %s\n", lens->serial().c_str());
    }
    Ref<Lens> sample = Ref<Lens>::adopt(new Lens("S1", 3.5));
    spare->Place(1, sample.get());

    int graded = 0;
    for (const Tray *tray : { plain.get(), coated.get(), spare.get() })
        graded += bench.gradeTray(*tray);
    std::printf("%d graded, %d layers\n", graded, bench.countLayers());
    for (const Ref<Lens> &lens : bench.rejects())
        std::printf("rejected %s %c\n", lens->serial().c_str(), lens->grade());
    if (Ref<Lens> best = bench.strongest())
        std::printf("strongest %s %+.2f\n", best->serial().c_str(), best->dioptre());
    return 0;
}
