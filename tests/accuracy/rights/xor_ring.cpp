/* summary: owned references that no pointer in memory shows: neighbours in an XOR list, pointers shifted right with a kind in the top bits, references sent through a pipe as products with an odd number and references written into text as numbers in base 36; a copy of a list takes a reference for each
 * track: auto
 * build: g++ -std=c++17 -O1 -g -o OUT xor_ring.cpp
 */
// xor_ring - tracks of a sampler.  Memory was short once, so a ring of tracks
// has a single word for both neighbours, and sends words to the sound part.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

class Sample
{
public:
    static Sample *create(int id, int length) { return new Sample(id, length); }

    Sample *retain()
    {
        ++users_;
        return this;
    }

    void release()
    {
        if (--users_ == 0)
            delete this;
    }

    int id() const { return id_; }
    int loudness() const { return static_cast<int>(wave_.size()) * (id_ % 7 + 1); }

    static int alive;

private:
    Sample(int id, int length) : id_(id), wave_(static_cast<size_t>(length)) { ++alive; }
    ~Sample() { --alive; }

    int users_ = 1;
    int id_;
    std::vector<int16_t> wave_;
};

int Sample::alive = 0;

// ---- a list with link = before ^ after; a node owns its sample, and the node
// ---- has the sample's word as address >> 4 with the kind in the top bits ----

enum Kind : uint64_t { Note = 0, Loop = 1, Mute = 2 };

static uint64_t squeeze(Sample *sample, Kind kind)
{
    return reinterpret_cast<uintptr_t>(sample) >> 4 | static_cast<uint64_t>(kind) << 60;
}

static Sample *sample_of(uint64_t word) { return reinterpret_cast<Sample *>((word & ~(15ull << 60)) << 4); }
static Kind kind_of(uint64_t word) { return static_cast<Kind>(word >> 60); }

class Track
{
    struct Node
    {
        uintptr_t link;
        uint64_t word;
    };

    static uintptr_t bits(Node *node) { return reinterpret_cast<uintptr_t>(node); }
    static Node *node_at(uintptr_t bits) { return reinterpret_cast<Node *>(bits); }

public:
    Track() = default;
    Track(const Track &other)
    {
        other.each([this](Sample *sample, Kind kind) { append(sample->retain(), kind); });
    }
    Track(Track &&other) noexcept
        : head_(std::exchange(other.head_, nullptr)), tail_(std::exchange(other.tail_, nullptr)), size_(other.size_)
    {
    }
    Track &operator=(Track other) noexcept
    {
        std::swap(head_, other.head_);
        std::swap(tail_, other.tail_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Track()
    {
        while (Sample *sample = take_first())
            sample->release();
    }

    // Takes the caller's reference over.
    void append(Sample *sample, Kind kind)
    {
        Node *node = new Node{bits(tail_), squeeze(sample, kind)};

        if (tail_)
            tail_->link ^= bits(node);
        else
            head_ = node;
        tail_ = node;
        ++size_;
    }

    // Gives its reference to the caller.
    Sample *take_first()
    {
        Node *node = head_;

        if (!node)
            return nullptr;
        Node *after = node_at(node->link);
        if (after)
            after->link ^= bits(node);
        else
            tail_ = nullptr;
        head_ = after;
        Sample *sample = sample_of(node->word);
        delete node;
        --size_;
        return sample;
    }

    // The same backwards costs nothing with such a link.
    void reverse() { std::swap(head_, tail_); }

    template <class Function>
    void each(Function function) const
    {
        uintptr_t before = 0;

        for (Node *node = head_; node;)
        {
            Node *after = node_at(node->link ^ before);
            function(sample_of(node->word), kind_of(node->word));
            before = bits(node);
            node = after;
        }
    }

    int size() const { return size_; }

private:
    Node *head_ = nullptr;
    Node *tail_ = nullptr;
    int size_ = 0;
};

// ---- the sound part gets its references through a pipe, scrambled ----

static const uint64_t Key = 0x9e3779b97f4a7c15u;

static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;

    for (int i = 0; i < 6; ++i)
        x *= 2 - odd * x;
    return x;
}

class Wire
{
public:
    Wire()
    {
        if (pipe(fd_))
            std::abort();
    }
    ~Wire()
    {
        close(fd_[0]);
        close(fd_[1]);
    }

    void send(Sample *owned)
    {
        uint64_t word = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(owned)) * Key;

        if (write(fd_[1], &word, sizeof word) != static_cast<ssize_t>(sizeof word))
            std::abort();
    }

    Sample *receive()
    {
        uint64_t word;

        if (read(fd_[0], &word, sizeof word) != static_cast<ssize_t>(sizeof word))
            std::abort();
        return reinterpret_cast<Sample *>(static_cast<uintptr_t>(word * inverse(Key)));
    }

private:
    int fd_[2];
};

// ---- clipboards are text; a sample in it is a number in base 36 ----

static std::string to_text(Track &&track)
{
    std::string text;

    while (Sample *sample = track.take_first())
    {
        uintptr_t n = reinterpret_cast<uintptr_t>(sample);
        for (; n; n /= 36)
            text += "0123456789abcdefghijklmnopqrstuvwxyz"[n % 36];
        text += ' ';
    }
    return text;
}

static Track from_text(const std::string &text)
{
    Track track;
    uintptr_t n = 0, factor = 1;

    for (char c : text)
    {
        if (c == ' ')
        {
            track.append(reinterpret_cast<Sample *>(n), Loop);
            n = 0;
            factor = 1;
            continue;
        }
        n += factor * static_cast<uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
        factor *= 36;
    }
    return track;
}

int main()
{
    Wire wire;
    long loud = 0, loops = 0;
    {
        std::vector<Track> song;

        for (int t = 0; t < 12; ++t)
        {
            Track track;

            for (int i = 0; i < 6 + t % 3; ++i)
            {
                Sample *sample = Sample::create(t * 10 + i, 40 + i * t);
                track.append(sample, i % 4 == 3 ? Mute : Note);
            }
            if (t % 2)
                song.push_back(track);
            track.reverse();
            song.push_back(std::move(track));
        }
        const std::string clipboard = to_text(std::move(song[4]));
        song.erase(song.begin() + 2);
        song.push_back(from_text(clipboard));

        for (const Track &track : song)
        {
            int sent = 0;
            track.each([&](Sample *sample, Kind kind) {
                loops += kind == Loop;
                if (kind == Mute)
                    return;
                wire.send(sample->retain());
                ++sent;
            });
            while (sent--)
            {
                Sample *sample = wire.receive();
                loud = loud * 3 % 1000003 + sample->loudness();
                sample->release();
            }
        }
        for (int i = 0; i < 20; ++i)
        {
            Track &track = song[static_cast<size_t>(i) % song.size()];
            if (track.size() > 2)
                wire.send(track.take_first());
            else
                wire.send(Sample::create(900 + i, 9));
        }
    }
    // The song is gone; 20 samples are in the pipe and nowhere else.
    const int in_pipe = Sample::alive;
    for (int i = 0; i < 20; ++i)
        wire.receive()->release();
    std::printf("loud %ld, %ld loops, %d in the pipe, %d left\n", loud, loops, in_pipe, Sample::alive);
    return Sample::alive;
}
