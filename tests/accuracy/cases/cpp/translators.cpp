/* summary: CEnumTranslators::Clone copies the array of pointers without an AddRef for each of them, and the clone's destructor releases them
 * kind: missing-get
 * counts: deficit
 * objects: 4
 * track: auto
 * build: g++ -std=c++17 -O0 -g
 * exit: 0
 */
// translators - an agency's catalogue of translators for language pairs, with
// the usual enumerators on it, and jobs that book a translator.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

typedef int HRESULT;
typedef unsigned int ULONG;
#define S_OK 0
#define S_FALSE 1
#define E_NOTFOUND (-2)

struct IUnknown
{
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;
};

struct ITranslator : IUnknown
{
    virtual const std::string &Name() = 0;
    virtual bool Speaks(const std::string &language) = 0;
    virtual int Price(int words) = 0;
};

struct IEnumTranslators : IUnknown
{
    virtual HRESULT Next(ULONG wanted, ITranslator **items, ULONG *fetched) = 0;
    virtual HRESULT Skip(ULONG count) = 0;
    virtual HRESULT Reset() = 0;
    virtual HRESULT Clone(IEnumTranslators **ppenum) = 0;
};

class CTranslator final : public ITranslator
{
public:
    CTranslator(const std::string &name, const std::string &language, int rate)
        : m_name(name), m_language(language), m_rate(rate), m_refs(1) {}

    ULONG AddRef() override { return ++m_refs; }

    ULONG Release() override
    {
        ULONG left = --m_refs;
        if (left == 0)
            delete this;
        return left;
    }

    const std::string &Name() override { return m_name; }
    bool Speaks(const std::string &language) override { return m_language == language; }
    int Price(int words) override { return m_rate * words / 100; }

private:
    ~CTranslator() {}

    std::string m_name;
    std::string m_language;
    int m_rate;
    ULONG m_refs;
};

class CEnumTranslators final : public IEnumTranslators
{
public:
    // Takes over one reference to each of the items.
    CEnumTranslators(std::vector<ITranslator *> items, size_t at) : m_items(std::move(items)), m_at(at), m_refs(1) {}

    ULONG AddRef() override { return ++m_refs; }

    ULONG Release() override
    {
        ULONG left = --m_refs;
        if (left == 0)
            delete this;
        return left;
    }

    HRESULT Next(ULONG wanted, ITranslator **items, ULONG *fetched) override
    {
        ULONG n = 0;

        while (n < wanted && m_at < m_items.size())
        {
            items[n] = m_items[m_at++];
            items[n++]->AddRef();
        }
        if (fetched)
            *fetched = n;
        return n == wanted ? S_OK : S_FALSE;
    }

    HRESULT Skip(ULONG count) override
    {
        m_at = std::min(m_at + count, m_items.size());
        return m_at < m_items.size() ? S_OK : S_FALSE;
    }

    HRESULT Reset() override { return m_at = 0, S_OK; }

    HRESULT Clone(IEnumTranslators **ppenum) override
    {
        std::vector<ITranslator *> copy(m_items);  // ACCEPTED

#ifndef BUG
        for (ITranslator *item : copy)
            item->AddRef();
#endif
        *ppenum = new CEnumTranslators(std::move(copy), m_at);  // GUILTY
        return S_OK;
    }

private:
    ~CEnumTranslators()
    {
        for (ITranslator *item : m_items)
            item->Release();  // ACCEPTED
    }

    std::vector<ITranslator *> m_items;
    size_t m_at;
    ULONG m_refs;
};

struct Releaser
{
    void operator()(IUnknown *p) const { p->Release(); }
};

template <class T>
using Held = std::unique_ptr<T, Releaser>;

class Catalogue
{
public:
    Catalogue() = default;
    Catalogue(const Catalogue &) = delete;
    ~Catalogue()
    {
        for (CTranslator *t : m_all)
            t->Release();
    }

    void Add(const std::string &name, const std::string &language, int rate)
    {
        m_all.push_back(new CTranslator(name, language, rate));
    }

    void Enum(const std::string &language, IEnumTranslators **ppenum)
    {
        std::vector<ITranslator *> matching;

        for (CTranslator *t : m_all)
            if (language.empty() || t->Speaks(language))
            {
                t->AddRef();
                matching.push_back(t);
            }
        *ppenum = new CEnumTranslators(std::move(matching), 0);
    }

private:
    std::vector<CTranslator *> m_all;
};

struct Job
{
    int words;
    std::vector<Held<ITranslator>> team;
};

static int CountOf(IEnumTranslators *each)
{
    ITranslator *chunk[3];
    ULONG got = 0;
    int n = 0;

    each->Reset();
    do
    {
        each->Next(3, chunk, &got);
        for (ULONG i = 0; i < got; ++i)
            chunk[i]->Release();
        n += got;
    } while (got == 3);
    each->Reset();
    return n;
}

// The cheapest one; with a reference for the caller.
static HRESULT Cheapest(IEnumTranslators *each, int words, ITranslator **best)
{
    ITranslator *t = nullptr;

    *best = nullptr;
    while (each->Next(1, &t, nullptr) == S_OK)
    {
        if (*best && (*best)->Price(words) <= t->Price(words))
        {
            t->Release();
            continue;
        }
        if (*best)
            (*best)->Release();
        *best = t;
    }
    return *best ? S_OK : E_NOTFOUND;
}

// A contract is read by every translator of its language but the first, each
// of them against all the ones after him.
static int Compare(IEnumTranslators *each, Job &job)
{
    ITranslator *t = nullptr;
    int sum = 0;

    IEnumTranslators *rest = nullptr;
    each->Skip(1);
    each->Clone(&rest);
    while (rest->Next(1, &t, nullptr) == S_OK)
    {
        sum += t->Price(job.words);
        t->Release();
    }
    rest->Release();

    each->Reset();
    while (each->Next(1, &t, nullptr) == S_OK)
        job.team.emplace_back(t);
    return sum;
}

int main()
{
    static const char *const languages[] = {"de", "fr", "pl", "es", "it"};
    Catalogue catalogue;
    std::vector<Job> jobs;
    int total = 0, compared = 0;

    jobs.reserve(64);
    for (int i = 0; i < 36; ++i)
        catalogue.Add("tr" + std::to_string(i), i % 9 == 4 ? "ko" : languages[i % 5], 700 + i * 37 % 300);

    for (int i = 0; i < 40; ++i)
    {
        const std::string language = i == 17 ? "ko" : languages[i * 3 % 5];
        IEnumTranslators *raw = nullptr;

        jobs.push_back(Job{200 + i * 10, {}});
        catalogue.Enum(language, &raw);
        Held<IEnumTranslators> each(raw);
        if (i == 17)
        {
            compared += Compare(each.get(), jobs.back());
            continue;
        }
        ITranslator *best;
        if (Cheapest(each.get(), jobs.back().words, &best) != S_OK)
            continue;
        total += best->Price(jobs.back().words) * CountOf(each.get());
        jobs.back().team.emplace_back(best);
    }
    for (const Job &job : jobs)
        for (auto &t : job.team)
            total += static_cast<int>(t->Name().size());
    std::printf("%zu jobs, total %d, compared %d\n", jobs.size(), total, compared);
    return 0;
}
