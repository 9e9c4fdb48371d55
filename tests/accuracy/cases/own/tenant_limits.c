/* summary: request_retry() copies the whole request for its second try, with the pointer to the tenant, but takes no lease on the tenant for the copy
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: own
 * build: clang-14 -O2 -g
 * exit: 0
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------
 * Rate limits of a gateway.  Requests are leased to the tenant that they
 * count for; a tenant who is deleted lives until its last request is done.
 * ---------------------------------------------------------------------- */

typedef struct tenant_s   tenant_t;
typedef struct request_s  request_t;
typedef struct gateway_s  gateway_t;

struct tenant_s {
    char       name[16];
    unsigned   rate;
    unsigned   tokens;
    unsigned   served;
    unsigned   limited;
    tenant_t  *next;
    long       leases;
};

struct request_s {
    request_t  *next;
    tenant_t   *tenant;
    unsigned    id;
    unsigned    upstream;
    unsigned    tries;
    char        path[40];
};

struct gateway_s {
    tenant_t   *tenants;
    request_t  *first, **last;
    unsigned    ids;
    unsigned    ok, failed, retried;
    bool        trouble;
};


__attribute__((noinline)) static tenant_t *
tenant_create(const char *name, unsigned rate)
{
    tenant_t  *t;

    t = calloc(1, sizeof(tenant_t));
    if (t == NULL) {
        exit(1);
    }

    snprintf(t->name, sizeof(t->name), "%s", name);
    t->rate = rate;
    t->tokens = rate;
    t->leases = 1;

    return t;
}


__attribute__((noinline)) static tenant_t *
tenant_lease(tenant_t *t)
{
    t->leases++;
    return t;
}


__attribute__((noinline)) static void
tenant_unlease(tenant_t *t)
{
    t->leases--;
    if (t->leases == 0) {
        free(t);
    }
}


static tenant_t *
gateway_tenant(gateway_t *gw, const char *name)
{
    tenant_t  *t;

    for (t = gw->tenants; t != NULL; t = t->next) {
        if (strcmp(t->name, name) == 0) {
            return t;
        }
    }

    return NULL;
}


static void
gateway_enqueue(gateway_t *gw, request_t *r)
{
    r->next = NULL;
    *gw->last = r;
    gw->last = &r->next;
}


static request_t *
request_create(gateway_t *gw, tenant_t *t, const char *path)
{
    request_t  *r;

    r = calloc(1, sizeof(request_t));
    if (r == NULL) {
        exit(1);
    }

    r->tenant = tenant_lease(t);
    r->id = ++gw->ids;
    r->upstream = r->id % 3;
    snprintf(r->path, sizeof(r->path), "%s/%u", path, r->id);

    return r;
}


static void
request_free(request_t *r)
{
    tenant_unlease(r->tenant);          /* ACCEPTED */
    free(r);
}


/* the same request for the next upstream; the old one is finalized as usual */

static void
request_retry(gateway_t *gw, const request_t *r)
{
    request_t  *again;

    again = malloc(sizeof(request_t));
    if (again == NULL) {
        exit(1);
    }

    *again = *r;                        /* GUILTY */
#ifndef BUG
    tenant_lease(again->tenant);
#endif
    again->upstream = (r->upstream + 1) % 3;
    again->tries++;
    gw->retried++;
    gateway_enqueue(gw, again);
}


static bool
request_limited(request_t *r)
{
    tenant_t  *t = r->tenant;

    if (t->tokens == 0) {
        t->limited++;
        return true;
    }

    t->tokens--;
    return false;
}


static void
request_run(gateway_t *gw, request_t *r)
{
    if (r->tries == 0 && request_limited(r)) {
        gw->failed++;
        return;
    }

    if (gw->trouble && r->upstream == 2) {
        if (r->tries < 2) {
            request_retry(gw, r);
        } else {
            gw->failed++;
        }
        return;
    }

    r->tenant->served++;
    gw->ok++;
}


static void
gateway_run(gateway_t *gw)
{
    request_t  *r;

    while ((r = gw->first) != NULL) {
        gw->first = r->next;
        if (gw->first == NULL) {
            gw->last = &gw->first;
        }
        request_run(gw, r);
        request_free(r);
    }
}


int
main(void)
{
    static const char *const  names[] = { "acme", "globex", "initech", "umbrella", "hooli" };
    gateway_t                 gw;
    tenant_t                 *t;
    unsigned                  sum = 0;

    memset(&gw, 0, sizeof(gw));
    gw.last = &gw.first;

    for (int i = 0; i < 5; i++) {
        t = tenant_create(names[i], 6 + 3 * i);
        t->next = gw.tenants;
        gw.tenants = t;
    }

    for (int second = 0; second < 4; second++) {
        for (t = gw.tenants; t != NULL; t = t->next) {
            t->tokens = t->rate;
        }
        for (unsigned i = 0; i < 9; i++) {
            t = gateway_tenant(&gw, names[(i + (unsigned) second) * i % 5]);
            gateway_enqueue(&gw, request_create(&gw, t, "/v1/items"));
        }
        gw.trouble = second == 3;
        gateway_run(&gw);
    }

    for (t = gw.tenants; t != NULL; t = t->next) {
        sum = sum * 100 + t->served;
    }
    printf("%u ok, %u failed, %u retried, sum %u\n", gw.ok, gw.failed, gw.retried, sum);

    while ((t = gw.tenants) != NULL) {
        gw.tenants = t->next;
        tenant_unlease(t);
    }

    return 0;
}
