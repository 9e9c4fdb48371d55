// Threads that make, take and give back objects until `leave` is set: by the program, or by a debugger.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "conn.h"

#define MOST_THREADS 64

volatile int leave;

static void *work(void *working) {
  ++*(atomic_int *)working;
  while (!leave) {
    struct conn *conn = conn_new(1);
    conn_get(conn);
    conn_put(conn);
    conn_put(conn);
    checkpoint();
    usleep(200);
  }
  return NULL;
}

// All of them work when it returns.
static void start_workers(pthread_t *threads, int count) {
  static atomic_int working;
  for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, &working);
  while (working < count) usleep(100);
}
