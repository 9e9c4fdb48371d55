// summary: Plan::Sweep releases a finished task and then steps on by the task's own link to the next one
// kind: use-after-put
// counts: none
// objects: 13
// track: own
// build: clang++ -std=c++17 -Og -g
// exit: 0

/* A plan of a building site: tasks in the order of their start, each of them knows what it waits for. */

#include <cinttypes>
#include <cstdio>
#include <cstring>

class Task
{
public:
	static Task* Create(int number, const char* what, int days);

	void Borrow() { ++fBorrowed; }
	void Return();

	Task* Next() const { return fNext; }
	Task* After() const { return fAfter; }
	void SetAfter(Task* task);

	bool Step();
	bool Finished() const { return fDays <= 0; }
	int Number() const { return fNumber; }

private:
	friend class Plan;

	Task(int number, const char* what, int days);
	~Task();

	char fWhat[24];
	int fNumber;
	int fDays;
	Task* fAfter;		// borrowed, or NULL
	Task* fNext;		// in the plan
	int32_t fBorrowed;
};

class Plan
{
public:
	Plan() : fHead(nullptr), fTail(nullptr), fSwept(0) {}
	~Plan();

	void Append(Task* task);	// takes the caller's reference over
	Task* Find(int number) const;	// borrows it for the caller
	int Work();
	void Sweep(int day);
	void CutShort(int number);
	int Swept() const { return fSwept; }

private:
	Task* fHead;
	Task* fTail;
	int fSwept;
};

Task::Task(int number, const char* what, int days)
	:
	fNumber(number),
	fDays(days),
	fAfter(nullptr),
	fNext(nullptr),
	fBorrowed(1)
{
	std::snprintf(fWhat, sizeof(fWhat), "%s", what);
}

Task::~Task()
{
	if (fAfter != nullptr)
		fAfter->Return();
}

__attribute__((noinline)) Task*
Task::Create(int number, const char* what, int days)
{
	return new Task(number, what, days);
}

__attribute__((noinline)) void
Task::Return()
{
	if (--fBorrowed == 0)
		delete this;
}

void
Task::SetAfter(Task* task)
{
	if (task != nullptr)
		task->Borrow();
	if (fAfter != nullptr)
		fAfter->Return();
	fAfter = task;
}

bool
Task::Step()
{
	if (fAfter != nullptr) {
		if (!fAfter->Finished())
			return false;
		SetAfter(nullptr);
	}
	fDays--;
	return true;
}

Plan::~Plan()
{
	while (fHead != nullptr) {
		Task* next = fHead->Next();
		fHead->Return();
		fHead = next;
	}
}

void
Plan::Append(Task* task)
{
	if (fTail != nullptr)
		fTail->fNext = task;
	else
		fHead = task;
	fTail = task;
}

Task*
Plan::Find(int number) const
{
	for (Task* task = fHead; task != nullptr; task = task->Next()) {
		if (task->Number() == number) {
			task->Borrow();
			return task;
		}
	}
	return nullptr;
}

int
Plan::Work()
{
	int busy = 0;
	for (Task* task = fHead; task != nullptr; task = task->Next()) {
		if (!task->Finished() && task->Step())
			busy++;
	}
	return busy;
}

void
Plan::Sweep(int)
{
	Task* before = nullptr;
	Task* task = fHead;

	while (task != nullptr) {
		if (!task->Finished()) {
			before = task;
			task = task->Next();
			continue;
		}
		if (before != nullptr)
			before->fNext = task->fNext;
		else
			fHead = task->fNext;
		if (fTail == task)
			fTail = before;
		fSwept++;
#ifdef BUG
		task->Return();			// ACCEPTED
		task = task->Next();		// GUILTY
#else
		Task* next = task->Next();
		task->Return();
		task = next;
#endif
	}
}

void
Plan::CutShort(int number)
{
	Task* task = Find(number);
	if (task == nullptr)
		return;
	task->fDays = 1;
	task->Return();
}

int
main()
{
	static const char* const kTrades[] = {"dig", "pour concrete", "lay bricks", "wire", "plaster", "paint"};
	Plan plan;
	int busy = 0;

	for (int n = 0; n < 18; n++) {
		Task* task = Task::Create(n, kTrades[n % 6], 2 + n * 5 % 7);
		if (n % 6 != 0) {
			Task* after = plan.Find(n - 1);
			task->SetAfter(after);
			after->Return();
		}
		plan.Append(task);
	}

	for (int day = 1; day <= 20; day++) {
		busy = busy * 2 % 100003 + plan.Work();
		if (day == 6)
			plan.CutShort(8);
		if (day % 3 == 0)
			plan.Sweep(day);
	}
	std::printf("%d swept, busy %d\n", plan.Swept(), busy);
	return 0;
}
