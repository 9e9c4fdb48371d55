/* summary: shared pointers in all their forms: aliases without an owner a deleter that gives objects back to a pool which it holds weakly, control blocks whose memory is kept by weak owners alone, boxes for a C interface that own by void*, atomic_store between threads, boost::local_shared_ptr (many for one), intrusive_ptr detached, a static one that is never destroyed, quick_exit
 * track: libstdcxx boost
 * build: g++ -std=c++17 -O3 -g -Wall quote_alias.cpp -o OUT -pthread
 */
// quote_alias - quotes of a market feed for several readers.

#include <array>
#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <boost/smart_ptr/make_shared.hpp>
#include <boost/smart_ptr/shared_ptr.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct Quote
{
    std::string symbol;
    double bid = 0, ask = 0;
};

static std::atomic<int> quotesLive;

// ---- a pool: quotes come back to it while it lives ------------------------------

class Pool : public std::enable_shared_from_this<Pool>
{
public:
    std::shared_ptr<Quote> take(std::string symbol, double bid)
    {
        std::unique_ptr<Quote> quote;
        std::lock_guard<std::mutex> guard(m_lock);
        if (m_free.empty())
            quote = std::make_unique<Quote>();
        else
        {
            quote = std::move(m_free.back());
            m_free.pop_back();
            ++m_reused;
        }
        *quote = {std::move(symbol), bid, bid + 0.25};
        ++quotesLive;
        return {quote.release(), Back{weak_from_this()}};
    }
    int reused() const { return m_reused; }

private:
    struct Back
    {
        std::weak_ptr<Pool> pool;
        void operator()(Quote *quote) const
        {
            std::unique_ptr<Quote> owner(quote);
            --quotesLive;
            if (auto to = pool.lock())
            {
                std::lock_guard<std::mutex> guard(to->m_lock);
                to->m_free.push_back(std::move(owner));
            }
        }
    };
    std::mutex m_lock;
    std::vector<std::unique_ptr<Quote>> m_free;
    int m_reused = 0;
};

// ---- the table of instruments: never destroyed, threads may need it at exit -------

struct Market
{
    std::string name;
    std::array<Quote, 3> fixed{{{"PAR", 1, 1}, {"ZERO", 0, 0}, {"UNIT", 100, 100}}};
};

static const std::shared_ptr<Market> &market()
{
    static auto *forever = new std::shared_ptr<Market>(std::make_shared<Market>(Market{"harbour", {}}));
    return *forever;
}

static Quote halted{"HALT", -1, -1};  // static memory: nobody owns it

static std::shared_ptr<Quote> fixedQuote(size_t n)
{
    if (n == 3)
        return {std::shared_ptr<void>(), &halted};          // an alias of nothing
    return {market(), &market()->fixed[n]};                 // owns the whole market
}

// ---- a C interface: subscriptions with user data ------------------------------------

extern "C" {
struct sub
{
    double (*show)(void *data);
    void (*release)(void *data);
    void *data;
};
}

static double showQuote(void *data) { return (*static_cast<std::shared_ptr<const Quote> *>(data))->ask; }
static void releaseQuote(void *data) { delete static_cast<std::shared_ptr<const Quote> *>(data); }

static sub subscribe(std::shared_ptr<const Quote> quote)
{
    return {showQuote, releaseQuote, new std::shared_ptr<const Quote>(std::move(quote))};
}

// ---- Boost: an intrusive one for the reader, locals in it ------------------------------

struct Rates
{
    int number;
    std::vector<double> values;
};

class Report : public boost::intrusive_ref_counter<Report, boost::thread_safe_counter>
{
public:
    explicit Report(boost::shared_ptr<const Rates> rates) : m_rates(std::move(rates)) {}
    double sum() const
    {
        double all = 0;
        for (double each : m_rates->values)
            all += each;
        return all;
    }

private:
    boost::shared_ptr<const Rates> m_rates;
};

static std::atomic<Report *> mailbox;  // owns what is in it

static double localUse(const boost::shared_ptr<const Rates> &rates, int depth)
{
    // One reference to the shared one, whatever number of locals there is.
    boost::local_shared_ptr<const Rates> first(rates);
    std::vector<boost::local_shared_ptr<const Rates>> many(depth, first);
    boost::local_shared_ptr<const double> last(many.back(), &many.back()->values[depth % 3]);
    first.reset();
    many.clear();
    boost::shared_ptr<const double> out = last;  // shared again: a third kind of owner
    last.reset();
    return *out;
}

// ---- threads ----------------------------------------------------------------------------

static std::shared_ptr<const Quote> latest;  // by atomic_load and atomic_store alone
static std::atomic<bool> stop;

static void readQuotes(double *sum)
{
    thread_local std::shared_ptr<const void> lastSeen;  // given back when the thread ends
    double mine = 0;
    for (int i = 0; i < 400 || !stop; ++i)
    {
        auto quote = std::atomic_load(&latest);
        if (quote)
            mine += quote->bid;
        if (i % 50 == 0)
            lastSeen = std::move(quote);
        if (boost::intrusive_ptr<Report> report{mailbox.exchange(nullptr), false})
            mine += report->sum();
        if (i % 8 == 0)
            std::this_thread::yield();
    }
    *sum = mine;
}

static std::map<std::weak_ptr<Quote>, int, std::owner_less<>> seen;  // its keys stay after the quotes

int main()
{
    auto pool = std::make_shared<Pool>();
    std::vector<sub> subs;
    double sums[2] = {}, shown = 0, local = 0;
    int refilled = 0;

    std::thread readers[2] = {std::thread(readQuotes, &sums[0]), std::thread(readQuotes, &sums[1])};
    for (int i = 0; i < 300; ++i)
    {
        std::shared_ptr<Quote> quote = i % 7 == 6 ? fixedQuote(i / 7 % 4) : pool->take("S" + std::to_string(i % 9), i);
        if (quote.use_count())
            ++seen[quote];
        if (i % 5 == 0)
            subs.push_back(subscribe(quote));
        if (i % 3 == 0)
            subs.push_back(subscribe(std::make_shared<Quote>(*quote)));
        std::atomic_store(&latest, std::shared_ptr<const Quote>(std::move(quote)));
        if (subs.size() > 20)
        {
            for (size_t k = 0; k < 10; ++k)
            {
                shown += subs[k].show(subs[k].data);
                subs[k].release(subs[k].data);
            }
            subs.erase(subs.begin(), subs.begin() + 10);
        }
        if (i % 10 == 0)
        {
            auto rates = boost::make_shared<Rates>(Rates{i, {1. * i, 2, 3}});
            boost::intrusive_ptr<Report> report(new Report(rates));
            local += localUse(rates, 3 + i % 4);
            boost::intrusive_ptr<Report> unread(mailbox.exchange(report.detach()), false);
            refilled += unread != nullptr;
        }
        if (i % 16 == 0)
            std::this_thread::yield();
    }
    stop = true;
    for (auto &each : readers)
        each.join();
    std::atomic_store(&latest, std::shared_ptr<const Quote>());
    boost::intrusive_ptr<Report>(mailbox.exchange(nullptr), false);

    int reused = pool->reused();
    std::weak_ptr<Pool> poolGone = pool;
    pool.reset();  // what its quotes are freed by from now on is the deleter alone
    for (auto &each : subs)
    {
        shown += each.show(each.data);
        each.release(each.data);
    }
    std::printf("%zu seen, %g shown, %g local, %d reused\n", seen.size(), shown, local, reused);
    std::printf("%d quotes live, pool %s, market %ld\n", quotesLive.load(), poolGone.expired() ? "gone" : "there",
                market().use_count());
    std::fflush(stdout);
    bool wrong = quotesLive || !poolGone.expired() || market().use_count() != 1;
    // `seen' still has its weak ones: as the real feed has, when it is restarted.
    std::quick_exit(wrong);
}
