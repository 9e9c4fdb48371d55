/* summary: strong and weak counts packed in one 64 bit word, taken and given back in batches, with references passed on without touching the count
 * track: own
 * build: g++ -std=c++17 -O2 -g batchrefs.cpp -o OUT -pthread
 */
// batchrefs - pages of a store, shared by a pool of scanners.  The count is a
// word: strong references in the lower half, weak ones in the upper half, and
// all the strong ones together have one weak.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

class Page
{
public:
    static Page *create(int number) { return new Page(number); }

    void get(unsigned n = 1) { m_word.fetch_add(n * Strong, std::memory_order_relaxed); }

    void put(unsigned n = 1)
    {
        uint64_t old = m_word.fetch_sub(n * Strong, std::memory_order_acq_rel);
        if (uint32_t(old) == n)
        {
            m_text->~basic_string();
            m_text = nullptr;
            putWeak();
        }
    }

    void getWeak() { m_word.fetch_add(Weak, std::memory_order_relaxed); }

    void putWeak()
    {
        if (m_word.fetch_sub(Weak, std::memory_order_acq_rel) == Weak)
            delete this;
    }

    // A strong reference from a weak one, unless the text is gone.
    bool tryGet()
    {
        uint64_t word = m_word.load(std::memory_order_relaxed);
        while (uint32_t(word))
            if (m_word.compare_exchange_weak(word, word + Strong, std::memory_order_acquire))
                return true;
        return false;
    }

    // Strong to weak in one step.
    void downgrade()
    {
        uint64_t old = m_word.fetch_add(Weak - Strong, std::memory_order_acq_rel);
        if (uint32_t(old) == 1)
        {
            m_text->~basic_string();
            m_text = nullptr;
            putWeak();
        }
    }

    int number() const { return m_number; }
    const std::string &text() const { return *m_text; }

private:
    static constexpr uint64_t Strong = 1;
    static constexpr uint64_t Weak = uint64_t(1) << 32;

    explicit Page(int number) : m_number(number)
    {
        m_text = new (m_room) std::string("page " + std::to_string(number) + " of the store with some words");
    }
    ~Page() = default;

    int m_number;
    std::atomic<uint64_t> m_word{Strong + Weak};
    std::string *m_text;
    alignas(std::string) unsigned char m_room[sizeof(std::string)];
};

// A strong reference.
class PageRef
{
public:
    PageRef() = default;
    explicit PageRef(Page *adopted) : m_page(adopted) {}
    PageRef(PageRef &&o) noexcept : m_page(std::exchange(o.m_page, nullptr)) {}
    PageRef &operator=(PageRef &&o) noexcept
    {
        std::swap(m_page, o.m_page);
        return *this;
    }
    ~PageRef() { if (m_page) m_page->put(); }
    PageRef copy() const
    {
        m_page->get();
        return PageRef(m_page);
    }
    Page *operator->() const { return m_page; }
    Page *leak() { return std::exchange(m_page, nullptr); }

private:
    Page *m_page = nullptr;
};

constexpr unsigned Scanners = 3;

class Board
{
public:
    // One reference for each scanner, taken with a single addition.
    void pin(const PageRef &page)
    {
        page->get(Scanners);
        m_pages.push_back({page.operator->(), 0, Scanners});
    }

    // Gives its own references back with the page, those that are over in one go.
    template <class Each>
    void scan(unsigned scanner, Each each)
    {
        for (Pin &pin : m_pages)
        {
            if (pin.page->number() % 4 == 1 && scanner)
                continue;  // one scanner does it for all
            PageRef mine(pin.page);
            pin.taken.fetch_add(1);
            each(mine);
        }
    }

    void clear()
    {
        for (Pin &pin : m_pages)
            if (unsigned over = pin.all - pin.taken.load())
                pin.page->put(over);
        m_pages.clear();
    }

private:
    struct Pin
    {
        Pin(Page *page, unsigned taken, unsigned all) : page(page), taken(taken), all(all) {}
        Pin(Pin &&o) noexcept : page(o.page), taken(o.taken.load()), all(o.all) {}

        Page *page;
        std::atomic<unsigned> taken;
        unsigned all;
    };

    std::vector<Pin> m_pages;
};

int main()
{
    std::vector<PageRef> store;
    std::vector<Page *> seen;  // weak ones
    Board board;
    long bytes[Scanners] = {};
    int alive = 0;

    for (int number = 0; number < 90; ++number)
    {
        store.emplace_back(Page::create(number));
        if (number % 2)
            board.pin(store.back());
        if (number % 3 == 0)
        {
            seen.push_back(store.back().operator->());
            seen.back()->getWeak();
        }
    }
    std::vector<std::thread> scanners;
    for (unsigned s = 0; s < Scanners; ++s)
        scanners.emplace_back([&board, &bytes, s] {
            board.scan(s, [&](PageRef &page) { bytes[s] += page->text().size() * (s + 1); });
        });
    for (std::thread &scanner : scanners)
        scanner.join();
    for (int i = 0; i < 40; ++i)
        if (i % 4 == 0)
        {
            Page *page = store[i].leak();
            page->downgrade();
            seen.push_back(page);
        }
        else
            store[i] = store[i + 40].copy();
    board.clear();
    for (Page *page : seen)
    {
        if (page->tryGet())
        {
            alive += page->text().size() > 10;
            page->put();
        }
        page->putWeak();
    }
    std::printf("%ld %ld %ld bytes, %d of %zu alive\n", bytes[0], bytes[1], bytes[2], alive, seen.size());
    return 0;
}
