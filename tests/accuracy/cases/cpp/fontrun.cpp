/* summary: GetFont hands out a substitute font without a reference of its own, and the text run that asked for it releases the manager's
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: own
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
// fontrun - sets paragraphs into runs of text.  The font manager owns the
// fonts; every run has a reference to the one that it is drawn with.

#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

using HRESULT = long;
using ULONG = unsigned long;

enum : HRESULT
{
    S_OK = 0,
    S_SUBSTITUTED = 2,
    E_FAIL = -1,
};

struct IUnknown
{
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;
};

struct IFont : IUnknown
{
    virtual const std::string &Face() const = 0;
    virtual int Advance(char c) const = 0;
};

class CFont final : public IFont
{
public:
    CFont(std::string face, int size, bool mono) : m_face(std::move(face)), m_size(size), m_mono(mono) {}

    ULONG AddRef() override { return m_refs.fetch_add(1) + 1; }

    ULONG Release() override
    {
        ULONG left = m_refs.fetch_sub(1) - 1;
        if (left == 0)
            delete this;
        return left;
    }

    const std::string &Face() const override { return m_face; }

    int Advance(char c) const override
    {
        return m_mono ? m_size * 6 : m_size * (c == 'i' || c == 'l' || c == ' ' ? 3 : c == 'm' || c == 'w' ? 9 : 6);
    }

private:
    ~CFont() = default;

    std::string m_face;
    int m_size;
    bool m_mono;
    std::atomic<ULONG> m_refs{1};
};

template <class T>
class ComPtr
{
public:
    ComPtr() = default;
    ComPtr(const ComPtr &o) : m_p(o.m_p) { if (m_p) m_p->AddRef(); }
    ComPtr(ComPtr &&o) noexcept : m_p(std::exchange(o.m_p, nullptr)) {}
    ~ComPtr() { if (m_p) m_p->Release(); }

    ComPtr &operator=(ComPtr o) noexcept
    {
        std::swap(m_p, o.m_p);
        return *this;
    }

    // For functions that give a reference away through a T **.
    T **operator&()
    {
        *this = ComPtr();
        return &m_p;
    }

    T *operator->() const { return m_p; }

private:
    T *m_p = nullptr;
};

class CFontManager
{
public:
    ~CFontManager()
    {
        for (auto &entry : m_fonts)
            entry.second->Release();
    }

    void Load(const std::string &face, bool mono)
    {
        for (int size = 8; size <= 20; size += 2)
            m_fonts[{face, size}] = new CFont(face, size, mono);
    }

    void Substitute(const std::string &face, const std::string &by) { m_aliases[face] = by; }

    // On success the caller owns a reference to *out.
    HRESULT GetFont(const std::string &face, int size, IFont **out) const
    {
        auto exact = m_fonts.find({face, size});
        if (exact != m_fonts.end())
        {
            exact->second->AddRef();
            *out = exact->second;
            return S_OK;
        }
        auto alias = m_aliases.find(face);
        auto other = m_fonts.find({alias == m_aliases.end() ? "Sans" : alias->second, size});
        if (other == m_fonts.end())
            return E_FAIL;
#ifndef BUG
        other->second->AddRef();
#endif
        *out = other->second;  // GUILTY
        return S_SUBSTITUTED;  // ACCEPTED
    }

private:
    std::map<std::pair<std::string, int>, CFont *> m_fonts;
    std::map<std::string, std::string> m_aliases;
};

struct Run
{
    std::string text;
    ComPtr<IFont> font;

    int Width() const
    {
        int width = 0;
        for (char c : text)
            width += font->Advance(c);
        return width;
    }
};

class Paragraph
{
public:
    Paragraph(const CFontManager &fonts, const std::string &face, int size, const std::string &text)
    {
        ComPtr<IFont> font;

        if (fonts.GetFont(face, size, &font) < 0)  // ACCEPTED
            return;
        for (size_t at = 0; at < text.size();)
        {
            size_t end = text.find(' ', at);
            end = end == std::string::npos ? text.size() : end + 1;
            m_runs.push_back({text.substr(at, end - at), font});
            at = end;
        }
    }

    int Lines(int width) const
    {
        int lines = 1, at = 0;
        for (const Run &run : m_runs)
        {
            if (at + run.Width() > width && at)
                ++lines, at = 0;
            at += run.Width();
        }
        return m_runs.empty() ? 0 : lines;
    }

    const std::vector<Run> &Runs() const { return m_runs; }

private:
    std::vector<Run> m_runs;
};

static void Set(const CFontManager &fonts)
{
    static const char *const faces[] = {"Serif", "Sans", "Mono"};
    std::vector<Paragraph> page;

    for (int i = 0; i < 30; ++i)
        page.emplace_back(fonts, faces[i % 3], 8 + 2 * (i % 7), "the quick brown fox will jump over all the lazy dogs");
    page.emplace_back(fonts, "Courier", 18, "int main would return nil");
    page.emplace_back(fonts, "Garamond", 12, "a title with a small swash");
    page.emplace_back(fonts, "Garamond", 40, "too large for any of the fonts");
    for (size_t i = 0; i < page.size(); ++i)
        std::printf("%2zu %-5s %zu runs, %d lines\n", i, page[i].Runs().empty() ? "-" : page[i].Runs()[0].font->Face().c_str(),
                    page[i].Runs().size(), page[i].Lines(1600));
}

int main()
{
    CFontManager fonts;

    fonts.Load("Serif", false);
    fonts.Load("Sans", false);
    fonts.Load("Mono", true);
    fonts.Substitute("Courier", "Mono");
    fonts.Substitute("Garamond", "Serif");
    Set(fonts);
    std::puts("done");
    return 0;
}
