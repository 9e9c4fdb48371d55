/* summary: the getter of a sheet's title block hands out the block without a reference, the callers release it
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * build: g++ -std=c++17 -O2 -g
 */
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using HResult = int32_t;
constexpr HResult kOk = 0, kFalse = 1, kNoInterface = -1, kBadIndex = -2;
constexpr uint32_t kUnknownId = 0, kShapeId = 1, kTextId = 2;

struct IBase {
    virtual HResult QueryInterface(uint32_t id, void **out) = 0;
    virtual unsigned AddRef() = 0;
    virtual unsigned Release() = 0;

protected:
    virtual ~IBase() = default;
};

struct IShape : IBase {
    virtual void Move(int dx, int dy) = 0;
    virtual int Area() const = 0;
};

template <class T> class Com {
public:
    Com() = default;
    explicit Com(T *pointer) : pointer_(pointer)
    {
        if (pointer_)
            pointer_->AddRef();
    }
    Com(const Com &other) : Com(other.pointer_) {}
    Com(Com &&other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
    Com &operator=(Com other) noexcept
    {
        std::swap(pointer_, other.pointer_);
        return *this;
    }
    ~Com() { Reset(); }

    void Reset()
    {
        if (T *old = std::exchange(pointer_, nullptr))
            old->Release();
    }
    T **Put()
    {
        Reset();
        return &pointer_;
    }
    void Attach(T *pointer)
    {
        Reset();
        pointer_ = pointer;
    }
    T *Get() const { return pointer_; }
    T *operator->() const { return pointer_; }
    explicit operator bool() const { return pointer_ != nullptr; }

private:
    T *pointer_ = nullptr;
};

class Block : public IShape {
public:
    Block(std::string text, int width, int height) : text_(std::move(text)), width_(width), height_(height) {}

    HResult QueryInterface(uint32_t id, void **out) override
    {
        if (id != kUnknownId && id != kShapeId) {
            *out = nullptr;
            return kNoInterface;
        }
        *out = static_cast<IShape *>(this);
        AddRef();
        return kOk;
    }
    unsigned AddRef() override { return ++refs_; }
    unsigned Release() override
    {
        unsigned left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }
    void Move(int dx, int dy) override
    {
        x_ += dx;
        y_ += dy;
    }
    int Area() const override { return width_ * height_; }
    const std::string &Text() const { return text_; }
    void SetText(std::string text) { text_ = std::move(text); }
    int X() const { return x_; }

private:
    ~Block() override = default;

    int x_ = 0, y_ = 0;
    unsigned refs_ = 1;
    std::string text_;
    int width_, height_;
};

class Sheet {
public:
    explicit Sheet(unsigned number) : number_(number) {}

    void Add(Block *block) { blocks_.emplace_back(block); }
    void SetTitle(Block *title) { title_ = Com<Block>(title); }
    void SetFrame(Block *frame) { frame_ = Com<Block>(frame); }

    HResult GetBlock(size_t index, Block **out) const
    {
        if (index >= blocks_.size()) {
            *out = nullptr;
            return kBadIndex;
        }
        *out = blocks_[index].Get();
        (*out)->AddRef();
        return kOk;
    }

    HResult GetFrame(Block **out) const
    {
        *out = frame_.Get();
        if (!*out)
            return kFalse;
        (*out)->AddRef();
        return kOk;
    }

    HResult GetTitle(Block **out) const
    {
        *out = title_.Get();
        if (!*out)
            return kFalse;
#ifdef BUG
        return kOk; /* GUILTY */
#else
        (*out)->AddRef();
        return kOk;
#endif
    }

    size_t Count() const { return blocks_.size(); }
    unsigned Number() const { return number_; }

private:
    unsigned number_;
    std::vector<Com<Block>> blocks_;
    Com<Block> title_, frame_;
};

static int TotalArea(const Sheet &sheet)
{
    int area = 0;
    for (size_t i = 0; i < sheet.Count(); i++) {
        Com<Block> block;
        if (sheet.GetBlock(i, block.Put()) == kOk)
            area += block->Area();
    }
    return area;
}

static void Shift(const Sheet &sheet, int dx)
{
    for (size_t i = 0; i < sheet.Count(); i++) {
        Com<Block> block;
        if (sheet.GetBlock(i, block.Put()) != kOk)
            continue;
        Com<IShape> shape;
        void *raw = nullptr;
        if (block->QueryInterface(kShapeId, &raw) == kOk)
            shape.Attach(static_cast<IShape *>(raw));
        if (shape && block->QueryInterface(kTextId, &raw) == kNoInterface)
            shape->Move(dx, 0);
    }
}

static std::string FrameText(const Sheet &sheet)
{
    Com<Block> frame;
    return sheet.GetFrame(frame.Put()) == kOk ? frame->Text() : std::string("no frame");
}

static void Revise(const Sheet &sheet, const char *revision)
{
    Com<Block> title;
    if (sheet.GetTitle(title.Put()) == kOk) /* ACCEPTED */
        title->SetText(std::string("Pump house, ") + revision);
}

int main()
{
    std::vector<Sheet> sheets;
    std::vector<Com<Block>> clipboard;
    Com<Block> frame, house_title;

    frame.Attach(new Block("A3", 420, 297));
    house_title.Attach(new Block("Pump house", 180, 60));
    for (unsigned number = 1; number <= 9; number++) {
        Sheet &sheet = sheets.emplace_back(number);
        for (unsigned i = 0; i <= number % 5; i++) {
            auto *block = new Block("detail " + std::to_string(number * 10 + i), 30 + static_cast<int>(i), 20);
            sheet.Add(block);
            block->Release();
        }
        if (number % 4 != 0)
            sheet.SetFrame(frame.Get());
        if (number == 1 || number % 3 == 2)
            sheet.SetTitle(house_title.Get());
    }

    for (const Sheet &sheet : sheets) {
        Shift(sheet, 15);
        Com<Block> first;
        if (sheet.Number() % 2 && sheet.GetBlock(0, first.Put()) == kOk)
            clipboard.push_back(first);
    }
    for (const Sheet &sheet : sheets) {
        if (sheet.Number() == 5)
            Revise(sheet, "revision B");
        std::printf("sheet %u: %zu blocks, %d square mm, %s\n", sheet.Number(), sheet.Count(), TotalArea(sheet),
                    FrameText(sheet).c_str());
    }

    Sheet paste(10);
    for (const Com<Block> &block : clipboard)
        paste.Add(block.Get());
    clipboard.clear();
    std::printf("pasted %zu blocks, %d square mm, title \"%s\"\n", paste.Count(), TotalArea(paste),
                house_title->Text().c_str());
    sheets.erase(sheets.begin() + 2, sheets.begin() + 4);
    std::printf("%zu sheets left, frame %s\n", sheets.size(), frame->Text().c_str());
    return 0;
}
