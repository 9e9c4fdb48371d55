/* summary: counted base class in the middle of several bases (virtual inheritance, virtual destructors, class-wide operator new), objects on the stack and in static memory whose first reference nobody puts, references taken over by reset and leak, constructors that throw with the base counted
 * track: own
 * build: g++ -std=c++17 -O0 -g -Wall mi_nodes.cpp -o OUT
 */
// mi_nodes - processing graph of a small synthesiser.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace synth
{

// Starts with the creator's reference.
class Counted
{
public:
    void ref() const { ++m_count; }
    void unref() const
    {
        if (--m_count == 0)
            last();
    }
    int count() const { return m_count; }

protected:
    Counted() = default;
    virtual ~Counted() = default;
    virtual void last() const { delete this; }

private:
    mutable int m_count = 1;
};

template <class T> class Ref
{
public:
    Ref() = default;
    static Ref take(T *owned)  // the caller's reference
    {
        Ref ref;
        ref.m_to = owned;
        return ref;
    }
    static Ref share(T *borrowed)
    {
        if (borrowed)
            borrowed->ref();
        return take(borrowed);
    }
    Ref(const Ref &other) : m_to(other.m_to)
    {
        if (m_to)
            m_to->ref();
    }
    Ref(Ref &&other) noexcept : m_to(std::exchange(other.m_to, nullptr)) {}
    template <class U> Ref(Ref<U> other) : m_to(other.leak()) {}
    Ref &operator=(Ref other) noexcept
    {
        std::swap(m_to, other.m_to);
        return *this;
    }
    ~Ref()
    {
        if (m_to)
            m_to->unref();
    }
    T *leak() { return std::exchange(m_to, nullptr); }
    T *operator->() const { return m_to; }
    T *get() const { return m_to; }
    explicit operator bool() const { return m_to; }

private:
    T *m_to = nullptr;
};

struct Named
{
    std::string name;
    explicit Named(std::string n) : name(std::move(n)) {}
    virtual ~Named() = default;
};

struct Sink
{
    virtual ~Sink() = default;
    virtual void accept(double value) = 0;
};

// Nodes come from blocks that are never returned to the system.
class Blocks
{
public:
    void *take(size_t size)
    {
        size_t unit = (size + 31) / 32;
        if (unit >= kUnits)
            return ::operator new(size);
        if (void *block = m_free[unit])
        {
            m_free[unit] = *static_cast<void **>(block);
            ++reused;
            return block;
        }
        if (m_left < unit * 32)
        {
            m_all.emplace_back(new char[kChunk]);
            m_at = m_all.back().get();
            m_left = kChunk;
        }
        void *block = m_at;
        m_at += unit * 32;
        m_left -= unit * 32;
        return block;
    }
    void give(void *block, size_t size)
    {
        size_t unit = (size + 31) / 32;
        if (unit >= kUnits)
            return ::operator delete(block);
        *static_cast<void **>(block) = m_free[unit];
        m_free[unit] = block;
    }
    int reused = 0;

private:
    static constexpr size_t kUnits = 12, kChunk = 8192;
    void *m_free[kUnits] = {};
    char *m_at = nullptr;
    size_t m_left = 0;
    std::vector<std::unique_ptr<char[]>> m_all;
};

static Blocks blocks;
static int nodes;

class Node : public Named, public virtual Counted
{
public:
    explicit Node(std::string name) : Named(std::move(name)) { ++nodes; }
    virtual double value(int at) = 0;
    static void *operator new(size_t size) { return blocks.take(size); }
    static void operator delete(void *node, size_t size) { blocks.give(node, size); }

protected:
    ~Node() override { --nodes; }
};

class Wave final : public Node
{
public:
    Wave(std::string name, int period) : Node(std::move(name)), m_period(period)
    {
        if (period <= 0)
            throw std::invalid_argument("period of " + this->name);
    }
    double value(int at) override { return at % m_period < m_period / 2 ? 1 : -1; }

private:
    int m_period;
};

class Mixer : public Sink, public Node
{
public:
    explicit Mixer(std::string name) : Node(std::move(name)) {}
    Mixer(std::string name, std::vector<Ref<Node>> inputs) : Node(std::move(name)), m_inputs(std::move(inputs)) {}
    void add(Ref<Node> input)
    {
        if (m_inputs.size() == 6)
            throw std::length_error(name + " is full");
        m_inputs.push_back(std::move(input));
    }
    double value(int at) override
    {
        double sum = m_offset;
        for (auto &each : m_inputs)
            sum += each->value(at);
        return sum;
    }
    void accept(double value) override { m_offset = value; }
    void clear() { m_inputs.clear(); }

private:
    double m_offset = 0;
    std::vector<Ref<Node>> m_inputs;
};

// Where nobody may delete: on the stack or in static memory.  Its first reference is the place itself.
class Fixed final : public Mixer
{
public:
    using Mixer::Mixer;
    ~Fixed() override
    {
        if (count() != 1)
            std::abort();  // somebody still refers to this place
    }

protected:
    void last() const override { std::abort(); }
};

static Fixed silence("silence");

// A C interface of a plugin host, that knows Sink pointers alone.
struct Port
{
    Sink *sink;
};

static Port openPort(Ref<Mixer> mixer)
{
    return {mixer.leak()};  // the port owns it
}

static void closePort(Port &port)
{
    port.sink->accept(0);
    Ref<Mixer>::take(static_cast<Mixer *>(port.sink));
    port.sink = nullptr;
}

static Ref<Node> patch(int i)
{
    auto first = Ref<Node>::take(new Wave("a" + std::to_string(i), 4 + i % 5));
    auto mixer = Ref<Mixer>::take(new Mixer("mix" + std::to_string(i)));
    mixer->add(first);
    mixer->add(Ref<Node>::share(&silence));
    for (int k = 0; k < i % 6; ++k)
        mixer->add(first);  // may throw
    mixer->add(Ref<Node>::take(new Wave("b" + std::to_string(i), i % 8)));  // may throw as well
    return mixer;
}

static double play(int i)
{
    Fixed bus("bus");
    Port port = openPort(Ref<Mixer>::share(&bus));
    double sum = 0;

    struct Close
    {
        Port &port;
        ~Close() { closePort(port); }
    } close{port};
    bus.add(patch(i));
    bus.add(patch(i + 1));
    port.sink->accept(0.5);
    for (int at = 0; at < 20; ++at)
        sum += bus.value(at);
    return sum;
}

}  // namespace synth

int main()
{
    using namespace synth;
    double sum = 0;
    int failed = 0;

    for (int i = 0; i < 60; ++i)
    {
        try
        {
            sum += play(i);
        }
        catch (const std::exception &)
        {
            ++failed;
        }
    }
    std::printf("sum %g, %d failed, %d nodes left, silence %d, %d places reused\n", sum, failed, nodes,
                silence.count(), blocks.reused);
    return nodes != 1 || silence.count() != 1;
}
