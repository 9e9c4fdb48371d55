/* summary: Layer::cloneForPrint returns a new layer, born with one reference, through RefPtr's sharing constructor in place of adoptRef, so the first reference is nobody's
 * kind: missing-put
 * counts: surplus
 * objects: 12
 * track: own
 * build: g++ -O2 -g -std=c++17
 * exit: 0
 */
// layer_snapshots - the layers of a page: tree, painting, and the copies that
// are made for the printer while the page goes on to change.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gfx
{

class RefCountedBase
{
public:
    void ref() const { ++m_refCount; }
    bool hasOneRef() const { return m_refCount == 1; }

protected:
    RefCountedBase() = default;
    ~RefCountedBase() = default;

    bool derefBase() const { return --m_refCount == 0; }

private:
    mutable unsigned m_refCount = 1;
};

template <typename T> class RefCounted : public RefCountedBase
{
public:
    void deref() const
    {
        if (derefBase())
            delete static_cast<const T *>(this);
    }
};

template <typename T> class RefPtr
{
public:
    enum AdoptTag { Adopt };

    RefPtr() = default;
    RefPtr(std::nullptr_t) {}
    RefPtr(T *ptr) : m_ptr(ptr)
    {
        if (m_ptr)
            m_ptr->ref();
    }
    RefPtr(T *ptr, AdoptTag) : m_ptr(ptr) {}
    RefPtr(const RefPtr &other) : RefPtr(other.m_ptr) {}
    RefPtr(RefPtr &&other) noexcept : m_ptr(std::exchange(other.m_ptr, nullptr)) {}
    ~RefPtr()
    {
        if (m_ptr)
            m_ptr->deref();
    }

    RefPtr &operator=(RefPtr other) noexcept
    {
        std::swap(m_ptr, other.m_ptr);
        return *this;
    }

    T *get() const { return m_ptr; }
    T *operator->() const { return m_ptr; }
    T &operator*() const { return *m_ptr; }
    explicit operator bool() const { return m_ptr != nullptr; }

private:
    T *m_ptr = nullptr;
};

template <typename T> RefPtr<T> adoptRef(T *ptr) { return RefPtr<T>(ptr, RefPtr<T>::Adopt); }

} // namespace gfx

using gfx::adoptRef;
using gfx::RefPtr;

struct Rect
{
    int x, y, w, h;

    bool meets(const Rect &o) const
    {
        return x < o.x + o.w && o.x < x + w && y < o.y + o.h && o.y < y + h;
    }
};

// The recorded drawing commands of a layer.  Copies of a layer share them.
class DisplayList : public gfx::RefCounted<DisplayList>
{
public:
    static RefPtr<DisplayList> create() { return adoptRef(new DisplayList); }

    void record(char op, int amount) { m_ops.emplace_back(op, amount); }

    long replay() const
    {
        long ink = 0;

        for (const auto &op : m_ops)
            ink += op.first == 'f' ? op.second * 3 : op.second;
        return ink;
    }

private:
    DisplayList() = default;

    std::vector<std::pair<char, int>> m_ops;
};

class Layer : public gfx::RefCounted<Layer>
{
public:
    static RefPtr<Layer> create(std::string name, Rect frame)
    {
        return adoptRef(new Layer(std::move(name), frame));
    }

    // The same pixels without what is only for the screen.
    RefPtr<Layer> cloneForPrint() const
    {
        auto *copy = new Layer(m_name + "/print", m_frame);

        copy->m_list = m_list;
        copy->m_opaque = true;
#ifdef BUG
        return copy; // GUILTY
#else
        return adoptRef(copy);
#endif
    }

    void setList(RefPtr<DisplayList> list) { m_list = std::move(list); }
    void append(RefPtr<Layer> child) { m_children.push_back(std::move(child)); }
    void setScreenOnly() { m_screenOnly = true; }
    void scroll(int dy) { m_frame.y -= dy; }

    void removeHidden(const Rect &view)
    {
        m_children.erase(std::remove_if(m_children.begin(), m_children.end(),
                                        [&](const RefPtr<Layer> &c) { return !c->m_frame.meets(view); }),
                         m_children.end());
        for (const auto &child : m_children)
            child->removeHidden(view);
    }

    template <typename F> void visit(const F &f) const
    {
        f(*this);
        for (const auto &child : m_children)
            child->visit(f);
    }

    const Rect &frame() const { return m_frame; }
    bool screenOnly() const { return m_screenOnly; }
    long paint() const { return m_list ? m_list->replay() * (m_opaque ? 2 : 1) : 0; }

private:
    Layer(std::string name, Rect frame) : m_name(std::move(name)), m_frame(frame) {}

    std::string m_name;
    Rect m_frame;
    RefPtr<DisplayList> m_list;
    std::vector<RefPtr<Layer>> m_children;
    bool m_opaque = false;
    bool m_screenOnly = false;
};

class PrintJob
{
public:
    PrintJob(const Layer &root, const Rect &paper)
    {
        root.visit([&](const Layer &layer) {
            if (!layer.screenOnly() && layer.frame().meets(paper))
                m_pages.push_back(layer.cloneForPrint());
        });
    }

    long run()
    {
        long ink = 0;

        while (!m_pages.empty())
        {
            ink += m_pages.back()->paint();
            m_pages.pop_back();
        }
        return ink;
    }

private:
    std::vector<RefPtr<Layer>> m_pages;
};

class Page
{
public:
    Page() : m_root(Layer::create("root", {0, 0, 600, 800})) {}

    void load(int blocks)
    {
        for (int i = 0; i < blocks; ++i)
        {
            auto layer = Layer::create("block" + std::to_string(i), {20, i * 90, 560, 80});
            auto list = DisplayList::create();

            list->record('f', 560 * 80);
            for (int word = 0; word < 6 + i; ++word)
                list->record('t', 12 + word);
            layer->setList(list);
            if (i % 3 == 0)
            {
                auto caret = Layer::create("caret", {24, i * 90 + 4, 1, 12});

                caret->setScreenOnly();
                caret->setList(list);
                layer->append(caret);
            }
            m_root->append(layer);
        }
    }

    long frame(int n)
    {
        long ink = 0;

        m_root->visit([&](const Layer &layer) { ink += layer.paint(); });
        if (n % 5 == 4)
            m_root->removeHidden({0, 0, 600, 800 - n * 20});
        return ink;
    }

    const Layer &root() const { return *m_root; }

private:
    RefPtr<Layer> m_root;
};

int main()
{
    Page page;
    long screen = 0, paper = 0;

    page.load(14);
    for (int n = 0; n < 20; ++n)
    {
        screen += page.frame(n);
        if (n == 2 || n == 12)
        {
            PrintJob job(page.root(), {0, 0, 600, 420});

            paper += job.run();
        }
    }
    std::printf("screen %ld, paper %ld\n", screen, paper);
    return 0;
}
