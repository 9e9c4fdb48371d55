/* summary: a frame that does not fit into the ring keeps the reference that was detached for it
 * kind: missing-put
 * counts: surplus
 * objects: 5
 * track: intrusive_ref_counter
 * libs: -pthread
 * build: g++ -O2 -g
 */
// Acquisition of a grating spectrometer: the sensor thread fills frames and hands them over a single-producer ring to the
// analysis, which subtracts the dark frame, looks for lines and keeps the strongest spectra.
#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

namespace spectro {

const int kPixels = 64;

enum class FrameKind { Dark, Lamp, Sample };

class Frame : public boost::intrusive_ref_counter<Frame, boost::thread_safe_counter> {
public:
    Frame(uint32_t serial, FrameKind kind, int exposure_ms) : serial_(serial), kind_(kind), exposure_ms_(exposure_ms) {}

    uint32_t serial() const { return serial_; }
    FrameKind kind() const { return kind_; }
    int exposure_ms() const { return exposure_ms_; }
    uint16_t *pixels() { return pixels_; }
    const uint16_t *pixels() const { return pixels_; }

    int peak() const {
        int best = 0;
        for (int i = 1; i < kPixels; ++i)
            if (pixels_[i] > pixels_[best])
                best = i;
        return best;
    }

private:
    uint32_t serial_;
    FrameKind kind_;
    int exposure_ms_;
    uint16_t pixels_[kPixels] = {};
};

typedef boost::intrusive_ptr<Frame> FramePtr;

// one thread pushes, one thread pops
class FrameRing {
public:
    explicit FrameRing(size_t capacity) : slots_(capacity + 1, nullptr), head_(0), tail_(0) {}

    bool push(Frame *frame) {
        size_t tail = tail_.load(std::memory_order_relaxed);
        size_t next = (tail + 1) % slots_.size();
        if (next == head_.load(std::memory_order_acquire))
            return false;
        slots_[tail] = frame;
        tail_.store(next, std::memory_order_release);
        return true;
    }

    Frame *pop() {
        size_t head = head_.load(std::memory_order_relaxed);
        if (head == tail_.load(std::memory_order_acquire))
            return nullptr;
        Frame *frame = slots_[head];
        head_.store((head + 1) % slots_.size(), std::memory_order_release);
        return frame;
    }

    bool full() const {
        return (tail_.load(std::memory_order_relaxed) + 1) % slots_.size() == head_.load(std::memory_order_acquire);
    }

private:
    std::vector<Frame *> slots_;
    std::atomic<size_t> head_, tail_;
};

class FrameLink {
public:
    explicit FrameLink(size_t capacity) : ring_(capacity), closed_(false), posted_(0), dropped_(0) {}

    ~FrameLink() {
        while (Frame *raw = ring_.pop())
            FramePtr rest(raw, false);
    }

    bool post(FramePtr frame) {
        if (closed_.load(std::memory_order_relaxed))
            return false;
        Frame *raw = frame.detach(); // ACCEPTED
        if (!ring_.push(raw)) {
            ++dropped_;
#ifndef BUG
            FramePtr refused(raw, false);
#endif
            return false; // GUILTY
        }
        ++posted_;
        return true;
    }

    FramePtr take() { return FramePtr(ring_.pop(), false); }

    void wait_for_room() const {
        while (ring_.full())
            std::this_thread::yield();
    }

    void close() { closed_.store(true, std::memory_order_release); }
    bool closed() const { return closed_.load(std::memory_order_acquire); }
    unsigned posted() const { return posted_; }
    unsigned dropped() const { return dropped_; }

private:
    FrameRing ring_;
    std::atomic<bool> closed_;
    unsigned posted_, dropped_;
};

class Sensor {
public:
    explicit Sensor(FrameLink &link) : link_(link), serial_(0), noise_(12345) {}

    // the sensor's own pace: what does not fit is lost
    void burst(FrameKind kind, int frames) {
        for (int i = 0; i < frames; ++i)
            link_.post(expose(kind, 2));
    }

    // exposures that are started by hand
    void measure(int frames) {
        for (int i = 0; i < frames; ++i) {
            FramePtr frame = expose(FrameKind::Sample, 10 + i % 5);
            last_ = frame;
            link_.wait_for_room();
            link_.post(std::move(frame));
        }
    }

    FramePtr last() const { return last_; }

private:
    FramePtr expose(FrameKind kind, int exposure_ms) {
        FramePtr frame(new Frame(++serial_, kind, exposure_ms));
        int line = kind == FrameKind::Lamp ? 20 : 8 + static_cast<int>(serial_ * 7 % 48);
        for (int i = 0; i < kPixels; ++i) {
            noise_ = noise_ * 1103515245u + 12345u;
            double signal = 40 + (noise_ >> 16) % 9;
            if (kind != FrameKind::Dark)
                signal += exposure_ms * 60.0 * std::exp(-0.5 * (i - line) * (i - line));
            frame->pixels()[i] = static_cast<uint16_t>(signal);
        }
        return frame;
    }

    FrameLink &link_;
    FramePtr last_;
    uint32_t serial_;
    uint32_t noise_;
};

class Analysis {
public:
    explicit Analysis(size_t keep) : keep_(keep), seen_(0) {}

    void run(FrameLink &link) {
        for (;;) {
            bool closing = link.closed();
            FramePtr frame = link.take();
            if (!frame) {
                if (closing)
                    break;
                std::this_thread::yield();
                continue;
            }
            accept(frame);
        }
    }

    void report() const {
        std::printf("%u frames, dark frame %u, lamp frame %u\n", seen_, dark_ ? dark_->serial() : 0,
                    lamp_ ? lamp_->serial() : 0);
        for (const FramePtr &frame : strongest_)
            std::printf("  frame %3u: line at pixel %2d, %d counts in %d ms\n", frame->serial(), frame->peak(), net(*frame),
                        frame->exposure_ms());
    }

private:
    int net(const Frame &frame) const {
        int peak = frame.peak();
        return frame.pixels()[peak] - (dark_ ? dark_->pixels()[peak] : 0);
    }

    void accept(const FramePtr &frame) {
        ++seen_;
        switch (frame->kind()) {
        case FrameKind::Dark:
            dark_ = frame;
            return;
        case FrameKind::Lamp:
            lamp_ = frame;
            return;
        case FrameKind::Sample:
            break;
        }
        auto at = strongest_.begin();
        while (at != strongest_.end() && net(**at) >= net(*frame))
            ++at;
        strongest_.insert(at, frame);
        if (strongest_.size() > keep_)
            strongest_.pop_back();
    }

    size_t keep_;
    unsigned seen_;
    FramePtr dark_, lamp_;
    std::vector<FramePtr> strongest_;
};

} // namespace spectro

int main() {
    using namespace spectro;
    FrameLink link(8);
    Sensor sensor(link);
    Analysis analysis(6);

    // warm-up: the analysis begins when the lamp is stable
    sensor.burst(FrameKind::Dark, 3);
    sensor.burst(FrameKind::Lamp, 10);

    std::thread analyst([&] { analysis.run(link); });
    sensor.measure(60);
    link.close();
    analyst.join();

    analysis.report();
    FramePtr last = sensor.last();
    std::printf("last exposure was frame %u, %u handed over, %u dropped\n", last->serial(), link.posted(), link.dropped());
    return link.posted() == 68 ? 0 : 1;
}
