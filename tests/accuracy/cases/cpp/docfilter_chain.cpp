/* summary: Importer::import leaves with kAccessDenied for a protected file without releasing the IPropertyBag that QueryInterface gave it
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: own
 * build: g++ -O0 -g -std=c++17
 * exit: 0
 */
// docfilter_chain - imports documents of an archive into a plain text index.
// Components talk to each other by interfaces with AddRef and Release.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using Result = int32_t;
constexpr Result kOk = 0;
constexpr Result kNoInterface = -1;
constexpr Result kBadFormat = -2;
constexpr Result kAccessDenied = -3;
constexpr Result kNotFound = -4;
constexpr Result kNoFilter = -5;

inline bool failed(Result r) { return r < 0; }

enum class Iid { Unknown, ByteStream, PropertyBag, Filter };

struct IUnknown
{
    virtual Result QueryInterface(Iid iid, void **out) = 0;
    virtual uint32_t AddRef() = 0;
    virtual uint32_t Release() = 0;

protected:
    ~IUnknown() = default;
};

struct IByteStream : IUnknown
{
    virtual size_t Read(void *to, size_t most) = 0;
    virtual void Seek(size_t at) = 0;
    virtual size_t Size() const = 0;
};

struct IPropertyBag : IUnknown
{
    virtual bool GetInt(const char *name, int *value) const = 0;
    virtual void SetInt(const char *name, int value) = 0;
};

struct IFilter : IUnknown
{
    virtual Result Convert(IByteStream *stream, std::string *text) = 0;
};

// ---------------------------------------------------------------- a file

class ArchiveFile final : public IByteStream, public IPropertyBag
{
public:
    explicit ArchiveFile(std::string bytes) : m_bytes(std::move(bytes)) {}

    Result QueryInterface(Iid iid, void **out) override
    {
        if (iid == Iid::Unknown || iid == Iid::ByteStream)
            *out = static_cast<IByteStream *>(this);
        else if (iid == Iid::PropertyBag)
            *out = static_cast<IPropertyBag *>(this);
        else
        {
            *out = nullptr;
            return kNoInterface;
        }
        AddRef();
        return kOk;
    }

    uint32_t AddRef() override { return ++m_refs; }

    uint32_t Release() override
    {
        uint32_t left = --m_refs;
        if (left == 0)
            delete this;
        return left;
    }

    size_t Read(void *to, size_t most) override
    {
        size_t left = m_bytes.size() - m_at;
        size_t n = most < left ? most : left;
        std::memcpy(to, m_bytes.data() + m_at, n);
        m_at += n;
        return n;
    }

    void Seek(size_t at) override { m_at = at < m_bytes.size() ? at : m_bytes.size(); }
    size_t Size() const override { return m_bytes.size(); }

    bool GetInt(const char *name, int *value) const override
    {
        auto found = m_props.find(name);
        if (found == m_props.end())
            return false;
        *value = found->second;
        return true;
    }

    void SetInt(const char *name, int value) override { m_props[name] = value; }

private:
    ~ArchiveFile() = default;
    uint32_t m_refs = 1;
    size_t m_at = 0;
    std::string m_bytes;
    std::map<std::string, int> m_props;
};

// ---------------------------------------------------------------- filters

class TextFilter final : public IFilter
{
public:
    explicit TextFilter(bool strip) : m_strip(strip) {}

    Result QueryInterface(Iid iid, void **out) override
    {
        if (iid != Iid::Unknown && iid != Iid::Filter)
        {
            *out = nullptr;
            return kNoInterface;
        }
        *out = static_cast<IFilter *>(this);
        AddRef();
        return kOk;
    }

    uint32_t AddRef() override { return ++m_refs; }

    uint32_t Release() override
    {
        uint32_t left = --m_refs;
        if (left == 0)
            delete this;
        return left;
    }

    Result Convert(IByteStream *stream, std::string *text) override
    {
        char piece[16];
        bool inTag = false;
        while (size_t n = stream->Read(piece, sizeof piece))
            for (size_t i = 0; i < n; ++i)
            {
                if (m_strip && piece[i] == '<')
                    inTag = true;
                if (!inTag)
                    text->push_back(piece[i]);
                if (piece[i] == '>')
                    inTag = false;
            }
        return inTag ? kBadFormat : kOk;
    }

private:
    ~TextFilter() = default;
    uint32_t m_refs = 1;
    bool m_strip;
};

// ---------------------------------------------------------------- archive

class Archive
{
public:
    ~Archive()
    {
        for (auto &entry : m_files)
            entry.second->Release();
    }

    void store(const std::string &name, const std::string &bytes, int pages, bool sealed)
    {
        auto *file = new ArchiveFile(bytes);
        file->SetInt("pages", pages);
        if (sealed)
            file->SetInt("protected", 1);
        m_files[name] = static_cast<IByteStream *>(file);
    }

    // The caller releases what it gets.
    Result open(const std::string &name, IUnknown **out) const
    {
        auto found = m_files.find(name);
        if (found == m_files.end())
            return kNotFound;
        found->second->AddRef();
        *out = found->second;
        return kOk;
    }

private:
    std::map<std::string, IUnknown *> m_files;
};

class Importer
{
public:
    ~Importer()
    {
        for (auto &entry : m_filters)
            entry.second->Release();
    }

    // Takes over the caller's reference.
    void addFilter(char kind, IFilter *filter) { m_filters[kind] = filter; }

    Result import(IUnknown *source, std::string *text)
    {
        IByteStream *stream = nullptr;
        IPropertyBag *props = nullptr;
        int value = 0;
        char magic[4];
        Result result;
        if (failed(source->QueryInterface(Iid::ByteStream, reinterpret_cast<void **>(&stream))))
            return kNoInterface;
        stream->Seek(0);
        if (stream->Read(magic, sizeof magic) != sizeof magic || std::memcmp(magic, "DOC", 3) != 0)
        {
            stream->Release();
            return kBadFormat;
        }

        if (!failed(source->QueryInterface(Iid::PropertyBag, reinterpret_cast<void **>(&props))))
        {
            if (props->GetInt("protected", &value) && value)
            {
#ifndef BUG
                props->Release();
#endif
                stream->Release();
                return kAccessDenied; // GUILTY
            }
            if (props->GetInt("pages", &value))
                m_pages += value;
            props->SetInt("indexed", 1);
            props->Release();
        }

        auto found = m_filters.find(magic[3]);
        if (found == m_filters.end())
            result = kNoFilter;
        else
            result = found->second->Convert(stream, text);
        stream->Release();
        return result;
    }

    int pages() const { return m_pages; }

private:
    std::map<char, IFilter *> m_filters;
    int m_pages = 0;
};

int main()
{
    Archive archive;
    Importer importer;
    std::map<Result, int> results;
    std::string index;
    importer.addFilter('t', new TextFilter(false));
    importer.addFilter('h', new TextFilter(true));
    for (int n = 0; n < 40; ++n)
    {
        static const char *const heads[] = {"DOCt", "DOCh", "DOCt", "BMPx", "DOCz", "DOCh", "DOCt"};
        std::string body = heads[n % 7];
        body += n % 2 ? "<p>minutes of the board</p>" : "annual report of the branch";
        archive.store("doc" + std::to_string(n), body, 1 + n % 9, n % 8 == 2);
    }

    for (int n = 0; n < 44; ++n)
    {
        IUnknown *source = nullptr;
        Result result = archive.open("doc" + std::to_string(n), &source);
        if (!failed(result))
        {
            result = importer.import(source, &index);
            source->Release();
        }
        ++results[result];
    }
    for (const auto &entry : results)
        std::printf("%4d: %d\n", entry.first, entry.second);
    std::printf("%d pages, %zu characters\n", importer.pages(), index.size());
    return 0;
}
