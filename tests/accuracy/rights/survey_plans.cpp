/* summary: split counts as in folly's AtomicSharedPtr: the readers of a slot count in 16 bits packed beside the pointer, the object's own counter starts at 0, goes below it while a slot still counts for it, and is settled by one addition of the slot's count; the last plan is held by a packed pointer only
 * track: own
 * build: g++ -O2 -g -std=c++17 -Wall -pthread -o OUT survey_plans.cpp
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace survey {

std::atomic<long> living{0};

// A plan is never changed once it is published.
class Plan {
public:
	Plan(int revision, int points) : revision(revision), heights(points, revision) { living++; }
	Plan(const Plan &) = delete;

	// a holder that took its reference elsewhere gives it back here
	void drop()
	{
		if (balance_.fetch_sub(1, std::memory_order_acq_rel) == 1)
			delete this;
	}
	// what the slot has counted is added to the plan's own account, at once
	void settle(int counted)
	{
		if (balance_.fetch_add(counted, std::memory_order_acq_rel) == -counted)
			delete this;
	}

	const int revision;
	const std::vector<int> heights;

private:
	~Plan() { living--; }
	std::atomic<int> balance_{0};
};

class Slot;

// one reference on a plan, counted in a slot or (after the slot has moved on) in the plan
class Ref {
public:
	Ref() = default;
	Ref(Plan *p, Slot *from) : plan_(p), from_(from) {}
	Ref(Ref &&o) noexcept : plan_(std::exchange(o.plan_, nullptr)), from_(std::exchange(o.from_, nullptr)) {}
	Ref &operator=(Ref &&o) noexcept
	{
		std::swap(plan_, o.plan_);
		std::swap(from_, o.from_);
		return *this;
	}
	~Ref() { reset(); }
	void reset();
	const Plan *operator->() const { return plan_; }
	explicit operator bool() const { return plan_; }

private:
	Plan *plan_ = nullptr;
	Slot *from_ = nullptr;
};

class Slot {
public:
	static constexpr int shift = 48;
	static constexpr uint64_t mask = (uint64_t(1) << shift) - 1;

	static uint64_t pack(Plan *p, unsigned n) { return reinterpret_cast<uint64_t>(p) | uint64_t(n) << shift; }
	static Plan *plan(uint64_t w) { return reinterpret_cast<Plan *>(w & mask); }
	static unsigned counted(uint64_t w) { return w >> shift; }

	// takes a reference without touching the plan
	Ref read()
	{
		uint64_t w = word_.load(std::memory_order_acquire);
		do {
			if (!plan(w))
				return {};
			if (counted(w) == 0xffff)
				abort();
		} while (!word_.compare_exchange_weak(w, w + (uint64_t(1) << shift), std::memory_order_acq_rel,
						      std::memory_order_acquire));
		return { plan(w), this };
	}
	// true if the slot still has this plan, and has taken the reference back
	bool take_back(Plan *p)
	{
		uint64_t w = word_.load(std::memory_order_acquire);
		while (plan(w) == p && counted(w) > 0)
			if (word_.compare_exchange_weak(w, w - (uint64_t(1) << shift), std::memory_order_acq_rel,
							std::memory_order_acquire))
				return true;
		return false;
	}
	// The slot has its plan alone, without a count in the plan. On leaving, its readers are accounted there.
	void publish(Plan *p) { leave([] {}, p); }
	template <class F> void leave(F &&between, Plan *p = nullptr)
	{
		uint64_t old = word_.exchange(pack(p, 0), std::memory_order_acq_rel);
		between();
		if (Plan *before = plan(old))
			before->settle(static_cast<int>(counted(old)));
	}

private:
	std::atomic<uint64_t> word_{0};
};

void Ref::reset()
{
	Plan *p = std::exchange(plan_, nullptr);
	Slot *s = std::exchange(from_, nullptr);
	if (p && !(s && s->take_back(p)))
		p->drop();
}

// a plan before it is published: owned as any other thing is
class Draft {
public:
	Draft(int revision, int points) : plan_(new Plan(revision, points)) {}
	Draft(Draft &&o) noexcept : plan_(std::exchange(o.plan_, nullptr)) {}
	~Draft()
	{
		if (plan_)
			plan_->settle(0);       // nobody has counted: 0 + 0 is the end
	}
	Plan *release() { return std::exchange(plan_, nullptr); }

private:
	Plan *plan_;
};

}  // namespace survey

using survey::Draft;
using survey::Ref;
using survey::Slot;

static Slot current;
static Slot previous;
static std::atomic<bool> go{false};

static void reader(int id, long *sum)
{
	std::vector<Ref> kept;
	while (!go)
		std::this_thread::yield();
	for (int i = 0; i < 500; i++) {
		Ref r = current.read();
		if (!r)
			continue;
		*sum += r->heights[static_cast<size_t>(i) % r->heights.size()] >= 0;
		if (i % 7 == id)
			kept.push_back(std::move(r));   // outlives the plan's time in the slot
		if (kept.size() > 20)
			kept.erase(kept.begin(), kept.begin() + 15);
	}
}

static void surveyor()
{
	while (!go)
		std::this_thread::yield();
	for (int i = 1; i <= 60; i++) {
		Draft d(i, 10 + i % 5);
		if (i % 10 == 3)
			continue;               // thrown away
		current.publish(d.release());
		if (i % 4 == 0)
			std::this_thread::yield();
	}
}

int main()
{
	current.publish(Draft(0, 10).release());
	long sums[3] = {};
	std::vector<std::thread> team;
	for (int i = 0; i < 3; i++)
		team.emplace_back(reader, i, &sums[i]);
	team.emplace_back(surveyor);
	go = true;
	for (auto &t : team)
		t.join();

	// one thread alone, step by step: 0, settled to 2, one, none
	previous.publish(new survey::Plan(900, 3));
	Ref a = previous.read(), b = previous.read();
	previous.publish(new survey::Plan(901, 3));
	a.reset();
	Ref c = previous.read();
	b.reset();
	c.reset();                              // the slot takes it back: the plan does not notice
	Ref late = previous.read();
	previous.publish(nullptr);
	late.reset();
	// a reader is faster than the slot's account: the balance goes to -1 and comes back to 0
	auto *fast = new survey::Plan(902, 3);
	previous.publish(fast);
	Ref early = previous.read();
	previous.leave([&] { early.reset(); });

	long total = sums[0] + sums[1] + sums[2];
	printf("%ld reads, %ld plan left in its slot\n", total, survey::living.load());
	return survey::living != 1;
}
