/* summary: COM objects with an aggregated part that counts on its outer object, tear-offs with a count of their own, an artificial count while the last Release cleans up, and a static object that ignores its count
 * track: auto
 * build: clang++ -std=c++17 -O2 -g tearoff.cpp -o OUT
 */
// tearoff - documents with optional interfaces.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using ULONG = unsigned long;

enum class Iid { Unknown, Document, Stream, Spelling, Log };

struct IUnknown
{
    virtual void *Query(Iid iid) = 0;  // with a reference, or null
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;
};

struct ILog : IUnknown
{
    virtual void Line(const std::string &text) = 0;
};

struct IStream : IUnknown
{
    virtual int Read(char *to, int size) = 0;
};

struct ISpelling : IUnknown
{
    virtual int Check() = 0;
};

struct IDocument : IUnknown
{
    virtual const std::string &Text() const = 0;
    virtual void SetLog(ILog *log) = 0;
};

// Lives as long as the program, whatever its callers count.
class CNullLog final : public ILog
{
public:
    void *Query(Iid iid) override { return iid == Iid::Log || iid == Iid::Unknown ? this : nullptr; }
    ULONG AddRef() override { return 2; }
    ULONG Release() override { return 1; }
    void Line(const std::string &text) override { m_bytes += text.size(); }
    size_t Bytes() const { return m_bytes; }

private:
    size_t m_bytes = 0;
};

static CNullLog nullLog;

class CDocument final : public IDocument
{
public:
    // Comes with no reference at all; the first AddRef is the creator's.
    static IDocument *Create(std::string text) { return new CDocument(std::move(text)); }

    void *Query(Iid iid) override;

    ULONG AddRef() override { return ++m_refs; }

    ULONG Release() override
    {
        if (--m_refs)
            return m_refs;
        m_refs = 1000;  // Closing() hands the document out once more
        Closing();
        delete this;
        return 0;
    }

    const std::string &Text() const override { return m_text; }

    void SetLog(ILog *log) override
    {
        if (log)
            log->AddRef();
        if (m_log)
            m_log->Release();
        m_log = log;
    }

private:
    class Spelling;
    class Reader;

    explicit CDocument(std::string text) : m_text(std::move(text)) {}
    ~CDocument();
    void Closing();

    std::string m_text;
    ILog *m_log = nullptr;
    Spelling *m_spelling = nullptr;
    ULONG m_refs = 0;
};

// Aggregated: a part of the document with the same life, made when first asked for.
class CDocument::Spelling final : public ISpelling
{
public:
    explicit Spelling(CDocument *outer) : m_outer(outer) {}
    void *Query(Iid iid) override { return m_outer->Query(iid); }
    ULONG AddRef() override { return m_outer->AddRef(); }
    ULONG Release() override { return m_outer->Release(); }

    int Check() override
    {
        int bad = 0;
        for (char c : m_outer->m_text)
            bad += c == 'x';
        return bad;
    }

private:
    CDocument *m_outer;
};

// Torn off: a new one for each caller, with a count of its own, and one reference to the document.
class CDocument::Reader final : public IStream
{
public:
    explicit Reader(CDocument *document) : m_document(document) { document->AddRef(); }
    void *Query(Iid iid) override { return m_document->Query(iid); }
    ULONG AddRef() override { return ++m_refs; }
    ULONG Release() override
    {
        ULONG left = --m_refs;
        if (!left)
        {
            m_document->Release();
            delete this;
        }
        return left;
    }
    int Read(char *to, int size) override
    {
        int read = m_document->m_text.copy(to, size, m_at);
        m_at += read;
        return read;
    }

private:
    CDocument *m_document;
    size_t m_at = 0;
    ULONG m_refs = 1;
};

void *CDocument::Query(Iid iid)
{
    if (iid == Iid::Stream)
        return static_cast<IStream *>(new Reader(this));
    if (iid == Iid::Spelling && !m_spelling)
        m_spelling = new Spelling(this);
    if (iid != Iid::Spelling && iid != Iid::Document && iid != Iid::Unknown)
        return nullptr;
    AddRef();
    return iid == Iid::Spelling ? static_cast<void *>(static_cast<ISpelling *>(m_spelling)) : static_cast<IDocument *>(this);
}

CDocument::~CDocument()
{
    delete m_spelling;
}

void CDocument::Closing()
{
    auto *spelling = static_cast<ISpelling *>(Query(Iid::Spelling));
    if (m_log)
        m_log->Line("closed with " + std::to_string(spelling->Check()) + " mistakes");
    spelling->Release();
    SetLog(nullptr);
}

int main()
{
    std::vector<IUnknown *> held;
    int mistakes = 0, read = 0;

    for (int i = 0; i < 50; ++i)
    {
        IDocument *document = CDocument::Create("text " + std::string(i % 4, 'x') + std::to_string(i));
        document->AddRef();
        if (i % 3)
            document->SetLog(&nullLog);
        if (auto *spelling = i % 2 ? static_cast<ISpelling *>(document->Query(Iid::Spelling)) : nullptr)
        {
            mistakes += spelling->Check();
            held.push_back(spelling);
        }
        auto *stream = static_cast<IStream *>(document->Query(Iid::Stream));
        document->Release();  // the stream has it
        for (char buffer[4]; int got = stream->Read(buffer, sizeof buffer);)
            read += got;
        if (i % 5 == 0)
            held.push_back(static_cast<IUnknown *>(static_cast<IDocument *>(stream->Query(Iid::Document))));
        stream->Release();
    }
    for (IUnknown *each : held)
        each->Release();
    std::printf("%d mistakes, %d bytes read, %zu held, %zu bytes logged\n", mistakes, read, held.size(), nullLog.Bytes());
    return 0;
}
