/* summary: counted objects that move: a compacting heap slides live ones together with memmove and grows with realloc, references are handles through a table, objects are put and got by whatever address they have at that time
 * track: auto
 * build: g++ -std=c++17 -O2 -flto -g -Wall compact_heap.cpp -o OUT
 */
// compact_heap - texts of an editor's undo history.
//
// Texts are counted, and live in one block that is compacted when it is full
// and reallocated when that was not enough.  So nobody keeps an address: a
// Text is a number, and the table tells where its cell is at present.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct Cell
{
    uint32_t size;  // with this head
    uint32_t slot;  // of the table, that points back here
    uint32_t refs;
    uint32_t length;
    char text[1];

    void ref() { ++refs; }
    bool unref() { return --refs == 0; }
};

class Heap
{
public:
    explicit Heap(uint32_t size) : m_block(static_cast<char *>(std::malloc(size))), m_size(size) {}
    ~Heap() { std::free(m_block); }
    Heap(const Heap &) = delete;
    Heap &operator=(const Heap &) = delete;

    // A new text with one reference.
    uint32_t make(std::string_view text);

    Cell *cell(uint32_t slot) const { return reinterpret_cast<Cell *>(m_block + m_table[slot]); }

    void get(uint32_t slot) { cell(slot)->ref(); }

    void put(uint32_t slot)
    {
        Cell *gone = cell(slot);
        if (!gone->unref())
            return;
        m_dead += gone->size;  // the cell stays until the heap is compacted
        m_table[slot] = kNone;
        m_freeSlots.push_back(slot);
        --m_live;
    }

    int live() const { return m_live; }
    int compactions() const { return m_compactions; }
    int moves() const { return m_moves; }
    int growths() const { return m_growths; }

private:
    static constexpr uint32_t kNone = ~0u;

    void compact();

    char *m_block;
    uint32_t m_size, m_used = 0, m_dead = 0;
    std::vector<uint32_t> m_table, m_freeSlots;
    int m_live = 0, m_compactions = 0, m_moves = 0, m_growths = 0;
};

__attribute__((noinline)) uint32_t Heap::make(std::string_view text)
{
    uint32_t size = (offsetof(Cell, text) + text.size() + 1 + 15) & ~15u;

    if (m_used + size > m_size && m_dead >= size)
        compact();
    if (m_used + size > m_size)
    {
        m_size = m_size * 2 + size;
        m_block = static_cast<char *>(std::realloc(m_block, m_size));
        if (!m_block)
            std::abort();
        ++m_growths;
    }
    auto *made = reinterpret_cast<Cell *>(m_block + m_used);
    made->size = size;
    made->refs = 1;
    made->length = static_cast<uint32_t>(text.size());
    std::memcpy(made->text, text.data(), text.size());
    made->text[text.size()] = 0;
    if (m_freeSlots.empty())
    {
        made->slot = static_cast<uint32_t>(m_table.size());
        m_table.push_back(m_used);
    }
    else
    {
        made->slot = m_freeSlots.back();
        m_freeSlots.pop_back();
        m_table[made->slot] = m_used;
    }
    m_used += size;
    ++m_live;
    return made->slot;
}

void Heap::compact()
{
    uint32_t to = 0;
    for (uint32_t from = 0, size; from < m_used; from += size)
    {
        auto *each = reinterpret_cast<Cell *>(m_block + from);
        size = each->size;  // the cell may be overwritten by itself
        if (!each->refs)
            continue;
        m_table[each->slot] = to;
        if (to != from)
        {
            std::memmove(m_block + to, each, size);
            ++m_moves;
        }
        to += size;
    }
    m_used = to;
    m_dead = 0;
    ++m_compactions;
}

static Heap heap(2048);

class Text
{
public:
    Text() = default;
    explicit Text(std::string_view text) : m_slot(static_cast<int32_t>(heap.make(text))) {}
    Text(const Text &other) : m_slot(other.m_slot)
    {
        if (m_slot >= 0)
            heap.get(static_cast<uint32_t>(m_slot));
    }
    Text(Text &&other) noexcept : m_slot(std::exchange(other.m_slot, -1)) {}
    Text &operator=(Text other) noexcept
    {
        std::swap(m_slot, other.m_slot);
        return *this;
    }
    ~Text()
    {
        if (m_slot >= 0)
            heap.put(static_cast<uint32_t>(m_slot));
    }

    // Good until the next text is made.
    std::string_view view() const
    {
        if (m_slot < 0)
            return {};
        const Cell *cell = heap.cell(static_cast<uint32_t>(m_slot));
        return {cell->text, cell->length};
    }

private:
    int32_t m_slot = -1;
};

// ---- the editor --------------------------------------------------------------

struct Step
{
    size_t line;
    Text before, after;
};

class Editor
{
public:
    explicit Editor(int lines)
    {
        Text empty("");
        m_lines.assign(lines, empty);
    }

    void change(size_t line, std::string_view text)
    {
        m_redo.clear();
        Text after(text);
        m_undo.push_back({line, m_lines[line], after});
        m_lines[line] = std::move(after);
        if (m_undo.size() > 40)
            m_undo.erase(m_undo.begin(), m_undo.begin() + 10);
    }

    bool undo() { return step(m_undo, m_redo, &Step::before); }
    bool redo() { return step(m_redo, m_undo, &Step::after); }

    void copyLine(size_t from, size_t to)
    {
        m_undo.push_back({to, m_lines[to], m_lines[from]});
        m_lines[to] = m_lines[from];
    }

    size_t bytes() const
    {
        size_t sum = 0;
        for (const Text &each : m_lines)
            sum += each.view().size();
        return sum;
    }

    const Text &line(size_t n) const { return m_lines[n]; }

private:
    bool step(std::vector<Step> &from, std::vector<Step> &to, Text Step::*which)
    {
        if (from.empty())
            return false;
        Step taken = std::move(from.back());
        from.pop_back();
        m_lines[taken.line] = taken.*which;
        to.push_back(std::move(taken));
        return true;
    }

    std::vector<Text> m_lines;
    std::vector<Step> m_undo, m_redo;
};

int main()
{
    unsigned seed = 7;
    int undone = 0, redone = 0;
    bool right = true;
    {
        Editor editor(12);
        for (int i = 0; i < 1200; ++i)
        {
            size_t line = rand_r(&seed) % 12;
            switch (rand_r(&seed) % 6)
            {
            case 0:
                undone += editor.undo();
                break;
            case 1:
                redone += editor.redo();
                break;
            case 2:
                editor.copyLine(line, (line + 5) % 12);
                break;
            default:
            {
                std::string text = "line " + std::to_string(i) + std::string(rand_r(&seed) % 90, '.');
                editor.change(line, text);
                right = right && editor.line(line).view() == text;
            }
            }
        }
        std::printf("%d texts, %zu bytes in the lines\n", heap.live(), editor.bytes());
    }
    std::printf("%d undone, %d redone, %d compactions with %d moves, %d growths, %d left\n", undone, redone,
                heap.compactions(), heap.moves(), heap.growths(), heap.live());
    return !right || heap.live();
}
