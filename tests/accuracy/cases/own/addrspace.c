/* summary: proc_exe_of() takes the address space with mm_grab(), and returns out of its loop over the mappings without mm_drop() when an executable one is found
 * kind: missing-put
 * counts: surplus
 * objects: 6
 * track: own
 * build: gcc -O3 -g
 * exit: 0
 */
/*
 * A toy of the kernel's address spaces with its two counters: mm_users are
 * the tasks that run in it, mm_count the references to the structure. All
 * users together hold one of the latter.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { atomic_uint refs; } refcount_t;

static inline void refcount_set(refcount_t *r, unsigned n)
{
	atomic_store_explicit(&r->refs, n, memory_order_relaxed);
}

static inline void refcount_inc(refcount_t *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	unsigned old = atomic_load_explicit(&r->refs, memory_order_relaxed);

	while (old && !atomic_compare_exchange_weak(&r->refs, &old, old + 1))
		;
	return old != 0;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_release) != 1)
		return false;
	atomic_thread_fence(memory_order_acquire);
	return true;
}

#define VM_EXEC 1u

struct vma {
	struct vma *next;
	unsigned long start, end;
	unsigned flags;
	int file;
};

struct mm {
	struct vma *mmap;
	unsigned long total;
	refcount_t mm_users;
	refcount_t mm_count;
	int owner;
};

struct task {
	int pid;
	bool dead;
	struct mm *mm;		/* a user of it */
	struct mm *lazy;	/* of a kernel thread; holds the structure */
};

#define NTASKS 20
static struct task tasks[NTASKS];
static int mms_live;

static struct mm *mm_alloc(int owner)
{
	struct mm *mm = calloc(1, sizeof(*mm));

	if (!mm)
		abort();
	refcount_set(&mm->mm_users, 1);
	refcount_set(&mm->mm_count, 1);
	mm->owner = owner;
	mms_live++;
	return mm;
}

__attribute__((noinline)) static void mm_free(struct mm *mm)
{
	mms_live--;
	free(mm);
}

static inline void mm_grab(struct mm *mm)
{
	refcount_inc(&mm->mm_count);
}

static inline void mm_drop(struct mm *mm)
{
	if (refcount_dec_and_test(&mm->mm_count))
		mm_free(mm);
}

__attribute__((noinline)) static void exit_mmap(struct mm *mm)
{
	struct vma *v;

	while ((v = mm->mmap)) {
		mm->mmap = v->next;
		free(v);
	}
}

static inline bool mm_get_user(struct mm *mm)
{
	return refcount_inc_not_zero(&mm->mm_users);
}

static inline void mm_put_user(struct mm *mm)
{
	if (refcount_dec_and_test(&mm->mm_users)) {
		exit_mmap(mm);
		mm_drop(mm);
	}
}

static void mm_map(struct mm *mm, unsigned long start, unsigned long len, unsigned flags, int file)
{
	struct vma *v = malloc(sizeof(*v));

	if (!v)
		abort();
	*v = (struct vma){ .next = mm->mmap, .start = start, .end = start + len, .flags = flags, .file = file };
	mm->mmap = v;
	mm->total += len;
}

/* The file of the first executable mapping; -1 for a task that has none. */
static int proc_exe_of(const struct task *t)
{
	struct mm *mm = t->mm ? t->mm : t->lazy;
	int file = -1;

	if (!mm)
		return -1;
	mm_grab(mm);			/* ACCEPTED */
	for (struct vma *v = mm->mmap; v; v = v->next) {
		if (!(v->flags & VM_EXEC))
			continue;
		file = v->file;
#ifdef BUG
		return file;		/* GUILTY */
#else
		break;
#endif
	}
	mm_drop(mm);
	return file;
}

static unsigned long proc_size_of(const struct task *t)
{
	unsigned long size = 0;
	struct mm *mm = t->mm;

	if (!mm || !mm_get_user(mm))
		return 0;
	for (struct vma *v = mm->mmap; v; v = v->next)
		size += v->end - v->start;
	mm_put_user(mm);
	return size;
}

static void task_exec(struct task *t, unsigned r)
{
	struct mm *old = t->mm;

	t->mm = mm_alloc(t->pid);
	mm_map(t->mm, 0x7f0000, 0x2000 + r % 7 * 0x1000, 0, -1);
	for (unsigned i = 0; i < r % 3; i++)
		mm_map(t->mm, 0x400000 + i * 0x10000, 0x4000, 0, 3);
	if (old)
		mm_put_user(old);
}

static void task_exit(struct task *t)
{
	t->dead = true;
	if (t->mm)
		mm_put_user(t->mm);
	if (t->lazy)
		mm_drop(t->lazy);
	t->mm = t->lazy = NULL;
}

int main(void)
{
	unsigned r = 77;
	unsigned long size = 0;
	int found = 0, none = 0;

	for (int i = 0; i < NTASKS; i++) {
		struct task *t = &tasks[i];

		t->pid = 100 + i;
		r = r * 1103515245 + 12345;
		if (i % 5 == 4) {		/* a kernel thread */
			t->lazy = tasks[i - 1].mm;
			mm_grab(t->lazy);
		} else if (i % 5 == 2) {	/* a thread of the one before */
			t->mm = tasks[i - 1].mm;
			mm_get_user(t->mm);
		} else {
			task_exec(t, r >> 16);
		}
	}
	for (int i = 0; i < NTASKS; i += 3)	/* they have loaded their program */
		if (tasks[i].mm)
			mm_map(tasks[i].mm, 0x10000, 0x8000, VM_EXEC, 10 + i);
	for (int round = 0; round < 3; round++)
		for (int i = round; i < NTASKS; i += 1 + round) {
			struct task *t = &tasks[i];

			if (t->dead)
				continue;
			size += proc_size_of(t);
			if (proc_exe_of(t) >= 0)
				found++;
			else
				none++;
			if ((i + round) % 6 == 0)
				task_exit(t);
		}
	for (int i = 0; i < NTASKS; i++)
		if (!tasks[i].dead)
			task_exit(&tasks[i]);
	printf("size %lu, %d with a program, %d without\n", size, found, none);
	return 0;
}
