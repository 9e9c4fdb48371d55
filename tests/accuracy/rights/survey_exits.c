/* summary: a land survey's children end by abort, exit in a nested call, _exit, a signal's handler and exec, each with sheets in hand; the parent by exit too
 * track: own
 * build: gcc -O0 -g survey_exits.c -o OUT
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct sheet {
	unsigned refs;
	int number;
	double area;
	struct sheet *neighbour;                         /* owned: the sheet to the east, or NULL */
};

static int sheets_alive;

static struct sheet *sheet_new(int number, struct sheet *neighbour)
{
	struct sheet *sheet = calloc(1, sizeof *sheet);
	if (!sheet)
		abort();
	sheet->refs = 1;
	sheet->number = number;
	sheet->neighbour = neighbour;                    /* takes the caller's reference */
	sheets_alive++;
	return sheet;
}

static struct sheet *sheet_ref(struct sheet *sheet)
{
	sheet->refs++;
	return sheet;
}

static void sheet_unref(struct sheet *sheet)
{
	/* Not recursive: the last put of one is a put of its neighbour. */
	while (sheet && --sheet->refs == 0) {
		struct sheet *next = sheet->neighbour;
		sheets_alive--;
		free(sheet);
		sheet = next;
	}
}

static struct sheet *atlas;                          /* the global one: put by an exit handler */
static struct sheet *overview;                       /* another global, held to the very end */
static pid_t parent;

static void close_atlas(void)
{
	if (getpid() != parent)
		return;                                  /* the children leave their copy alone */
	sheet_unref(atlas);
	atlas = NULL;
	printf("the atlas is closed; %d sheet in use\n", sheets_alive);
	fflush(stdout);
}

/* What a measurement is made with stands on the stack of each level. */
struct frame { struct frame *below; struct sheet *sheet; };

enum how { BY_RETURN, BY_EXIT, BY_UNDERSCORE_EXIT, BY_ABORT, BY_SIGNAL, BY_EXEC, WAYS };

static volatile sig_atomic_t in_hand;

static void on_term(int signal)
{
	(void)signal;
	/* Nothing that counts is safe here: the sheets stay as they are. */
	_exit(40 + in_hand);
}

static void end_here(enum how how, struct frame *frame)
{
	char *arguments[] = { "true", NULL };
	int depth = 0;
	for (struct frame *at = frame; at; at = at->below)
		depth += at->sheet != NULL;
	in_hand = depth;
	switch (how) {
	case BY_EXIT:
		exit(10 + depth);
	case BY_UNDERSCORE_EXIT:
		_exit(20 + depth);
	case BY_ABORT:
		abort();
	case BY_SIGNAL:
		kill(getpid(), SIGTERM);
		for (;;)
			pause();
	case BY_EXEC:
		execvp(arguments[0], arguments);
		_exit(126);
	default:
		return;
	}
}

static double measure(int depth, enum how how, struct frame *below)
{
	struct sheet *base = depth % 2 ? sheet_ref(atlas) : sheet_new(100 + depth, sheet_ref(atlas));
	struct frame frame = { below, base };
	double area = base->area + 1;
	if (depth)
		area += measure(depth - 1, how, &frame);
	else
		end_here(how, &frame);                   /* mostly does not come back */
	sheet_unref(base);
	return area;
}

static const char *ended(int status)
{
	static char text[40];
	if (WIFEXITED(status))
		snprintf(text, sizeof text, "exit %d", WEXITSTATUS(status));
	else
		snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
	return text;
}

/* The parent holds a sheet for each child that it waits for; a child has a copy of it, and of the count. */
static int send_out(enum how how)
{
	struct sheet *plan = sheet_new(10 + how, NULL);
	int status = 0;
	fflush(stdout);
	pid_t child = fork();
	if (child < 0) {
		sheet_unref(plan);
		return -1;
	}
	if (!child) {
		struct frame frame = { NULL, plan };
		struct rlimit none = { 0, 0 };
		setrlimit(RLIMIT_CORE, &none);
		measure(3, how, &frame);
		sheet_unref(plan);                       /* after a return alone */
		_exit(sheets_alive);                     /* the copies of the atlas and the overview */
	}
	sheet_unref(plan);                               /* ours; the child's is another process' */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	printf("child %d: %s\n", how, ended(status));
	return status;
}

/* A team of children that share a task: each takes from the parent's list what the parent goes on using. */
static void team(void)
{
	struct sheet *share[3];
	pid_t children[3];
	int sum = 0;
	for (int i = 0; i < 3; i++)
		share[i] = sheet_new(20 + i, i ? sheet_ref(share[i - 1]) : NULL);
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		children[i] = fork();
		if (!children[i]) {
			/* The child is done with all but its own; the neighbours live on by that one. */
			for (int other = 0; other < 3; other++)
				if (other != i)
					sheet_unref(share[other]);
			int alive = 0;
			for (struct sheet *at = share[i]; at; at = at->neighbour)
				alive++;
			if (i == 1)
				abort();
			exit(alive);                     /* its own is still held: by the stack */
		}
	}
	for (int i = 0; i < 3; i++) {
		int status = 0;
		if (children[i] > 0 && waitpid(children[i], &status, 0) > 0 && WIFEXITED(status))
			sum += WEXITSTATUS(status);
		sheet_unref(share[i]);
	}
	printf("the team: %d\n", sum);
}

/* One way out for everybody: it ends the process below whoever found the mistake. */
static _Noreturn void finish(const char *why, int code)
{
	printf("finished: %s\n", why);
	exit(code);
}

static void examine(struct sheet *sheet, int level)
{
	struct sheet *mine = sheet_ref(sheet);
	if (level == 3) {
		if (mine->number != 1)
			finish("the wrong sheet", 3);
		finish("all measured", 0);
	}
	examine(mine, level + 1);
	sheet_unref(mine);
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_term };
	parent = getpid();
	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	overview = sheet_new(0, NULL);
	atlas = sheet_new(1, sheet_ref(overview));
	atexit(close_atlas);
	for (int how = BY_RETURN; how < WAYS; how++)
		if (send_out(how) < 0)
			return 2;
	team();
	struct sheet *last = sheet_ref(atlas);
	examine(last, 0);                                /* does not return */
	sheet_unref(last);
	return 1;
}
