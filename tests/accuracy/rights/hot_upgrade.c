/* summary: references across exec: a server writes its sessions with their counts into a memfd and execs itself without putting anything; the new image makes them with their old count and hands that many references out, and others live on in a shared mapping at a fixed address, born in the old image
 * track: own
 * build: gcc -O2 -g -Wall hot_upgrade.c -o OUT
 */
/*
 * hot_upgrade - chat relay that replaces its program while it runs.
 *
 * Sessions (heap) are frozen into a file: name, count, and the users of each.
 * Topics live in a mapping of another memfd, always at the same address, and
 * are simply there again after the upgrade, count and all.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOPICS_AT ((void *)0x200000000000)
#define N_TOPICS 16
#define N_USERS 24
#define GENERATIONS 3

struct topic {
	int refs;               /* 0: free place */
	char name[28];
};

struct shared {
	int generation;
	int topics_made, topics_gone;
	struct topic topics[N_TOPICS];
};

struct session {
	int refs;
	int id;
	struct topic *topic;    /* owned */
	char nick[24];
};

static struct shared *shared;
static struct session *users[N_USERS];  /* each owns its session */
static int sessions_live;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- topics ------------------------------------------------------------- */

static struct topic *topic_new(const char *name)
{
	for (int i = 0; i < N_TOPICS; i++) {
		struct topic *t = &shared->topics[i];
		if (t->refs)
			continue;
		t->refs = 1;
		snprintf(t->name, sizeof t->name, "%s", name);
		shared->topics_made++;
		return t;
	}
	return NULL;
}

static struct topic *topic_get(struct topic *t)
{
	t->refs++;
	return t;
}

static void topic_put(struct topic *t)
{
	if (--t->refs)
		return;
	shared->topics_gone++;
	t->name[0] = 0;
}

static struct topic *topic_find(const char *name)
{
	for (int i = 0; i < N_TOPICS; i++)
		if (shared->topics[i].refs && !strcmp(shared->topics[i].name, name))
			return topic_get(&shared->topics[i]);
	return topic_new(name);
}

/* ---- sessions ----------------------------------------------------------- */

/* Takes over the reference to the topic. */
static struct session *session_new(int id, struct topic *topic)
{
	struct session *s = calloc(1, sizeof *s);
	if (!s)
		die("calloc");
	s->refs = 1;
	s->id = id;
	s->topic = topic;
	snprintf(s->nick, sizeof s->nick, "guest%d", id);
	sessions_live++;
	return s;
}

static struct session *session_get(struct session *s)
{
	s->refs++;
	return s;
}

static void session_put(struct session *s)
{
	if (!s || --s->refs)
		return;
	topic_put(s->topic);
	sessions_live--;
	free(s);
}

/* ---- freeze and thaw ---------------------------------------------------- */

struct frozen {
	int refs, id;
	uintptr_t topic;        /* the session's reference goes along */
	char nick[24];
	int users[N_USERS];     /* numbers of those who own one of the references */
	int n;
};

static void freeze(FILE *to)
{
	for (int i = 0; i < N_USERS; i++) {
		struct session *s = users[i];
		struct frozen f = { 0 };
		int first = 1;
		if (!s)
			continue;
		for (int k = 0; k < i; k++)
			first &= users[k] != s;
		if (!first)
			continue;
		f.refs = s->refs;
		f.id = s->id;
		f.topic = (uintptr_t)s->topic;
		memcpy(f.nick, s->nick, sizeof f.nick);
		for (int k = i; k < N_USERS; k++)
			if (users[k] == s)
				f.users[f.n++] = k;
		if (f.n != f.refs || fwrite(&f, sizeof f, 1, to) != 1)
			abort();
	}
}

/* With all the references that it had. */
static struct session *session_thaw(const struct frozen *f)
{
	struct session *s = malloc(sizeof *s);
	if (!s)
		die("malloc");
	s->refs = f->refs;
	s->id = f->id;
	s->topic = (struct topic *)f->topic;
	memcpy(s->nick, f->nick, sizeof s->nick);
	sessions_live++;
	return s;
}

static void thaw(FILE *from)
{
	struct frozen f;
	rewind(from);
	while (fread(&f, sizeof f, 1, from) == 1) {
		struct session *s = session_thaw(&f);
		for (int i = 0; i < f.n; i++)
			users[f.users[i]] = s;
	}
}

static void upgrade(int topics_fd)
{
	char self[512], fds[40];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	int fd = memfd_create("sessions", 0);

	if (n < 0 || fd < 0)
		die("upgrade");
	self[n] = 0;
	FILE *file = fdopen(fd, "w+");
	freeze(file);
	fflush(file);
	snprintf(fds, sizeof fds, "%d,%d", topics_fd, fd);
	setenv("RELAY_FDS", fds, 1);
	fflush(stdout);
	execl(self, self, (char *)NULL);
	die("execl");
}

/* ---- the relay ---------------------------------------------------------- */

static void serve(unsigned *seed)
{
	static const char *const names[] = { "#tea", "#bread", "#soup", "#beans", "#rice", "#plum" };

	for (int i = 0; i < 200; i++) {
		int user = rand_r(seed) % N_USERS, other = rand_r(seed) % N_USERS;
		switch (rand_r(seed) % 4) {
		case 0:                 /* leaves */
			session_put(users[user]);
			users[user] = NULL;
			break;
		case 1:                 /* takes part in another's session */
			if (users[other]) {
				struct session *old = users[user];
				users[user] = session_get(users[other]);
				session_put(old);
			}
			break;
		case 2: {
			struct topic *t = topic_find(names[rand_r(seed) % 6]);
			if (users[user]) {      /* changes the topic */
				topic_put(users[user]->topic);
				users[user]->topic = t;
			} else {
				users[user] = session_new(user * 100 + i, t);
			}
			break;
		}
		default: {              /* swap places */
			struct session *s = users[user];
			users[user] = users[other];
			users[other] = s;
		}
		}
	}
}

int main(void)
{
	const char *fds = getenv("RELAY_FDS");
	int topics_fd, sessions_fd;

	if (!fds) {
		topics_fd = memfd_create("topics", 0);
		if (topics_fd < 0 || ftruncate(topics_fd, sizeof *shared))
			die("topics");
	} else if (sscanf(fds, "%d,%d", &topics_fd, &sessions_fd) != 2) {
		return 2;
	}
	shared = mmap(TOPICS_AT, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, topics_fd, 0);
	if (shared != TOPICS_AT)
		die("mmap");
	if (fds) {
		FILE *file = fdopen(sessions_fd, "r");
		thaw(file);
		fclose(file);
	}
	unsigned seed = 31 + shared->generation;
	serve(&seed);
	printf("generation %d: %d sessions, %d topics made, %d gone\n", shared->generation, sessions_live,
	       shared->topics_made, shared->topics_gone);
	if (++shared->generation < GENERATIONS)
		upgrade(topics_fd);

	for (int i = 0; i < N_USERS; i++)
		session_put(users[i]);
	printf("%d sessions left, %d of %d topics gone\n", sessions_live, shared->topics_gone, shared->topics_made);
	return sessions_live || shared->topics_made != shared->topics_gone;
}
