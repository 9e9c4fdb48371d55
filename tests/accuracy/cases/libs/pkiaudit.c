/* summary: X509_free on the certificate got from X509_STORE_CTX_get_current_cert, which is a borrowed reference
 * kind: extra-put
 * counts: deficit
 * objects: 13
 * track: openssl
 * packages: libcrypto
 * build: gcc -O2 -g -pthread
 * exit: 0
 */
/*
 * pkiaudit - audit a batch of certificates: key type, signature, validity,
 * and which issuer key signed them.  A small CA is generated on the fly; the
 * audit itself is split over several workers.
 */
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NCERTS   96
#define NWORKERS 3
#define NKEYS    12

struct ca {
    EVP_PKEY *key;
    X509 *cert;
};

struct worker {
    pthread_t thread;
    int index;
    STACK_OF(X509) *batch;
    struct ca *ca;
    unsigned ok, expired, bad_sig, weak;
    unsigned bits_total;
};

static EVP_PKEY *make_key(int strong)
{
    return EVP_EC_gen(strong ? "P-256" : "secp224r1");
}

static X509 *issue(struct ca *ca, EVP_PKEY *subject_key, const char *cn, long serial, long days)
{
    X509 *x = X509_new();
    X509_NAME *name = X509_NAME_new();

    if (x == NULL || name == NULL)
        goto err;
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
    X509_set_subject_name(x, name);
    X509_set_issuer_name(x, ca->cert ? X509_get_subject_name(ca->cert) : name);
    X509_gmtime_adj(X509_getm_notBefore(x), days < 0 ? -86400L * 90 : 0);
    X509_gmtime_adj(X509_getm_notAfter(x), 86400L * days);
    X509_set_pubkey(x, subject_key);
    if (ca->cert == NULL) {
        X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
                                                  "critical,CA:TRUE");
        X509_add_ext(x, ext, -1);
        X509_EXTENSION_free(ext);
    }
    if (!X509_sign(x, ca->key, EVP_sha256()))
        goto err;
    X509_NAME_free(name);
    return x;
err:
    X509_NAME_free(name);
    X509_free(x);
    return NULL;
}

static int ca_init(struct ca *ca, const char *cn)
{
    ca->cert = NULL;
    ca->key = make_key(1);
    if (ca->key == NULL)
        return 0;
    ca->cert = issue(ca, ca->key, cn, 1, 3650);
    return ca->cert != NULL;
}

static void ca_clear(struct ca *ca)
{
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
}

/* A P-224 key is below policy. */
static int key_is_weak(X509 *x, unsigned *bits)
{
    EVP_PKEY *pk = X509_get0_pubkey(x);
    char group[64] = "";
    size_t len;

    if (pk == NULL)
        return 1;
    *bits += EVP_PKEY_get_bits(pk);
    if (!EVP_PKEY_get_group_name(pk, group, sizeof group, &len))
        return 1;
    return strcmp(group, "prime256v1") != 0;
}

/* Fingerprint of the public key, used when reporting a certificate. */
static int spki_digest(X509 *x, unsigned char md[EVP_MAX_MD_SIZE])
{
    unsigned char *der = NULL;
    unsigned int mdlen = 0;
    EVP_PKEY *pk = X509_get_pubkey(x);
    int len = i2d_PUBKEY(pk, &der);

    if (len > 0)
        EVP_Digest(der, len, md, &mdlen, EVP_sha256(), NULL);
    OPENSSL_free(der);
    EVP_PKEY_free(pk);
    return (int)mdlen;
}

static pthread_mutex_t report_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned reports;
static unsigned report_mix;

static void report(X509_STORE_CTX *ctx)
{
    unsigned char md[EVP_MAX_MD_SIZE];
    X509 *x = X509_STORE_CTX_get_current_cert(ctx); /* ACCEPTED */
    const char *why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx));
    char *subject = X509_NAME_oneline(X509_get_subject_name(x), NULL, 0);
    int n = spki_digest(x, md);

    pthread_mutex_lock(&report_lock);
    reports++;
    for (int i = 0; i < n; i++)
        report_mix += md[i] ? 1 : 0;
    if (getenv("PKIAUDIT_VERBOSE"))
        printf("%s: %s\n", subject, why);
    pthread_mutex_unlock(&report_lock);
    OPENSSL_free(subject);
#ifdef BUG
    X509_free(x); /* GUILTY */
#endif
}

static int verify(struct worker *w, X509_STORE *store, X509 *x)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int ok = 0;

    if (ctx == NULL)
        return 0;
    if (X509_STORE_CTX_init(ctx, store, x, NULL))
        ok = X509_verify_cert(ctx) == 1;
    if (!ok) {
        if (X509_STORE_CTX_get_error(ctx) == X509_V_ERR_CERT_HAS_EXPIRED)
            w->expired++;
        else
            w->bad_sig++;
        report(ctx);
    }
    X509_STORE_CTX_free(ctx);
    return ok;
}

static void *audit(void *arg)
{
    struct worker *w = arg;
    X509_STORE *store = X509_STORE_new();

    X509_STORE_add_cert(store, w->ca->cert);
    for (int i = 0; i < sk_X509_num(w->batch); i++) {
        X509 *x = sk_X509_value(w->batch, i);

        if (key_is_weak(x, &w->bits_total))
            w->weak++;
        if (verify(w, store, x))
            w->ok++;
    }
    X509_STORE_free(store);
    return NULL;
}

/* Round trip through PEM, as if the certificate had come from a file. */
static X509 *reload(X509 *x)
{
    BIO *mem = BIO_new(BIO_s_mem());
    X509 *copy = NULL;

    if (mem && PEM_write_bio_X509(mem, x))
        copy = PEM_read_bio_X509(mem, NULL, NULL, NULL);
    BIO_free(mem);
    return copy;
}

int main(void)
{
    struct ca ca, rogue;
    EVP_PKEY *keys[NKEYS];
    STACK_OF(X509) *all = sk_X509_new_null();
    struct worker w[NWORKERS];
    unsigned ok = 0, expired = 0, bad = 0, weak = 0, bits = 0;

    if (!ca_init(&ca, "Audit Root") || !ca_init(&rogue, "Other Root"))
        return 1;
    for (int i = 0; i < NKEYS; i++)
        keys[i] = make_key(i % 4 != 3);

    for (int i = 0; i < NCERTS; i++) {
        char cn[32];
        X509 *x, *copy;

        snprintf(cn, sizeof cn, "host%03d.example", i);
        x = issue(i % 11 == 10 ? &rogue : &ca, keys[i % NKEYS], cn, 100 + i,
                  i % 16 == 7 ? -3 : 90);
        if (x == NULL)
            return 1;
        copy = reload(x);
        X509_free(x);
        sk_X509_push(all, copy);
    }

    for (int t = 0; t < NWORKERS; t++) {
        memset(&w[t], 0, sizeof w[t]);
        w[t].index = t;
        w[t].ca = &ca;
        w[t].batch = sk_X509_new_null();
        for (int i = t; i < NCERTS; i += NWORKERS) {
            X509 *x = sk_X509_value(all, i);

            X509_up_ref(x);
            sk_X509_push(w[t].batch, x);
        }
        pthread_create(&w[t].thread, NULL, audit, &w[t]);
    }
    for (int t = 0; t < NWORKERS; t++) {
        pthread_join(w[t].thread, NULL);
        ok += w[t].ok;
        expired += w[t].expired;
        bad += w[t].bad_sig;
        weak += w[t].weak;
        bits += w[t].bits_total;
        sk_X509_pop_free(w[t].batch, X509_free);
    }
    printf("ok %u expired %u bad signature %u weak %u reports %u mean bits %.1f\n",
           ok, expired, bad, weak, reports, (double)bits / NCERTS);

    sk_X509_pop_free(all, X509_free);
    for (int i = 0; i < NKEYS; i++)
        EVP_PKEY_free(keys[i]);
    ca_clear(&rogue);
    ca_clear(&ca);
    return report_mix == 0;
}
