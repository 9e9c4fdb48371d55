/* summary: counted nodes in an arena that is reset as a whole while their counts are above 0 (the references among them go with it), a node that outlives its request is copied out; strong and weak counts in two halves of one 64-bit word, shared_ptr by allocate_shared in the same arena, aliasing pointers, a shared_ptr whose deleter gives an intrusive reference back, references handed from thread to thread in a ring
 * track: own shared_ptr
 * build: g++ -std=c++17 -O0 -g -o OUT request_arena.cpp -pthread
 */
// request_arena - answers queries.  What a query needs lies in an arena that
// is wiped at its end; answers are on the heap, with strong and weak owners.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// ---- the arena: nothing is freed but all of it ----

class Arena
{
public:
    explicit Arena(size_t size) : memory_(static_cast<char *>(std::malloc(size))), size_(size) {}
    ~Arena() { std::free(memory_); }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    void *take(size_t n)
    {
        n = (n + 15) & ~size_t(15);
        if (used_ + n > size_)
            throw std::bad_alloc();
        void *p = memory_ + used_;
        used_ += n;
        return p;
    }

    void reset() { used_ = 0; }
    size_t used() const { return used_; }

private:
    char *memory_;
    size_t size_;
    size_t used_ = 0;
};

template <class T>
struct ArenaAllocator
{
    using value_type = T;
    Arena *arena;

    explicit ArenaAllocator(Arena &a) : arena(&a) {}
    template <class U>
    ArenaAllocator(const ArenaAllocator<U> &other) : arena(other.arena) {}
    T *allocate(size_t n) { return static_cast<T *>(arena->take(n * sizeof(T))); }
    void deallocate(T *, size_t) {}

    template <class U>
    bool operator==(const ArenaAllocator<U> &other) const { return arena == other.arena; }
    template <class U>
    bool operator!=(const ArenaAllocator<U> &other) const { return arena != other.arena; }
};

// ---- nodes of an expression; shared ones are counted, for the optimizer asks
// ---- whether it may change one in place ----

struct Node
{
    int refs;
    char op;
    int value;
    Node *left;
    Node *right;
};

static Node *node_new(Arena &arena, char op, int value, Node *left, Node *right)
{
    return new (arena.take(sizeof(Node))) Node{1, op, value, left, right};
}

static Node *node_get(Node *node)
{
    ++node->refs;
    return node;
}

// The memory is the arena's; a node that nobody has just lets its parts go.
static void node_put(Node *node)
{
    if (--node->refs)
        return;
    if (node->left)
        node_put(node->left);
    if (node->right)
        node_put(node->right);
}

static int eval(const Node *node)
{
    switch (node->op)
    {
    case '+':
        return eval(node->left) + eval(node->right);
    case '*':
        return eval(node->left) * eval(node->right) % 1009;
    default:
        return node->value;
    }
}

static Node *fold(Arena &arena, Node *node, int &inPlace)
{
    if (node->op == 'n')
        return node;
    if (node->refs == 1)
    {
        const int value = eval(node);
        node_put(node->left);
        node_put(node->right);
        *node = Node{1, 'n', value, nullptr, nullptr};
        ++inPlace;
        return node;
    }
    Node *folded = node_new(arena, 'n', eval(node), nullptr, nullptr);
    node_put(node);
    return folded;
}

// ---- answers: strong owners in the low half of a word, weak ones (and one for
// ---- all the strong ones) in the high half ----

class Answer
{
public:
    static constexpr uint64_t Strong = 1;
    static constexpr uint64_t Weak = uint64_t(1) << 32;

    static Answer *create(int query, int value) { return new Answer(query, value); }

    void retain() { counts_.fetch_add(Strong); }

    void release()
    {
        const uint64_t before = counts_.fetch_sub(Strong);
        if (static_cast<uint32_t>(before) != 1)
            return;
        std::string().swap(text_);
        release_weak();
    }

    void retain_weak() { counts_.fetch_add(Weak); }

    void release_weak()
    {
        if (counts_.fetch_sub(Weak) >> 32 == 1)
            delete this;
    }

    bool try_retain()
    {
        uint64_t now = counts_.load();

        while (static_cast<uint32_t>(now))
            if (counts_.compare_exchange_weak(now, now + Strong))
                return true;
        return false;
    }

    int query() const { return query_; }
    const std::string &text() const { return text_; }

private:
    Answer(int query, int value) : query_(query), text_("the answer is " + std::to_string(value)) {}
    ~Answer() = default;

    std::atomic<uint64_t> counts_{Strong + Weak};
    int query_;
    std::string text_;
};

// ---- a ring that hands answers to the thread that writes them ----

class Ring
{
public:
    void put(Answer *owned)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return head_ - tail_ < 8; });
        slots_[head_++ % 8] = owned;
        changed_.notify_all();
    }

    Answer *take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return head_ != tail_; });
        Answer *owned = slots_[tail_++ % 8];  // the slot keeps the stale pointer
        changed_.notify_all();
        return owned;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    Answer *slots_[8] = {};
    unsigned head_ = 0, tail_ = 0;
};

struct Query
{
    int number;
    std::vector<int> numbers;
};

static int answer(Arena &arena, const Query &query, int &inPlace)
{
    auto shared = std::allocate_shared<Query>(ArenaAllocator<Query>(arena), query);
    std::shared_ptr<std::vector<int>> numbers(shared, &shared->numbers);
    Node *sum = node_new(arena, 'n', 0, nullptr, nullptr);
    Node *last = nullptr;

    shared.reset();
    for (int n : *numbers)
    {
        Node *leaf = node_new(arena, 'n', n, nullptr, nullptr);
        Node *square = node_new(arena, '*', 0, node_get(leaf), leaf);

        if (n % 3 == 0)
            last = node_get(square);  // the arena's end is its end
        sum = fold(arena, node_new(arena, '+', 0, sum, square), inPlace);
    }
    return eval(sum) + (last ? last->refs : 0);
}

int main()
{
    Ring ring;
    Arena arena(1 << 16);
    std::vector<Answer *> weak;
    size_t written = 0, most = 0;
    int inPlace = 0, again = 0;

    std::thread writer([&] {
        while (Answer *each = ring.take())
        {
            written += each->text().size();
            each->release();
        }
    });
    std::vector<std::shared_ptr<Answer>> kept;
    for (int q = 0; q < 150; ++q)
    {
        Query query{q, {}};

        for (int i = 0; i < 4 + q % 9; ++i)
            query.numbers.push_back(q * 31 % 57 + i * 5);
        Answer *made = Answer::create(q, answer(arena, query, inPlace));
        most = arena.used() > most ? arena.used() : most;
        arena.reset();

        made->retain_weak();
        weak.push_back(made);
        if (q % 10 == 3)
        {
            made->retain();
            kept.emplace_back(made, [](Answer *a) { a->release(); });
        }
        ring.put(made);
    }
    ring.put(nullptr);
    writer.join();

    for (Answer *each : weak)
    {
        if (each->try_retain())
        {
            again += each->query();
            each->release();
        }
        each->release_weak();
    }
    std::printf("%zu bytes written, arena up to %zu, %d folded in place, kept %zu, again %d\n", written, most, inPlace,
                kept.size(), again);
    return 0;
}
