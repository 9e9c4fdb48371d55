// See agent_library.c.
#pragma once

struct conn;

struct conn* conn_new(int fd);
void conn_get(struct conn* c);
void conn_put(struct conn* c);
