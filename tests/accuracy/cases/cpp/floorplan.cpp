/* summary: PriceRoom leaves its loop at the enumerator's S_FALSE, with which the last, short batch of items comes, and never releases that batch
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: own
 * build: g++ -std=c++17 -O2
 * exit: 0
 */
// floorplan - what stands in the rooms of an office, what it is covered with,
// and what it costs.  The object model is the one that scripts see: interfaces
// in the manner of COM, out parameters give a reference to the caller.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

typedef std::int32_t HRESULT;
constexpr HRESULT S_OK = 0, S_FALSE = 1, E_NOINTERFACE = -2, E_BOUNDS = -3, E_FULL = -4;

enum class Iid { Unknown, Finish, Item, Movable, EnumItems, Room };

struct IUnknown {
    virtual HRESULT QueryInterface(Iid iid, void **out) = 0;
    virtual std::uint32_t AddRef() = 0;
    virtual std::uint32_t Release() = 0;
};

struct IFinish : IUnknown {
    virtual long Cents() = 0;
};

struct IItem : IUnknown {
    virtual int Number() = 0;
    virtual HRESULT GetFinish(IFinish **out) = 0;
    virtual void SetFinish(IFinish *f) = 0;
    virtual long BaseCents() = 0;
};

struct IMovable : IUnknown {
    virtual void MoveBy(int dx, int dy) = 0;
    virtual int Distance() = 0;
};

struct IEnumItems : IUnknown {
    // S_OK with as many items as wanted, S_FALSE with fewer.
    virtual HRESULT Next(std::uint32_t wanted, IItem **out, std::uint32_t *got) = 0;
};

struct IRoom : IUnknown {
    virtual HRESULT Add(IItem *item) = 0;
    virtual HRESULT Remove(int number, IItem **out) = 0;
    virtual HRESULT Items(IEnumItems **out) = 0;
};

// First base of everything that scripts can hold.
class Counted {
public:
    [[gnu::noinline]] Counted();
    [[gnu::noinline]] std::uint32_t Hold();
    [[gnu::noinline]] std::uint32_t Drop();

protected:
    virtual ~Counted() = default;

private:
    std::uint32_t m_refs;
};

Counted::Counted() : m_refs(1) {}

std::uint32_t Counted::Hold() { return ++m_refs; }

std::uint32_t Counted::Drop()
{
    if (std::uint32_t left = --m_refs)
        return left;
    delete this;
    return 0;
}

#define COUNTED_METHODS \
    std::uint32_t AddRef() override { return Hold(); } \
    std::uint32_t Release() override { return Drop(); }

template <class I> static HRESULT Give(I *i, void **out)
{
    i->AddRef();
    *out = i;
    return S_OK;
}

static HRESULT Refuse(void **out) { return *out = nullptr, E_NOINTERFACE; }

class Finish final : public Counted, public IFinish {
public:
    explicit Finish(long cents) : m_cents(cents) {}
    COUNTED_METHODS
    HRESULT QueryInterface(Iid iid, void **out) override
    {
        return iid == Iid::Unknown || iid == Iid::Finish ? Give<IFinish>(this, out) : Refuse(out);
    }
    long Cents() override { return m_cents; }

private:
    long m_cents;
};

// Desks, chairs, shelves; also lamps, which are fixed to the ceiling.
class Item final : public Counted, public IItem, public IMovable {
public:
    Item(int number, long cents, bool fixed) : m_number(number), m_cents(cents), m_fixed(fixed) {}
    COUNTED_METHODS
    HRESULT QueryInterface(Iid iid, void **out) override
    {
        if (iid == Iid::Unknown || iid == Iid::Item)
            return Give<IItem>(this, out);
        if (iid == Iid::Movable && !m_fixed)
            return Give<IMovable>(this, out);
        return Refuse(out);
    }
    int Number() override { return m_number; }
    long BaseCents() override { return m_cents; }
    HRESULT GetFinish(IFinish **out) override
    {
        if ((*out = m_finish))
            m_finish->AddRef();
        return m_finish ? S_OK : S_FALSE;
    }
    void SetFinish(IFinish *f) override
    {
        if (f)
            f->AddRef();
        if (IFinish *old = std::exchange(m_finish, f))
            old->Release();
    }
    void MoveBy(int dx, int dy) override { m_x += dx, m_y += dy; }
    int Distance() override { return (m_x < 0 ? -m_x : m_x) + (m_y < 0 ? -m_y : m_y); }

private:
    ~Item() override { SetFinish(nullptr); }
    int m_number, m_x = 0, m_y = 0;
    long m_cents;
    bool m_fixed;
    IFinish *m_finish = nullptr;
};

// The items as they were when it was made: the room may change meanwhile.
class EnumItems final : public Counted, public IEnumItems {
public:
    explicit EnumItems(const std::vector<IItem *> &items) : m_items(items)
    {
        for (IItem *i : m_items)
            i->AddRef();
    }
    COUNTED_METHODS
    HRESULT QueryInterface(Iid iid, void **out) override
    {
        return iid == Iid::Unknown || iid == Iid::EnumItems ? Give<IEnumItems>(this, out) : Refuse(out);
    }
    HRESULT Next(std::uint32_t wanted, IItem **out, std::uint32_t *got) override
    {
        for (*got = 0; *got < wanted && m_at < m_items.size(); ++*got, ++m_at) {
            m_items[m_at]->AddRef();
            out[*got] = m_items[m_at];
        }
        return *got == wanted ? S_OK : S_FALSE;
    }

private:
    ~EnumItems() override
    {
        for (IItem *i : m_items)
            i->Release();
    }
    std::vector<IItem *> m_items;
    std::size_t m_at = 0;
};

class Room final : public Counted, public IRoom {
public:
    explicit Room(std::size_t most) : m_most(most) {}
    COUNTED_METHODS
    HRESULT QueryInterface(Iid iid, void **out) override
    {
        return iid == Iid::Unknown || iid == Iid::Room ? Give<IRoom>(this, out) : Refuse(out);
    }
    HRESULT Add(IItem *item) override
    {
        if (m_items.size() == m_most)
            return E_FULL;
        item->AddRef();
        m_items.push_back(item);
        return S_OK;
    }
    HRESULT Remove(int number, IItem **out) override
    {
        *out = nullptr;
        for (auto it = m_items.begin(); it != m_items.end(); ++it)
            if ((*it)->Number() == number) {
                *out = *it;
                m_items.erase(it);
                return S_OK;
            }
        return E_BOUNDS;
    }
    HRESULT Items(IEnumItems **out) override
    {
        *out = new EnumItems(m_items);
        return S_OK;
    }

private:
    ~Room() override
    {
        for (IItem *i : m_items)
            i->Release();
    }

    std::size_t m_most;
    std::vector<IItem *> m_items;
};

static unsigned Rearrange(IRoom *room, int dx, int dy)
{
    IEnumItems *all = nullptr;
    IItem *item = nullptr;
    std::uint32_t got = 0, moved = 0;
    room->Items(&all);
    while (all->Next(1, &item, &got) == S_OK) {
        IMovable *m = nullptr;
        if (item->QueryInterface(Iid::Movable, reinterpret_cast<void **>(&m)) == S_OK) {
            m->MoveBy(dx, dy + item->Number() % 2);
            moved += m->Distance() > 4;
            m->Release();
        }
        item->Release();
    }
    all->Release();
    return moved;
}

// Carries an item to another room, or back if that is full.
static HRESULT Carry(IRoom *from, IRoom *to, int number)
{
    IItem *item = nullptr;
    HRESULT hr = from->Remove(number, &item);
    if (hr != S_OK)
        return hr;
    if ((hr = to->Add(item)) != S_OK)
        from->Add(item);
    item->Release();
    return hr;
}

static long PriceRoom(IRoom *room)
{
    IEnumItems *all = nullptr;
    long cents = 0;
    room->Items(&all);
    for (;;) {
        IItem *batch[4];
        std::uint32_t got = 0;
        HRESULT hr = all->Next(4, batch, &got);         // ACCEPTED
#ifdef BUG
        if (hr != S_OK)                                 // ACCEPTED
            break;                                      // GUILTY
#else
        if (hr < 0 || got == 0)
            break;
#endif
        for (std::uint32_t i = 0; i < got; ++i) {
            IFinish *f = nullptr;
            cents += batch[i]->BaseCents();
            if (batch[i]->GetFinish(&f) == S_OK) {
                cents += f->Cents();
                f->Release();
            }
            batch[i]->Release();
        }
    }
    all->Release();
    return cents;
}

int main()
{
    IFinish *finishes[] = {new Finish(4900), new Finish(1200), new Finish(8150)};
    std::map<std::string, IRoom *> floor;
    int number = 0;
    for (int r = 0; r < 9; ++r) {
        IRoom *room = floor["room " + std::to_string(101 + r)] = new Room(14);
        for (int n = 0; n < 4 + r; ++n, ++number) {
            IItem *item = new Item(number, 10000 + 250 * (number % 11), number % 6 == 5);
            if (number % 4)
                item->SetFinish(finishes[number % 4 - 1]);
            room->Add(item);
            item->Release();
        }
    }

    unsigned moved = 0, refused = 0;
    for (int i = 0; i < 30; ++i) {
        auto from = floor.find("room " + std::to_string(101 + i % 9));
        auto to = floor.find("room " + std::to_string(101 + (i * 4 + 3) % 9));
        refused += Carry(from->second, to->second, i * 7 % number) != S_OK;
        moved += Rearrange(from->second, i % 3 - 1, i % 2);
    }
    long cents = 0;
    for (auto &r : floor)
        if (r.first.back() % 2)
            cents += PriceRoom(r.second);
    std::printf("%d items, %u moved, %u refused, %ld.%02ld\n", number, moved, refused, cents / 100, cents % 100);

    for (auto &r : floor)
        r.second->Release();
    for (IFinish *f : finishes)
        f->Release();
}
