/* summary: an undo step that cannot be applied drops its target itself, and the step's destructor drops it once more
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: g++ -std=c++17 -O0 -g
 * exit: 0
 */
// widgetundo - a form designer's widgets and its undo steps.  What is drawn and
// what is clicked are two interfaces of one counted object.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class Object
{
public:
    void retain() { ++m_refs; }

    void release()
    {
        if (--m_refs == 0)
            delete this;
    }

protected:
    virtual ~Object() = default;

private:
    int m_refs = 1;
};

template <class T>
class Ref
{
public:
    Ref() = default;
    explicit Ref(T *p) : m_p(p) { if (m_p) m_p->retain(); }
    Ref(const Ref &o) : Ref(o.m_p) {}
    Ref &operator=(const Ref &o)
    {
        if (o.m_p)
            o.m_p->retain();
        if (m_p)
            m_p->release();
        m_p = o.m_p;
        return *this;
    }
    ~Ref() { if (m_p) m_p->release(); }
    T *operator->() const { return m_p; }
    T *get() const { return m_p; }

private:
    T *m_p = nullptr;
};

class Drawable : public virtual Object
{
public:
    int x = 0;
    int y = 0;
    bool locked = false;
    virtual std::string draw() const = 0;
};

class Clickable : public virtual Object
{
public:
    virtual bool click(int px, int py) = 0;
};

class Label : public Drawable
{
public:
    explicit Label(std::string text) : m_text(std::move(text)) {}
    std::string draw() const override { return m_text; }

private:
    std::string m_text;
};

class Button : public Drawable, public Clickable
{
public:
    explicit Button(std::string text) : m_text(std::move(text)) {}
    std::string draw() const override { return "[" + m_text + (m_clicks ? "*]" : "]"); }

    bool click(int px, int py) override
    {
        bool hit = px / 10 == x / 10 && py / 10 == y / 10;
        m_clicks += hit;
        return hit;
    }

private:
    std::string m_text;
    int m_clicks = 0;
};

class Form
{
public:
    ~Form()
    {
        for (Object *object : m_owned)
            object->release();
    }

    template <class W>
    W *add(const char *text, int x, int y)
    {
        W *widget = new W(text);
        widget->x = x;
        widget->y = y;
        m_owned.push_back(widget);
        return widget;
    }

private:
    std::vector<Object *> m_owned;
};

class Step
{
public:
    Step(Drawable *target, int dx, int dy) : m_target(target), m_dx(dx), m_dy(dy) { target->retain(); }

    ~Step()
    {
        if (m_target)
            m_target->release();  // ACCEPTED
    }

    bool apply()
    {
        if (m_target->locked)
        {
            m_target->release();  // GUILTY
#ifndef BUG
            m_target = nullptr;
#endif
            return false;
        }
        m_target->x += m_dx, m_target->y += m_dy;
        return true;
    }

private:
    Drawable *m_target;
    int m_dx;
    int m_dy;
};

class History
{
public:
    void record(Drawable *target, int dx, int dy)
    {
        target->x -= dx;
        target->y -= dy;
        m_steps.push_back(std::make_unique<Step>(target, dx, dy));
    }

    int undo(size_t steps)
    {
        int done = 0;
        for (; steps && !m_steps.empty(); --steps)
        {
            done += m_steps.back()->apply();
            m_steps.pop_back();
        }
        return done;
    }

private:
    std::vector<std::unique_ptr<Step>> m_steps;
};

static void edit(Form &form)
{
    History history;
    std::vector<Ref<Drawable>> drawn;
    std::vector<Ref<Clickable>> clicked;
    int hits = 0;

    for (int i = 0; i < 40; ++i)
    {
        std::string text = "w" + std::to_string(i);
        if (i % 3)
        {
            Button *button = form.add<Button>(text.c_str(), 10 * i, 20);
            drawn.push_back(Ref<Drawable>(button));
            clicked.push_back(Ref<Clickable>(button));
        }
        else
            drawn.push_back(Ref<Drawable>(form.add<Label>(text.c_str(), 10 * i, 40)));
    }
    for (int i = 0; i < 60; ++i)
        history.record(drawn[i * 7 % 40].get(), 10, i % 2 ? 10 : 0);
    drawn[12]->locked = drawn[35]->locked = true;
    int undone = history.undo(30);
    for (int px = 0; px < 400; px += 30)
        for (const Ref<Clickable> &each : clicked)
            hits += each->click(px, 20);
    for (const Ref<Drawable> &each : drawn)
        std::printf("%s ", each->draw().c_str());
    std::printf("\n%d steps undone, %d hits\n", undone, hits);
}

int main()
{
    Form form;

    edit(form);
    std::puts("saved");
    return 0;
}
