/* summary: QueryInterface for the appraisal interface hands out the pointer without AddRef
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * build: g++ -O0 -g
 */
// Stock of a stamp dealer: a catalogue of lots behind COM-style interfaces, albums in which lots are offered, and the yearly
// valuation for the insurance company.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

namespace philately {

typedef int32_t HRESULT;
const HRESULT S_OK = 0;
const HRESULT E_POINTER = static_cast<HRESULT>(0x80004003u);
const HRESULT E_NOINTERFACE = static_cast<HRESULT>(0x80004002u);
const HRESULT E_NOTFOUND = static_cast<HRESULT>(0x80070490u);

enum class Iid { Unknown, Lot, Priced, Appraised, TextExport };

struct IUnknownLike {
    virtual HRESULT QueryInterface(Iid iid, void **out) = 0;
    virtual uint32_t AddRef() = 0;
    virtual uint32_t Release() = 0;
};

struct ILot : IUnknownLike {
    static constexpr Iid kIid = Iid::Lot;
    virtual unsigned Number() const = 0;
    virtual const char *Country() const = 0;
};

struct IPriced : IUnknownLike {
    static constexpr Iid kIid = Iid::Priced;
    virtual int AskingPrice() const = 0;
    virtual void Discount(int percent) = 0;
};

struct IAppraised : IUnknownLike {
    static constexpr Iid kIid = Iid::Appraised;
    virtual int Appraisal() const = 0;
    virtual int YearOfAppraisal() const = 0;
};

struct ITextExport : IUnknownLike {
    static constexpr Iid kIid = Iid::TextExport;
    virtual size_t Write(char *buffer, size_t size) const = 0;
};

template <class I> class ComPtr {
public:
    ComPtr() : p_(nullptr) {}
    ComPtr(const ComPtr &other) : p_(other.p_) {
        if (p_)
            p_->AddRef();
    }
    ComPtr(ComPtr &&other) noexcept : p_(other.p_) { other.p_ = nullptr; }
    ~ComPtr() { Reset(); }
    ComPtr &operator=(ComPtr other) noexcept {
        I *mine = p_;
        p_ = other.p_;
        other.p_ = mine;
        return *this;
    }
    void Reset() {
        if (I *old = p_) {
            p_ = nullptr;
            old->Release();
        }
    }
    void Attach(I *owned) {
        Reset();
        p_ = owned;
    }
    I *Get() const { return p_; }
    I *operator->() const { return p_; }
    explicit operator bool() const { return p_ != nullptr; }
    I **Put() {
        Reset();
        return &p_;
    }
    template <class J> HRESULT As(ComPtr<J> &out) const {
        return p_->QueryInterface(J::kIid, reinterpret_cast<void **>(out.Put()));
    }

private:
    I *p_;
};

// what every object of the dealer's database has
class Record {
public:
    explicit Record(uint64_t row) : row_(row) {}
    virtual ~Record() {}
    uint64_t Row() const { return row_; }

private:
    uint64_t row_;
};

class StampLot final : public Record, public ILot, public IPriced, public IAppraised, public ITextExport {
public:
    StampLot(unsigned number, const char *country, int price, int appraisal, int year)
        : Record(1000 + number), refs_(1), number_(number), price_(price), appraisal_(appraisal), year_(year) {
        snprintf(country_, sizeof country_, "%s", country);
    }

    HRESULT QueryInterface(Iid iid, void **out) override;
    uint32_t AddRef() override { return refs_.fetch_add(1, std::memory_order_relaxed) + 1; }
    uint32_t Release() override {
        uint32_t left = refs_.fetch_sub(1, std::memory_order_acq_rel) - 1;
        if (left == 0)
            delete this;
        return left;
    }

    unsigned Number() const override { return number_; }
    const char *Country() const override { return country_; }
    int AskingPrice() const override { return price_; }
    void Discount(int percent) override { price_ -= price_ * percent / 100; }
    int Appraisal() const override { return appraisal_; }
    int YearOfAppraisal() const override { return year_; }
    size_t Write(char *buffer, size_t size) const override {
        return static_cast<size_t>(snprintf(buffer, size, "%04u %-12s %6d", number_, country_, price_));
    }

private:
    ~StampLot() override {}
    std::atomic<uint32_t> refs_;
    unsigned number_;
    int price_, appraisal_, year_;
    char country_[64];
};

HRESULT StampLot::QueryInterface(Iid iid, void **out) {
    if (!out)
        return E_POINTER;
    *out = nullptr;
    switch (iid) {
    case Iid::Unknown:
    case Iid::Lot:
        *out = static_cast<ILot *>(this);
        break;
    case Iid::Priced:
        *out = static_cast<IPriced *>(this);
        break;
    case Iid::TextExport:
        *out = static_cast<ITextExport *>(this);
        break;
    case Iid::Appraised:
        // lots that no expert has seen do not have this interface
        if (appraisal_ <= 0)
            return E_NOINTERFACE;
        *out = static_cast<IAppraised *>(this); // GUILTY
#ifdef BUG
        return S_OK; // ACCEPTED
#else
        break;
#endif
    }
    if (!*out)
        return E_NOINTERFACE;
    AddRef();
    return S_OK;
}

class Catalogue {
public:
    HRESULT Create(unsigned number, const char *country, int price, int appraisal, int year) {
        ComPtr<ILot> lot;
        lot.Attach(new StampLot(number, country, price, appraisal, year));
        lots_.push_back(std::move(lot));
        return S_OK;
    }
    HRESULT Find(unsigned number, ILot **out) const {
        for (const ComPtr<ILot> &lot : lots_) {
            if (lot->Number() == number) {
                lot->AddRef();
                *out = lot.Get();
                return S_OK;
            }
        }
        *out = nullptr;
        return E_NOTFOUND;
    }
    const std::vector<ComPtr<ILot>> &Lots() const { return lots_; }

private:
    std::vector<ComPtr<ILot>> lots_;
};

class Album {
public:
    explicit Album(const char *title) : title_(title) { pages_.reserve(8); }
    HRESULT Mount(const Catalogue &catalogue, unsigned number) {
        ComPtr<ILot> lot;
        HRESULT hr = catalogue.Find(number, lot.Put());
        if (hr < 0)
            return hr;
        ComPtr<IPriced> priced;
        hr = lot.As(priced);
        if (hr < 0)
            return hr;
        pages_.push_back(std::move(priced));
        return S_OK;
    }
    int Offer(int percent) {
        int sum = 0;
        for (ComPtr<IPriced> &page : pages_) {
            page->Discount(percent);
            sum += page->AskingPrice();
        }
        return sum;
    }
    void Print() const {
        char line[80];
        printf("album %s\n", title_);
        for (const ComPtr<IPriced> &page : pages_) {
            ComPtr<ITextExport> text;
            if (page.As(text) >= 0 && text->Write(line, sizeof line) > 0)
                printf("  %s\n", line);
        }
    }

private:
    const char *title_;
    std::vector<ComPtr<IPriced>> pages_;
};

struct Valuation {
    int insured = 0;
    int outdated = 0;
    int unseen = 0;
};

// The insurer takes the expert's figure where there is a recent one, and half of the asking price otherwise.
static Valuation ValueStock(const Catalogue &catalogue, int this_year) {
    Valuation result;
    for (const ComPtr<ILot> &lot : catalogue.Lots()) {
        ComPtr<IAppraised> expert;
        if (lot.As(expert) >= 0) {
            result.insured += expert->Appraisal();
            if (this_year - expert->YearOfAppraisal() > 10)
                result.outdated++;
            continue;
        }
        ComPtr<IPriced> priced;
        if (lot.As(priced) < 0)
            continue;
        result.insured += priced->AskingPrice() / 2;
        result.unseen++;
    }
    return result;
}

} // namespace philately

int main() {
    using namespace philately;
    std::unique_ptr<Catalogue> catalogue(new Catalogue);
    catalogue->Create(12, "Baden", 2400, 2100, 2019);
    catalogue->Create(31, "Mauritius", 9800, 12500, 2003);
    catalogue->Create(47, "Sachsen", 310, 0, 0);
    catalogue->Create(58, "Toscana", 1750, 1600, 2015);
    catalogue->Create(63, "Helvetia", 90, 0, 0);
    catalogue->Create(77, "Bayern", 45, 0, 0);
    catalogue->Create(84, "Lombardia", 260, 0, 0);

    Album classics("classics"), alps("alps");
    int missing = 0;
    for (unsigned number : {12u, 31u, 47u, 99u})
        missing += classics.Mount(*catalogue, number) < 0;
    for (unsigned number : {58u, 63u, 77u})
        missing += alps.Mount(*catalogue, number) < 0;
    int offer = classics.Offer(5) + alps.Offer(10);
    classics.Print();
    alps.Print();

    Valuation value = ValueStock(*catalogue, 2021);
    printf("%d missing, offered for %d\n", missing, offer);
    printf("insured at %d, %d outdated, %d unseen\n", value.insured, value.outdated, value.unseen);
    catalogue.reset();
    return 0;
}
