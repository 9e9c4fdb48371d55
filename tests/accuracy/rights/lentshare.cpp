/* summary: shared_ptr with aliasing pointers, an owner lent to a C library as a void *, and objects that their deleter revives into a pool
 * track: auto
 * build: g++ -std=c++17 -O2 -g lentshare.cpp -o OUT
 */
// lentshare - frames of a camera.  The driver is a C library with callbacks and
// one void * per request; frames go back to a pool when nobody has them.

#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

extern "C" {

typedef void (*driver_done)(int status, void *user);

struct driver_request
{
    driver_done done;
    void *user;
    int delay;
};

static std::deque<driver_request> driver_queue;

// Calls done exactly once later, unless it returns -1.
static int driver_submit(driver_done done, void *user, int delay)
{
    if (driver_queue.size() >= 3)
        return -1;
    driver_queue.push_back({done, user, delay});
    return 0;
}

static void driver_tick(void)
{
    for (size_t left = driver_queue.size(); left; --left)
    {
        driver_request request = driver_queue.front();
        driver_queue.pop_front();
        if (request.delay-- > 0)
            driver_queue.push_back(request);
        else
            request.done(request.delay, request.user);
    }
}

static void driver_abort(void)
{
    while (!driver_queue.empty())
    {
        driver_request request = driver_queue.front();
        driver_queue.pop_front();
        request.done(-1000, request.user);
    }
}

}

struct Plane
{
    int sum = 0;
    std::vector<unsigned char> bytes = std::vector<unsigned char>(64);
};

struct Frame : std::enable_shared_from_this<Frame>
{
    explicit Frame(int id) : id(id) {}

    // Shares the frame's count, points at a part of it.
    std::shared_ptr<Plane> plane(int index) { return {shared_from_this(), &planes[index]}; }

    int id;
    int uses = 0;
    Plane planes[3];
    std::shared_ptr<Frame> reference;  // what this one was predicted from
};

class Pool : public std::enable_shared_from_this<Pool>
{
public:
    ~Pool() { std::printf("pool: %d frames made, %zu at home\n", m_made, m_free.size()); }

    std::shared_ptr<Frame> get()
    {
        std::unique_ptr<Frame> frame;
        if (m_free.empty())
            frame = std::make_unique<Frame>(m_made++);
        else
        {
            frame = std::move(m_free.back());
            m_free.pop_back();
        }
        ++frame->uses;
        // A new control block each time; the object goes home alive.
        std::weak_ptr<Pool> home = weak_from_this();
        return {frame.release(), [home](Frame *back) {
                    std::unique_ptr<Frame> owned(back);
                    owned->reference.reset();  // may send another one home
                    if (auto pool = home.lock())
                        pool->m_free.push_back(std::move(owned));
                }};
    }

private:
    std::vector<std::unique_ptr<Frame>> m_free;
    int m_made = 0;
};

class Camera
{
public:
    explicit Camera(std::shared_ptr<Pool> pool) : m_pool(std::move(pool)) {}

    bool shoot(int number)
    {
        std::shared_ptr<Frame> frame = m_pool->get();

        // A chain of at most two: a longer one would keep every frame.
        if (m_last && !m_last->reference)
            frame->reference = m_last;
        auto *lent = new std::shared_ptr<Job>(new Job{this, frame, number});
        m_running.push_back(*lent);
        if (driver_submit(&Camera::done, lent, number % 4) < 0)
        {
            delete lent;
            ++m_dropped;
            return false;
        }
        if (number % 5 == 0)
            m_shown.push_back(frame->plane(number % 3));
        m_last = std::move(frame);
        return true;
    }

    int sum()
    {
        int sum = 0, alive = 0;
        for (const std::shared_ptr<Plane> &plane : m_shown)
            sum += plane->sum;
        for (const std::weak_ptr<Job> &job : m_running)
            alive += !job.expired();
        if (m_shown.size() > 3)
            m_shown.erase(m_shown.begin(), m_shown.begin() + 2);
        std::printf("%d jobs under way, %d dropped, %d aborted\n", alive, m_dropped, m_aborted);
        return sum;
    }

private:
    struct Job
    {
        Camera *camera;
        std::shared_ptr<Frame> frame;
        int number;
    };

    static void done(int status, void *user)
    {
        std::unique_ptr<std::shared_ptr<Job>> lent(static_cast<std::shared_ptr<Job> *>(user));
        Job &job = **lent;

        if (status < -1)
        {
            ++job.camera->m_aborted;
            return;
        }
        for (Plane &plane : job.frame->planes)
            for (unsigned char &byte : plane.bytes)
                plane.sum += byte = job.number + job.frame->uses;
    }

    std::shared_ptr<Pool> m_pool;
    std::shared_ptr<Frame> m_last;
    std::vector<std::shared_ptr<Plane>> m_shown;
    std::vector<std::weak_ptr<Job>> m_running;
    int m_dropped = 0;
    int m_aborted = 0;
};

int main()
{
    auto pool = std::make_shared<Pool>();
    std::weak_ptr<Pool> watch = pool;
    std::shared_ptr<Frame> keepsake = pool->get();

    {
        Camera camera(pool);
        for (int number = 0; number < 120; ++number)
        {
            camera.shoot(number);
            if (number % 2 || number % 7 == 0)
                driver_tick();
            if (number % 20 == 19)
                std::printf("sum %d, ", camera.sum());
        }
        driver_abort();
        std::printf("sum %d\n", camera.sum());
    }
    pool.reset();
    std::printf("pool %s, frame %d has been used %d times\n", watch.expired() ? "gone" : "there", keepsake->id, keepsake->uses);
    return 0;
}
