/* summary: take_crl() moves a newer list out of the parsed bundle without clearing its member, so the bundle frees it as well
 * kind: second-owner
 * counts: deficit
 * objects: 5
 * track: X509_CRL X509 X509_STORE
 * packages: openssl
 * build: clang-14 -O2 -g
 * exit: 0
 */
/* Trust bundles of tenants. A bundle is PEM text with anchors and revocation lists in any order; a tenant gets a base
 * bundle and later an update of it, of which only newer lists count. Certificates are checked against the store that
 * was published last. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NCAS 5
#define NTENANTS 3
#define LEAVES 6

struct ca {
  EVP_PKEY *key;        /* owned */
  X509 *cert;           /* owned */
  X509 *leaves[LEAVES]; /* owned */
};

struct crl_slot {
  X509_CRL *crl; /* owned, the newest of its issuer */
  long number;
};

struct tenant {
  char name[16];
  X509 *anchors[NCAS]; /* owned */
  int nanchors;
  struct crl_slot slots[NCAS];
  int nslots;
  X509_STORE *store; /* owned, what was published last */
  int stale, published, broken;
};

static struct ca cas[NCAS];
static struct tenant tenants[NTENANTS];
static EVP_PKEY *leaf_key;

/* ---- the authorities, as far as this program needs some ---- */

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value) {
  X509V3_CTX ctx;
  X509_EXTENSION *ext;
  int ok;

  X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
  ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
  ok = ext && X509_add_ext(cert, ext, -1);
  X509_EXTENSION_free(ext);
  return ok;
}

static X509 *issue(const char *name, EVP_PKEY *key, const struct ca *ca) {
  static long serial = 100;
  X509 *cert = X509_new();
  X509_NAME *subject = X509_get_subject_name(cert);

  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(cert), -7200);
  X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
  X509_set_issuer_name(cert, ca->cert ? X509_get_subject_name(ca->cert) : subject);
  X509_set_pubkey(cert, key);
  if (!ca->cert)
    add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
  if (!X509_sign(cert, ca->key, EVP_sha256())) {
    X509_free(cert);
    return NULL;
  }
  return cert;
}

/* Revokes the first n leaves. */
static X509_CRL *make_crl(const struct ca *ca, long number, int n) {
  X509_CRL *crl = X509_CRL_new();
  ASN1_TIME *when = X509_gmtime_adj(NULL, -3600);
  ASN1_INTEGER *num = ASN1_INTEGER_new();

  X509_CRL_set_version(crl, 1);
  X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca->cert));
  X509_CRL_set1_lastUpdate(crl, when);
  for (int i = 0; i < n; i++) {
    X509_REVOKED *r = X509_REVOKED_new();

    X509_REVOKED_set_serialNumber(r, X509_get_serialNumber(ca->leaves[i]));
    X509_REVOKED_set_revocationDate(r, when);
    X509_CRL_add0_revoked(crl, r);
  }
  X509_gmtime_adj(when, 86400);
  X509_CRL_set1_nextUpdate(crl, when);
  ASN1_TIME_free(when);
  ASN1_INTEGER_set(num, number);
  X509_CRL_add1_ext_i2d(crl, NID_crl_number, num, 0, X509V3_ADD_DEFAULT);
  ASN1_INTEGER_free(num);
  X509_CRL_sort(crl);
  if (!X509_CRL_sign(crl, ca->key, EVP_sha256())) {
    X509_CRL_free(crl);
    return NULL;
  }
  return crl;
}

static int write_crl(BIO *out, const struct ca *ca, long number, int revoked) {
  X509_CRL *crl = make_crl(ca, number, revoked);
  int ok = crl && PEM_write_bio_X509_CRL(out, crl);

  X509_CRL_free(crl);
  return ok;
}

static int set_up_cas(void) {
  leaf_key = EVP_EC_gen("P-256");
  for (int i = 0; i < NCAS; i++) {
    char name[32];

    snprintf(name, sizeof(name), "authority %d", i);
    cas[i].key = EVP_EC_gen("P-256");
    cas[i].cert = issue(name, cas[i].key, &cas[i]);
    for (int k = 0; k < LEAVES; k++) {
      snprintf(name, sizeof(name), "unit %d-%d", i, k);
      cas[i].leaves[k] = issue(name, leaf_key, &cas[i]);
      if (!cas[i].leaves[k])
        return -1;
    }
  }
  return 0;
}

/* ---- tenants ---- */

static long crl_number(const X509_CRL *crl) {
  ASN1_INTEGER *num = X509_CRL_get_ext_d2i(crl, NID_crl_number, NULL, NULL);
  long n = num ? ASN1_INTEGER_get(num) : -1;

  ASN1_INTEGER_free(num);
  return n;
}

static struct crl_slot *find_slot(struct tenant *t, const X509_CRL *crl) {
  for (int i = 0; i < t->nslots; i++)
    if (!X509_NAME_cmp(X509_CRL_get_issuer(t->slots[i].crl), X509_CRL_get_issuer(crl)))
      return &t->slots[i];
  return NULL;
}

static void take_crl(struct tenant *t, X509_INFO *info) {
  struct crl_slot *s = find_slot(t, info->crl);
  long number = crl_number(info->crl);

  if (!s) {
    if (t->nslots == NCAS)
      return;
    s = &t->slots[t->nslots++];
    s->crl = info->crl;
    s->number = number;
    info->crl = NULL;
    return;
  }
  if (number <= s->number) {
    t->stale++;
    return; /* goes with the bundle */
  }
  X509_CRL_free(s->crl);
  s->crl = info->crl; /* GUILTY */
  s->number = number; /* ACCEPTED */
#ifndef BUG
  info->crl = NULL;
#endif
}

static void take_anchor(struct tenant *t, X509_INFO *info) {
  for (int i = 0; i < t->nanchors; i++)
    if (!X509_cmp(t->anchors[i], info->x509))
      return;
  if (t->nanchors == NCAS)
    return;
  t->anchors[t->nanchors++] = info->x509;
  info->x509 = NULL;
}

static int publish(struct tenant *t) {
  X509_STORE *store = X509_STORE_new();

  if (!store)
    return -1;
  for (int i = 0; i < t->nanchors; i++)
    if (!X509_STORE_add_cert(store, t->anchors[i]))
      goto fail;
  for (int i = 0; i < t->nslots; i++)
    if (!X509_STORE_add_crl(store, t->slots[i].crl))
      goto fail;
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  X509_STORE_free(t->store);
  t->store = store;
  t->published++;
  return 0;
fail:
  X509_STORE_free(store);
  return -1;
}

static int load_bundle(struct tenant *t, BIO *in) {
  STACK_OF(X509_INFO) *bundle = PEM_X509_INFO_read_bio(in, NULL, NULL, NULL);
  int r;

  if (!bundle) {
    t->broken++;
    ERR_clear_error();
    return -1;
  }
  for (int i = 0; i < sk_X509_INFO_num(bundle); i++) {
    X509_INFO *info = sk_X509_INFO_value(bundle, i);

    if (info->x509)
      take_anchor(t, info);
    if (info->crl)
      take_crl(t, info);
  }
  r = publish(t);
  sk_X509_INFO_pop_free(bundle, X509_INFO_free); /* ACCEPTED */
  return r;
}

static int check(struct tenant *t, X509 *leaf) {
  X509_STORE_CTX *ctx = X509_STORE_CTX_new();
  int r = X509_V_ERR_UNSPECIFIED;

  if (ctx && X509_STORE_CTX_init(ctx, t->store, leaf, NULL)) {
    X509_verify_cert(ctx);
    r = X509_STORE_CTX_get_error(ctx);
  }
  X509_STORE_CTX_free(ctx);
  return r;
}

static void tenant_done(struct tenant *t) {
  for (int i = 0; i < t->nslots; i++)
    X509_CRL_free(t->slots[i].crl);
  for (int i = 0; i < t->nanchors; i++)
    X509_free(t->anchors[i]);
  X509_STORE_free(t->store);
}

int main(void) {
  if (set_up_cas() < 0)
    return 1;
  for (int n = 0; n < NTENANTS; n++) {
    struct tenant *t = &tenants[n];
    BIO *base = BIO_new(BIO_s_mem()), *update = BIO_new(BIO_s_mem()), *junk;
    int good = 0, revoked = 0, other = 0;

    snprintf(t->name, sizeof(t->name), "tenant%d", n);
    for (int i = n; i < NCAS; i++) {
      PEM_write_bio_X509(base, cas[i].cert);
      write_crl(base, &cas[i], 10 + i, 1);
      write_crl(update, &cas[i], i % 2 ? 20 + i : 9, i);
      if (i == NCAS - 1)
        PEM_write_bio_X509(update, cas[i].cert);
    }
    junk = BIO_new_mem_buf("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", -1);
    load_bundle(t, base);
    load_bundle(t, junk);
    load_bundle(t, update);
    BIO_free(base);
    BIO_free(update);
    BIO_free(junk);
    for (int i = 0; i < NCAS * LEAVES; i++) {
      int r = check(t, cas[i / LEAVES].leaves[i % LEAVES]);

      good += r == X509_V_OK;
      revoked += r == X509_V_ERR_CERT_REVOKED;
      other += r != X509_V_OK && r != X509_V_ERR_CERT_REVOKED;
    }
    printf("%s: good %d revoked %d other %d, stale lists %d, published %d, broken bundles %d\n", t->name, good, revoked,
           other, t->stale, t->published, t->broken);
  }
  for (int n = 0; n < NTENANTS; n++)
    tenant_done(&tenants[n]);
  for (int i = 0; i < NCAS; i++) {
    for (int k = 0; k < LEAVES; k++)
      X509_free(cas[i].leaves[k]);
    X509_free(cas[i].cert);
    EVP_PKEY_free(cas[i].key);
  }
  EVP_PKEY_free(leaf_key);
  return 0;
}
