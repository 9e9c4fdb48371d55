/*
 * summary: QueryInterface hands out IPropertyBag without AddRef, and its callers release what they got
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * build: clang++ -O2 -g
 */
// Property browser of a form designer. Controls expose several interfaces; the final destruction of
// a control is left to the designer's idle handler, since it may be in the middle of a paint.
#include <atomic>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

enum Guid { IID_Unknown = 1, IID_Control, IID_PropertyBag, IID_Layout, IID_Storage };
enum { S_OK = 0, E_NOINTERFACE = -1, E_NOTFOUND = -2 };

class IUnknown {
public:
    virtual int QueryInterface(Guid iid, void **out) = 0;
    virtual unsigned AddRef() = 0;
    virtual unsigned Release() = 0;

protected:
    virtual ~IUnknown() {}
};

class IControl : public IUnknown {
public:
    virtual const std::string &Name() const = 0;
    virtual void Paint(std::string &canvas) = 0;
};

class IPropertyBag : public IUnknown {
public:
    virtual int Read(const std::string &key, std::string &value) const = 0;
    virtual void Write(const std::string &key, const std::string &value) = 0;
    virtual size_t Size() const = 0;
};

class ILayout : public IUnknown {
public:
    virtual void Measure(int available, int *width, int *height) = 0;
};

namespace com {

class Counted {
public:
    Counted() : refs_(1) {}
    unsigned IncRef() { return unsigned(refs_.fetch_add(1, std::memory_order_relaxed) + 1); }
    unsigned DecRef()
    {
        int left = refs_.fetch_sub(1, std::memory_order_acq_rel) - 1;
        if (left == 0)
            idle.push_back(this);
        return unsigned(left);
    }
    static size_t DestroyIdle()
    {
        std::vector<Counted *> batch;
        batch.swap(idle);
        for (Counted *object : batch)
            delete object;
        return batch.size();
    }

protected:
    virtual ~Counted() {}

private:
    std::atomic<int> refs_;
    static std::vector<Counted *> idle;
};

std::vector<Counted *> Counted::idle;

} // namespace com

#define FORWARD_UNKNOWN                                                                            \
    unsigned AddRef() override { return IncRef(); }                                                \
    unsigned Release() override { return DecRef(); }

class Label : public IControl, public ILayout, public com::Counted {
public:
    Label(const std::string &name, const std::string &text) : name_(name), text_(text) {}
    FORWARD_UNKNOWN
    int QueryInterface(Guid iid, void **out) override
    {
        switch (iid) {
        case IID_Unknown:
        case IID_Control:
            *out = static_cast<IControl *>(this);
            break;
        case IID_Layout:
            *out = static_cast<ILayout *>(this);
            break;
        default:
            *out = nullptr;
            return E_NOINTERFACE;
        }
        AddRef();
        return S_OK;
    }
    const std::string &Name() const override { return name_; }
    void Paint(std::string &canvas) override { canvas += "[" + text_ + "]"; }
    void Measure(int available, int *width, int *height) override
    {
        int wanted = int(text_.size()) * 7;
        *width = wanted < available ? wanted : available;
        *height = 14 * ((wanted + available - 1) / available);
    }

private:
    std::string name_, text_;
};

class Grid : public IControl, public IPropertyBag, public ILayout, public com::Counted {
public:
    Grid(const std::string &name, int columns) : name_(name), columns_(columns) {}
    FORWARD_UNKNOWN
    int QueryInterface(Guid iid, void **out) override
    {
        if (iid == IID_Unknown || iid == IID_Control) {
            *out = static_cast<IControl *>(this);
            AddRef();
            return S_OK;
        }
        if (iid == IID_PropertyBag) {
            *out = static_cast<IPropertyBag *>(this); // GUILTY
#ifndef BUG
            AddRef();
#endif
            return S_OK; // ACCEPTED
        }
        if (iid == IID_Layout) {
            *out = static_cast<ILayout *>(this);
            AddRef();
            return S_OK;
        }
        *out = nullptr;
        return E_NOINTERFACE;
    }
    const std::string &Name() const override { return name_; }
    void Paint(std::string &canvas) override { canvas += "{" + name_ + ":" + std::to_string(columns_) + "}"; }
    int Read(const std::string &key, std::string &value) const override
    {
        auto it = properties_.find(key);
        if (it == properties_.end())
            return E_NOTFOUND;
        value = it->second;
        return S_OK;
    }
    void Write(const std::string &key, const std::string &value) override { properties_[key] = value; }
    size_t Size() const override { return properties_.size(); }
    void Measure(int available, int *width, int *height) override
    {
        *width = available;
        *height = 20 * columns_;
    }

private:
    std::string name_;
    int columns_;
    std::map<std::string, std::string> properties_;
};

class Form {
public:
    ~Form()
    {
        for (IControl *control : controls_)
            control->Release();
    }
    void Adopt(IControl *control) { controls_.push_back(control); }
    IControl *At(size_t i) const
    {
        controls_[i]->AddRef();
        return controls_[i];
    }
    size_t Count() const { return controls_.size(); }

    int Height(int width) const
    {
        int sum = 0;
        for (IControl *control : controls_) {
            ILayout *layout = nullptr;
            if (control->QueryInterface(IID_Layout, reinterpret_cast<void **>(&layout)) != S_OK)
                continue;
            int w = 0, h = 0;
            layout->Measure(width, &w, &h);
            sum += h;
            layout->Release();
        }
        return sum;
    }

    std::string Paint() const
    {
        std::string canvas;
        for (IControl *control : controls_)
            control->Paint(canvas);
        return canvas;
    }
    IControl *Find(const std::string &name) const
    {
        for (size_t i = 0; i < controls_.size(); i++)
            if (controls_[i]->Name() == name)
                return At(i);
        return nullptr;
    }

private:
    std::vector<IControl *> controls_;
};

static bool applyTheme(IControl *control, const std::map<std::string, std::string> &theme)
{
    IPropertyBag *bag = nullptr;
    if (control->QueryInterface(IID_PropertyBag, reinterpret_cast<void **>(&bag)) != S_OK)
        return false;
    for (const auto &setting : theme) {
        std::string current;
        if (bag->Read(setting.first, current) != S_OK || current != setting.second)
            bag->Write(setting.first, setting.second);
    }
    bool complete = bag->Size() >= theme.size();
    bag->Release();
    return complete;
}

int main()
{
    const std::map<std::string, std::string> dark = {{"fore", "#ddd"}, {"back", "#222"}, {"border", "none"}};
    size_t destroyed = 0;
    {
        Form form;
        form.Adopt(new Label("title", "Monthly report of the branch offices"));
        form.Adopt(new Grid("sales", 4));
        form.Adopt(new Label("note", "all figures in EUR"));
        form.Adopt(new Grid("returns", 2));
        form.Adopt(new Grid("staff", 3));
        form.Adopt(new Label("foot", "page 1"));
        printf("height %d\n", form.Height(160));
        IControl *title = form.Find("title");
        if (title) {
            printf("first is %s\n", title->Name().c_str());
            title->Release();
        }

        int themed = 0;
        for (size_t i = 0; i < form.Count(); i++) {
            IControl *control = form.At(i);
            if (applyTheme(control, dark))
                themed++;
            control->Release();
        }
        printf("%d themed\n", themed);
        printf("%s\n", form.Paint().c_str());
    }
    destroyed = com::Counted::DestroyIdle();
    printf("%zu destroyed\n", destroyed);
    return 0;
}
