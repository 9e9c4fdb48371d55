/* summary: build_chain pushes the cross-signed certificate of the common table into a site's chain without up_ref
 * kind: missing-get
 * counts: deficit
 * objects: 2
 * track: X509 X509_STORE
 * packages: openssl
 * build: gcc -O1 -g
 * exit: 0
 */
/* Prepares the certificate chains that a web server sends: leaf, intermediate and for old clients the cross-signed
 * intermediate too. Intermediates are shared by all sites. */
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NINTER 4
#define NCROSS 2
#define NSITES 22

struct site {
  X509 *leaf;             /* owned */
  STACK_OF(X509) * chain; /* owned, with its elements */
  int inter;
  int old_clients;
};

static EVP_PKEY *root_key, *old_root_key, *inter_key[NINTER], *site_key;
static X509 *root, *old_root, *inter[NINTER], *cross[NCROSS]; /* owned */
static struct site sites[NSITES];
static X509_STORE *store;

static X509 *issue(const char *name, EVP_PKEY *key, const char *issuer, EVP_PKEY *signer, int ca) {
  static long serial;
  X509 *c = X509_new();
  X509_NAME *n = X509_NAME_new();

  X509_set_version(c, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(c), -60);
  X509_gmtime_adj(X509_getm_notAfter(c), 3600);
  X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)issuer, -1, -1, 0);
  X509_set_issuer_name(c, n);
  X509_NAME_free(n);
  n = X509_get_subject_name(c);
  X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
  X509_set_pubkey(c, key);
  if (ca) {
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");

    X509_add_ext(c, ext, -1);
    X509_EXTENSION_free(ext);
  }
  if (!X509_sign(c, signer, EVP_sha256())) {
    X509_free(c);
    return NULL;
  }
  return c;
}

/* The stack gets a reference of its own. */
static int push_shared(STACK_OF(X509) * sk, X509 *cert) {
  if (!X509_up_ref(cert))
    return 0;
  if (!sk_X509_push(sk, cert)) {
    X509_free(cert);
    return 0;
  }
  return 1;
}

static STACK_OF(X509) * build_chain(const struct site *s) {
  STACK_OF(X509) *chain = sk_X509_new_null();

  if (!chain || !push_shared(chain, s->leaf) || !push_shared(chain, inter[s->inter]))
    goto fail;
  if (s->old_clients) {
    if (s->inter >= NCROSS)
      goto fail; /* there is no cross-signed one */
#ifdef BUG
    if (!sk_X509_push(chain, cross[s->inter])) /* GUILTY */
      goto fail;
#else
    if (!push_shared(chain, cross[s->inter]))
      goto fail;
#endif
  }
  return chain;

fail:
  sk_X509_pop_free(chain, X509_free);
  return NULL;
}

static int set_up_site(struct site *s) {
  STACK_OF(X509) *chain = build_chain(s);

  if (!chain)
    return -1;
  sk_X509_pop_free(s->chain, X509_free);
  s->chain = chain;
  return 0;
}

static void renew(struct site *s, int number) {
  char name[16], issuer[16];
  X509 *leaf;

  snprintf(name, sizeof(name), "site%d", number);
  snprintf(issuer, sizeof(issuer), "inter%d", s->inter);
  leaf = issue(name, site_key, issuer, inter_key[s->inter], 0);
  if (!leaf)
    return;
  X509_free(s->leaf);
  s->leaf = leaf;
}

/* The length of the verified chain, 0 if it cannot be verified. */
static int verify(struct site *s, X509 **top) {
  X509_STORE_CTX *ctx = X509_STORE_CTX_new();
  STACK_OF(X509) * full;
  int n = 0;

  *top = NULL;
  if (!X509_STORE_CTX_init(ctx, store, s->leaf, s->chain) || X509_verify_cert(ctx) != 1)
    goto out;
  n = sk_X509_num(X509_STORE_CTX_get0_chain(ctx));
  full = X509_STORE_CTX_get1_chain(ctx);
  *top = sk_X509_pop(full); /* this one goes to the caller */
  sk_X509_pop_free(full, X509_free);
out:
  X509_STORE_CTX_free(ctx);
  return n;
}

static int set_up(void) {
  char name[16];

  root_key = EVP_EC_gen("P-256");
  old_root_key = EVP_EC_gen("P-256");
  site_key = EVP_EC_gen("P-256");
  root = issue("root", root_key, "root", root_key, 1);
  old_root = issue("old root", old_root_key, "old root", old_root_key, 1);
  for (int i = 0; i < NINTER; i++) {
    snprintf(name, sizeof(name), "inter%d", i);
    inter_key[i] = EVP_EC_gen("P-256");
    inter[i] = issue(name, inter_key[i], "root", root_key, 1);
    if (i < NCROSS)
      cross[i] = issue(name, inter_key[i], "old root", old_root_key, 1);
  }
  store = X509_STORE_new();
  return store && X509_STORE_add_cert(store, root) && X509_STORE_add_cert(store, old_root);
}

static void tear_down(void) {
  for (int i = 0; i < NSITES; i++) {
    X509_free(sites[i].leaf);
    sk_X509_pop_free(sites[i].chain, X509_free);
  }
  for (int i = 0; i < NINTER; i++) {
    X509_free(inter[i]);
    EVP_PKEY_free(inter_key[i]);
  }
  for (int i = 0; i < NCROSS; i++)
    X509_free(cross[i]);
  X509_STORE_free(store);
  X509_free(old_root);
  X509_free(root);
  EVP_PKEY_free(root_key);
  EVP_PKEY_free(old_root_key);
  EVP_PKEY_free(site_key);
}

int main(void) {
  int sent = 0, length = 0, by_root = 0, failed = 0;

  if (!set_up())
    return 1;
  for (int i = 0; i < NSITES; i++) {
    struct site *s = &sites[i];

    s->inter = i % NINTER;
    s->old_clients = i == 4 || i == 6 || i == 9 || i == 12;
    renew(s, i);
    if (set_up_site(s) < 0) {
      failed++;
      s->old_clients = 0;
      set_up_site(s);
    }
  }
  for (int i = 3; i < NSITES; i += 7) {
    renew(&sites[i], i);
    set_up_site(&sites[i]);
  }
  for (int i = 0; i < NSITES; i++) {
    X509 *top;

    sent += sk_X509_num(sites[i].chain);
    length += verify(&sites[i], &top);
    by_root += top && !X509_cmp(top, root);
    X509_free(top);
  }
  printf("sites %d failed %d certificates %d verified %d by root %d\n", NSITES, failed, sent, length, by_root);
  tear_down();
  return 0;
}
