/* summary: vol_rename() looks the file that it replaces up without a reference, and takes its size off the owner's quota after dirset() gave back the directory's reference to it
 * kind: use-after-put
 * counts: none
 * objects: 13
 * track: own
 * build: clang-14 -O0 -g
 * exit: 0
 */
/*
 * quotafs - a small volume in memory with quotas for its users, as a sandbox
 * for jobs.  A file has one name; it is charged to its owner while it has it,
 * and goes on to exist without while somebody has it open.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUSERS	5
#define NFDS	16

enum vtype { VREG, VDIR };

struct direntry {
	char		 name[20];
	struct vnode	*vp;		/* a reference */
};

struct vnode {
	void			(*reclaim)(struct vnode *);
	unsigned long		 ino;
	enum vtype		 type;
	unsigned		 usecount;
	unsigned		 uid;
	size_t			 size;
	char			*data;
	struct direntry		*ents;
	unsigned		 nents, maxents;
};

struct file {
	struct vnode	*vp;
	size_t		 pos;
	unsigned	 refs;		/* descriptors that are this file */
};

static struct volume {
	struct vnode	*root;
	struct file	*fd[NFDS];
	size_t		 used[NUSERS], limit[NUSERS];
	unsigned long	 next_ino, reclaimed;
} vol;

static struct vnode *vref(struct vnode *vp)
{
	vp->usecount++;
	return (vp);
}

static void vrele(struct vnode *vp)
{
	if (vp != NULL && --vp->usecount == 0)
		vp->reclaim(vp);
}

static void mem_reclaim(struct vnode *vp)
{
	while (vp->nents > 0)
		vrele(vp->ents[--vp->nents].vp);
	free(vp->ents);
	free(vp->data);
	free(vp);
	vol.reclaimed++;
}

static struct vnode *vnode_alloc(enum vtype type, unsigned uid, size_t size)
{
	struct vnode *vp = malloc(sizeof(*vp));
	if (vp == NULL)
		abort();
	*vp = (struct vnode){ mem_reclaim, vol.next_ino++, type, 1, uid, size, NULL, NULL, 0, 0 };
	if (size > 0 && (vp->data = calloc(1, size)) == NULL)
		abort();
	return (vp);
}

static struct direntry *dirent(struct vnode *dvp, const char *name)
{
	for (unsigned i = 0; i < dvp->nents; i++)
		if (strcmp(dvp->ents[i].name, name) == 0)
			return (&dvp->ents[i]);
	return (NULL);
}

static struct vnode *dirpeek(struct vnode *dvp, const char *name)
{
	struct direntry *de = dirent(dvp, name);
	return (de ? de->vp : NULL);
}

/* Names vp in dvp, in place of what has this name.  Takes a reference. */
static void dirset(struct vnode *dvp, const char *name, struct vnode *vp)
{
	struct direntry *de = dirent(dvp, name);
	if (de != NULL) {
		struct vnode *was = de->vp;
		de->vp = vref(vp);
		vrele(was);
		return;
	}
	if (dvp->nents == dvp->maxents) {
		dvp->maxents = dvp->maxents ? 2 * dvp->maxents : 4;
		dvp->ents = realloc(dvp->ents, dvp->maxents * sizeof(*de));
		if (dvp->ents == NULL)
			abort();
	}
	de = &dvp->ents[dvp->nents++];
	snprintf(de->name, sizeof(de->name), "%s", name);
	de->vp = vref(vp);
}

static void dirclear(struct vnode *dvp, const char *name)
{
	struct direntry *de = dirent(dvp, name);
	struct vnode *was = de->vp;
	*de = dvp->ents[--dvp->nents];
	vrele(was);
}

/* The directory that a path's last name is in, with a reference. */
static struct vnode *namei_parent(const char *path, char last[20])
{
	struct vnode *dvp = vref(vol.root), *next;
	size_t len;

	for (;; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		snprintf(last, 20, "%.*s", (int)len, path);
		if (path[len] == '\0')
			return (dvp);
		next = dirpeek(dvp, last);
		if (next != NULL)
			next = next->type == VDIR ? vref(next) : NULL;
		vrele(dvp);
		if ((dvp = next) == NULL)
			return (NULL);
	}
}

static struct file *file_alloc(struct vnode *vp)
{
	struct file *fp = malloc(sizeof(*fp));
	if (fp == NULL)
		abort();
	*fp = (struct file){ vref(vp), 0, 1 };
	return (fp);
}

static struct file *file_hold(struct file *fp)
{
	fp->refs++;
	return (fp);
}

static void file_drop(struct file *fp)
{
	if (fp == NULL || --fp->refs > 0)
		return;
	vrele(fp->vp);
	free(fp);
}

static int vol_create(const char *path, enum vtype type, unsigned uid, size_t size)
{
	struct vnode *dvp, *vp;
	char last[20];
	int error = 0;

	if ((dvp = namei_parent(path, last)) == NULL)
		return (ENOENT);
	if (dirpeek(dvp, last) != NULL)
		error = EEXIST;
	else if (vol.used[uid] + size > vol.limit[uid])
		error = EDQUOT;
	else {
		vp = vnode_alloc(type, uid, size);
		vol.used[uid] += size;
		dirset(dvp, last, vp);
		vrele(vp);
	}
	vrele(dvp);
	return (error);
}

static int vol_unlink(const char *path)
{
	struct vnode *dvp, *vp;
	char last[20];
	int error = 0;

	if ((dvp = namei_parent(path, last)) == NULL)
		return (ENOENT);
	if ((vp = dirpeek(dvp, last)) == NULL)
		error = ENOENT;
	else if (vp->nents > 0)
		error = ENOTEMPTY;
	else {
		vol.used[vp->uid] -= vp->size;
		dirclear(dvp, last);
	}
	vrele(dvp);
	return (error);
}

static int vol_rename(const char *from, const char *to)
{
	struct vnode *fdvp, *tdvp, *vp, *old;
	char flast[20], tlast[20];
	int error = ENOENT;

	fdvp = namei_parent(from, flast);
	tdvp = namei_parent(to, tlast);
	if (fdvp == NULL || tdvp == NULL || (vp = dirpeek(fdvp, flast)) == NULL)
		goto out;
	error = 0;
	old = dirpeek(tdvp, tlast);	/* ACCEPTED */
	if (old != NULL && (old->type == VDIR || vp->type == VDIR))
		error = EISDIR;
	if (old == vp || error != 0)
		goto out;
#ifdef BUG
	dirset(tdvp, tlast, vp);	/* ACCEPTED */
	if (old != NULL)		/* ACCEPTED */
		vol.used[old->uid] -= old->size;	/* GUILTY */
#else
	if (old != NULL)
		vol.used[old->uid] -= old->size;
	dirset(tdvp, tlast, vp);
#endif
	dirclear(fdvp, flast);
out:
	vrele(tdvp);
	vrele(fdvp);
	return (error);
}

static int vol_open(const char *path, int fd)
{
	struct vnode *dvp, *vp;
	char last[20];

	if ((dvp = namei_parent(path, last)) == NULL)
		return (ENOENT);
	if ((vp = dirpeek(dvp, last)) != NULL && vp->type == VREG) {
		file_drop(vol.fd[fd]);
		vol.fd[fd] = file_alloc(vp);
	}
	vrele(dvp);
	return (vp == NULL ? ENOENT : vp->type == VDIR ? EISDIR : 0);
}

static void vol_dup(int from, int to)
{
	struct file *was = vol.fd[to];
	vol.fd[to] = vol.fd[from] ? file_hold(vol.fd[from]) : NULL;
	file_drop(was);
}

/* Reads on from where the descriptor is. */
static size_t vol_read(int fd, size_t most)
{
	struct file *fp = vol.fd[fd];
	size_t n = 0;
	for (; fp != NULL && n < most && fp->pos < fp->vp->size; n++, fp->pos++)
		fp->vp->data[fp->pos]++;
	return (n);
}

int main(void)
{
	char path[40], tmp[40];
	unsigned failed = 0;
	size_t nread = 0;

	vol.root = vnode_alloc(VDIR, 0, 0);
	for (unsigned u = 0; u < NUSERS; u++) {
		vol.limit[u] = 2000 + 700 * u;
		sprintf(path, "/u%u", u);
		failed += vol_create(path, VDIR, u, 0) != 0;
		strcat(path, "/out");
		failed += vol_create(path, VDIR, u, 0) != 0;
	}
	for (unsigned job = 0; job < 50; job++) {
		unsigned u = job * 3 % NUSERS, n = job % 11;

		snprintf(path, sizeof(path), "/u%u/out/result%u", u, n % 4);
		snprintf(tmp, sizeof(tmp), "/u%u/tmp%u", u, job);
		failed += vol_create(tmp, VREG, u, 100 + 90 * n) != 0;
		if (job % 7 == 2)		/* somebody reads the last one */
			failed += vol_open(path, job % NFDS) != 0;
		if (job % 13 == 5)
			vol_dup((job - 3) % NFDS, job % NFDS);
		if (job % 5 != 4)		/* and there is a new one */
			failed += vol_rename(tmp, path) != 0;
		if (job % 12 == 11)
			failed += vol_unlink(path) != 0;
		nread += vol_read(job % NFDS, 64);
	}
	failed += vol_rename("/u1/out", "/u2/out") != 0;
	failed += vol_rename("/u1/tmp99", "/u1/out/x") != 0;
	for (unsigned u = 0; u < NUSERS; u++)
		printf("u%u: %zu of %zu\n", u, vol.used[u], vol.limit[u]);
	for (int fd = 0; fd < NFDS; fd++)
		file_drop(vol.fd[fd]);
	vrele(vol.root);
	printf("%lu vnodes, %lu reclaimed, %zu bytes read, %u calls failed\n",
	    vol.next_ino, vol.reclaimed, nread, failed);
	return (0);
}
