/* summary: CmdSortLines releases the buffer it only borrowed from the view when the buffer turns out not to support undo
 * kind: extra-put
 * counts: deficit
 * objects: 5
 * track: own
 * build: g++ -O2 -g -pthread
 * exit: 0
 */
//
// edcom - the core of a text editor with COM-like interfaces: buffers of two
// kinds, views on them, and a table of commands that act on a view.
//
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

using Result = long;
constexpr Result S_OK = 0, S_FALSE = 1;
constexpr Result E_NOINTERFACE = -1;
inline bool failed(Result r) { return r < 0; }

enum class IID { Unknown, Buffer, Undoable, View };

struct IUnknown {
    virtual Result QueryInterface(IID iid, void **out) = 0;
    virtual unsigned long AddRef() = 0;
    virtual unsigned long Release() = 0;
};

struct IBuffer : IUnknown {
    static constexpr IID iid = IID::Buffer;
    virtual const std::string &Name() = 0;
    virtual std::size_t Lines() = 0;
    virtual const std::string &Line(std::size_t i) = 0;
    virtual Result Append(const std::string &text) = 0;
};

struct IUndoable : IUnknown {
    static constexpr IID iid = IID::Undoable;
    virtual Result Replace(std::size_t i, const std::string &text) = 0;
    virtual void Begin() = 0;
    virtual Result Undo() = 0;
};

struct IView : IUnknown {
    static constexpr IID iid = IID::View;
    virtual IBuffer *Buffer() = 0;              // not AddRef'd
    virtual Result GetBuffer(IBuffer **out) = 0;
    virtual std::size_t Cursor() = 0;
};

static std::atomic<int> g_created{0}, g_deleted{0}, g_counted{0};

// The IUnknown half of every class in here.
template <class Self, class First, class... Rest>
class ComObject : public First, public Rest... {
public:
    ComObject() { ++g_created; }

    unsigned long AddRef() override
    {
        ++g_counted;
        return ++m_ref;
    }

    unsigned long Release() override
    {
        ++g_counted;
        long left = --m_ref;
        if (left == 0)
            delete static_cast<Self *>(this);
        return left;
    }

    Result QueryInterface(IID iid, void **out) override
    {
        *out = nullptr;
        if (iid == IID::Unknown || iid == First::iid)
            *out = static_cast<First *>(this);
        else
            ((iid == Rest::iid ? void(*out = static_cast<Rest *>(this)) : void()), ...);
        if (!*out)
            return E_NOINTERFACE;
        AddRef();
        return S_OK;
    }

protected:
    ~ComObject() { ++g_deleted; }

private:
    std::atomic<long> m_ref{1};
};

class TextBuffer final : public ComObject<TextBuffer, IBuffer, IUndoable> {
public:
    explicit TextBuffer(const std::string &name) : m_name(name) {}

    const std::string &Name() override { return m_name; }
    std::size_t Lines() override { return m_lines.size(); }
    const std::string &Line(std::size_t i) override { return m_lines[i]; }
    Result Append(const std::string &text) override
    {
        m_lines.push_back(text);
        return S_OK;
    }
    Result Replace(std::size_t i, const std::string &text) override
    {
        m_lines[i] = text;
        return S_OK;
    }
    void Begin() override { m_undo.push_back(m_lines); }
    Result Undo() override
    {
        if (m_undo.empty())
            return S_FALSE;
        m_lines = std::move(m_undo.back());
        m_undo.pop_back();
        return S_OK;
    }

private:
    std::string m_name;
    std::vector<std::string> m_lines;
    std::vector<std::vector<std::string>> m_undo;
};

// Output of a tool: can be added to, not edited.
class LogBuffer final : public ComObject<LogBuffer, IBuffer> {
public:
    explicit LogBuffer(const std::string &name) : m_name(name) {}

    const std::string &Name() override { return m_name; }
    std::size_t Lines() override { return m_lines.size(); }
    const std::string &Line(std::size_t i) override { return m_lines[i]; }
    Result Append(const std::string &text) override
    {
        m_lines.push_back("[" + std::to_string(m_lines.size()) + "] " + text);
        return S_OK;
    }

private:
    std::string m_name;
    std::vector<std::string> m_lines;
};

class View final : public ComObject<View, IView> {
public:
    View(IBuffer *b, std::size_t cursor) : m_buffer(b), m_cursor(cursor) { m_buffer->AddRef(); }
    ~View() { m_buffer->Release(); }

    IBuffer *Buffer() override { return m_buffer; }
    Result GetBuffer(IBuffer **out) override
    {
        return m_buffer->QueryInterface(IID::Buffer, reinterpret_cast<void **>(out));
    }
    std::size_t Cursor() override { return m_cursor % m_buffer->Lines(); }

private:
    IBuffer *m_buffer;
    std::size_t m_cursor;
};

static Result CmdDuplicateLine(IView *view)
{
    IBuffer *buf = nullptr;
    Result r = view->GetBuffer(&buf);
    if (failed(r))
        return r;
    r = buf->Append(std::string(buf->Line(view->Cursor())));
    buf->Release();
    return r;
}

static Result CmdSortLines(IView *view)
{
    IBuffer *buf = view->Buffer();
    IUndoable *undo = nullptr;
    Result r = buf->QueryInterface(IID::Undoable, reinterpret_cast<void **>(&undo));
    if (failed(r)) {
#ifdef BUG
        buf->Release();                 // GUILTY
        return r;
#else
        return r;
#endif
    }
    undo->Begin();
    std::vector<std::string> all;
    for (std::size_t i = 0; i < buf->Lines(); ++i)
        all.push_back(buf->Line(i));
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size() && !failed(r); ++i)
        r = undo->Replace(i, all[i]);
    undo->Release();
    return r;
}

static Result CmdUndo(IView *view)
{
    IBuffer *buf = nullptr;
    IUndoable *undo = nullptr;
    Result r = view->GetBuffer(&buf);
    if (failed(r))
        return r;
    r = buf->QueryInterface(IID::Undoable, reinterpret_cast<void **>(&undo));
    buf->Release();
    if (failed(r))
        return r;
    r = undo->Undo();
    undo->Release();
    return r;
}

struct Command {
    const char *name;
    Result (*run)(IView *);
    int done, refused;
};

static Command commands[] = {
    {"duplicate-line", CmdDuplicateLine, 0, 0},
    {"sort-lines", CmdSortLines, 0, 0},
    {"undo", CmdUndo, 0, 0},
};

static void execute(int cmd, IView *view)
{
    Command &c = commands[cmd];
    ++(failed(c.run(view)) ? c.refused : c.done);
}

int main()
{
    std::vector<IBuffer *> buffers;     // each counted once here
    std::vector<IView *> views;
    unsigned sum = 0;

    for (int i = 0; i < 40; ++i) {
        std::string name = "file" + std::to_string(i);
        IBuffer *b = nullptr;
        if (i % 8 == 6)
            b = new LogBuffer(name + ".log");
        else
            b = new TextBuffer(name + ".txt");
        for (int l = 0; l < 6; ++l)
            b->Append(std::string(1, 'a' + (l * 11 + i) % 26) + " line of " + b->Name());
        buffers.push_back(b);
        for (int v = 0; v <= i % 3; ++v)
            views.push_back(new View(b, i + v));
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
        execute(0, views[i]);
        if (i == 0 || views[i]->Buffer() != views[i - 1]->Buffer())
            execute(1, views[i]);
        if (i % 4 == 1)
            execute(2, views[i]);
    }
    for (IView *v : views)
        v->Release();
    for (IBuffer *b : buffers) {
        for (std::size_t l = 0; l < b->Lines(); ++l)
            for (char ch : b->Line(l))
                sum = sum * 31 + ch;
        b->Release();
    }
    for (const Command &c : commands)
        std::printf("%-15s %d done, %d refused\n", c.name, c.done, c.refused);
    std::printf("%d objects, text %08x\n", g_created.load(), sum);
    return 0;
}
