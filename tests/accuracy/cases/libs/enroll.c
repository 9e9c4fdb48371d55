/* summary: answer_request() returns for a key on the list of compromised ones without freeing the key that X509_REQ_get_pubkey() gave it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: openssl
 * packages: openssl
 * build: clang-14 -O3 -g
 * exit: 0
 */
/*
 * enroll - the signing side of a site's certificate authority.  Requests come
 * in as DER, go through the policy and are answered with a certificate; one
 * with a key that has a certificate already is a renewal of that one.
 */
#include <openssl/evp.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_CLIENTS 26
#define N_LOST    3

enum verdict {
    ISSUED, RENEWED, MALFORMED, BAD_SIGNATURE, WEAK_KEY, COMPROMISED, NAME_TAKEN, N_VERDICTS
};

static const char *const verdict_names[N_VERDICTS] = {
    "issued", "renewed", "malformed", "bad signature", "weak key", "compromised", "name taken",
};

struct der {
    unsigned char *data;
    int len;
};

struct client {
    char name[24];
    EVP_PKEY *key;
    X509 *cert;                 /* the last one we got */
};

struct authority {
    EVP_PKEY *key;
    X509 *cert;
    STACK_OF(X509) *issued;
    EVP_PKEY *lost[N_LOST];     /* public keys whose private half got lost */
    long serial;
    unsigned count[N_VERDICTS];
};

static void die(const char *what)
{
    ERR_print_errors_fp(stderr);
    fprintf(stderr, "enroll: %s failed\n", what);
    exit(1);
}

static const EVP_MD *digest_for(EVP_PKEY *key)
{
    return EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
}

/* ---- the authority ---------------------------------------------------- */

static X509 *certify(struct authority *ca, X509_NAME *name, EVP_PKEY *pub)
{
    X509 *cert = X509_new();

    if (!cert)
        return NULL;
    if (!X509_set_version(cert, X509_VERSION_3)
        || !ASN1_INTEGER_set(X509_get_serialNumber(cert), ++ca->serial)
        || !X509_gmtime_adj(X509_getm_notBefore(cert), 0)
        || !X509_time_adj_ex(X509_getm_notAfter(cert), 90, 0, NULL)
        || !X509_set_subject_name(cert, name)
        || !X509_set_issuer_name(cert, ca->cert ? X509_get_subject_name(ca->cert) : name)
        || !X509_set_pubkey(cert, pub)
        || !X509_sign(cert, ca->key, digest_for(ca->key))) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static void authority_init(struct authority *ca)
{
    X509_NAME *name = X509_NAME_new();

    memset(ca, 0, sizeof *ca);
    ca->key = EVP_EC_gen("P-256");
    ca->issued = sk_X509_new_null();
    if (!name || !ca->key || !ca->issued
        || !X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                       (const unsigned char *)"site root", -1, -1, 0))
        die("setting up");
    ca->cert = certify(ca, name, ca->key);
    if (!ca->cert)
        die("signing the root");
    X509_NAME_free(name);
}

static void authority_clear(struct authority *ca)
{
    for (int i = 0; i < N_LOST; i++)
        EVP_PKEY_free(ca->lost[i]);
    sk_X509_pop_free(ca->issued, X509_free);
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
}

static int is_lost(const struct authority *ca, EVP_PKEY *key)
{
    for (int i = 0; i < N_LOST; i++)
        if (ca->lost[i] && EVP_PKEY_eq(ca->lost[i], key) == 1)
            return 1;
    return 0;
}

/* Where in the list there is a certificate for this key; -1 if nowhere. */
static int find_by_key(const struct authority *ca, EVP_PKEY *key)
{
    for (int i = sk_X509_num(ca->issued); i-- > 0;)
        if (EVP_PKEY_eq(X509_get0_pubkey(sk_X509_value(ca->issued, i)), key) == 1)
            return i;
    return -1;
}

static int name_is_taken(const struct authority *ca, X509_NAME *name, int except)
{
    for (int i = 0; i < sk_X509_num(ca->issued); i++)
        if (i != except && X509_NAME_cmp(X509_get_subject_name(sk_X509_value(ca->issued, i)), name) == 0)
            return 1;
    return 0;
}

/* The answer is the caller's, if there is one. */
static enum verdict answer_request(struct authority *ca, const struct der *der, X509 **answer)
{
    const unsigned char *p = der->data;
    X509_REQ *req = d2i_X509_REQ(NULL, &p, der->len);
    EVP_PKEY *key = NULL;
    X509 *cert = NULL;
    enum verdict v = MALFORMED;
    int old;

    *answer = NULL;
    if (!req)
        return MALFORMED;
    key = X509_REQ_get_pubkey(req);
    if (!key)
        goto out;

    v = BAD_SIGNATURE;
    if (X509_REQ_verify(req, key) != 1)
        goto out;
    v = WEAK_KEY;
    if (EVP_PKEY_get_security_bits(key) < 112)
        goto out;
    if (is_lost(ca, key)) {
        fprintf(stderr, "enroll: a request with a compromised key\n");
#ifdef BUG
        X509_REQ_free(req);                                     /* ACCEPTED */
        return COMPROMISED;                                     /* GUILTY */
#else
        v = COMPROMISED;
        goto out;
#endif
    }
    old = find_by_key(ca, key);
    v = NAME_TAKEN;
    if (name_is_taken(ca, X509_REQ_get_subject_name(req), old))
        goto out;

    cert = certify(ca, X509_REQ_get_subject_name(req), key);
    if (!cert)
        die("signing");
    v = old < 0 ? ISSUED : RENEWED;
    if (old >= 0)
        X509_free(sk_X509_delete(ca->issued, old));
    X509_up_ref(cert);
    if (!sk_X509_push(ca->issued, cert))
        die("keeping a certificate");
    *answer = cert;

out:
    EVP_PKEY_free(key);
    X509_REQ_free(req);
    return v;
}

/* ---- the clients ------------------------------------------------------ */

static void client_init(struct client *c, unsigned id)
{
    memset(c, 0, sizeof *c);
    snprintf(c->name, sizeof c->name, "host%u.example.org", id == 17 ? 3 : id);
    if (id % 5 == 2)
        c->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    else
        c->key = EVP_EC_gen(id == 9 ? "secp160r1" : id % 2 ? "P-384" : "P-256");
    if (!c->key)
        die("making a key");
}

static void client_request(const struct client *c, struct der *der)
{
    X509_REQ *req = X509_REQ_new();

    if (!req
        || !X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(req), "CN", MBSTRING_ASC,
                                       (const unsigned char *)c->name, -1, -1, 0)
        || !X509_REQ_set_pubkey(req, c->key)
        || !X509_REQ_sign(req, c->key, digest_for(c->key)))
        die("making a request");
    der->data = NULL;
    der->len = i2d_X509_REQ(req, &der->data);
    X509_REQ_free(req);
}

/* Our key may have got into wrong hands. */
static void client_report_key(const struct client *c, struct authority *ca, int slot)
{
    unsigned char *data = NULL;
    const unsigned char *p;
    int len = i2d_PUBKEY(c->key, &data);

    p = data;
    ca->lost[slot] = d2i_PUBKEY(NULL, &p, len);
    OPENSSL_free(data);
}

static void client_enroll(struct client *c, struct authority *ca, int damage)
{
    struct der der;
    X509 *cert;
    enum verdict v;

    client_request(c, &der);
    if (damage >= 0)
        der.data[der.len - 1 - damage] ^= 1;
    v = answer_request(ca, &der, &cert);
    ca->count[v]++;
    if (cert) {
        X509_free(c->cert);
        c->cert = cert;
        if (X509_verify(cert, X509_get0_pubkey(ca->cert)) != 1)
            die("verifying an answer");
    }
    OPENSSL_free(der.data);
}

int main(void)
{
    static struct client clients[N_CLIENTS];
    static struct authority ca;

    authority_init(&ca);
    for (unsigned i = 0; i < N_CLIENTS; i++)
        client_init(&clients[i], i);
    client_report_key(&clients[6], &ca, 0);
    client_report_key(&clients[11], &ca, 1);

    for (unsigned i = 0; i < N_CLIENTS; i++)
        client_enroll(&clients[i], &ca, i == 4 || i == 14 ? 2 : -1);
    client_report_key(&clients[20], &ca, 2);
    for (unsigned i = 0; i < N_CLIENTS; i += 4)         /* it is time to renew */
        client_enroll(&clients[i], &ca, -1);

    for (int i = 0; i < N_VERDICTS; i++)
        printf("%s: %u\n", verdict_names[i], ca.count[i]);
    printf("%d certificates in force\n", sk_X509_num(ca.issued));

    for (unsigned i = 0; i < N_CLIENTS; i++) {
        X509_free(clients[i].cert);
        EVP_PKEY_free(clients[i].key);
    }
    authority_clear(&ca);
    return 0;
}
