// A program that filters its system calls, from the beginning or at some time.
//   confined strict|filter|late-strict|late-filter PAIRS READY
// late-*: after half of the pairs. Without late-, it writes a byte to the file READY when it is confined, and
// waits until `go` is set. strict allows read, write and exit; filter ends the program at any mapping of
// executable memory, at memfd_create, prctl, gettid, nanosleep and sigaltstack.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conn.h"

#define FORBID(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

volatile int go;

static void confine_by_filter(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      FORBID(SYS_memfd_create),
      FORBID(SYS_prctl),
      FORBID(SYS_gettid),
      FORBID(SYS_nanosleep),
      FORBID(SYS_sigaltstack),
      FORBID(SYS_process_vm_readv),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    abort();
}

static void confine(const char *how) {
  if (strcmp(how, "strict") == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0) abort();
  } else {
    confine_by_filter();
  }
}

static void work(struct conn *conn, long pairs) {
  for (long i = 0; i < pairs; i++) {
    conn_get(conn);
    conn_put(conn);
  }
  checkpoint();
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const long pairs = atol(argv[2]);
  const int late = strncmp(argv[1], "late-", 5) == 0;
  struct conn *conn = conn_new(1);
  if (late) {
    work(conn, pairs / 2);
    confine(argv[1] + 5);
    work(conn, pairs - pairs / 2);
  } else {
    const int ready = open(argv[3], O_WRONLY);
    confine(argv[1]);
    if (ready < 0 || write(ready, "r", 1) != 1) syscall(SYS_exit, 2);
    while (!go) __asm__ volatile("pause");
    work(conn, pairs);
  }
  conn_put(conn);
  syscall(SYS_exit, 6);
}
