// summary: ~ProofSession releases the checker and the sink but forgets the user's word list that AttachUserWords AddRef'd
// kind: missing-put
// counts: surplus
// objects: 4
// track: own
// build: clang++ -std=c++14 -O0 -g
// exit: 0
//
// Proofing of documents, with COM-like components: a dictionary per language,
// a word list per user, sinks that collect the findings.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

typedef long HRESULT;
typedef unsigned long ULONG;

static const HRESULT S_OK = 0;
static const HRESULT S_FALSE = 1;
static const HRESULT E_FAIL = -1;

#define FAILED(hr) ((hr) < 0)

struct IUnknown
{
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;

protected:
    virtual ~IUnknown() {}
};

struct IWords : IUnknown
{
    virtual HRESULT Contains(const char *word) = 0;
    virtual HRESULT Learn(const char *word) = 0;
    virtual int Count() = 0;
};

struct IFindings : IUnknown
{
    virtual void Report(int position, const char *word) = 0;
    virtual int Total() = 0;
};

template <class I>
class CComponent : public I
{
public:
    CComponent() : m_cRef(1) {}

    ULONG AddRef() override { return ++m_cRef; }

    ULONG Release() override
    {
        ULONG c = --m_cRef;
        if (c == 0)
            delete this;
        return c;
    }

private:
    ULONG m_cRef;
};

class CWordList : public CComponent<IWords>
{
public:
    explicit CWordList(bool learns) : m_learns(learns) {}

    HRESULT Contains(const char *word) override { return m_words.count(word) ? S_OK : S_FALSE; }

    HRESULT Learn(const char *word) override
    {
        if (!m_learns && m_sealed)
            return E_FAIL;
        m_words.insert(word);
        return S_OK;
    }

    int Count() override { return (int)m_words.size(); }
    void Seal() { m_sealed = true; }

private:
    std::set<std::string> m_words;
    bool m_learns;
    bool m_sealed = false;
};

class CFindings : public CComponent<IFindings>
{
public:
    void Report(int position, const char *word) override { m_found.push_back({position, word}); }
    int Total() override { return (int)m_found.size(); }

private:
    struct Finding
    {
        int position;
        std::string word;
    };
    std::vector<Finding> m_found;
};

HRESULT CreateDictionary(const char *words, IWords **ppv)
{
    CWordList *p = new CWordList(false);
    std::istringstream in(words);
    std::string w;

    while (in >> w)
        p->Learn(w.c_str());
    p->Seal();
    *ppv = p;
    return S_OK;
}

HRESULT CreateUserWords(IWords **ppv)
{
    *ppv = new CWordList(true);
    return S_OK;
}

// One document that is being proofed.
class ProofSession
{
public:
    ProofSession(IWords *dict, IFindings *sink) : m_dict(dict), m_sink(sink), m_user(nullptr)
    {
        m_dict->AddRef();
        m_sink->AddRef();
    }

    ~ProofSession()
    {
        m_sink->Release();  // ACCEPTED
#ifndef BUG
        if (m_user)
            m_user->Release();
#endif
        m_dict->Release();  // GUILTY
    }  // ACCEPTED

    ProofSession(const ProofSession &) = delete;
    ProofSession &operator=(const ProofSession &) = delete;

    void AttachUserWords(IWords *user)
    {
        if (user)
            user->AddRef();  // ACCEPTED
        if (m_user)
            m_user->Release();
        m_user = user;
    }

    void Check(const std::string &text)
    {
        std::istringstream in(text);
        std::string w;
        int at = 0;

        for (; in >> w; ++at)
        {
            if (m_dict->Contains(w.c_str()) == S_OK)
                continue;
            if (m_user && m_user->Contains(w.c_str()) == S_OK)
                continue;
            m_sink->Report(at, w.c_str());
            if (m_user && w.size() > 6)
                m_user->Learn(w.c_str());
        }
    }

private:
    IWords *m_dict;
    IFindings *m_sink;
    IWords *m_user;
};

struct User
{
    const char *name;
    IWords *words;
};

int main()
{
    static const char *const vocabulary[] = {"the", "parcel", "arrives", "tomorow", "postoffice", "and", "refund", "wensday"};
    User users[4] = {{"ada", nullptr}, {"bo", nullptr}, {"cy", nullptr}, {"di", nullptr}};
    IWords *english = nullptr;
    IFindings *sink = new CFindings;
    uint32_t r = 7;

    if (FAILED(CreateDictionary("the parcel arrives and refund", &english)))
        return 1;
    for (User &u : users)
        if (FAILED(CreateUserWords(&u.words)))
            return 1;

    for (int doc = 0; doc < 30; ++doc)
    {
        ProofSession session(english, sink);
        std::string text;

        for (int i = 0; i < 12; ++i)
        {
            r = r * 1103515245u + 12345u;
            text += vocabulary[(r >> 16) % 8];
            text += ' ';
        }
        // Guests have no words of their own; that is most of them.
        if (doc % 4 == 1)
            session.AttachUserWords(users[(doc / 4) % 4].words);
        session.Check(text);
    }

    std::printf("%d findings\n", sink->Total());
    for (User &u : users)
    {
        std::printf("%s learnt %d\n", u.name, u.words->Count());
        u.words->Release();
    }
    sink->Release();
    english->Release();
    return 0;
}
