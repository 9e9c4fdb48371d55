/* summary: the export's loop does not forget the style that it has released, so a row without a style, for which StyleOf leaves the pointer alone, releases the last row's style again
 * kind: extra-put
 * counts: deficit
 * objects: 4
 * track: own
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
// sheetstyles - exports a workbook as a page.  Styles are counted components:
// a table of the book owns each one, cells and rows refer to them.

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using HRESULT = long;
using ULONG = unsigned long;

enum : HRESULT
{
    S_OK = 0,
    S_FALSE = 1,
    E_NOINTERFACE = -4,
    E_INVALIDARG = -7,
};

struct IUnknown
{
    virtual HRESULT QueryInterface(const char *iid, void **ppv) = 0;
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;
};

struct IStyle : IUnknown
{
    virtual const std::string &Name() const = 0;
    virtual int Weight() const = 0;
    virtual void Css(std::string &out) const = 0;
};

class CStyle final : public IStyle
{
public:
    CStyle(std::string name, int weight) : m_name(std::move(name)), m_weight(weight) {}

    HRESULT QueryInterface(const char *iid, void **ppv) override
    {
        if (std::strcmp(iid, "IStyle") && std::strcmp(iid, "IUnknown"))
        {
            *ppv = nullptr;
            return E_NOINTERFACE;
        }
        *ppv = static_cast<IStyle *>(this);
        AddRef();
        return S_OK;
    }

    ULONG AddRef() override { return ++m_refs; }

    ULONG Release() override
    {
        ULONG left = --m_refs;
        if (left == 0)
            delete this;
        return left;
    }

    const std::string &Name() const override { return m_name; }
    int Weight() const override { return m_weight; }

    void Css(std::string &out) const override
    {
        out += "." + m_name + "{font-weight:" + std::to_string(m_weight) + "}\n";
    }

private:
    ~CStyle() = default;

    std::string m_name;
    int m_weight;
    ULONG m_refs = 1;
};

template <class T>
class ComPtr
{
public:
    ComPtr() = default;
    explicit ComPtr(T *p) : m_p(p) { if (m_p) m_p->AddRef(); }
    ComPtr(const ComPtr &o) : ComPtr(o.m_p) {}
    ComPtr(ComPtr &&o) noexcept : m_p(o.Detach()) {}
    ~ComPtr() { Attach(nullptr); }

    ComPtr &operator=(const ComPtr &o)
    {
        ComPtr copy(o);
        std::swap(m_p, copy.m_p);
        return *this;
    }

    void Attach(T *p)
    {
        T *old = std::exchange(m_p, p);
        if (old)
            old->Release();
    }

    T *Detach() { return std::exchange(m_p, nullptr); }
    T *Get() const { return m_p; }
    T *operator->() const { return m_p; }
    explicit operator bool() const { return m_p; }

private:
    T *m_p = nullptr;
};

struct Cell
{
    int value;
    ComPtr<IStyle> style;
};

struct Row
{
    ComPtr<IStyle> style;  // none: as the column has it
    std::vector<Cell> cells;
};

class CWorkbook
{
public:
    CWorkbook(const CWorkbook &) = delete;
    CWorkbook &operator=(const CWorkbook &) = delete;

    explicit CWorkbook(int styles)
    {
        for (int i = 0; i < styles; ++i)
            m_styles.push_back(new CStyle("s" + std::to_string(i), 100 + 100 * (i % 9)));
    }

    ~CWorkbook()
    {
        m_rows.clear();
        for (CStyle *style : m_styles)
            style->Release();  // ACCEPTED
    }

    // S_FALSE: there is no such style, *out is not touched.
    HRESULT FindStyle(const std::string &name, IStyle **out) const
    {
        for (CStyle *style : m_styles)
            if (style->Name() == name)
                return style->QueryInterface("IStyle", reinterpret_cast<void **>(out));
        return S_FALSE;
    }

    // S_FALSE: the row has no style of its own, *out is not touched.
    HRESULT StyleOf(size_t row, IStyle **out) const
    {
        if (row >= m_rows.size())
            return E_INVALIDARG;
        IStyle *style = m_rows[row].style.Get();
        if (!style)
            return S_FALSE;
        style->AddRef();
        *out = style;
        return S_OK;
    }

    Row &AddRow()
    {
        m_rows.emplace_back();
        return m_rows.back();
    }

    const std::vector<Row> &Rows() const { return m_rows; }

private:
    std::vector<CStyle *> m_styles;
    std::vector<Row> m_rows;
};

static void Fill(CWorkbook &book, int rows)
{
    for (int r = 0; r < rows; ++r)
    {
        Row &row = book.AddRow();
        IStyle *found = nullptr;

        if (r % 10 != 9 && book.FindStyle("s" + std::to_string(r % 24), &found) == S_OK)
            row.style.Attach(found);
        for (int c = 0; c < 5; ++c)
        {
            Cell cell{r * c, row.style};
            IStyle *own = nullptr;

            if ((r + c) % 7 == 0 && book.FindStyle("s" + std::to_string((r + c) % 26), &own) == S_OK)
                cell.style.Attach(own);
            row.cells.push_back(std::move(cell));
        }
    }
}

// Which styles are in use, each one once, with a reference for the caller.
static std::vector<ComPtr<IStyle>> UsedStyles(const CWorkbook &book)
{
    std::vector<ComPtr<IStyle>> used;

    for (const Row &row : book.Rows())
        for (const Cell &cell : row.cells)
        {
            bool known = !cell.style;
            for (const ComPtr<IStyle> &style : used)
                known = known || style.Get() == cell.style.Get();
            if (!known)
                used.push_back(cell.style);
        }
    return used;
}

static std::string Export(const CWorkbook &book)
{
    std::string page;
    IStyle *style = nullptr;

    for (const ComPtr<IStyle> &each : UsedStyles(book))
        each->Css(page);
    for (size_t r = 0; r < book.Rows().size(); ++r)
    {
        HRESULT hr = book.StyleOf(r, &style);  // ACCEPTED

        if (hr < 0)
            break;
        page += hr == S_OK ? "<tr class=" + style->Name() + ">" : "<tr>";
        for (const Cell &cell : book.Rows()[r].cells)
            page += "<td>" + std::to_string(cell.value);
        page += "\n";
        if (style)
        {
            style->Release();  // GUILTY
#ifndef BUG
            style = nullptr;
#endif
        }
    }
    return page;
}

int main()
{
    CWorkbook book(30);
    unsigned sum = 0;

    Fill(book, 40);
    std::string page = Export(book);
    for (char c : page)
        sum = sum * 31 + static_cast<unsigned char>(c);
    std::printf("%zu rows, %zu styles in use, %zu bytes, sum %08x\n", book.Rows().size(),
                UsedStyles(book).size(), page.size(), sum);
    return 0;
}
