/* summary: task_redirect() closes the file when the new descriptor is out of range, and so does its caller, whose file it is
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: auto
 * build: clang -O2 -g
 * exit: 0
 * source: bug class "the error path of a function drops its caller's reference"
 */
/*
 * Tasks of a small shell with tables of open files. Closed files stay in memory
 * until the round is over, as a reader could still look at them.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define FDS 8
#define TASKS 12

struct file {
	char name[20];
	long offset;
	atomic_int use_count;
	unsigned flags;
	struct file *next_dead;
};

static struct file *dead;
static struct {
	unsigned opened, buried, refused, written;
} stats;

static struct file *file_open(const char *kind, unsigned n)
{
	struct file *f = calloc(1, sizeof *f);

	if (!f)
		abort();
	snprintf(f->name, sizeof f->name, "%s:%u", kind, n);
	atomic_init(&f->use_count, 1);
	stats.opened++;
	return f;
}

static struct file *file_dup(struct file *f)
{
	atomic_fetch_add_explicit(&f->use_count, 1, memory_order_relaxed);
	return f;
}

static void file_close(struct file *f)
{
	if (atomic_fetch_sub_explicit(&f->use_count, 1, memory_order_acq_rel) != 1)
		return;
	f->next_dead = dead;
	dead = f;
}

/* Nobody looks any more. */
static void files_reap(void)
{
	struct file *f;

	while ((f = dead)) {
		dead = f->next_dead;
		stats.buried++;
		free(f);
	}
}

/* Tasks */
struct task {
	unsigned id;
	unsigned limit;		/* descriptors below this */
	struct file *fd[FDS];
};

static struct file *terminal;
static struct file *history[4];
static unsigned history_next;

static void task_init(struct task *t, unsigned id)
{
	*t = (struct task){ .id = id, .limit = id % 4 == 2 ? 4 : FDS };
	for (int i = 0; i < 3; i++)
		t->fd[i] = file_dup(terminal);
}

/* The file stays the caller's; the table takes its own reference. */
static int task_redirect(struct task *t, unsigned fd, struct file *f)
{
	if (fd >= t->limit) {
		stats.refused++;
#ifdef BUG
		file_close(f);	/* GUILTY */
#endif
		return -1;
	}
	if (t->fd[fd])
		file_close(t->fd[fd]);
	t->fd[fd] = file_dup(f);
	return 0;
}

static void task_write(struct task *t, unsigned fd, long bytes)
{
	if (fd >= FDS || !t->fd[fd])
		return;
	t->fd[fd]->offset += bytes;
	stats.written++;
}

static void task_fork(const struct task *from, struct task *to, unsigned id)
{
	*to = (struct task){ .id = id, .limit = from->limit };
	for (int i = 0; i < FDS; i++)
		if (from->fd[i])
			to->fd[i] = file_dup(from->fd[i]);
}

static void task_exit(struct task *t)
{
	for (int i = 0; i < FDS; i++) {
		if (t->fd[i])
			file_close(t->fd[i]);
		t->fd[i] = NULL;
	}
}

/* The last few files, for the prompt. */
static void history_add(struct file *f)
{
	struct file **slot = &history[history_next++ % 4];

	if (*slot)
		file_close(*slot);
	*slot = file_dup(f);
}

static void run_pipe(struct task *from, struct task *to, unsigned n)
{
	struct file *f = file_open("pipe", n);

	task_redirect(from, 1, f);
	task_redirect(to, 0, f);
	file_close(f);
	task_write(from, 1, 100 + n);
	task_write(to, 0, -50);
}

static void run_log(struct task *t, unsigned n)
{
	struct file *f = file_open("log", n);

	history_add(f);
	if (task_redirect(t, 5, f) < 0)
		task_redirect(t, 2, terminal);
	file_close(f);
	task_write(t, 5, 10);
	task_write(t, 2, 1);
}

int main(void)
{
	struct task tasks[TASKS], child;

	terminal = file_open("tty", 0);
	for (unsigned i = 0; i < TASKS; i++)
		task_init(&tasks[i], i);
	for (unsigned i = 0; i + 1 < TASKS; i++)
		run_pipe(&tasks[i], &tasks[i + 1], i);
	for (unsigned i = 0; i < TASKS; i++)
		run_log(&tasks[i], i);
	for (unsigned i = 0; i < TASKS; i += 3) {
		task_fork(&tasks[i], &child, TASKS + i);
		run_pipe(&child, &tasks[(i + 5) % TASKS], 100 + i);
		task_write(&child, 2, 7);
		task_exit(&child);
	}
	for (unsigned i = 0; i < TASKS; i++)
		task_exit(&tasks[i]);
	for (int i = 0; i < 4; i++) {
		printf("%s: %ld\n", history[i]->name, history[i]->offset);
		file_close(history[i]);
		history[i] = NULL;
	}
	printf("%s: %ld\n", terminal->name, terminal->offset);
	file_close(terminal);
	files_reap();
	printf("%u opened, %u refused, %u written, %u buried\n", stats.opened, stats.refused,
	       stats.written, stats.buried);
	return 0;
}
