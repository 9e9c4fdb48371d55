/* summary: tide tables in shared pointers: aliases into a table, an atomic one that is swapped under readers, weak pointers that keep a make_shared's memory, moved captures
 * track: shared_ptr weak_ptr
 * build: g++ -O2 -g -std=c++20 -pthread tide_tables.cpp -o OUT
 */
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <variant>
#include <vector>

static std::atomic<int> tables_alive{0}, files_open{0};

struct Row { int hour, level; };

struct Table : std::enable_shared_from_this<Table> {
	std::string harbour;
	std::vector<Row> rows;
	explicit Table(std::string name) : harbour(std::move(name)) { tables_alive++; }
	Table(const Table &other) : std::enable_shared_from_this<Table>(other), harbour(other.harbour), rows(other.rows)
	{
		tables_alive++;                          // the copy's weak self is empty until it is owned
	}
	~Table() { tables_alive--; }

	// A row with the owner of its table: one count for all rows.
	std::shared_ptr<const Row> row(std::size_t i) const
	{
		return { shared_from_this(), &rows.at(i) };
	}
	std::function<int()> later(int hour)
	{
		return [self = shared_from_this(), hour] {
			for (auto &row : self->rows)
				if (row.hour >= hour)
					return row.level;
			return -1;
		};
	}
};

static std::shared_ptr<Table> make_table(const std::string &name, int base)
{
	auto table = std::make_shared<Table>(name);
	for (int hour = 0; hour < 24; hour += 6)
		table->rows.push_back({ hour, base + hour % 12 });
	return table;
}

// The tables of today: readers load the pointer, the writer swaps in a copy.
class Almanac {
	std::atomic<std::shared_ptr<const Table>> today;
public:
	explicit Almanac(std::shared_ptr<const Table> first) : today(std::move(first)) {}
	std::shared_ptr<const Row> level(std::size_t i) const
	{
		auto table = today.load();
		return table ? table->row(i) : nullptr;
	}
	void correct(int by)
	{
		auto seen = today.load();
		std::shared_ptr<const Table> next;
		do {
			auto copy = std::make_shared<Table>(*seen);
			for (auto &row : copy->rows)
				row.level += by;
			next = std::move(copy);
		} while (!today.compare_exchange_weak(seen, next));
	}
	std::shared_ptr<const Table> close() { return today.exchange(nullptr); }
};

// Made by make_shared: the memory stays for the last weak pointer, the table is gone.
class Cache {
	std::map<std::string, std::weak_ptr<Table>> known;
public:
	int hits = 0;
	std::shared_ptr<Table> get(const std::string &name)
	{
		auto &slot = known[name];
		if (auto table = slot.lock()) {
			hits++;
			return table;
		}
		auto table = make_table(name, name.size());
		slot = table;
		return table;
	}
	std::size_t expired() const
	{
		std::size_t count = 0;
		for (auto &[name, slot] : known)
			count += slot.expired();
		return count;
	}
	~Cache() = default;
};

// A deleter that owns something itself, and one that does nothing.
struct Closer {
	std::shared_ptr<std::string> log;
	void operator()(std::FILE *file) const
	{
		if (file) {
			std::fclose(file);
			files_open--;
		}
		*log += "closed ";
	}
};

static std::shared_ptr<std::FILE> open_log(const std::shared_ptr<std::string> &log)
{
	std::FILE *file = std::tmpfile();
	files_open += !!file;
	return { file, Closer{ log } };
}

static const Table &harbourless()
{
	static Table table("none");                      // static: its owners never free it
	return table;
}

static std::shared_ptr<const Table> fallback()
{
	return { std::shared_ptr<void>(), &harbourless() };      // no owner, no control block
}

static void aliases()
{
	Cache cache;
	std::shared_ptr<const Row> high;
	{
		auto table = cache.get("Cuxhaven");
		high = table->row(1);
		auto again = cache.get("Cuxhaven");
		std::printf("%s: same %d, owners %ld\n", again->harbour.c_str(), again == table, again.use_count());
	}
	std::weak_ptr<const Row> weak = high;
	std::shared_ptr<const void> nothing(high, nullptr);      // owns, and points nowhere
	high.reset();
	std::printf("alive by an empty-handed one: %d\n", !weak.expired());
	nothing.reset();
	std::printf("expired %d of cache %zu\n", weak.expired(), cache.expired());
	auto fresh = cache.get("Cuxhaven");
	auto base = std::static_pointer_cast<const void>(std::shared_ptr<const Table>(fresh));
	std::shared_ptr<const std::string> name(std::move(fresh), nullptr);   // its reference moved on
	std::printf("fresh %s, hits %d, owners %ld\n", fresh ? "kept" : "moved", cache.hits, base.use_count());
	auto none = fallback();
	std::printf("fallback %s, owners %ld\n", none->harbour.c_str(), none.use_count());
}

static void readers()
{
	Almanac almanac(make_table("Emden", 100));
	std::vector<std::thread> threads;
	std::mutex lock;
	std::vector<std::shared_ptr<const Row>> seen;
	for (int i = 0; i < 2; i++)
		threads.emplace_back([&, i] {
			for (int round = 0; round < 20; round++) {
				auto row = almanac.level((round + i) % 4);
				if (row && round % 10 == 0) {
					std::lock_guard guard(lock);
					seen.push_back(std::move(row));
				}
			}
		});
	threads.emplace_back([&] {
		for (int round = 0; round < 10; round++)
			almanac.correct(1);
	});
	for (auto &thread : threads)
		thread.join();
	auto last = almanac.close();
	std::printf("last level %d, %zu kept, closed %d\n", last->rows[0].level, seen.size(), !almanac.level(0));
}

static void handoffs()
{
	// A promise's state, a queue of callables and a variant each carry references on.
	std::promise<std::shared_ptr<Table>> promise;
	auto future = promise.get_future();
	std::queue<std::function<int()>> calls;
	{
		auto table = make_table("Husum", 50);
		calls.push(table->later(7));
		calls.push(calls.back());                // a copy of the callable: one more
		std::thread worker([table = std::move(table), &promise]() mutable {
			table->rows[0].level = 1;
			promise.set_value(std::move(table));
		});
		worker.join();
	}
	auto shared = future.share();
	int sum = 0;
	while (!calls.empty()) {
		auto call = std::move(calls.front());
		calls.pop();
		sum += call();
	}
	std::variant<std::monostate, std::shared_ptr<Table>, std::weak_ptr<Table>> slot = shared.get();
	slot = std::weak_ptr<Table>(std::get<1>(slot));  // assigned from what it held
	auto locked = std::get<2>(slot).lock();
	std::printf("sum %d, owners %ld\n", sum, locked.use_count());

	// A constructor that throws after another member was built; and one that asks for itself too early.
	struct Pair {
		std::shared_ptr<Table> left, right;
		Pair(std::shared_ptr<Table> one, bool fail) : left(one), right(fail ? throw std::string("half") : std::move(one)) {}
	};
	try {
		Pair pair(locked, true);
	} catch (const std::string &what) {
		std::printf("%s built, owners %ld\n", what.c_str(), locked.use_count());
	}
	try {
		Table onstack("stack");
		auto self = onstack.shared_from_this();
	} catch (const std::bad_weak_ptr &) {
		std::printf("nobody owns it\n");
	}
	// unique to shared, and a raw pointer out of it that is owned by nobody else
	std::unique_ptr<Table> unique(new Table("Wyk"));
	std::shared_ptr<Table> owner = std::move(unique);
	auto self = owner->shared_from_this();
	owner = std::move(self);                         // to itself, over a detour
	std::shared_ptr<Row[]> rows(new Row[3]{ { 0, 1 }, { 1, 2 }, { 2, 3 } });
	std::shared_ptr<Row> second(rows, &rows[1]);
	rows = nullptr;
	std::printf("%s, owners %ld, row %d\n", owner->harbour.c_str(), owner.use_count(), second->level);
}

int main()
{
	aliases();
	readers();
	handoffs();
	auto log = std::make_shared<std::string>();
	{
		auto first = open_log(log), second = first;
		std::shared_ptr<int> alias(second, reinterpret_cast<int *>(second.get()));
		first = open_log(log);                   // the first file is still held twice
		second.reset();
		std::printf("log '%s', owners %ld\n", log->c_str(), log.use_count());
	}
	std::printf("log '%s', owners %ld; %d files\n", log->c_str(), log.use_count(), files_open.load());
	std::printf("tables alive %d\n", tables_alive.load());       // the static one
	return tables_alive.load() != 1;
}
