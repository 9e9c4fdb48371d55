/* summary: Mount::Open puts the decoding stream into *out over the raw stream, whose reference from OpenRaw is then nobody's
 * kind: overwritten
 * counts: surplus
 * objects: 6
 * track: own
 * build: g++ -std=c++17 -O0 -g
 * exit: 0
 */
//
// assetpack - a game's file system: packs of entries that are mounted over each
// other, streams on the entries, decoders as streams on streams, and a cache of
// blobs.  COM-like interfaces; out parameters give a reference away.
//
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

typedef int Hr;
constexpr Hr OK = 0, DONE = 1, NOT_FOUND = -1, CORRUPT = -2;

struct IObject {
    virtual std::uint32_t AddRef() = 0;
    virtual std::uint32_t Release() = 0;
};

struct IStream : IObject {
    virtual Hr Read(std::uint8_t *to, std::size_t n, std::size_t *got) = 0;
};

struct IBlob : IObject {
    virtual const std::uint8_t *Data() = 0;
    virtual std::size_t Size() = 0;
};

template <class T>
inline void SafeRelease(T *&p)
{
    if (T *old = std::exchange(p, nullptr))
        old->Release();
}

template <class I>
class Object : public I {
public:
    std::uint32_t AddRef() override { return ++m_refs; }

    std::uint32_t Release() override
    {
        std::uint32_t left = --m_refs;
        if (left == 0)
            delete this;
        return left;
    }

protected:
    virtual ~Object() = default;

private:
    std::uint32_t m_refs = 1;
};

class Blob final : public Object<IBlob> {
public:
    explicit Blob(std::vector<std::uint8_t> bytes) : m_bytes(std::move(bytes)) {}
    const std::uint8_t *Data() override { return m_bytes.data(); }
    std::size_t Size() override { return m_bytes.size(); }

private:
    std::vector<std::uint8_t> m_bytes;
};

// Reads what lies in a blob.
class BlobStream final : public Object<IStream> {
public:
    explicit BlobStream(IBlob *blob) : m_blob(blob), m_pos(0) { m_blob->AddRef(); }

    Hr Read(std::uint8_t *to, std::size_t n, std::size_t *got) override
    {
        std::size_t left = m_blob->Size() - m_pos;
        *got = n < left ? n : left;
        std::memcpy(to, m_blob->Data() + m_pos, *got);
        m_pos += *got;
        return *got ? OK : DONE;
    }

private:
    ~BlobStream() override { SafeRelease(m_blob); }

    IBlob *m_blob;
    std::size_t m_pos;
};

// Undoes the packer's scrambling.
class XorStream final : public Object<IStream> {
public:
    XorStream(IStream *from, std::uint8_t key) : m_from(from), m_at(key) { m_from->AddRef(); }

    Hr Read(std::uint8_t *to, std::size_t n, std::size_t *got) override
    {
        Hr hr = m_from->Read(to, n, got);
        for (std::size_t i = 0; i < *got; ++i)
            to[i] = static_cast<std::uint8_t>(to[i] ^ m_at++);
        return hr;
    }

private:
    ~XorStream() override { SafeRelease(m_from); }

    IStream *m_from;
    std::uint8_t m_at;
};

// Runs of equal bytes are count and byte.
class RunStream final : public Object<IStream> {
public:
    explicit RunStream(IStream *from) : m_from(from), m_left(0), m_byte(0) { m_from->AddRef(); }

    Hr Read(std::uint8_t *to, std::size_t n, std::size_t *got) override
    {
        for (*got = 0; *got < n; ++*got) {
            if (m_left == 0) {
                std::uint8_t pair[2];
                std::size_t have = 0;
                Hr hr = m_from->Read(pair, 2, &have);
                if (hr != OK)
                    return *got ? OK : hr;
                if (have != 2 || pair[0] == 0)
                    return CORRUPT;
                m_left = pair[0];
                m_byte = pair[1];
            }
            to[*got] = m_byte;
            --m_left;
        }
        return OK;
    }

private:
    ~RunStream() override { SafeRelease(m_from); }

    IStream *m_from;
    unsigned m_left;
    std::uint8_t m_byte;
};

enum Flags : unsigned { Plain = 0, Scrambled = 1, Runs = 2 };

class Pack {
public:
    ~Pack()
    {
        for (auto &e : m_entries)
            SafeRelease(e.second.blob);
    }

    void Add(const std::string &name, unsigned flags, IBlob *blob)
    {
        Entry &e = m_entries[name];
        blob->AddRef();
        SafeRelease(e.blob);
        e.blob = blob;
        e.flags = flags;
    }

    Hr OpenRaw(const std::string &name, unsigned *flags, IStream **out) const
    {
        *out = nullptr;
        auto it = m_entries.find(name);
        if (it == m_entries.end())
            return NOT_FOUND;
        *flags = it->second.flags;
        *out = new BlobStream(it->second.blob);
        return OK;
    }

private:
    struct Entry {
        unsigned flags = Plain;
        IBlob *blob = nullptr;
    };
    std::map<std::string, Entry> m_entries;
};

class Mount {
public:
    void Push(const Pack *p) { m_packs.push_back(p); }

    Hr Open(const std::string &name, IStream **out)
    {
        unsigned flags = 0;
        Hr hr = NOT_FOUND;
        for (auto p = m_packs.rbegin(); p != m_packs.rend() && hr == NOT_FOUND; ++p)
            hr = (*p)->OpenRaw(name, &flags, out);      // ACCEPTED
        if (hr != OK)
            return hr;
        if (flags & Scrambled) {
            IStream *raw = *out;
            *out = new XorStream(raw, static_cast<std::uint8_t>(name.size()));
            raw->Release();
        }
        if (flags & Runs) {
#ifdef BUG
            *out = new RunStream(*out);                 // GUILTY
#else
            IStream *packed = std::exchange(*out, new RunStream(*out));
            packed->Release();
#endif
        }
        return OK;
    }

    // All of a file; files that were read before are remembered.
    Hr Load(const std::string &name, IBlob **out)
    {
        auto it = m_cache.find(name);
        if (it != m_cache.end()) {
            *out = it->second;
            (*out)->AddRef();
            return DONE;
        }
        IStream *s = nullptr;
        Hr hr = Open(name, &s);
        if (hr != OK)
            return hr;
        std::vector<std::uint8_t> all;
        std::uint8_t part[32];
        std::size_t got = 0;
        while ((hr = s->Read(part, sizeof part, &got)) == OK)
            all.insert(all.end(), part, part + got);
        s->Release();
        if (hr < 0)
            return hr;
        *out = new Blob(std::move(all));
        (*out)->AddRef();
        m_cache[name] = *out;
        return OK;
    }

    void Flush()
    {
        for (auto &c : m_cache)
            SafeRelease(c.second);
        m_cache.clear();
    }

private:
    std::vector<const Pack *> m_packs;
    std::map<std::string, IBlob *> m_cache;
};

static void Fill(Pack &pack, int from, int to)
{
    for (int i = from; i < to; ++i) {
        std::string name = "asset/" + std::to_string(i);
        unsigned flags = (i % 3 == 1 ? Scrambled : Plain) | (i % 7 == 2 ? Runs : Plain);
        std::vector<std::uint8_t> bytes;
        for (int b = 0; b < 40 + 2 * i; ++b)
            bytes.push_back(static_cast<std::uint8_t>(b % 2 || !(flags & Runs) ? i * 3 + b : 1 + b % 9));
        if (flags & Scrambled) {
            std::uint8_t key = static_cast<std::uint8_t>(name.size());
            for (std::uint8_t &b : bytes)
                b ^= key++;
        }
        IBlob *blob = new Blob(std::move(bytes));
        pack.Add(name, flags, blob);
        blob->Release();
    }
}

int main()
{
    Pack base, patch;
    Mount mount;
    Fill(base, 0, 36);
    Fill(patch, 30, 40);
    mount.Push(&base);
    mount.Push(&patch);

    unsigned digest = 0, loaded = 0, remembered = 0, failed = 0;
    for (int i = 0; i < 120; ++i) {
        IBlob *blob = nullptr;
        Hr hr = mount.Load("asset/" + std::to_string((i * 7 + i / 40) % 43), &blob);
        if (hr < 0) {
            ++failed;
            continue;
        }
        ++(hr == DONE ? remembered : loaded);
        for (std::size_t b = 0; b < blob->Size(); ++b)
            digest = digest * 31 + blob->Data()[b];
        blob->Release();
    }
    mount.Flush();
    std::printf("%u loaded, %u remembered, %u failed, digest %08x\n", loaded, remembered, failed, digest);
    return 0;
}
