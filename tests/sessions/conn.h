// The refcounted type of most session programs: born with one reference, freed by the last put.
#ifndef REFHIST_TESTS_CONN_H
#define REFHIST_TESTS_CONN_H

#ifdef __cplusplus
extern "C" {
#endif

struct conn {
  int id;
  int refs;
  struct conn *next;
};

struct conn *conn_new(int id);
struct conn *conn_get(struct conn *conn);
void conn_put(struct conn *conn);
void conn_free(struct conn *conn);

/// Does nothing: a place where scripts stop.
void checkpoint(void);

#ifdef __cplusplus
}
#endif

#endif
