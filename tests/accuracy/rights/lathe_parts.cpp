/* summary: COM-like controls of a lathe: an aggregated drive, tear-off gauges, a singleton whose Release does nothing, a worker with cookies
 * track: own
 * build: g++ -O2 -g -std=c++17 -pthread lathe_parts.cpp -o OUT
 */
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

enum Iid { IID_Unknown, IID_Drive, IID_Gauge, IID_Site, IID_Count };

struct Unknown {
	virtual long Query(Iid iid, void **out) = 0;
	virtual unsigned long AddRef() = 0;
	virtual unsigned long Release() = 0;
};
struct Drive : Unknown { virtual int Turn(int by) = 0; };
struct Gauge : Unknown { virtual int Read() = 0; };
struct Site : Unknown { virtual const char *Name() = 0; };

template <class T> class Ptr {
	T *p = nullptr;
public:
	Ptr() = default;
	explicit Ptr(T *adopted) : p(adopted) {}
	Ptr(const Ptr &other) : p(other.p) { if (p) p->AddRef(); }
	Ptr(Ptr &&other) noexcept : p(std::exchange(other.p, nullptr)) {}
	Ptr &operator=(Ptr other) noexcept { std::swap(p, other.p); return *this; }
	~Ptr() { if (p) p->Release(); }
	T *operator->() const { return p; }
	T *get() const { return p; }
	explicit operator bool() const { return p; }
	T *detach() { return std::exchange(p, nullptr); }
	template <class U> Ptr<U> as(Iid iid) const
	{
		void *out = nullptr;
		return p && p->Query(iid, &out) == 0 ? Ptr<U>(static_cast<U *>(out)) : Ptr<U>();
	}
};

static std::atomic<int> alive{0};

// The one counter of every counted object here; what is derived from it forwards its AddRef and Release.
class Counted {
	std::atomic<unsigned long> refs{1};
public:
	Counted() { alive++; }
	virtual ~Counted() { alive--; }
	void take() { refs.fetch_add(1, std::memory_order_relaxed); }
	bool drop()
	{
		if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1)
			return false;
		// A count that is up again while the destructor runs lets what it calls take and put references.
		refs.store(1u << 20, std::memory_order_relaxed);
		delete this;
		return true;
	}
};

// The workshop is a static: its AddRef and Release are no-ops.
class Workshop final : public Site {
public:
	long Query(Iid iid, void **out) override
	{
		*out = iid == IID_Unknown || iid == IID_Site ? this : nullptr;
		return *out ? 0 : -1;
	}
	unsigned long AddRef() override { return 2; }
	unsigned long Release() override { return 1; }
	const char *Name() override { return "workshop"; }
	static Ptr<Site> instance()
	{
		static Workshop workshop;
		return Ptr<Site>(&workshop);             // nobody's reference, as good as one
	}
};

// The motor is made to be aggregated: Query, AddRef and Release go to the outer object, but for those of its own Unknown.
class Motor final : public Counted, public Drive {
	struct Inner final : Unknown {
		Motor *motor;
		long Query(Iid iid, void **out) override
		{
			*out = nullptr;
			if (iid == IID_Unknown) {
				*out = this;
				motor->take();
			} else if (iid == IID_Drive) {
				*out = static_cast<Drive *>(motor);
				motor->AddRef();         // what leaves by the inner Query counts on the outer object
			}
			return *out ? 0 : -1;
		}
		unsigned long AddRef() override { motor->take(); return 0; }
		unsigned long Release() override { motor->drop(); return 0; }
	} inner;
	Unknown *outer;                                  // weak: the outer object holds us
	std::atomic<int> angle{0};
public:
	explicit Motor(Unknown *outer) : outer(outer ? outer : &inner) { inner.motor = this; }
	Unknown *own() { return &inner; }
	long Query(Iid iid, void **out) override { return outer->Query(iid, out); }
	unsigned long AddRef() override { return outer->AddRef(); }
	unsigned long Release() override { return outer->Release(); }
	int Turn(int by) override { return angle += by; }
};

class Lathe;
// A tear-off: made when it is asked for, it holds the lathe, which remembers it weakly.
class DepthGauge final : public Counted, public Gauge {
	Lathe *lathe;
public:
	explicit DepthGauge(Lathe *lathe);
	~DepthGauge() override;
	long Query(Iid iid, void **out) override;
	unsigned long AddRef() override { take(); return 0; }
	unsigned long Release() override { drop(); return 0; }
	int Read() override;
};

class Lathe final : public Counted, public Unknown {
	Unknown *motor;                                  // the inner Unknown: the only strong reference
	DepthGauge *gauge = nullptr;
	Ptr<Site> site;
	friend class DepthGauge;
public:
	Lathe() : motor((new Motor(this))->own()), site(Workshop::instance()) {}
	~Lathe() override
	{
		// The drive is asked once more: this takes a reference to us, who are being destroyed, and puts it.
		void *out;
		if (motor->Query(IID_Drive, &out) == 0) {
			static_cast<Drive *>(out)->Turn(-1);
			static_cast<Drive *>(out)->Release();
		}
		motor->Release();
	}
	long Query(Iid iid, void **out) override
	{
		*out = nullptr;
		switch (iid) {
		case IID_Unknown: *out = static_cast<Unknown *>(this); take(); return 0;
		case IID_Drive: return motor->Query(iid, out);
		case IID_Site: return site->Query(iid, out);
		case IID_Gauge:
			gauge ? (void)gauge->AddRef() : (void)(gauge = new DepthGauge(this));
			*out = static_cast<Gauge *>(gauge);
			return 0;
		default: return -1;
		}
	}
	unsigned long AddRef() override { take(); return 0; }
	unsigned long Release() override { drop(); return 0; }
};

DepthGauge::DepthGauge(Lathe *lathe) : lathe(lathe) { lathe->take(); }
DepthGauge::~DepthGauge()
{
	lathe->gauge = nullptr;
	lathe->drop();
}
long DepthGauge::Query(Iid iid, void **out)
{
	if (iid != IID_Gauge)
		return lathe->Query(iid, out);
	*out = static_cast<Gauge *>(this);
	take();
	return 0;
}
int DepthGauge::Read()
{
	Ptr<Drive> drive = Ptr<Unknown>((lathe->take(), lathe)).as<Drive>(IID_Drive);
	return drive->Turn(0);
}

// Interfaces for another apartment: a number stands for a reference.
class Table {
	std::mutex lock;
	std::map<unsigned, Unknown *> rows;
	unsigned last = 0;
public:
	unsigned put_in(Ptr<Unknown> object)
	{
		std::lock_guard<std::mutex> guard(lock);
		rows[++last] = object.detach();
		return last;
	}
	Ptr<Unknown> get(unsigned cookie)
	{
		std::lock_guard<std::mutex> guard(lock);
		auto row = rows.find(cookie);
		if (row != rows.end())
			row->second->AddRef();
		return Ptr<Unknown>(row == rows.end() ? nullptr : row->second);
	}
	bool revoke(unsigned cookie)
	{
		std::unique_lock<std::mutex> guard(lock);
		auto row = rows.find(cookie);
		if (row == rows.end())
			return false;
		Ptr<Unknown> object(row->second);        // put after the lock
		rows.erase(row);
		guard.unlock();
		return true;
	}
};
static Table table;

class Apartment {
	std::mutex lock;
	std::condition_variable ready;
	std::deque<std::function<void()>> calls;
	bool ending = false;
	std::thread thread;
	void loop()
	{
		std::unique_lock<std::mutex> guard(lock);
		for (;;) {
			ready.wait(guard, [this] { return ending || !calls.empty(); });
			if (calls.empty())
				return;
			auto call = std::move(calls.front());
			calls.pop_front();
			guard.unlock();
			call();
			call = nullptr;                  // what it holds goes before the lock comes
			guard.lock();
		}
	}
public:
	Apartment() : thread([this] { loop(); }) {}
	~Apartment()
	{
		{
			std::lock_guard<std::mutex> guard(lock);
			ending = true;
		}
		ready.notify_one();
		thread.join();
	}
	void post(std::function<void()> call)
	{
		std::lock_guard<std::mutex> guard(lock);
		calls.push_back(std::move(call));
		ready.notify_one();
	}
};

int main()
{
	std::atomic<int> read{0};
	int turned = 0;
	{
		Apartment apartment;
		for (int i = 0; i < 6; i++) {
			Ptr<Unknown> lathe(new Lathe);
			unsigned cookie = table.put_in(lathe);
			Ptr<Gauge> gauge = lathe.as<Gauge>(IID_Gauge);
			Ptr<Drive> drive = gauge.as<Drive>(IID_Drive);      // through the tear-off and the outer object
			turned += drive->Turn(i);
			if (gauge.as<Gauge>(IID_Gauge).get() != gauge.get())
				return 2;
			apartment.post([cookie, &read] {
				if (auto object = table.get(cookie))
					if (auto drive = object.as<Drive>(IID_Drive))
						read += drive->Turn(1);
				table.revoke(cookie);
			});
			if (i & 1)                                          // a reference moves into the other apartment
				apartment.post([drive = std::move(drive)]() mutable { drive = Ptr<Drive>(); });
			Ptr<Site> site = lathe.as<Site>(IID_Site);
			lathe = Ptr<Unknown>();
			if (i % 3 == 2)
				std::printf("%s: lathe %d measures %s\n", site->Name(), i, gauge->Read() >= i ? "well" : "badly");
		}
	}
	Ptr<Unknown> alone((new Motor(nullptr))->own());            // not aggregated at all
	turned += alone.as<Drive>(IID_Drive)->Turn(100);
	alone = Ptr<Unknown>();
	std::printf("turned %d, read %d, alive %d\n", turned, read.load(), alive.load());
	return alive.load() != 0;
}
