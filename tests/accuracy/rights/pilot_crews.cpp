/* summary: boost intrusive pointers: intrusive_ref_counter objects whose release at zero puts them into a pool and revives them, one that lives on the stack under a guard reference, references that coroutine frames and a C callback's void * own, adopting (p, false) and detach, exceptions through owners, a destructor that makes a temporary pointer to its dying object, a thread that still runs at exit
 * track: own boost
 * build: g++ -O2 -g -std=c++20 -Wall -pthread -o OUT pilot_crews.cpp
 */
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <boost/smart_ptr/make_shared.hpp>
#include <boost/smart_ptr/local_shared_ptr.hpp>
#include <boost/smart_ptr/make_local_shared.hpp>
#include <atomic>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <vector>

using boost::intrusive_ptr;

// ---- counted by boost's base class ----

struct Pilot : boost::intrusive_ref_counter<Pilot, boost::thread_safe_counter> {
	explicit Pilot(int n) : number(n) { alive++; }
	virtual ~Pilot() { alive--; }
	int number;
	intrusive_ptr<Pilot> mate;
	static inline std::atomic<int> alive{0};
};

struct Captain : Pilot {
	using Pilot::Pilot;
	intrusive_ptr<Pilot> aide{new Pilot(-1)};
};

// ---- counted by itself; at zero it is kept ----

class Crew {
public:
	static intrusive_ptr<Crew> get(int size)
	{
		Crew *c;
		if (spare.empty()) {
			c = new Crew;
		} else {
			c = spare.back();
			spare.pop_back();
		}
		c->size = size;
		return c;
	}
	static void close()
	{
		for (Crew *c : spare)
			delete c;
		spare.clear();
		closed = true;
	}
	int size = 0;
	intrusive_ptr<Crew> relief;

protected:
	Crew() { alive++; }
	~Crew() { alive--; }

private:
	friend void intrusive_ptr_add_ref(Crew *c) noexcept { ++c->refs_; }
	friend void intrusive_ptr_release(Crew *c) noexcept
	{
		if (--c->refs_ > 0 || c->on_stack)
			return;
		{
			intrusive_ptr<Crew> r = std::move(c->relief);
		}
		if (spare.size() < 3 && !closed) {
			spare.push_back(c);
			return;
		}
		c->refs_ = 1;                   // nothing below may end it again
		c->sign_off();
		delete c;
	}
	void sign_off()
	{
		intrusive_ptr<Crew> me(this);   // as it is handed to listeners
		size = 0;
	}
	int refs_ = 0;

protected:
	bool on_stack = false;

public:
	static inline std::vector<Crew *> spare;
	static inline bool closed = false;
	static inline int alive = 0;
};

struct StackCrew : Crew {
	StackCrew() { on_stack = true; }
};

// ---- coroutines whose frames own ----

struct Task {
	struct promise_type {
		Task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { error = std::current_exception(); }
		std::exception_ptr error;
	};
	std::coroutine_handle<promise_type> h;
};

static std::deque<std::coroutine_handle<>> ready;
struct Turn {
	bool await_ready() { return false; }
	void await_suspend(std::coroutine_handle<> h) { ready.push_back(h); }
	void await_resume() {}
};

static Task voyage(intrusive_ptr<Pilot> p, intrusive_ptr<Crew> c, int legs)
{
	std::vector<intrusive_ptr<Pilot>> guests;
	for (int i = 0; i < legs; i++) {
		co_await Turn{};
		guests.push_back(i % 2 ? p : intrusive_ptr<Pilot>(new Captain(i)));
		if (i == 6)
			throw std::runtime_error("aground");
		c = Crew::get(i);               // the frame's parameter changes its owner
	}
}

// ---- a C library with void * ----

static void *registered;
static void c_register(void *user) { registered = user; }
static void *c_unregister()
{
	void *u = registered;
	registered = nullptr;
	return u;
}

static int takes_over(Crew *raw, bool fail)
{
	intrusive_ptr<Crew> owner(raw, false);  // adopts the reference that came with raw
	if (fail)
		throw owner->size;
	return owner->size;
}

static std::atomic<bool> on_watch{false};
static void night_watch(intrusive_ptr<Pilot> p)
{
	intrusive_ptr<Pilot> held = p;
	on_watch = true;
	for (;;)
		pause();                        // still on watch when the program ends
}

int main()
{
	std::vector<Task> tasks;
	for (int i = 0; i < 6; i++)
		tasks.push_back(voyage(new Pilot(i), Crew::get(i), 3 + 2 * i));
	for (auto &t : tasks)
		t.h.resume();
	for (int turn = 0; turn < 34 && !ready.empty(); turn++) {
		auto h = ready.front();
		ready.pop_front();
		h.resume();
	}
	int thrown = 0, unfinished = 0;
	ready.clear();
	for (size_t i = 0; i < tasks.size(); i++) {
		thrown += tasks[i].h.promise().error != nullptr;
		unfinished += !tasks[i].h.done();
		tasks[i].h.destroy();           // in the middle, too: what the frame owns goes with it
	}

	int sizes = 0;
	for (int i = 0; i < 10; i++) {
		auto c = Crew::get(10 + i);
		c->relief = Crew::get(20 + i);
		auto both = c;
		try {
			sizes += takes_over(c.detach(), i % 3 == 0);
		} catch (int size) {
			sizes += size;
		}
	}
	{
		StackCrew guest;                // refs 0; pointers to it come and go
		intrusive_ptr<Crew> guard(&guest);
		for (int i = 0; i < 3; i++) {
			intrusive_ptr<Crew> p(&guest), q = p;
			p.swap(q);
		}
	}

	intrusive_ptr<Pilot> p = new Captain(50);
	c_register(intrusive_ptr<Pilot>(p).detach());
	p.reset();
	p = intrusive_ptr<Pilot>(static_cast<Pilot *>(c_unregister()), false);
	p->mate = new Pilot(51);
	p->mate->mate = p;                      // a circle …
	intrusive_ptr<Pilot> mate = std::move(p->mate); // … opened
	mate->mate.reset();
	intrusive_ptr_add_ref(p.get());         // by hand, and back
	unsigned used = p->use_count();
	intrusive_ptr_release(p.get());

	auto shared = boost::make_local_shared<std::vector<intrusive_ptr<Pilot>>>(4, p);
	boost::local_shared_ptr<intrusive_ptr<Pilot>> third(shared, &(*shared)[2]);
	shared.reset();
	boost::shared_ptr<intrusive_ptr<Pilot>> global = third;
	third.reset();

	std::thread(night_watch, mate).detach();
	while (!on_watch)
		std::this_thread::yield();
	global.reset();
	Crew::close();
	printf("%d thrown, %d unfinished, sizes %d, used %u, crews %d, pilots %d\n", thrown, unfinished, sizes, used,
	       Crew::alive, Pilot::alive.load());
	return 0;
}
