/* summary: ice cores in shared pointers: a vector of them moved by memcpy, a pool that gives out the same block at once, a future's state, members shared by aliases, revenants through weak_from_this
 * track: shared_ptr weak_ptr
 * build: g++ -O3 -g -std=c++20 -pthread glacier_cores.cpp -o OUT
 */
#include <any>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> live{0};

struct Counted {
	Counted() { live++; }
	Counted(const Counted &) { live++; }
	~Counted() { live--; }
};

struct Layer : Counted {
	double depth = 0;
	double ash = 0;
};

struct Core : Counted, std::enable_shared_from_this<Core> {
	explicit Core(std::string name, size_t layers = 4) : name(std::move(name)), layers(layers) {
		if (layers > 100)
			throw std::length_error("too deep");
	}
	// A share of the core by the address of a part of it: the one count is the core's.
	std::shared_ptr<const Layer> layer(size_t i) const { return {shared_from_this(), &layers.at(i)}; }
	std::string name;
	std::vector<Layer> layers;
};

// Blocks of one size; what was freed last is given out first, and nothing goes back before the pool does.
class Pool {
public:
	void *take(size_t bytes) {
		std::lock_guard guard(lock);
		auto &stack = free_blocks[bytes];
		if (stack.empty())
			return all.emplace_back(std::malloc(bytes));
		void *block = stack.back();
		stack.pop_back();
		reused++;
		return block;
	}
	void give(void *block, size_t bytes) {
		std::lock_guard guard(lock);
		free_blocks[bytes].push_back(block);
	}
	~Pool() {
		for (void *block : all)
			std::free(block);
	}
	int reused = 0;

private:
	std::mutex lock;
	std::map<size_t, std::vector<void *>> free_blocks;
	std::vector<void *> all;
};

static Pool pool;

template <class T> struct PoolAllocator {
	using value_type = T;
	PoolAllocator() = default;
	template <class U> PoolAllocator(const PoolAllocator<U> &) {}
	T *allocate(size_t n) { return static_cast<T *>(pool.take(n * sizeof(T))); }
	void deallocate(T *block, size_t n) { pool.give(block, n * sizeof(T)); }
	bool operator==(const PoolAllocator &) const = default;
};

// As folly's and Qt's vectors do it: the bytes are moved and the old place is plain memory after.
template <class T> class Relocating {
public:
	Relocating() = default;
	Relocating(const Relocating &) = delete;
	~Relocating() {
		clear();
		std::free(static_cast<void *>(items));
	}
	void push(T item) {
		if (used == room) {
			room = room ? room * 2 : 2;
			items = static_cast<T *>(std::realloc(static_cast<void *>(items), room * sizeof(T)));
		}
		new (&items[used++]) T(std::move(item));
	}
	void erase(size_t at) {
		items[at].~T();
		std::memmove(static_cast<void *>(items + at), static_cast<const void *>(items + at + 1), (--used - at) * sizeof(T));
	}
	void rotate() {
		alignas(T) unsigned char first[sizeof(T)];
		std::memcpy(first, static_cast<const void *>(items), sizeof(T));
		std::memmove(static_cast<void *>(items), static_cast<const void *>(items + 1), (used - 1) * sizeof(T));
		std::memcpy(static_cast<void *>(items + used - 1), first, sizeof(T));
	}
	void clear() {
		while (used)
			items[--used].~T();
	}
	T &operator[](size_t i) { return items[i]; }
	size_t size() const { return used; }

private:
	T *items = nullptr;
	size_t used = 0, room = 0;
};

static double racks() {
	Relocating<std::shared_ptr<Core>> rack;
	Relocating<std::weak_ptr<Core>> labels;
	for (int i = 0; i < 9; i++) {
		auto core = std::allocate_shared<Core>(PoolAllocator<Core>(), "core" + std::to_string(i));
		core->layers[1].depth = i;
		labels.push(core);
		rack.push(i % 3 ? std::move(core) : core);
	}
	rack.rotate();
	labels.rotate();
	rack.erase(4);
	double sum = 0;
	for (size_t i = 0; i < labels.size(); i++)
		if (auto core = labels[i].lock())        // the erased one's is gone
			sum += core->layer(1)->depth;
	// The next core lies where the last one was, as soon as nobody has a label of it.
	std::weak_ptr<Core> label;
	for (int i = 0; i < 20; i++) {
		auto core = std::allocate_shared<Core>(PoolAllocator<Core>(), "short");
		if (i % 4 == 0)
			label = core;
		else if (i % 4 == 3 && label.lock())
			sum += 1000;
	}
	label.reset();
	rack.clear();                                    // the blocks stay until the labels go
	return sum;
}

// Nothing but a layer is left in hand, the core lives by it; then by a base, by void and by a function.
static double shares() {
	std::shared_ptr<const Layer> layer;
	std::weak_ptr<Core> back;
	{
		auto core = std::make_shared<Core>("Vostok", 8);
		core->layers[7].ash = 0.5;
		back = core->weak_from_this();
		layer = core->layer(7);
	}
	std::shared_ptr<const void> opaque = layer;
	std::function<double()> measure = [layer = std::move(layer)] { return layer->ash; };
	std::any box = measure;                          // a copy of the capture
	measure = nullptr;
	opaque.reset();
	double ash = std::any_cast<std::function<double()> &>(box)();
	auto again = back.lock();                        // upgraded while the box has it alone
	box.reset();
	ash += again ? again->layers[7].ash : -1;
	std::shared_ptr<int> nobody(std::shared_ptr<void>(), nullptr);   // no control block at all
	std::shared_ptr<Core> borrowed(std::shared_ptr<void>(), again.get());
	return ash + static_cast<double>(nobody.use_count() + borrowed.use_count());
}

// A constructor that throws: the control block goes without a core; a pointer from a unique one; a deleter with a share.
static int failures() {
	int seen = 0;
	for (size_t layers : {size_t{3}, size_t{300}})
		try {
			auto core = std::make_shared<Core>("deep", layers);
			seen += core.use_count() == 1;
		} catch (const std::length_error &) {
			seen += 10;
		}
	auto archive = std::make_shared<Core>("archive");
	std::shared_ptr<Core> sample(new Core("sample"), [archive](Core *core) { delete core; });
	std::unique_ptr<Core> found = std::make_unique<Core>("found");
	std::shared_ptr<Core> kept = std::move(found);
	archive.reset();                                 // the deleter's is left
	std::weak_ptr<Core> watch = sample;
	sample.swap(kept);
	kept = nullptr;                                  // the deleter is destroyed with the object, the block with watch
	return seen + watch.expired() * 100;
}

// The state of a promise is shared by threads; its value is shared by whoever asks.
static double futures() {
	std::promise<std::shared_ptr<Core>> promise;
	std::shared_future<std::shared_ptr<Core>> future = promise.get_future().share();
	std::atomic<double> sum{0};
	std::vector<std::jthread> readers;
	for (int i = 0; i < 3; i++)
		readers.emplace_back([future, &sum] { sum += future.get()->layers[0].depth; });
	auto core = std::allocate_shared<Core>(PoolAllocator<Core>(), "Dome C");
	core->layers[0].depth = 2;
	promise.set_value(std::move(core));
	readers.clear();
	std::promise<std::shared_ptr<Core>> broken;
	auto never = broken.get_future();
	broken = {};                                     // the state lives by `never`, with an exception in it
	try {
		never.get();
	} catch (const std::future_error &) {
		sum += 1;
	}
	return sum;
}

// One per thread until the thread's end, one per process until the end: reachable, and destroyed by exit.
static thread_local std::shared_ptr<Core> current;

static std::shared_ptr<Core> &reference_core() {
	static std::shared_ptr<Core> core = std::make_shared<Core>("reference");
	return core;
}

static int locals() {
	std::vector<std::weak_ptr<Core>> seen(3);
	std::vector<std::thread> threads;
	for (auto &place : seen)
		threads.emplace_back([&place] {
			current = std::make_shared<Core>("mine");
			place = current;
			current->layers[0].depth += reference_core()->layer(2).use_count() > 1;
		});
	for (auto &thread : threads)
		thread.join();
	int gone = 0;
	for (auto &place : seen)
		gone += place.expired();
	return gone;
}

int main() {
	double sum = racks(), ash = shares(), measured = futures();
	int failed = failures(), gone = locals();
	std::printf("sum %g, ash %g, measured %g, %d, %d threads, %d blocks again, %d live\n", sum, ash, measured, failed, gone, pool.reused, live.load());
	bool right = ash == 1 && measured == 7 && failed == 111 && gone == 3 && live == 5;
	return !right;
}
