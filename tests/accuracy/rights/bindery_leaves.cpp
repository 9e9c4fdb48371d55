/* summary: leaves of books in intrusive pointers: born at zero, published without a lock, pointers with tags, constructors that throw half-way, a release that hands the last reference to a binder's thread
 * track: own
 * build: clang++ -O2 -g -std=c++17 -pthread bindery_leaves.cpp -o OUT
 */
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace bindery {

class Leaf;
static void bury(Leaf *leaf);

// Born without a reference: the first pointer that takes it is the first.
class Leaf {
public:
	explicit Leaf(int number) : number(number) { live++; }
	virtual ~Leaf() { live--; }
	Leaf(const Leaf &) = delete;

	void ref() const { refs.fetch_add(1, std::memory_order_relaxed); }
	// For readers that found it in a public place: it may be at its end.
	bool try_ref() const {
		uint32_t seen = refs.load(std::memory_order_relaxed);
		while (seen)
			if (refs.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, std::memory_order_relaxed))
				return true;
		return false;
	}
	void unref() const {
		if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
			bury(const_cast<Leaf *>(this));
	}

	const int number;
	static std::atomic<int> live;

private:
	mutable std::atomic<uint32_t> refs{0};
};

std::atomic<int> Leaf::live{0};

template <class T> class Ref {
public:
	Ref() = default;
	Ref(T *raw) : raw(raw) { if (raw) raw->ref(); }
	Ref(const Ref &other) : Ref(other.raw) {}
	Ref(Ref &&other) noexcept : raw(other.detach()) {}
	template <class U> Ref(Ref<U> other) : raw(other.detach()) {}
	~Ref() { if (raw) raw->unref(); }
	Ref &operator=(Ref other) noexcept { std::swap(raw, other.raw); return *this; }
	static Ref adopt(T *raw) { Ref ref; ref.raw = raw; return ref; }
	T *detach() { return std::exchange(raw, nullptr); }
	T *get() const { return raw; }
	T *operator->() const { return raw; }
	explicit operator bool() const { return raw; }

private:
	T *raw = nullptr;
};

// Readers are in an epoch while they look; what was unreferenced last waits for all of them to leave.
constexpr int Readers = 2;
static std::atomic<bool> looking[Readers];

class Binder {
public:
	void add(Leaf *leaf) {
		{
			std::lock_guard guard(lock);
			dead.push_back(leaf);
		}
		changed.notify_one();
	}
	void start() { thread = std::thread([this] { run(); }); }
	void stop() {
		{
			std::lock_guard guard(lock);
			stopping = true;
		}
		changed.notify_one();
		thread.join();
	}

private:
	void run() {
		std::unique_lock guard(lock);
		for (;;) {
			changed.wait(guard, [this] { return stopping || !dead.empty(); });
			if (dead.empty())
				return;
			std::deque<Leaf *> batch;
			batch.swap(dead);
			guard.unlock();
			for (auto &reader : looking)
				while (reader.load())
					std::this_thread::yield();
			for (Leaf *leaf : batch)
				delete leaf;             // may bury others: those come in the next batch
			guard.lock();
		}
	}
	std::mutex lock;
	std::condition_variable changed;
	std::deque<Leaf *> dead;
	std::thread thread;
	bool stopping = false;
};

static Binder binder;

static void bury(Leaf *leaf) { binder.add(leaf); }

// A place that anybody may read and replace. The reference is the place's; the word's low bits are flags.
class Place {
public:
	enum : uintptr_t { Folded = 1, Gilded = 2, Flags = 3 };
	~Place() { put(Ref<Leaf>()); }
	void put(Ref<Leaf> leaf, uintptr_t flags = 0) {
		uintptr_t old = word.exchange(reinterpret_cast<uintptr_t>(leaf.detach()) | flags);
		Ref<Leaf>::adopt(reinterpret_cast<Leaf *>(old & ~Flags));
	}
	bool replace(Leaf *expected, Ref<Leaf> &leaf) {
		uintptr_t old = reinterpret_cast<uintptr_t>(expected) | (word.load() & Flags);
		if (!word.compare_exchange_strong(old, reinterpret_cast<uintptr_t>(leaf.get())))
			return false;                    // the caller's is still the caller's
		leaf.detach();
		if (expected)
			expected->unref();               // what the place had
		return true;
	}
	Ref<Leaf> look(int reader) const {
		looking[reader].store(true);
		auto *leaf = reinterpret_cast<Leaf *>(word.load() & ~Flags);
		if (leaf && !leaf->try_ref())
			leaf = nullptr;
		looking[reader].store(false);
		return Ref<Leaf>::adopt(leaf);
	}
	void flag(uintptr_t flags) { word.fetch_or(flags); }

private:
	std::atomic<uintptr_t> word{0};
};

// Two references in one object, and one to itself while it is being written.
class Sheet : public Leaf {
public:
	Sheet(int number, Ref<Leaf> left, Ref<Leaf> right) : Leaf(number), left(std::move(left)), right(std::move(right)) {
		if (number < 0)
			throw std::invalid_argument("no such sheet");    // members and base are undone, nothing had a reference
	}
	void write() {
		Ref<Sheet> self(this);
		writing = self;                      // a cycle until done() is called
	}
	void done() { Ref<Leaf> last = std::move(writing); }

	Ref<Leaf> left, right;

private:
	Ref<Leaf> writing;
};

// References in an array of words, compressed to 32 bits; a copy of a book is a ref each, a move is bytes.
struct Book {
	std::vector<uint32_t> words;
	static inline std::vector<Leaf *> index{nullptr};        // places of the leaves; holds no reference

	void add(Ref<Leaf> leaf) {
		index.push_back(leaf.get());
		words.push_back(static_cast<uint32_t>(index.size() - 1));
		leaf.detach();
	}
	Book copy() const {
		Book book;
		for (uint32_t word : words) {
			index[word]->ref();
			book.words.push_back(word);
		}
		return book;
	}
	int close() {
		int sum = 0;
		for (uint32_t word : words) {
			sum += index[word]->number;
			index[word]->unref();
		}
		words.clear();
		return sum;
	}
};

static int bind_books() {
	Book book;
	Ref<Leaf> shared(new Leaf(100));
	for (int i = 1; i < 6; i++) {
		Ref<Sheet> sheet(new Sheet(i, shared, i % 2 ? shared : Ref<Leaf>(new Leaf(-i))));
		sheet->write();
		book.add(sheet);
		sheet->done();
		try {
			book.add(Ref<Leaf>(new Sheet(-i, shared, new Leaf(50))));
		} catch (const std::invalid_argument &) {
		}
	}
	Book second = book.copy(), third = std::move(second);
	second.words.clear();
	book.add(shared);
	return book.close() + third.close();
}

static int read_places() {
	static Place places[3];
	std::atomic<int> read{0};
	std::atomic<bool> done{false};
	std::vector<std::thread> readers;
	for (int r = 0; r < Readers; r++)
		readers.emplace_back([&, r] {
			for (int i = 0; !done || i < 20; i++)
				if (Ref<Leaf> leaf = places[i % 3].look(r))
					read += leaf->number > 0;
		});
	for (int i = 1; i <= 200; i++) {
		Ref<Leaf> fresh(new Leaf(i));
		Ref<Leaf> spare = fresh;
		places[i % 3].put(std::move(fresh), i % 2 ? Place::Folded : 0);
		if (i % 5 == 0)
			places[i % 3].flag(Place::Gilded);
		Ref<Leaf> next(new Leaf(i + 1000));
		if (i % 4 == 0 && !places[i % 3].replace(spare.get(), next))
			read += 1;
		if (i % 4 == 1 && places[i % 3].replace(next.get(), next))       // not there: refused
			read -= 1000000;
	}
	done = true;
	for (auto &reader : readers)
		reader.join();
	for (auto &place : places)
		place.put(nullptr);
	return read;
}

} // namespace bindery

int main() {
	bindery::binder.start();
	int sum = bindery::bind_books(), read = bindery::read_places();
	bindery::binder.stop();
	std::printf("sum %d, read %s, %d live\n", sum, read >= 0 ? "well" : "badly", bindery::Leaf::live.load());
	return bindery::Leaf::live != 0 || sum != 130 || read < 0;
}
