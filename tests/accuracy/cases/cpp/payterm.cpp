/* summary: CreateDriver returns at once when the new driver has no such interface, and forgets the reference that the construction gave to it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: auto
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// payterm - opens the devices of the tills of a shop.  Drivers are COM-like
// components made by class id; a till asks for the interface that it needs.

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

using HRESULT = int32_t;
using ULONG = uint32_t;

constexpr HRESULT S_OK = 0;
constexpr HRESULT E_NOINTERFACE = static_cast<HRESULT>(0x80004002u);
constexpr HRESULT REGDB_E_CLASSNOTREG = static_cast<HRESULT>(0x80040154u);

inline bool FAILED(HRESULT hr) { return hr < 0; }

enum class Iid { Unknown, Driver, CardReader, ReceiptPrinter, Display };

struct IUnknown
{
    static constexpr Iid iid = Iid::Unknown;
    virtual HRESULT QueryInterface(Iid iid, void **ppv) = 0;
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;

protected:
    virtual ~IUnknown() = default;
};

struct IDriver : IUnknown
{
    static constexpr Iid iid = Iid::Driver;
    virtual const char *Model() = 0;
};

struct ICardReader : IUnknown
{
    static constexpr Iid iid = Iid::CardReader;
    virtual int Charge(int cents) = 0;
};

struct IReceiptPrinter : IUnknown
{
    static constexpr Iid iid = Iid::ReceiptPrinter;
    virtual void Line(const std::string &text) = 0;
    virtual int Lines() = 0;
};

struct IDisplay : IUnknown
{
    static constexpr Iid iid = Iid::Display;
    virtual void Show(const std::string &text) = 0;
};

template <class T>
class ComPtr
{
public:
    ComPtr() = default;
    ComPtr(const ComPtr &o) : m_p(o.m_p) { if (m_p) m_p->AddRef(); }
    ComPtr(ComPtr &&o) noexcept : m_p(std::exchange(o.m_p, nullptr)) {}
    ~ComPtr() { Reset(); }
    ComPtr &operator=(ComPtr o) noexcept { std::swap(m_p, o.m_p); return *this; }

    void Reset()
    {
        if (T *p = std::exchange(m_p, nullptr))
            p->Release();
    }

    void **Put()
    {
        Reset();
        return reinterpret_cast<void **>(&m_p);
    }

    template <class U>
    HRESULT As(ComPtr<U> &out) const { return m_p->QueryInterface(U::iid, out.Put()); }

    T *operator->() const { return m_p; }
    explicit operator bool() const { return m_p != nullptr; }

private:
    T *m_p = nullptr;
};

// Everything that the drivers have in common; the first interface is IDriver.
template <class... I>
class CDriver : public IDriver, public I...
{
public:
    CDriver(const char *model, const std::string &port) : m_model(model), m_port(port) {}

    HRESULT QueryInterface(Iid iid, void **ppv) override
    {
        *ppv = nullptr;
        if (iid == Iid::Unknown || iid == Iid::Driver)
            *ppv = static_cast<IDriver *>(this);
        ((iid == I::iid ? void(*ppv = static_cast<I *>(this)) : void()), ...);
        if (!*ppv)
            return E_NOINTERFACE;
        AddRef();
        return S_OK;
    }

    ULONG AddRef() override { return ++m_refs; }

    ULONG Release() override
    {
        ULONG left = --m_refs;
        if (!left)
            delete this;
        return left;
    }

    const char *Model() override { return m_model; }

protected:
    ~CDriver() override = default;

    const char *m_model;
    std::string m_port;

private:
    ULONG m_refs = 1;
};

class CPinpad : public CDriver<ICardReader, IDisplay>
{
public:
    explicit CPinpad(const std::string &port) : CDriver("pinpad", port) {}
    int Charge(int cents) override { m_total += cents; return m_total; }
    void Show(const std::string &text) override { m_text = text; }

private:
    int m_total = 0;
    std::string m_text;
};

class CThermal : public CDriver<IReceiptPrinter>
{
public:
    explicit CThermal(const std::string &port) : CDriver("thermal", port) {}
    void Line(const std::string &text) override { m_paper += text + "\n"; ++m_lines; }
    int Lines() override { return m_lines; }

private:
    std::string m_paper;
    int m_lines = 0;
};

class CKiosk : public CDriver<ICardReader, IReceiptPrinter, IDisplay>
{
public:
    explicit CKiosk(const std::string &port) : CDriver("kiosk", port) {}
    int Charge(int cents) override { return cents; }
    void Line(const std::string &) override { ++m_lines; }
    int Lines() override { return m_lines; }
    void Show(const std::string &) override {}

private:
    int m_lines = 0;
};

template <class T>
HRESULT CreateDriver(const std::string &port, Iid iid, void **ppv)
{
    T *driver = new T(port);  // ACCEPTED
    HRESULT hr = driver->QueryInterface(iid, ppv);
#ifdef BUG
    if (FAILED(hr))
        return hr;  // GUILTY
#endif
    driver->Release();
    return hr;
}

using Creator = HRESULT (*)(const std::string &, Iid, void **);

HRESULT CreateInstance(const std::string &clsid, const std::string &port, Iid iid, void **ppv)
{
    static const std::map<std::string, Creator> classes = {
        {"Shop.Pinpad", CreateDriver<CPinpad>},
        {"Shop.Thermal", CreateDriver<CThermal>},
        {"Shop.Kiosk", CreateDriver<CKiosk>},
    };
    auto at = classes.find(clsid);

    *ppv = nullptr;
    return at == classes.end() ? REGDB_E_CLASSNOTREG : at->second(port, iid, ppv);
}

struct Till
{
    std::string name;
    ComPtr<ICardReader> reader;
    ComPtr<IReceiptPrinter> printer;
};

// A till with one box for all takes the printer from its card reader.
HRESULT OpenTill(Till &till, const char *readerClass, const char *printerClass)
{
    HRESULT hr = CreateInstance(readerClass, till.name + "/a", Iid::CardReader, till.reader.Put());

    if (FAILED(hr))
        return hr;
    if (till.reader.As(till.printer) == S_OK)
        return S_OK;
    return CreateInstance(printerClass, till.name + "/b", Iid::ReceiptPrinter, till.printer.Put());
}

void Greet(const Till &till)
{
    ComPtr<IDisplay> display;

    if (till.reader.As(display) == S_OK)
        display->Show("Welcome to till " + till.name);
}

int main()
{
    static const struct { const char *reader, *printer; } plan[] = {
        {"Shop.Pinpad", "Shop.Thermal"}, {"Shop.Kiosk", "Shop.Thermal"},
        {"Shop.Pinpad", "Shop.Thermal"}, {"Shop.Pinpad", "Shop.Nothing"},
        {"Shop.Kiosk", "Shop.Kiosk"},    {"Shop.Pinpad", "Shop.Thermal"},
    };
    std::vector<Till> tills;
    int closed = 0, cents = 0, lines = 0;

    for (int i = 0; i < 30; ++i)
    {
        Till till{"T" + std::to_string(i), {}, {}};
        const char *reader = plan[i % 6].reader;
        const char *printer = plan[i % 6].printer;

        // Three entries of the shop's list mix the two columns up.
        if (i == 8)
            reader = "Shop.Thermal";
        if (i == 14 || i == 23)
            printer = "Shop.Pinpad";
        if (FAILED(OpenTill(till, reader, printer)))
        {
            ++closed;
            continue;
        }
        Greet(till);
        tills.push_back(till);
    }
    for (int sale = 0; sale < 200; ++sale)
    {
        Till &till = tills[sale * 7 % tills.size()];
        cents = (cents + till.reader->Charge(150 + sale)) % 100000;
        till.printer->Line("sale " + std::to_string(sale));
    }
    for (Till &till : tills)
    {
        ComPtr<IDriver> driver;
        till.printer.As(driver);
        lines += till.printer->Lines() * (driver->Model()[0] == 't' ? 1 : 2);
    }
    std::printf("%zu tills open, %d closed, checksum %d, %d lines\n", tills.size(), closed, cents, lines);
    return 0;
}
