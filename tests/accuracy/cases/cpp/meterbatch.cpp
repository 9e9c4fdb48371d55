/* summary: Importer::feed keeps its batch alive by hand with ref() and deref(); an exception of one of the checks passes the deref() by
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: auto
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
// meterbatch - reads batches of meter readings, has checks look at them, and
// books the accepted ones.  A check may throw the batch out of the importer
// while the importer is at work on it.

#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

template <typename T>
class RefCounted
{
public:
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;

    void ref() const { ++m_refCount; }

    void deref() const
    {
        if (--m_refCount)
            return;
        delete static_cast<const T *>(this);
    }

protected:
    RefCounted() = default;
    ~RefCounted() = default;

private:
    mutable unsigned m_refCount = 1;
};

template <typename T>
class RefPtr
{
public:
    RefPtr() = default;
    RefPtr(T *ptr) : m_ptr(ptr) { refIfNotNull(m_ptr); }
    RefPtr(const RefPtr &other) : m_ptr(other.m_ptr) { refIfNotNull(m_ptr); }
    RefPtr(RefPtr &&other) noexcept : m_ptr(other.leakRef()) {}

    ~RefPtr()
    {
        if (T *ptr = std::exchange(m_ptr, nullptr))
            ptr->deref();
    }

    RefPtr &operator=(RefPtr other) noexcept
    {
        std::swap(m_ptr, other.m_ptr);
        return *this;
    }

    T *get() const { return m_ptr; }
    T *operator->() const { return m_ptr; }
    T &operator*() const { return *m_ptr; }
    explicit operator bool() const { return m_ptr; }
    [[nodiscard]] T *leakRef() { return std::exchange(m_ptr, nullptr); }

    template <typename U>
    friend RefPtr<U> adoptRef(U *);

private:
    static void refIfNotNull(T *ptr)
    {
        if (ptr)
            ptr->ref();
    }

    T *m_ptr = nullptr;
};

template <typename T>
RefPtr<T> adoptRef(T *ptr)
{
    RefPtr<T> result;
    result.m_ptr = ptr;
    return result;
}

class Batch : public RefCounted<Batch>
{
public:
    static RefPtr<Batch> create(std::string source) { return adoptRef(new Batch(std::move(source))); }

    void add(int meter, double value) { m_readings.emplace_back(meter, value); }
    const std::string &source() const { return m_source; }
    const std::vector<std::pair<int, double>> &readings() const { return m_readings; }
    void setBooked() { m_booked = true; }
    bool booked() const { return m_booked; }

private:
    explicit Batch(std::string source) : m_source(std::move(source)) {}

    std::string m_source;
    std::vector<std::pair<int, double>> m_readings;
    bool m_booked = false;
};

class Importer
{
public:
    using Check = std::function<bool(Importer &, const Batch &)>;

    void addCheck(Check check) { m_checks.push_back(std::move(check)); }

    void open(RefPtr<Batch> batch)
    {
        const std::string &source = batch->source();
        m_open[source] = std::move(batch);
    }

    // For checks too: the batch is not of interest any more.
    void withdraw(const std::string &source) { m_open.erase(source); }

    Batch *find(const std::string &source) const
    {
        auto at = m_open.find(source);
        return at == m_open.end() ? nullptr : at->second.get();
    }

    // Answers whether the batch may be booked.
    bool feed(Batch *batch)
    {
        bool good = true;

        batch->ref();  // ACCEPTED
        try
        {
            for (const Check &check : m_checks)
                good = check(*this, *batch) && good;  // ACCEPTED
        }
        catch (...)
        {
#ifndef BUG
            batch->deref();
#endif
            throw;  // GUILTY
        }
        if (good)
            batch->setBooked();
        batch->deref();
        return good;
    }

    size_t stillOpen() const { return m_open.size(); }

private:
    std::map<std::string, RefPtr<Batch>> m_open;
    std::vector<Check> m_checks;
};

class Ledger
{
public:
    void book(RefPtr<Batch> batch)
    {
        for (const auto &reading : batch->readings())
            m_byMeter[reading.first] = batch;
        m_newest = std::move(batch);
    }

    double total() const
    {
        double sum = 0;

        for (const auto &entry : m_byMeter)
            for (const auto &reading : entry.second->readings())
                if (reading.first == entry.first)
                    sum += reading.second;
        return sum;
    }

    const RefPtr<Batch> &newest() const { return m_newest; }

private:
    std::map<int, RefPtr<Batch>> m_byMeter;
    RefPtr<Batch> m_newest;
};

static RefPtr<Batch> parse(const std::string &source, const std::string &text)
{
    RefPtr<Batch> batch = Batch::create(source);
    std::istringstream in(text);
    int meter;
    double value;
    char colon;

    while (in >> meter >> colon >> value)
        batch->add(meter, value);
    if (batch->readings().empty())
        return nullptr;
    return batch;
}

static std::string textOf(int n)
{
    std::ostringstream out;

    if (n % 13 == 12)
        return "";
    for (int i = 0; i < 3 + n % 4; ++i)
        out << (n * 5 + i * 3) % 40 << ":" << 10 + n * i % 90 << " ";
    // These offices send a reading that no meter can have.
    if (n == 11 || n == 27 || n == 40 || n == 58)
        out << "77:-3 ";
    return out.str();
}

int main()
{
    Importer importer;
    Ledger ledger;
    int booked = 0, refused = 0, broken = 0, empty = 0;

    importer.addCheck([](Importer &, const Batch &batch) { return batch.readings().size() < 6; });
    importer.addCheck([](Importer &in, const Batch &batch) {
        if (batch.source().size() % 5 || batch.readings()[0].second < 10)
            return true;
        in.withdraw(batch.source());
        return batch.readings().size() > 3;
    });
    importer.addCheck([](Importer &in, const Batch &batch) {
        for (const auto &reading : batch.readings())
            if (reading.second < 0)
            {
                in.withdraw(batch.source());
                throw std::range_error("meter " + std::to_string(reading.first));
            }
        return true;
    });

    for (int n = 0; n < 70; ++n)
    {
        const std::string source = "office-" + std::to_string(n * n);
        RefPtr<Batch> batch = parse(source, textOf(n));

        if (!batch)
        {
            ++empty;
            continue;
        }
        importer.open(std::move(batch));
        try
        {
            RefPtr<Batch> fed = importer.find(source);

            if (importer.feed(importer.find(source)))
            {
                ++booked;
                ledger.book(std::move(fed));
            }
            else
                ++refused;
            importer.withdraw(source);
        }
        catch (const std::range_error &error)
        {
            ++broken;
            std::printf("%s: %s\n", source.c_str(), error.what());
        }
    }
    std::printf("%d booked, %d refused, %d broken, %d empty, %zu open, newest %s, total %.1f\n", booked,
                refused, broken, empty, importer.stillOpen(), ledger.newest()->source().c_str(), ledger.total());
    return 0;
}
