/* summary: shared_ptr and weak_ptr in unusual ways: a pool whose deleter keeps the raw pointer and wraps it again in a new control block, a second control block with an empty deleter or one that holds the first, aliasing to members and to nothing, owners moved by memcpy, an atomic shared_ptr with its lock bit, exceptions that carry owners between threads, weak pointers that outlive make_shared, an owner in TLS and one in a closure that holds itself
 * track: shared_ptr weak_ptr
 * build: g++ -O2 -g -std=c++20 -Wall -pthread -o OUT harbor_slips.cpp
 */
#include <any>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> slips{0};

struct Slip : std::enable_shared_from_this<Slip> {
	explicit Slip(int n) : number(n), boat("boat " + std::to_string(n)) { slips++; }
	~Slip() { slips--; }
	int number;
	std::string boat;
	std::shared_ptr<Slip> neighbour;
	std::weak_ptr<Slip> opposite;
};

// ---- a pool: objects sleep as raw pointers, and get a control block each time they are used ----

class SlipPool : public std::enable_shared_from_this<SlipPool> {
public:
	std::shared_ptr<Slip> take(int n)
	{
		Slip *s;
		{
			std::lock_guard<std::mutex> l(lock_);
			if (idle_.empty()) {
				s = new Slip(n);
			} else {
				s = idle_.back().release();
				idle_.pop_back();
			}
		}
		s->number = n;
		return std::shared_ptr<Slip>(s, [pool = weak_from_this()](Slip *s) {
			if (auto p = pool.lock())
				p->give(s);
			else
				delete s;
		});
	}
	size_t idle() { return idle_.size(); }

private:
	void give(Slip *s)
	{
		s->neighbour.reset();
		std::lock_guard<std::mutex> l(lock_);
		idle_.emplace_back(s);
	}
	std::mutex lock_;
	std::vector<std::unique_ptr<Slip>> idle_;
};

// ---- a vector that relocates by memcpy, as folly::fbvector does with what is relocatable ----

class Ledger {
public:
	void add(std::shared_ptr<Slip> s)
	{
		if (n_ == room_) {
			room_ = room_ ? room_ * 2 : 2;
			// the owners move with their bytes: no constructor, no destructor
			data_ = static_cast<std::shared_ptr<Slip> *>(realloc(static_cast<void *>(data_), room_ * sizeof *data_));
		}
		new (&data_[n_++]) std::shared_ptr<Slip>(std::move(s));
	}
	void swap_bytes(size_t a, size_t b)
	{
		alignas(std::shared_ptr<Slip>) unsigned char t[sizeof *data_];
		memcpy(t, static_cast<void *>(&data_[a]), sizeof t);
		memcpy(static_cast<void *>(&data_[a]), static_cast<void *>(&data_[b]), sizeof t);
		memcpy(static_cast<void *>(&data_[b]), t, sizeof t);
	}
	~Ledger()
	{
		while (n_)
			data_[--n_].~shared_ptr();
		free(static_cast<void *>(data_));
	}

private:
	std::shared_ptr<Slip> *data_ = nullptr;
	size_t n_ = 0, room_ = 0;
};

// ---- an exception that owns ----

struct Refused {
	std::shared_ptr<Slip> slip;
	std::weak_ptr<Slip> instead;
};

static std::shared_ptr<Slip> moor(const std::shared_ptr<Slip> &s, int draught)
{
	std::shared_ptr<Slip> hold = s;
	if (draught > 4)
		throw Refused{ hold, s->opposite };
	return hold;
}

// ---- a singleton held weakly by its factory: comes back after it has died ----

static std::shared_ptr<Slip> harbour_master()
{
	static std::weak_ptr<Slip> known;
	static std::mutex lock;
	std::lock_guard<std::mutex> l(lock);
	auto s = known.lock();
	if (!s)
		known = s = std::make_shared<Slip>(1);
	return s;
}

// ---- a C interface: an owner behind a void * ----

using Callback = void (*)(void *);
static void call_c(Callback c, void *user) { c(user); }
static void on_tide(void *user)
{
	std::unique_ptr<std::shared_ptr<Slip>> box(static_cast<std::shared_ptr<Slip> *>(user));
	(*box)->number++;
}

static std::atomic<std::shared_ptr<const std::map<int, std::shared_ptr<Slip>>>> plan;
static thread_local std::shared_ptr<Slip> mine;
static std::shared_ptr<SlipPool> pool = std::make_shared<SlipPool>();
static std::vector<std::weak_ptr<Slip>> ghosts;         // keep control blocks, not objects
std::shared_ptr<Slip> *forever;                  // on the heap on purpose, reachable

static void pilot(int id, std::promise<std::shared_ptr<Slip>> result)
{
	mine = harbour_master();
	for (int i = 0; i < 100; i++) {
		auto now = plan.load();
		auto next = std::make_shared<std::map<int, std::shared_ptr<Slip>>>(*now);
		(*next)[i % 6] = pool->take(id * 1000 + i);
		std::shared_ptr<const std::map<int, std::shared_ptr<Slip>>> fixed = next;
		while (!plan.compare_exchange_weak(now, fixed)) {
			auto merged = std::make_shared<std::map<int, std::shared_ptr<Slip>>>(*now);
			(*merged)[i % 6] = next->at(i % 6);
			fixed = next = merged;
		}
	}
	try {
		result.set_value(moor(mine, id + 4));
	} catch (...) {
		result.set_exception(std::current_exception());
	}
}

int main()
{
	plan.store(std::make_shared<std::map<int, std::shared_ptr<Slip>>>());
	std::vector<std::future<std::shared_ptr<Slip>>> answers;
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++) {
		std::promise<std::shared_ptr<Slip>> p;
		answers.push_back(p.get_future());
		threads.emplace_back(pilot, i, std::move(p));
	}
	for (auto &t : threads)
		t.join();
	std::exception_ptr kept;
	int moored = 0, refused = 0;
	for (auto &a : answers) {
		try {
			moored += a.get() != nullptr;
		} catch (const Refused &r) {
			refused += r.slip != nullptr;
			kept = std::current_exception();
		}
	}

	auto s = std::make_shared<Slip>(7);
	// the name alone, owning the whole; one that owns nothing; one that owns and points to nothing
	std::shared_ptr<std::string> boat(s, &s->boat);
	std::shared_ptr<Slip> borrowed(std::shared_ptr<void>(), s.get());
	std::shared_ptr<Slip> nobody(s, nullptr);
	// further control blocks for the same object that never delete it
	std::shared_ptr<Slip> view(s.get(), [](Slip *) {});
	std::shared_ptr<Slip> proxy(s.get(), [keep = s](Slip *) mutable { keep.reset(); });
	std::shared_ptr<void> erased = proxy;
	view.reset();
	proxy.reset();
	borrowed.reset();
	ghosts.push_back(s);
	ghosts.push_back(s->weak_from_this());
	s.reset();
	boat->append("!");
	erased.reset();
	nobody.reset();
	boat.reset();                           // the object goes; ghosts keep its memory
	ghosts.push_back(std::make_shared<Slip>(8));    // dead at once

	Ledger ledger;
	for (int i = 0; i < 9; i++)
		ledger.add(pool->take(i));
	ledger.swap_bytes(0, 8);
	ledger.swap_bytes(1, 8);

	// two that hold each other, one of them weakly; a circle that is opened by hand
	auto a = std::shared_ptr<Slip>(new Slip(20)), b = a->neighbour = std::make_shared<Slip>(21);
	b->opposite = a;
	b->neighbour = a->shared_from_this();
	std::any bag = a;
	a.reset();
	b->neighbour.reset();
	auto again = std::function<int(int)>();
	auto self = std::make_shared<std::function<int(int)>>();
	*self = [self, b](int n) { return n ? (*self)(n - 1) : b->number; };
	again = *self;
	int n = again(3);
	*self = nullptr;                        // it held itself
	call_c(on_tide, new std::shared_ptr<Slip>(b));

	// in a place that had another owner: union-like storage
	alignas(std::shared_ptr<Slip>) unsigned char place[sizeof(std::shared_ptr<Slip>)];
	for (int i = 0; i < 3; i++) {
		auto *p = new (place) std::shared_ptr<Slip>(i ? b : harbour_master());
		p->~shared_ptr();
	}
	forever = new std::shared_ptr<Slip>(std::make_shared<Slip>(99));
	mine = *forever;                        // in TLS of the main thread, to the end
	kept = nullptr;
	plan.store(nullptr);
	printf("%d moored, %d refused, n %d, idle %d, ghosts %zu\n", moored, refused, n, pool->idle() > 0, ghosts.size());
	return 0;
}
