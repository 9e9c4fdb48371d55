/* summary: Stabilizer::accept keeps its reference frame by a second shared_ptr made from the plain pointer, so the frame goes back into the pool twice
 * kind: second-owner
 * counts: none
 * objects: 2
 * track: libstdcxx
 * build: g++ -Og -g -std=c++17
 * exit: 0
 */
// steadycam_pool - steadies the pictures of a camera.  Frames are few and come
// out of a pool; the last one who holds a frame gives it back.

#include <cstdio>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

struct Offset
{
    int dx = 0;
    int dy = 0;
};

class Frame : public std::enable_shared_from_this<Frame>
{
public:
    static constexpr int kWidth = 32;
    static constexpr int kHeight = 18;

    explicit Frame(int slot) : slot(slot), pixels(kWidth * kHeight) {}

    uint8_t at(int x, int y) const
    {
        x = x < 0 ? 0 : x >= kWidth ? kWidth - 1 : x;
        y = y < 0 ? 0 : y >= kHeight ? kHeight - 1 : y;
        return pixels[static_cast<size_t>(y * kWidth + x)];
    }

    int slot;
    int number = -1;
    bool scene_cut = false;
    Offset shift;
    std::vector<uint8_t> pixels;
};

using FramePtr = std::shared_ptr<Frame>;

class FramePool
{
public:
    explicit FramePool(int size)
    {
        for (int slot = 0; slot < size; ++slot)
        {
            frames_.push_back(std::make_unique<Frame>(slot));
            free_.push_back(frames_.back().get());
        }
    }

    // A frame that comes back here when nobody holds it any more.
    FramePtr share(Frame *frame)
    {
        return FramePtr(frame, [this](Frame *done) { recycle(done); });
    }

    FramePtr acquire()
    {
        if (free_.empty())
        {
            ++starved_;
            return nullptr;
        }
        Frame *frame = free_.front();
        free_.pop_front();
        frame->shift = {};
        frame->scene_cut = false;
        return share(frame);
    }

    int starved() const { return starved_; }
    int recycled() const { return recycled_; }

private:
    void recycle(Frame *frame)
    {
        ++recycled_;
        free_.push_back(frame);
    }

    std::vector<std::unique_ptr<Frame>> frames_;
    std::deque<Frame *> free_;
    int starved_ = 0;
    int recycled_ = 0;
};

// ---------------------------------------------------------------- the chain

class Camera
{
public:
    explicit Camera(FramePool &pool) : pool_(pool) {}

    FramePtr capture()
    {
        FramePtr frame = pool_.acquire();

        ++number_;
        if (!frame)
            return frame;
        frame->number = number_;
        frame->scene_cut = number_ % 16 == 0;
        int scene = number_ / 16;
        int jitter = number_ * 7 % 5 - 2;
        for (int y = 0; y < Frame::kHeight; ++y)
            for (int x = 0; x < Frame::kWidth; ++x)
                frame->pixels[static_cast<size_t>(y * Frame::kWidth + x)] =
                    static_cast<uint8_t>(((x + jitter) * 5 + y * 3 * (scene + 1)) & 0x7f);
        return frame;
    }

private:
    FramePool &pool_;
    int number_ = -1;
};

class Stabilizer
{
public:
    explicit Stabilizer(FramePool &pool) : pool_(pool) {}

    void accept(Frame &frame)
    {
        if (!reference_ || frame.scene_cut)
        {
#ifdef BUG
            reference_ = pool_.share(&frame); // GUILTY
#else
            reference_ = frame.shared_from_this();
#endif
            ++scenes_;
            return;
        }
        frame.shift = search(frame);
    }

    void flush()
    {
        reference_.reset();
    }

    int scenes() const { return scenes_; }

private:
    long distance(const Frame &frame, int dx) const
    {
        long sum = 0;

        for (int y = 0; y < Frame::kHeight; y += 3)
            for (int x = 0; x < Frame::kWidth; x += 2)
            {
                int d = frame.at(x + dx, y) - reference_->at(x, y);

                sum += d < 0 ? -d : d;
            }
        return sum;
    }

    Offset search(const Frame &frame) const
    {
        Offset best;
        long least = distance(frame, 0);

        for (int dx = -4; dx <= 4; ++dx)
        {
            long sum = distance(frame, dx);

            if (sum < least)
            {
                least = sum;
                best.dx = dx;
            }
        }
        return best;
    }

    FramePool &pool_;
    FramePtr reference_;
    int scenes_ = 0;
};

// Writes frames some time later, as a disk does.
class Recorder
{
public:
    void push(FramePtr frame)
    {
        queue_.push_back(std::move(frame));
        while (queue_.size() > 3)
            write();
    }

    void finish()
    {
        while (!queue_.empty())
            write();
    }

    long total() const { return total_; }
    int written() const { return written_; }

private:
    void write()
    {
        const Frame &frame = *queue_.front();

        total_ += frame.at(7 + frame.shift.dx, 5) + frame.shift.dx;
        ++written_;
        queue_.pop_front();
    }

    std::deque<FramePtr> queue_;
    long total_ = 0;
    int written_ = 0;
};

int main()
{
    FramePool pool(8);
    Camera camera(pool);
    Stabilizer stabilizer(pool);
    Recorder recorder;

    for (int i = 0; i < 60; ++i)
    {
        FramePtr frame = camera.capture();

        if (!frame)
            continue;
        stabilizer.accept(*frame);
        recorder.push(std::move(frame));
    }
    stabilizer.flush();
    recorder.finish();
    std::printf("%d written, %d scenes, %ld, starved %d\n", recorder.written(), stabilizer.scenes(),
                recorder.total(), pool.starved());
    return 0;
}
