/* summary: the server name callback returns early when the host's context is in use already and keeps the reference that context_for() gave it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: SSL_CTX SSL
 * packages: openssl
 * build: gcc -O2 -g
 * exit: 0
 */
/* The TLS side of a front end for many hosts. A listener starts each connection with the context of its default
 * host and the server name callback changes that. Contexts are built when a host is first asked for, kept in a
 * table and replaced when the host's certificate is renewed. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NHOSTS 9
#define NALIASES 5
#define NLISTENERS 4

struct host {
  char name[40];
  X509 *cert;   /* owned */
  SSL_CTX *ctx; /* owned, NULL until somebody asks for the host */
  int suspended;
  int renewals;
};

struct alias {
  const char *name;
  int host;
};

struct listener {
  int port;
  int default_host;
  SSL_CTX *ctx; /* owned, what a connection begins with */
  int served, unchanged, refused;
};

struct front {
  EVP_PKEY *key; /* owned, one for all hosts */
  struct host hosts[NHOSTS];
  struct listener listeners[NLISTENERS];
  SSL_CTX *client; /* owned */
  int built;
};

static struct front front;
static const struct alias aliases[NALIASES] = {
    {"www.acorn.example", 0}, {"shop.acorn.example", 0}, {"www.birch.example", 1}, {"m.elm.example", 4}, {"old.larch.example", 6},
};
static const char *const host_names[NHOSTS] = {
    "acorn.example", "birch.example", "cedar.example", "docs.cedar.example", "elm.example",
    "fir.example",   "larch.example", "maple.example", "oak.example",
};

static X509 *self_signed(EVP_PKEY *key, const char *name) {
  static long serial = 4000;
  X509 *cert = X509_new();
  X509_NAME *subject;

  if (!cert)
    return NULL;
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
  subject = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
  X509_set_issuer_name(cert, subject);
  if (!X509_set_pubkey(cert, key) || !X509_sign(cert, key, EVP_sha256())) {
    X509_free(cert);
    return NULL;
  }
  return cert;
}

static int on_server_name(SSL *ssl, int *alert, void *arg);

static SSL_CTX *build_context(struct front *f, struct host *h) {
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

  if (!ctx)
    return NULL;
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
  SSL_CTX_set_tlsext_servername_callback(ctx, on_server_name);
  SSL_CTX_set_tlsext_servername_arg(ctx, f);
  if (SSL_CTX_use_certificate(ctx, h->cert) != 1 || SSL_CTX_use_PrivateKey(ctx, f->key) != 1) {
    SSL_CTX_free(ctx);
    return NULL;
  }
  f->built++;
  return ctx;
}

static struct host *find_host(struct front *f, const char *name) {
  for (int i = 0; i < NHOSTS; i++)
    if (!strcmp(f->hosts[i].name, name))
      return &f->hosts[i];
  for (int i = 0; i < NALIASES; i++)
    if (!strcmp(aliases[i].name, name))
      return &f->hosts[aliases[i].host];
  return NULL;
}

/* The context of a host, with a reference for the caller: the host may be renewed while he has it. */
static SSL_CTX *context_for(struct front *f, struct host *h) {
  if (!h->ctx) {
    h->ctx = build_context(f, h);
    if (!h->ctx)
      return NULL;
  }
  SSL_CTX_up_ref(h->ctx);
  return h->ctx;
}

static int renew(struct front *f, struct host *h) {
  X509 *cert = self_signed(f->key, h->name);

  if (!cert)
    return -1;
  X509_free(h->cert);
  h->cert = cert;
  h->renewals++;
  SSL_CTX_free(h->ctx);
  h->ctx = NULL;
  return 0;
}

static int on_server_name(SSL *ssl, int *alert, void *arg) {
  struct front *f = arg;
  struct listener *l = SSL_get_app_data(ssl);
  const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  struct host *h;
  SSL_CTX *ctx;

  if (!name)
    return SSL_TLSEXT_ERR_NOACK;
  h = find_host(f, name);
  if (!h || h->suspended) {
    l->refused++;
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  ctx = context_for(f, h); /* ACCEPTED */
  if (!ctx) {
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  if (ctx == SSL_get_SSL_CTX(ssl)) {
    l->unchanged++; /* ACCEPTED */
#ifndef BUG
    SSL_CTX_free(ctx);
#endif
    return SSL_TLSEXT_ERR_OK; /* GUILTY */
  }
  SSL_set_SSL_CTX(ssl, ctx);
  SSL_CTX_free(ctx);
  return SSL_TLSEXT_ERR_OK;
}

/* Listeners go over to a renewed certificate of their default host only when they are told to. */
static int listener_refresh(struct front *f, struct listener *l) {
  SSL_CTX *ctx = context_for(f, &f->hosts[l->default_host]);

  if (!ctx)
    return -1;
  SSL_CTX_free(l->ctx);
  l->ctx = ctx;
  return 0;
}

static int step(SSL *ssl, int (*action)(SSL *)) {
  int r = action(ssl);

  if (r == 1)
    return 1;
  r = SSL_get_error(ssl, r);
  ERR_clear_error();
  return r == SSL_ERROR_WANT_READ || r == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

/* One visitor. What he saw is the serial number of the certificate that he was shown, or 0. */
static long visit(struct front *f, struct listener *l, const char *name) {
  SSL *server = SSL_new(l->ctx), *client = SSL_new(f->client);
  BIO *near_end = NULL, *far_end = NULL;
  int s = 0, c = 0;
  long seen = 0;
  X509 *cert;

  if (!server || !client || !BIO_new_bio_pair(&near_end, 0, &far_end, 0))
    goto out;
  SSL_set_bio(server, near_end, near_end);
  SSL_set_bio(client, far_end, far_end);
  SSL_set_app_data(server, l);
  if (name)
    SSL_set_tlsext_host_name(client, name);
  for (int round = 0; round < 12 && s >= 0 && c >= 0 && !(s && c); round++) {
    if (!c)
      c = step(client, SSL_connect);
    if (!s)
      s = step(server, SSL_accept);
  }
  if (s != 1 || c != 1)
    goto out;
  cert = SSL_get0_peer_certificate(client);
  seen = ASN1_INTEGER_get(X509_get0_serialNumber(cert));
  l->served++;
out:
  SSL_free(client);
  SSL_free(server);
  return seen;
}

static int front_init(struct front *f) {
  f->key = EVP_EC_gen("P-256");
  f->client = SSL_CTX_new(TLS_client_method());
  if (!f->key || !f->client)
    return -1;
  SSL_CTX_set_verify(f->client, SSL_VERIFY_NONE, NULL);
  SSL_CTX_set_session_cache_mode(f->client, SSL_SESS_CACHE_OFF);
  for (int i = 0; i < NHOSTS; i++) {
    snprintf(f->hosts[i].name, sizeof(f->hosts[i].name), "%s", host_names[i]);
    f->hosts[i].cert = self_signed(f->key, host_names[i]);
    if (!f->hosts[i].cert)
      return -1;
  }
  f->hosts[5].suspended = 1;
  for (int i = 0; i < NLISTENERS; i++) {
    f->listeners[i].port = 8443 + i;
    f->listeners[i].default_host = i * 2;
    if (listener_refresh(f, &f->listeners[i]) < 0)
      return -1;
  }
  return 0;
}

static void front_done(struct front *f) {
  for (int i = 0; i < NLISTENERS; i++)
    SSL_CTX_free(f->listeners[i].ctx);
  for (int i = 0; i < NHOSTS; i++) {
    SSL_CTX_free(f->hosts[i].ctx);
    X509_free(f->hosts[i].cert);
  }
  SSL_CTX_free(f->client);
  EVP_PKEY_free(f->key);
}

int main(void) {
  /* listener and name of the visitors; a dash comes without a name */
  static const struct {
    int listener;
    const char *name;
  } visitors[] = {
      {0, "birch.example"},      {1, "-"},           {2, "oak.example"},       {0, "www.acorn.example"}, {3, "maple.example"},
      {1, "docs.cedar.example"}, {2, "-"},           {3, "fir.example"},       {0, "shop.acorn.example"}, {2, "m.elm.example"},
      {1, "birch.example"},      {3, "oak.example"}, {0, "pine.example"},      {2, "acorn.example"},     {1, "www.birch.example"},
      {0, "acorn.example"},      {3, "-"},           {2, "maple.example"},     {2, "elm.example"},       {3, "cedar.example"},
  };
  long serials = 0;

  if (front_init(&front) < 0)
    return 1;
  for (int day = 0; day < 3; day++) {
    for (size_t i = 0; i < sizeof(visitors) / sizeof(visitors[0]); i++) {
      const char *name = visitors[i].name;

      serials += visit(&front, &front.listeners[visitors[i].listener], *name == '-' ? NULL : name) % 1000;
    }
    if (day == 0) {
      renew(&front, &front.hosts[0]);
      renew(&front, &front.hosts[1]);
      renew(&front, &front.hosts[8]);
    } else if (day == 1) {
      renew(&front, &front.hosts[4]);
      listener_refresh(&front, &front.listeners[0]);
    }
  }
  for (int i = 0; i < NLISTENERS; i++) {
    struct listener *l = &front.listeners[i];

    printf("port %d: served %d, at the default host %d, refused %d\n", l->port, l->served, l->unchanged, l->refused);
  }
  printf("contexts built %d, serials %ld\n", front.built, serials);
  front_done(&front);
  return 0;
}
