/* summary: path_build(): a root found by find_issuer() (borrowed) is stored in the path without X509_up_ref() when it signed the leaf directly; path_free() later frees it and the roots stack frees it again.
 * kind: missing-get
 * counts: deficit
 * objects: 3
 * track: X509
 * packages: libcrypto
 * build: gcc -g -O0
 * exit: 0
 */
#ifndef PKI_H
#define PKI_H
#include <openssl/evp.h>
#include <openssl/x509.h>

/* A key made from a fixed seed; new reference. */
EVP_PKEY *pki_key(const char *seed);

/* Issues a certificate; without an issuer it is self-signed. New reference. */
X509 *pki_issue(const char *subject, EVP_PKEY *key, X509 *issuer,
                EVP_PKEY *issuer_key, long serial, int is_ca);

/* Common name of subject or issuer, in a static buffer. */
const char *pki_cn(const X509_NAME *name);
#endif

#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

EVP_PKEY *pki_key(const char *seed)
{
    unsigned char md[SHA256_DIGEST_LENGTH];

    SHA256((const unsigned char *)seed, strlen(seed), md);
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, md, sizeof md);
}

static void set_cn(X509_NAME *n, const char *cn)
{
    X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
                               (const unsigned char *)cn, -1, -1, 0);
}

X509 *pki_issue(const char *subject, EVP_PKEY *key, X509 *issuer,
                EVP_PKEY *issuer_key, long serial, int is_ca)
{
    X509 *x = X509_new();
    BASIC_CONSTRAINTS bc = { is_ca ? 0xff : 0, NULL };

    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
    ASN1_TIME_set_string(X509_getm_notBefore(x), "20200101000000Z");
    ASN1_TIME_set_string(X509_getm_notAfter(x), "20991231235959Z");
    set_cn(X509_get_subject_name(x), subject);
    X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x));
    X509_set_pubkey(x, key);
    X509_add1_ext_i2d(x, NID_basic_constraints, &bc, 1, X509V3_ADD_DEFAULT);
    if (!X509_sign(x, issuer ? issuer_key : key, NULL))
        abort();
    return x;
}

const char *pki_cn(const X509_NAME *name)
{
    static char buf[64];

    X509_NAME_get_text_by_NID((X509_NAME *)name, NID_commonName, buf, sizeof buf);
    return buf;
}

/* certvault - resolve the issuers of many certificates and keep the paths */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROOTS 5
#define N_SUBS  4
#define N_LEAVES 36
#define MAX_PATH 4

/* subordinate CAs: name and the root which signs them */
static const struct { const char *cn; int root; } subs[N_SUBS] = {
    { "Sub Mail", 0 }, { "Sub Web", 1 }, { "Sub Device", 1 }, { "Sub Old", 3 },
};

/* issuer of the leaf with this number modulo 12: >= 0 sub, < 0 root -(n+1) */
static const int leaf_issuer[12] = { 0, 1, 2, 0, 1, 2, 3, 1, 0, 2, 1, 0 };

static const struct { int leaf, root; } direct[] = {
    { 5, 2 }, { 17, 4 }, { 23, 0 },     /* signed by a root itself */
};

struct ca {
    X509     *cert;
    EVP_PKEY *key;
};

struct path {
    X509        *cert[MAX_PATH];        /* leaf first; a reference each */
    int          n;
    struct path *next;
};

struct vault {
    STACK_OF(X509) *roots, *subs;       /* own their certificates */
    struct path    *paths;
    unsigned        good, bad, depth;
    unsigned long   digest;
};

/* Shown for certificates nobody could verify; lives until exit. */
static X509 *unknown_ca;

/* Returns the issuer as a borrowed reference. */
static X509 *find_issuer(STACK_OF(X509) *pool, const X509 *x)
{
    for (int i = 0; i < sk_X509_num(pool); i++) {
        X509 *c = sk_X509_value(pool, i);
        if (!X509_NAME_cmp(X509_get_subject_name(c), X509_get_issuer_name(x)))
            return c;
    }
    return NULL;
}

static int signed_by(X509 *x, X509 *issuer)
{
    EVP_PKEY *k = X509_get_pubkey(issuer);      /* a new reference */
    int ok = k && X509_verify(x, k) == 1;

    EVP_PKEY_free(k);
    return ok;
}

static void path_free(struct path *p)
{
    for (int i = 0; i < p->n; i++)
        X509_free(p->cert[i]);
    free(p);
}

static void path_add(struct path *p, X509 *x)
{
    X509_up_ref(x);
    p->cert[p->n++] = x;
}

/* Consumes the reference to `leaf`. */
static struct path *path_build(struct vault *v, X509 *leaf)
{
    struct path *p = calloc(1, sizeof *p);
    X509 *x = leaf, *up;

    p->cert[p->n++] = leaf;
    up = find_issuer(v->subs, leaf);
    if (!up) {
        /* no intermediate: maybe one of the roots did it itself */
        up = find_issuer(v->roots, leaf);
        if (!up || !signed_by(leaf, up))
            goto fail;
#ifndef BUG
        X509_up_ref(up);
#endif
        p->cert[p->n++] = up;                       /* GUILTY */
        return p;
    }
    while (up && p->n < MAX_PATH) {
        if (!signed_by(x, up))
            goto fail;
        path_add(p, up);
        x = up;
        up = find_issuer(v->roots, x);
        if (up == x)
            return p;
    }
fail:
    path_free(p);
    return NULL;
}

static X509 *vault_top(struct path *p)
{
    X509 *x = p ? p->cert[p->n - 1] : unknown_ca;

    X509_up_ref(x);
    return x;
}

static void vault_add(struct vault *v, X509 *leaf)
{
    struct path *p = path_build(v, leaf);
    X509 *top = vault_top(p);
    const char *cn = pki_cn(X509_get_subject_name(top));

    for (; *cn; cn++)
        v->digest = (v->digest * 33 + (unsigned char)*cn) & 0xffffffff;
    X509_free(top);
    if (!p) {
        v->bad++;
        return;
    }
    v->good++;
    v->depth += (unsigned)p->n;
    p->next = v->paths;
    v->paths = p;
}

static X509 *make_leaf(int i, const struct ca *roots, const struct ca *sub_cas,
                       EVP_PKEY *key)
{
    const struct ca *by = &sub_cas[leaf_issuer[i % 12]];
    EVP_PKEY *sign_key;
    char cn[32];

    for (size_t d = 0; d < sizeof direct / sizeof direct[0]; d++)
        if (direct[d].leaf == i)
            by = &roots[direct[d].root];
    sign_key = i % 11 == 8 ? key : by->key;     /* some are forged */
    snprintf(cn, sizeof cn, "host%02d.example", i);
    return pki_issue(cn, key, by->cert, sign_key, 1000 + i, 0);
}

int main(void)
{
    struct ca roots[N_ROOTS], sub_cas[N_SUBS];
    struct vault v = { sk_X509_new_null(), sk_X509_new_null(), NULL, 0, 0, 0, 5381 };
    EVP_PKEY *leaf_key = pki_key("leaf");
    struct path *p;
    char cn[32];
    int i;

    for (i = 0; i < N_ROOTS; i++) {
        snprintf(cn, sizeof cn, "Root %c", 'A' + i);
        roots[i].key = pki_key(cn);
        roots[i].cert = pki_issue(cn, roots[i].key, NULL, NULL, i + 1, 1);
        sk_X509_push(v.roots, roots[i].cert);   /* handed over */
    }
    for (i = 0; i < N_SUBS; i++) {
        const struct ca *r = &roots[subs[i].root];
        sub_cas[i].key = pki_key(subs[i].cn);
        sub_cas[i].cert = pki_issue(subs[i].cn, sub_cas[i].key, r->cert, r->key,
                                    100 + i, 1);
        sk_X509_push(v.subs, sub_cas[i].cert);
    }
    unknown_ca = pki_issue("(unknown)", leaf_key, NULL, NULL, 1, 0);

    for (i = 0; i < N_LEAVES; i++)
        vault_add(&v, make_leaf(i, roots, sub_cas, leaf_key));

    printf("good %u bad %u depth %u digest %08lx\n", v.good, v.bad, v.depth,
           v.digest);
    while ((p = v.paths)) {
        v.paths = p->next;
        path_free(p);
    }
    sk_X509_pop_free(v.subs, X509_free);
    sk_X509_pop_free(v.roots, X509_free);
    for (i = 0; i < N_ROOTS; i++)
        EVP_PKEY_free(roots[i].key);
    for (i = 0; i < N_SUBS; i++)
        EVP_PKEY_free(sub_cas[i].key);
    EVP_PKEY_free(leaf_key);
    return 0;
}
