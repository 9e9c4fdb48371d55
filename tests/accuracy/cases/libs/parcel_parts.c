/* summary: read_part frees only the base64 filter with BIO_free when the version is too new, the source below it stays
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: openssl
 * packages: openssl
 * build: gcc -O2
 * exit: 0
 */
/* Parcels of parts: each part is base64 text of a head, a body and a digest. All parts are encoded into one spool
 * and read back from there through chains of BIOs. */
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 40
#define HEAD 4
#define MD_LEN 32

struct part {
  size_t start, len; /* its text in the spool */
  BIO *body;         /* owned or NULL: decoded */
};

struct parcel {
  BIO *spool; /* owned */
  struct part parts[MAX_PARTS];
  int n;
};

static EVP_MD *sha256; /* owned */
static int good, too_short, alien, too_new, corrupt;

static int digest(const unsigned char *data, size_t len, unsigned char *md) {
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  int ok = ctx && EVP_DigestInit_ex(ctx, sha256, NULL) && EVP_DigestUpdate(ctx, data, len) &&
           EVP_DigestFinal_ex(ctx, md, NULL);

  EVP_MD_CTX_free(ctx);
  return ok;
}

/* A base64 filter on the spool; the spool is shared with the parcel. */
static BIO *open_encoder(struct parcel *p) {
  BIO *b64 = BIO_new(BIO_f_base64());

  if (!b64)
    return NULL;
  if (!BIO_up_ref(p->spool)) {
    BIO_free(b64);
    return NULL;
  }
  return BIO_push(b64, p->spool);
}

static void write_part(struct parcel *p, const char *magic, int version, const char *body, int damage) {
  unsigned char head[HEAD] = {(unsigned char)magic[0], (unsigned char)magic[1], (unsigned char)version,
                              (unsigned char)strlen(body)};
  unsigned char md[MD_LEN];
  struct part *part;
  BIO *out;

  if (p->n == MAX_PARTS || !digest((const unsigned char *)body, strlen(body), md))
    return;
  out = open_encoder(p);
  if (!out)
    return;
  part = &p->parts[p->n++];
  part->start = BIO_ctrl_pending(p->spool);
  md[3] ^= damage;
  BIO_write(out, head, damage > 1 ? 2 : HEAD);
  if (damage < 2) {
    BIO_write(out, body, (int)strlen(body));
    BIO_write(out, md, MD_LEN);
  }
  (void)BIO_flush(out);
  BIO_free_all(out); /* the filter, and its reference to the spool */
  part->len = BIO_ctrl_pending(p->spool) - part->start;
}

/* Returns a chain: base64 filter over a source of its own. */
static BIO *open_part(struct parcel *p, struct part *part) {
  char *text;
  BIO *src, *b64;

  BIO_get_mem_data(p->spool, &text);
  src = BIO_new_mem_buf(text + part->start, (int)part->len);
  if (!src)
    return NULL;
  b64 = BIO_new(BIO_f_base64());
  if (!b64) {
    BIO_free(src);
    return NULL;
  }
  return BIO_push(b64, src);
}

static int read_part(struct parcel *p, struct part *part) {
  unsigned char head[HEAD], body[256], md[MD_LEN], want[MD_LEN];
  BIO *in = open_part(p, part), *kept = NULL;
  int ret = -1;

  if (!in)
    return -1;
  if (BIO_read(in, head, HEAD) != HEAD) {
    too_short++;
    BIO_free_all(in);
    return -1;
  }
  if (memcmp(head, "PK", 2)) {
    alien++;
    BIO_free_all(in);
    return -1;
  }
  if (head[2] > 2) {
    too_new++;
#ifdef BUG
    BIO_free(in); /* GUILTY */
#else
    BIO_free_all(in);
#endif
    return -1; /* ACCEPTED */
  }
  kept = BIO_new(BIO_s_mem());
  if (!kept || BIO_read(in, body, head[3]) != head[3] || BIO_read(in, md, MD_LEN) != MD_LEN)
    goto out;
  if (!digest(body, head[3], want) || memcmp(md, want, MD_LEN)) {
    corrupt++;
    goto out;
  }
  BIO_write(kept, body, head[3]);
  BIO_free_all(part->body);
  part->body = kept;
  kept = NULL;
  good++;
  ret = 0;
out:
  BIO_free(kept);
  BIO_free_all(in);
  return ret;
}

/* How many bytes of the text are digits; the filter is taken off again before the body is used further. */
static int count_digits(struct part *part) {
  BIO *buffer = BIO_new(BIO_f_buffer()), *body = part->body;
  char c;
  int n = 0;

  if (!buffer)
    return 0;
  BIO_push(buffer, body);
  while (BIO_read(buffer, &c, 1) == 1)
    n += c >= '0' && c <= '9';
  BIO_pop(buffer);
  BIO_free(buffer);
  return n;
}

static void free_parcel(struct parcel *p) {
  for (int i = 0; i < p->n; i++)
    BIO_free(p->parts[i].body);
  BIO_free(p->spool);
}

int main(void) {
  static struct parcel p;
  char body[64];
  int digits = 0, failed = 0;

  sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
  p.spool = BIO_new(BIO_s_mem());
  if (!sha256 || !p.spool)
    return 1;
  for (int i = 0; i < 32; i++) {
    snprintf(body, sizeof(body), "part number %d of thirty-two, weight %d", i, i * i);
    write_part(&p, i == 5 ? "ZZ" : "PK", i == 8 || i == 17 || i == 26 ? 3 : 1 + i % 2, body,
               i == 12 ? 1 : (i == 20 ? 2 : 0));
  }
  for (int i = 0; i < p.n; i++)
    failed += read_part(&p, &p.parts[i]) < 0;
  read_part(&p, &p.parts[3]); /* once more: takes the place of the first body */
  for (int i = 0; i < p.n; i++)
    if (p.parts[i].body)
      digits += count_digits(&p.parts[i]);
  free_parcel(&p);
  EVP_MD_free(sha256);
  printf("parts %d good %d failed %d (short %d alien %d new %d corrupt %d) digits %d\n", p.n, good, failed, too_short,
         alien, too_new, corrupt, digits);
  return 0;
}
