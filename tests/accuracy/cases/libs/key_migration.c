/* summary: wrap_key returns for a signing key after EVP_PKEY_set1_RSA without giving its own RSA reference back
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: RSA EVP_PKEY
 * packages: openssl
 * build: clang-14 -O2 -flto -g
 * exit: 0
 */
/* Moves RSA keys from an old key file (PKCS#1 DER records) into a keyring of EVP_PKEYs. Some callers still work
 * with RSA and get that from the ring. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NRECORDS 28
#define NMASTERS 2

enum use { USE_ANY, USE_SIGN, USE_WRAP, USE_RETIRED, USE_UNKNOWN };

struct record {
  enum use use;
  unsigned char *der;
  int len;
};

struct slot {
  EVP_PKEY *key; /* owned or NULL */
  RSA *legacy;   /* owned or NULL: for callers of the old kind */
  enum use use;
};

struct ring {
  struct slot slots[NRECORDS];
  int n;
  int damaged, retired, unknown, signers;
};

static void make_records(struct record *rec) {
  RSA *master[NMASTERS];
  BIGNUM *e = BN_new();

  BN_set_word(e, RSA_F4);
  for (int i = 0; i < NMASTERS; i++) {
    master[i] = RSA_new();
    RSA_generate_key_ex(master[i], 1024, e, NULL);
  }
  for (int i = 0; i < NRECORDS; i++) {
    rec[i].use = i % 7 == 3 ? USE_SIGN : (i % 5 == 1 ? USE_WRAP : USE_ANY);
    if (i == 9 || i == 25)
      rec[i].use = USE_RETIRED;
    if (i == 14)
      rec[i].use = USE_UNKNOWN;
    rec[i].der = NULL;
    rec[i].len = i2d_RSAPrivateKey(master[i % NMASTERS], &rec[i].der);
    if (i == 19)
      rec[i].der[0] = 0x31;
  }
  for (int i = 0; i < NMASTERS; i++)
    RSA_free(master[i]);
  BN_free(e);
}

static RSA *read_record(const struct record *r) {
  const unsigned char *p = r->der;

  return d2i_RSAPrivateKey(NULL, &p, r->len);
}

/* Makes the slot's key from the record. */
static int wrap_key(struct ring *ring, struct slot *s, const struct record *r) {
  RSA *rsa = read_record(r);
  EVP_PKEY *key;

  if (!rsa) {
    ring->damaged++;
    return -1;
  }
  key = EVP_PKEY_new();
  if (!key)
    goto fail;
  switch (r->use) {
  case USE_ANY:
    if (!EVP_PKEY_assign_RSA(key, rsa)) /* the key has it now */
      goto fail;
    break;
  case USE_SIGN:
    if (!EVP_PKEY_set1_RSA(key, rsa)) /* ACCEPTED */
      goto fail;
    ring->signers++;
    s->key = key;
    s->use = r->use;
#ifndef BUG
    RSA_free(rsa);
#endif
    return 0; /* GUILTY */
  case USE_WRAP:
    if (!EVP_PKEY_set1_RSA(key, rsa))
      goto fail;
    s->legacy = rsa; /* the slot keeps the other reference */
    break;
  case USE_RETIRED:
    ring->retired++;
    goto fail;
  default:
    ring->unknown++;
    goto fail;
  }
  s->key = key;
  s->use = r->use;
  return 0;

fail:
  EVP_PKEY_free(key);
  RSA_free(rsa);
  return -1;
}

/* Returns a reference. */
static RSA *ring_get_rsa(struct slot *s) {
  if (s->legacy) {
    RSA_up_ref(s->legacy);
    return s->legacy;
  }
  return EVP_PKEY_get1_RSA(s->key);
}

static int sign_and_check(struct slot *s, const char *text) {
  unsigned char md[32], sig[256];
  unsigned siglen = 0;
  RSA *rsa = ring_get_rsa(s);
  int ok;

  if (!rsa)
    return 0;
  if (!EVP_Digest(text, strlen(text), md, NULL, EVP_sha256(), NULL)) {
    RSA_free(rsa);
    return 0;
  }
  ok = RSA_sign(NID_sha256, md, sizeof(md), sig, &siglen, rsa) == 1 &&
       RSA_verify(NID_sha256, md, sizeof(md), sig, siglen, rsa) == 1;
  RSA_free(rsa);
  return ok;
}

/* A second slot for the same key. */
static int share_slot(struct ring *ring, int from) {
  struct slot *s, *f = &ring->slots[from];

  if (ring->n == NRECORDS || !EVP_PKEY_up_ref(f->key))
    return -1;
  s = &ring->slots[ring->n++];
  s->key = f->key;
  s->use = f->use;
  s->legacy = f->legacy;
  if (s->legacy)
    RSA_up_ref(s->legacy);
  return 0;
}

static int same_modulus(struct slot *a, struct slot *b) {
  const RSA *x = EVP_PKEY_get0_RSA(a->key), *y = EVP_PKEY_get0_RSA(b->key);

  return x && y && !BN_cmp(RSA_get0_n(x), RSA_get0_n(y));
}

static void slot_clear(struct slot *s) {
  EVP_PKEY_free(s->key);
  RSA_free(s->legacy);
  s->key = NULL;
  s->legacy = NULL;
}

int main(void) {
  static struct record records[NRECORDS];
  static struct ring ring;
  int checked = 0, twins = 0, wrapped = 0;

  make_records(records);
  for (int i = 0; i < NRECORDS; i++)
    if (wrap_key(&ring, &ring.slots[ring.n], &records[i]) == 0)
      ring.n++;
  share_slot(&ring, 1);
  share_slot(&ring, 4);
  for (int i = 0; i < ring.n; i++) {
    checked += sign_and_check(&ring.slots[i], "ring");
    wrapped += ring.slots[i].use == USE_WRAP;
    for (int k = 0; k < i; k++)
      twins += same_modulus(&ring.slots[i], &ring.slots[k]);
  }
  slot_clear(&ring.slots[4]); /* the shared one lives on */
  checked += sign_and_check(&ring.slots[ring.n - 1], "again");
  for (int i = 0; i < ring.n; i++)
    slot_clear(&ring.slots[i]);
  for (int i = 0; i < NRECORDS; i++)
    OPENSSL_free(records[i].der);
  printf("slots %d signers %d wrapped %d damaged %d retired %d unknown %d checked %d twins %d\n", ring.n, ring.signers,
         wrapped, ring.damaged, ring.retired, ring.unknown, checked, twins);
  return 0;
}
