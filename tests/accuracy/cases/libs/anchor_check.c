/* summary: check_direct frees the key from X509_get0_pubkey, which belongs to the anchor, when a signature is bad
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: EVP_PKEY X509
 * packages: openssl
 * build: gcc -O2 -g
 * exit: 0
 */
/* Checks leaf certificates against a fixed set of anchors. The anchors are loaded once and stay to the end of the
 * process; hosts may be pinned to an anchor's key. */
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NANCHORS 12
#define MAX_PINS 16
#define NLEAVES 24

struct pin {
  char host[16];
  EVP_PKEY *key; /* owned */
};

static X509 *anchors[NANCHORS];
static struct pin pins[MAX_PINS];
static int npins;
static int direct, by_pin, bad_direct, bad_pin, unpinned;

static X509 *make_cert(EVP_PKEY *subject, EVP_PKEY *issuer, const char *name, const char *issuer_name) {
  X509 *c = X509_new(), *copy = NULL;
  unsigned char *der = NULL;
  const unsigned char *p;
  X509_NAME *n;
  int len;

  X509_set_version(c, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c), 1);
  X509_gmtime_adj(X509_getm_notBefore(c), 0);
  X509_gmtime_adj(X509_getm_notAfter(c), 3600);
  n = X509_get_subject_name(c);
  X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
  n = X509_NAME_new();
  X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)issuer_name, -1, -1, 0);
  X509_set_issuer_name(c, n);
  X509_NAME_free(n);
  X509_set_pubkey(c, subject);
  X509_sign(c, issuer, EVP_sha256());
  len = i2d_X509(c, &der);
  p = der;
  if (len > 0)
    copy = d2i_X509(NULL, &p, len);
  OPENSSL_free(der);
  X509_free(c);
  return copy;
}

/* Borrowed. */
static X509 *find_anchor(X509 *leaf) {
  for (int i = 0; i < NANCHORS; i++)
    if (!X509_NAME_cmp(X509_get_subject_name(anchors[i]), X509_get_issuer_name(leaf)))
      return anchors[i];
  return NULL;
}

static struct pin *find_pin(const char *host) {
  for (int i = 0; i < npins; i++)
    if (!strcmp(pins[i].host, host))
      return &pins[i];
  return NULL;
}

static void add_pin(const char *host, X509 *anchor) {
  struct pin *p = find_pin(host);
  EVP_PKEY *key = X509_get_pubkey(anchor);

  if (!key)
    return;
  if (p) { /* moved to another anchor */
    EVP_PKEY_free(p->key);
    p->key = key;
    return;
  }
  if (npins == MAX_PINS) {
    EVP_PKEY_free(key);
    return;
  }
  p = &pins[npins++];
  snprintf(p->host, sizeof(p->host), "%s", host);
  p->key = key;
}

/* By the key of the anchor that the leaf names. */
static int check_direct(X509 *leaf) {
  X509 *anchor = find_anchor(leaf);
  EVP_PKEY *key;

  if (!anchor)
    return -1;
  key = X509_get0_pubkey(anchor);
  if (!key)
    return -1;
  if (X509_verify(leaf, key) != 1) {
    bad_direct++;
#ifdef BUG
    EVP_PKEY_free(key); /* GUILTY */
#endif
    return -1;
  }
  direct++;
  return 0;
}

/* By the pinned key, which must be the named anchor's as well. */
static int check_pinned(const char *host, X509 *leaf) {
  struct pin *p = find_pin(host);
  X509 *anchor = find_anchor(leaf);
  EVP_PKEY *key, *theirs;

  if (!p || !anchor) {
    unpinned++;
    return -1;
  }
  key = p->key;
  if (!EVP_PKEY_up_ref(key))
    return -1;
  theirs = X509_get_pubkey(anchor);
  if (!theirs || EVP_PKEY_eq(key, theirs) != 1 || X509_verify(leaf, key) != 1) {
    bad_pin++;
    EVP_PKEY_free(theirs);
    EVP_PKEY_free(key);
    return -1;
  }
  EVP_PKEY_free(key);
  EVP_PKEY_free(theirs);
  by_pin++;
  return 0;
}

static int load_anchors(EVP_PKEY **keys) {
  char name[16];

  for (int i = 0; i < NANCHORS; i++) {
    keys[i] = EVP_EC_gen("P-256");
    if (!keys[i])
      return -1;
    snprintf(name, sizeof(name), "anchor%d", i);
    anchors[i] = make_cert(keys[i], keys[i], name, name);
    if (!anchors[i])
      return -1;
  }
  return 0;
}

static void drop_pins(void) {
  while (npins > 0)
    EVP_PKEY_free(pins[--npins].key);
}

int main(void) {
  EVP_PKEY *keys[NANCHORS], *host_key = EVP_EC_gen("P-256");
  char host[16], issuer[16];
  int accepted = 0, usable = 0;

  if (!host_key || load_anchors(keys) < 0)
    return 1;
  for (int i = 0; i < NANCHORS; i += 2) {
    snprintf(host, sizeof(host), "host%d", i);
    add_pin(host, anchors[i]);
  }
  add_pin("host2", anchors[3]);
  add_pin("host2", anchors[2]);
  add_pin("host7", anchors[4]);

  for (int i = 0; i < NLEAVES; i++) {
    int by = i % NANCHORS, signer = by;
    X509 *leaf;

    if (i == 4 || i == 8 || i == 14)
      signer = (by + 1) % NANCHORS; /* claims an anchor that has not signed it */
    snprintf(host, sizeof(host), "host%d", i);
    snprintf(issuer, sizeof(issuer), i == 21 ? "nobody" : "anchor%d", by);
    leaf = make_cert(host_key, keys[signer], host, issuer);
    if (!leaf)
      continue;
    if (i == 14 || i % 3 == 0)
      accepted += check_pinned(i == 14 ? "host2" : host, leaf) == 0;
    else
      accepted += check_direct(leaf) == 0;
    X509_free(leaf);
  }
  for (int i = 0; i < NANCHORS; i++)
    EVP_PKEY_free(keys[i]);
  EVP_PKEY_free(host_key);
  drop_pins();

  for (int i = 0; i < NANCHORS; i++)
    usable += EVP_PKEY_get_id(X509_get0_pubkey(anchors[i])) != EVP_PKEY_NONE;
  printf("accepted %d direct %d/%d pinned %d/%d/%d anchors %d\n", accepted, direct, bad_direct, by_pin, bad_pin,
         unpinned, usable);
  return 0;
}
