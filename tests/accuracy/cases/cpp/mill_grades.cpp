/* summary: the shift report releases the grade of a machine, which current_grade() only lends
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: g++ -O3 -g
 */
// Paper mill: machines run grades of paper, orders wait for a machine with the right grade, reels come out of it.
#include <atomic>
#include <cstdio>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace mill {

class Grade {
public:
    Grade(const char *name, int weight, int width) : weight_(weight), width_(width), refs_(1) {
        snprintf(name_, sizeof name_, "%s", name);
    }
    Grade *grab() {
        refs_.fetch_add(1, std::memory_order_relaxed);
        return this;
    }
    void drop() {
        if (refs_.fetch_sub(1, std::memory_order_release) == 1) {
            std::atomic_thread_fence(std::memory_order_acquire);
            delete this;
        }
    }
    const char *name() const { return name_; }
    int weight() const { return weight_; }
    int width() const { return width_; }
    double tons(int metres) const { return 1e-8 * weight_ * width_ * metres; }

private:
    ~Grade() = default;
    char name_[88];
    int weight_, width_;
    std::atomic<int> refs_;
};

// owns one reference to a grade
class GradeHold {
public:
    GradeHold() = default;
    explicit GradeHold(Grade *owned) : grade_(owned) {}
    GradeHold(const GradeHold &other) : grade_(other.grade_ ? other.grade_->grab() : nullptr) {}
    GradeHold(GradeHold &&other) noexcept : grade_(std::exchange(other.grade_, nullptr)) {}
    GradeHold &operator=(GradeHold other) noexcept {
        std::swap(grade_, other.grade_);
        return *this;
    }
    ~GradeHold() {
        if (grade_)
            grade_->drop();
    }
    Grade *get() const { return grade_; }
    Grade *operator->() const { return grade_; }
    explicit operator bool() const { return grade_ != nullptr; }

private:
    Grade *grade_ = nullptr;
};

struct Reel {
    int number;
    int metres;
    GradeHold grade;
};

struct Order {
    const char *customer;
    GradeHold grade;
    int metres;
};

class Machine {
public:
    Machine(const char *name, int speed) : name_(name), speed_(speed) { reels_.reserve(16); }
    ~Machine() {
        if (running_)
            running_->drop();
        if (next_)
            next_->drop();
    }
    Machine(const Machine &) = delete;

    // lends; null while the machine stands still
    Grade *current_grade() const { return running_; }
    // gives a reference; null if nothing is planned
    Grade *planned_grade() const { return next_ ? next_->grab() : nullptr; }

    void plan(Grade *grade) {
        Grade *old = next_;
        next_ = grade ? grade->grab() : nullptr;
        if (old)
            old->drop();
    }
    bool change_over() {
        if (!next_)
            return false;
        if (running_)
            running_->drop();
        running_ = next_;
        next_ = nullptr;
        changes_++;
        return true;
    }
    void stop() {
        if (running_)
            running_->drop();
        running_ = nullptr;
    }
    int run(int minutes, int number) {
        if (!running_)
            return 0;
        Reel reel;
        reel.number = number;
        reel.metres = speed_ * minutes;
        reel.grade = GradeHold(running_->grab());
        reels_.push_back(std::move(reel));
        return speed_ * minutes;
    }
    const char *name() const { return name_; }
    int changes() const { return changes_; }
    const std::vector<Reel> &reels() const { return reels_; }

private:
    const char *name_;
    int speed_;
    int changes_ = 0;
    Grade *running_ = nullptr;
    Grade *next_ = nullptr;
    std::vector<Reel> reels_;
};

class OrderBook {
public:
    void take(const char *customer, Grade *grade, int metres) {
        Order order;
        order.customer = customer;
        order.grade = GradeHold(grade->grab());
        order.metres = metres;
        orders_.push_back(std::move(order));
    }
    // The first order that the machine can make decides what it runs next.
    bool schedule(Machine &machine, int widest) {
        for (Order &order : orders_) {
            if (order.metres > 0 && order.grade->width() <= widest) {
                machine.plan(order.grade.get());
                return true;
            }
        }
        return false;
    }
    int deliver(const Machine &machine) {
        int served = 0;
        for (const Reel &reel : machine.reels()) {
            int left = reel.metres;
            for (Order &order : orders_) {
                if (order.grade.get() != reel.grade.get() || order.metres <= 0)
                    continue;
                int cut = order.metres < left ? order.metres : left;
                order.metres -= cut;
                left -= cut;
                served += order.metres == 0;
            }
        }
        return served;
    }
    void tidy() {
        while (!orders_.empty() && orders_.front().metres <= 0)
            orders_.pop_front();
    }
    size_t open() const { return orders_.size(); }

private:
    std::deque<Order> orders_;
};

struct ShiftReport {
    double tons = 0;
    int running = 0;
    int planned = 0;
};

static void report_machine(const Machine &machine, ShiftReport &report) {
    printf("%-5s", machine.name());
    if (Grade *grade = machine.current_grade()) {
        printf(" runs %s %d g/m2", grade->name(), grade->weight());
        report.running++;
#ifdef BUG
        grade->drop(); // GUILTY
#endif
    }
    if (Grade *grade = machine.planned_grade()) {
        printf(" then %s", grade->name());
        report.planned++;
        grade->drop();
    }
    double tons = 0;
    for (const Reel &reel : machine.reels())
        tons += reel.grade->tons(reel.metres);
    report.tons += tons;
    printf(", %zu reels, %.2f t, %d changes\n", machine.reels().size(), tons, machine.changes());
}

} // namespace mill

int main() {
    using namespace mill;
    std::vector<GradeHold> catalogue;
    catalogue.reserve(6);
    catalogue.emplace_back(new Grade("newsprint", 45, 840));
    catalogue.emplace_back(new Grade("kraft", 120, 600));
    catalogue.emplace_back(new Grade("offset", 80, 700));
    catalogue.emplace_back(new Grade("tissue", 18, 540));
    catalogue.emplace_back(new Grade("board", 240, 480));
    catalogue.emplace_back(new Grade("bible", 30, 620));

    std::unique_ptr<Machine> first(new Machine("PM1", 900));
    std::unique_ptr<Machine> second(new Machine("PM2", 650));
    std::unique_ptr<Machine> third(new Machine("PM3", 300));
    OrderBook book;
    book.take("Courier", catalogue[0].get(), 40000);
    book.take("Bags & Co", catalogue[1].get(), 25000);
    book.take("Herald", catalogue[0].get(), 26000);
    book.take("Psalter", catalogue[5].get(), 9000);

    int metres = 0, number = 700;
    if (book.schedule(*first, 900) && first->change_over()) {
        for (int hour = 0; hour < 2; hour++)
            metres += first->run(60, number++);
    }
    if (book.schedule(*second, 610) && second->change_over())
        metres += second->run(60, number++);
    third->plan(catalogue[3].get());
    third->change_over();
    metres += third->run(30, number++);
    third->stop();
    third->plan(catalogue[4].get());
    second->plan(catalogue[2].get());

    int served = book.deliver(*first) + book.deliver(*second) + book.deliver(*third);
    book.tidy();
    ShiftReport report;
    report_machine(*first, report);
    report_machine(*second, report);
    report_machine(*third, report);
    printf("%d m, %.2f t, %d run, %d planned, %d orders served, %zu open\n", metres, report.tons, report.running,
           report.planned, served, book.open());
    third.reset();
    second.reset();
    first.reset();
    return 0;
}
