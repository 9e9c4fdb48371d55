/* summary: remember stores the new session of a host over the old one that it still owned
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: SSL_SESSION SSL SSL_CTX
 * packages: openssl
 * build: clang-14 -O0 -g
 * exit: 0
 */
/* A client that keeps one TLS session for each host, to resume it at the next call. Both ends run in this process,
 * over a pair of BIOs; two servers with their own session caches. */
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#define NHOSTS 9
#define ROUNDS 4

struct host {
  char name[16];
  SSL_CTX *server;      /* borrowed */
  SSL_SESSION *session; /* owned or NULL */
};

struct link {
  SSL *client, *server;
};

static struct host hosts[NHOSTS];
static SSL_CTX *servers[2], *client_ctx;
static SSL_SESSION *last_good; /* owned or NULL: of the last call that went well, for diagnosis */
static int full, resumed, broken, dropped;

static int add_identity(SSL_CTX **ctx, int n) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *cert = X509_new();
  int ok = 0;

  if (!key || !cert)
    goto out;
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 7);
  X509_gmtime_adj(X509_getm_notBefore(cert), -60);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, key);
  if (!X509_sign(cert, key, EVP_sha256()))
    goto out;
  ok = 1;
  for (int i = 0; i < n; i++)
    ok = ok && SSL_CTX_use_certificate(ctx[i], cert) == 1 && SSL_CTX_use_PrivateKey(ctx[i], key) == 1;
out:
  X509_free(cert);
  EVP_PKEY_free(key);
  return ok;
}

static SSL_CTX *new_ctx(const SSL_METHOD *method) {
  SSL_CTX *ctx = SSL_CTX_new(method);

  if (!ctx)
    return NULL;
  if (!SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION)) {
    SSL_CTX_free(ctx);
    return NULL;
  }
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
  return ctx;
}

static void link_close(struct link *l, int orderly) {
  if (orderly) {
    SSL_set_shutdown(l->client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(l->server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
  SSL_free(l->client);
  SSL_free(l->server);
}

static int link_open(struct link *l, struct host *h) {
  BIO *near = NULL, *far = NULL;
  int done = 0;

  l->client = SSL_new(client_ctx);
  l->server = SSL_new(h->server);
  if (!l->client || !l->server || !BIO_new_bio_pair(&near, 0, &far, 0)) {
    link_close(l, 0);
    return -1;
  }
  SSL_set_bio(l->client, near, near);
  SSL_set_bio(l->server, far, far);
  SSL_set_connect_state(l->client);
  SSL_set_accept_state(l->server);
  if (h->session)
    SSL_set_session(l->client, h->session);
  for (int i = 0; i < 20 && done != 3; i++) {
    if (SSL_do_handshake(l->client) == 1)
      done |= 1;
    if (SSL_do_handshake(l->server) == 1)
      done |= 2;
  }
  if (done != 3) {
    link_close(l, 0);
    return -1;
  }
  return 0;
}

static void forget(struct host *h) {
  SSL_SESSION_free(h->session);
  h->session = NULL;
  dropped++;
}

static void remember(struct host *h, SSL *ssl) {
  SSL_SESSION *now = SSL_get1_session(ssl); /* ACCEPTED */

  if (!now)
    return;
  if (SSL_session_reused(ssl)) {
    resumed++;
    SSL_SESSION_free(now);
    return;
  }
  full++;
  if (!SSL_SESSION_is_resumable(now)) {
    SSL_SESSION_free(now);
    return;
  }
#ifdef BUG
  h->session = now; /* GUILTY */
#else
  SSL_SESSION_free(h->session);
  h->session = now;
#endif
}

static void note_good(SSL *ssl) {
  SSL_SESSION *s = SSL_get0_session(ssl);

  if (s == last_good || !SSL_SESSION_up_ref(s))
    return;
  SSL_SESSION_free(last_good);
  last_good = s;
}

static int talk(struct link *l, const char *text) {
  char buf[64];
  int len = (int)strlen(text);

  if (SSL_write(l->client, text, len) != len)
    return -1;
  return SSL_read(l->server, buf, sizeof(buf)) == len && !memcmp(buf, text, len) ? 0 : -1;
}

static void call_host(struct host *h, int cut) {
  struct link l;

  if (h->session && !SSL_SESSION_is_resumable(h->session))
    forget(h);
  if (link_open(&l, h) < 0) {
    broken++;
    return;
  }
  remember(h, l.client);
  if (talk(&l, h->name) < 0 || cut) {
    broken++;
    link_close(&l, 0); /* the session must not be used again */
    return;
  }
  note_good(l.client);
  link_close(&l, 1);
}

int main(void) {
  servers[0] = new_ctx(TLS_server_method());
  servers[1] = new_ctx(TLS_server_method());
  client_ctx = new_ctx(TLS_client_method());
  if (!servers[0] || !servers[1] || !client_ctx || !add_identity(servers, 2))
    return 1;
  for (int i = 0; i < NHOSTS; i++) {
    snprintf(hosts[i].name, sizeof(hosts[i].name), "host%d", i);
    hosts[i].server = servers[i % 3 == 2];
  }
  for (int r = 0; r < ROUNDS; r++) {
    if (r == 2) /* the second server starts anew and knows no session any more */
      SSL_CTX_flush_sessions(servers[1], 0);
    for (int i = 0; i < NHOSTS; i++)
      call_host(&hosts[i], r == 1 && (i == 3 || i == 6));
  }
  for (int i = 0; i < NHOSTS; i++)
    SSL_SESSION_free(hosts[i].session);
  SSL_SESSION_free(last_good);
  SSL_CTX_free(client_ctx);
  SSL_CTX_free(servers[0]);
  SSL_CTX_free(servers[1]);
  printf("full %d resumed %d broken %d dropped %d\n", full, resumed, broken, dropped);
  return 0;
}
