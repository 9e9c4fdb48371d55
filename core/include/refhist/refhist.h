/* refhist's C ABI: the only door into the core for front ends that are not C++.
 *
 * Conventions: no function throws or aborts. Strings are UTF-8, zero-terminated. A string that a function
 * returns belongs to the session and stays valid until the next call that returns a string of the same
 * session. Booleans are int: 0 no, 1 yes. The port is used during the call only and never stored.
 */
#ifndef REFHIST_REFHIST_H
#define REFHIST_REFHIST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RH_ABI_VERSION 12

/* Numbered as DWARF numbers the x86-64 registers: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip. */
#define RH_REGISTERS 17

typedef struct rh_session rh_session;

enum rh_process_state {
  RH_PROCESS_NONE = 0,
  RH_PROCESS_STOPPED,
  RH_PROCESS_RUNNING,
  RH_PROCESS_EXITED,
  RH_PROCESS_CORE
};

enum rh_notice {
  RH_NOTICE_STARTED = 0,
  RH_NOTICE_MODULES,
  RH_NOTICE_STOPPED,
  RH_NOTICE_EXITED,
  RH_NOTICE_SIGNALLED,
  RH_NOTICE_DETACHED,
  RH_NOTICE_EXECUTED,
  RH_NOTICE_BREAKPOINTS,
  RH_NOTICE_LEAVING,
  RH_NOTICE_QUITTING,
  RH_NOTICE_HANDED_OVER
};

/* Callbacks that hand over text or a list call this once (text) or once per item. */
typedef void (*rh_sink)(void* sink_context, const char* text, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* The debugger as the core sees it. Every callback answers 1 for yes/done, 0 for no/failed. */
typedef struct rh_port {
  const char* name; /* "gdb" */
  /* *state, *pid, *local; the executable's path goes to the sink (text). */
  int (*process)(int* state, int64_t* pid, int* local, rh_sink sink, void* sink_context);
  int (*read_memory)(uint64_t address, void* out, size_t size);
  int (*write_memory)(uint64_t address, const void* bytes, size_t size);
  int (*set_pc)(int64_t tid, uint64_t address); /* of a thread that stands at a breakpoint of ours */
  int (*set_registers)(int64_t tid, const uint64_t* values /* RH_REGISTERS */); /* the same */
  int (*registers)(int64_t tid, uint64_t* out /* RH_REGISTERS */);
  int (*vector_words)(int64_t tid, rh_sink sink,
                      void* sink_context);          /* a = eight bytes of a vector register */
  int (*threads)(rh_sink sink, void* sink_context); /* text = name, a = tid */
  int (*selected_thread)(int64_t* tid);
  int (*modules)(rh_sink sink, void* sink_context); /* text = path, a = load bias */
  int (*regions)(rh_sink sink,
                 void* sink_context); /* text = path, a..b = range, c = rwx bits 4|2|1, d = file offset */
  int (*backtrace)(int64_t tid, uint64_t limit, rh_sink sink,
                   void* sink_context); /* a = pc, innermost first */
  int (*place_breakpoint)(uint64_t address);
  int (*remove_breakpoint)(uint64_t address);
  int (*breakpoint_alive)(uint64_t address);
  int (*user_breakpoints)(rh_sink sink, void* sink_context); /* a = address */
  /* An ELF file that tells about code of ours in the program; "" takes it back. */
  int (*show_code)(const char* path, uint64_t bias);
  /* 1 when the debugger knows that the selected thread's hit at this address is the last one, reported again.
   */
  int (*is_hit_again)(uint64_t address);
  /* On failure the one-line reason goes to the sink. */
  int (*evaluate)(const char* expression, uint64_t* value, rh_sink sink, void* sink_context);
  void (*print)(const char* text);
  int (*interrupted)(void);
  /* Stops at exit system calls, for rh_raw_exit: place or remove, and whether it is still there. Both are
   * null where the debugger cannot. */
  int (*catch_raw_exit)(int on);
  int (*raw_exit_caught)(void);
  /* A hardware watchpoint for writes, for rh_changed. On failure the one-line reason goes to the sink. */
  int (*place_watchpoint)(uint64_t address, uint64_t size, rh_sink sink, void* sink_context);
  int (*remove_watchpoint)(uint64_t address);
  int (*watchpoint_alive)(uint64_t address);
  /* Until the process ends, no SIGSTOP stops the program or reaches it: one of the core's, which halts
   * threads that the debugger lets run while it asks about another one, is on its way. Null where they do not
   * run. */
  int (*expect_halts)(void);
  /* The thread, which stands where it was reported, ends the program as soon as it goes on. Others need not
   * go on before. May be null. */
  int (*let_end)(int64_t tid);
  /* A variable of the environment that the program is started with next. Its value goes to the sink; 0 when
   * it is not set. A null value takes it out. Both may be null. */
  int (*environment)(const char* name, rh_sink sink, void* sink_context);
  int (*set_environment)(const char* name, const char* value);
} rh_port;

int rh_abi_version(void);

rh_session* rh_session_new(const char* families_folder);
void rh_session_free(rh_session* session);

/* Runs what was typed after "refhist". Returns 1 when it succeeded; *text is the output or the error line;
 * *quit_status is -1, or the exit status with which the debugger shall end. */
int rh_execute(rh_session* session, const rh_port* port, const char* line, const char** text,
               int* quit_status);

/* A thread stands at a breakpoint of ours. 1: stop the program and show rh_stop_reason. */
int rh_hit(rh_session* session, const rh_port* port, int64_t tid, uint64_t pc);
/* A thread has just changed what a watchpoint of ours watches. The program goes on. */
void rh_changed(rh_session* session, const rh_port* port, int64_t tid, uint64_t address);
/* A thread is about to make a raw exit system call: exit_group (whole_process) or exit. 1 as for rh_hit. */
int rh_raw_exit(rh_session* session, const rh_port* port, int64_t tid, int whole_process);
const char* rh_stop_reason(rh_session* session);

void rh_notify(rh_session* session, const rh_port* port, int notice, int64_t detail);

/* Newline-separated words that may stand at the end of the line. */
const char* rh_complete(rh_session* session, const char* line);

int rh_tracking(rh_session* session);
int64_t rh_count_of(rh_session* session, uint64_t address);

/* `bytes` were read from the program's memory: the program's own code takes the place of what stands there of
 * ours, breakpoints aside. 1 when that changed anything. */
int rh_own_code(rh_session* session, uint64_t address, void* bytes, size_t size);

/* The command table, for front ends that register one command per verb: names separated by newlines, and the
 * help text of one verb ("" for the whole). */
const char* rh_verbs(rh_session* session);
const char* rh_help(rh_session* session, const char* verb);

#ifdef __cplusplus
}
#endif

#endif /* REFHIST_REFHIST_H */
