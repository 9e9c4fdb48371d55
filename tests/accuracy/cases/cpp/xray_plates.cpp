/* summary: the second reading is submitted with get(), but submit() consumes a reference
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * libs: -pthread
 * build: clang++ -O2 -g
 */
// Reading room of a radiology: exposed plates are scanned, sent to a reader thread, and some of them to a second reader.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace xray {

class Plate {
public:
    Plate(unsigned patient, const char *view, unsigned seed) : density_(0), findings_(0), patient_(patient), refs_(1) {
        snprintf(view_, sizeof view_, "%s", view);
        for (uint8_t &pixel : pixels_) {
            seed = seed * 1664525u + 1013904223u;
            pixel = static_cast<uint8_t>(seed >> 24);
        }
    }
    void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
    void deref() {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    void expose(int gain) {
        unsigned sum = 0;
        for (uint8_t &pixel : pixels_) {
            int value = pixel * gain / 100;
            pixel = static_cast<uint8_t>(value > 255 ? 255 : value);
            sum += pixel;
        }
        density_ = sum / sizeof pixels_;
    }
    int spots(int threshold) const {
        int count = 0;
        for (size_t i = 1; i + 1 < sizeof pixels_; i++)
            count += pixels_[i] > threshold && pixels_[i] > pixels_[i - 1] && pixels_[i] > pixels_[i + 1];
        return count;
    }
    void note(int findings) { findings_.fetch_add(findings); }
    int findings() const { return findings_.load(); }
    unsigned density() const { return density_; }
    unsigned patient() const { return patient_; }
    const char *view() const { return view_; }

private:
    ~Plate() {}
    char view_[24];
    unsigned density_;
    std::atomic<int> findings_;
    unsigned patient_;
    std::atomic<int> refs_;
    uint8_t pixels_[320];
};

class PlateRef {
public:
    PlateRef() : plate_(nullptr) {}
    PlateRef(const PlateRef &other) : plate_(other.plate_) {
        if (plate_)
            plate_->ref();
    }
    PlateRef(PlateRef &&other) noexcept : plate_(std::exchange(other.plate_, nullptr)) {}
    ~PlateRef() {
        if (plate_)
            plate_->deref();
    }
    PlateRef &operator=(PlateRef other) noexcept {
        std::swap(plate_, other.plate_);
        return *this;
    }
    static PlateRef adopt(Plate *plate) {
        PlateRef ref;
        ref.plate_ = plate;
        return ref;
    }
    Plate *get() const { return plate_; }
    Plate *leak() { return std::exchange(plate_, nullptr); }
    Plate *operator->() const { return plate_; }
    explicit operator bool() const { return plate_ != nullptr; }

private:
    Plate *plate_;
};

// A reader with a tray in front. Plates in the tray belong to the reader.
class Reader {
public:
    Reader(const char *name, int threshold) : name_(name), threshold_(threshold), closing_(false), busy_(0), read_(0) {
        thread_ = std::thread(&Reader::loop, this);
    }
    ~Reader() { close(); }

    // Consumes a reference to the plate, whether the tray takes it or not.
    bool submit(Plate *plate) {
        PlateRef owned = PlateRef::adopt(plate);
        std::lock_guard<std::mutex> guard(lock_);
        if (closing_ || tray_.size() >= 12)
            return false;
        tray_.push_back(std::move(owned));
        wake_.notify_one();
        return true;
    }
    void drain() {
        std::unique_lock<std::mutex> guard(lock_);
        idle_.wait(guard, [this] { return tray_.empty() && busy_ == 0; });
    }
    void close() {
        {
            std::lock_guard<std::mutex> guard(lock_);
            closing_ = true;
            wake_.notify_all();
        }
        if (thread_.joinable())
            thread_.join();
    }
    int read() const { return read_; }
    const char *name() const { return name_; }

private:
    void loop() {
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            wake_.wait(guard, [this] { return closing_ || !tray_.empty(); });
            if (tray_.empty())
                return;
            PlateRef plate = std::move(tray_.front());
            tray_.pop_front();
            busy_++;
            guard.unlock();
            plate->note(plate->spots(threshold_));
            plate = PlateRef();
            guard.lock();
            busy_--;
            read_++;
            idle_.notify_all();
        }
    }
    const char *name_;
    int threshold_;
    bool closing_;
    int busy_, read_;
    std::mutex lock_;
    std::condition_variable wake_, idle_;
    std::deque<PlateRef> tray_;
    std::thread thread_;
};

struct Study {
    unsigned patient;
    std::vector<PlateRef> plates;
};

class Archive {
public:
    void store(const PlateRef &plate) {
        for (Study &study : studies_) {
            if (study.patient == plate->patient()) {
                study.plates.push_back(plate);
                return;
            }
        }
        Study study;
        study.patient = plate->patient();
        study.plates.push_back(plate);
        studies_.push_back(std::move(study));
    }
    int print() const {
        int findings = 0;
        for (const Study &study : studies_) {
            printf("patient %u:", study.patient);
            for (const PlateRef &plate : study.plates) {
                printf(" %s %d", plate->view(), plate->findings());
                findings += plate->findings();
            }
            printf("\n");
        }
        return findings;
    }

private:
    std::vector<Study> studies_;
};

class ReadingRoom {
public:
    ReadingRoom() : first_("Okafor", 220), second_("Lindqvist", 205), session_(), refused_(0) { session_.reserve(16); }

    void scan(unsigned patient, const char *view, int gain) {
        PlateRef plate = PlateRef::adopt(new Plate(patient, view, patient * 31 + static_cast<unsigned>(gain)));
        plate->expose(gain);
        archive_.store(plate);
        session_.push_back(plate);
        if (!first_.submit(plate.leak()))
            refused_++;
    }
    // Plates with many findings or a poor exposure are read twice.
    int second_readings() {
        int sent = 0;
        first_.drain();
        for (const PlateRef &entry : session_) {
            PlateRef plate = entry;
            if (plate->findings() < 100 && plate->density() >= 90)
                continue;
#ifdef BUG
            if (!second_.submit(plate.get())) // GUILTY
#else
            if (!second_.submit(plate.leak()))
#endif
                refused_++;
            sent++;
        }
        second_.drain();
        return sent;
    }
    void finish() {
        first_.close();
        second_.close();
        int findings = archive_.print();
        printf("%s read %d, %s read %d, %d findings, %d refused\n", first_.name(), first_.read(), second_.name(),
               second_.read(), findings, refused_);
    }

private:
    Reader first_, second_;
    Archive archive_;
    std::vector<PlateRef> session_;
    int refused_;
};

} // namespace xray

int main() {
    xray::ReadingRoom room;
    room.scan(4101, "thorax-pa", 100);
    room.scan(4101, "thorax-lat", 62);
    room.scan(4102, "wrist", 95);
    room.scan(4103, "knee-ap", 110);
    room.scan(4103, "knee-lat", 90);
    room.scan(4104, "hip", 66);
    room.scan(4105, "ankle", 98);
    int sent = room.second_readings();
    printf("%d second readings\n", sent);
    room.finish();
    return 0;
}
