/* summary: listener_add_chain frees the cross-signed certificate after SSL_CTX_add_extra_chain_cert, which has taken the reference over
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: openssl
 * packages: openssl
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * mqtt_brokers - makes the TLS contexts for the listeners of a message broker.
 *
 * Listeners share their issuing certificates. Some sites have a cross-signed
 * certificate too, which old devices need to find the way to their root.
 */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES 5
#define LISTENERS 16

struct site {
    char name[16];
    EVP_PKEY *key;       /* of the issuer */
    X509 *issuer;
    X509 *cross;         /* NULL: not needed */
};

struct listener {
    char name[24];
    unsigned port;
    struct site *site;
    SSL_CTX *ctx;
};

static struct site sites[SITES];
static struct listener listeners[LISTENERS];
static unsigned failed, chained, crossed;

static EVP_PKEY *new_key(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");

    if (key == NULL) {
        ERR_print_errors_fp(stderr);
        exit(2);
    }
    return key;
}

/* signer and signer_key NULL: signs itself. A reference for the caller. */
static X509 *new_cert(const char *name, long serial, EVP_PKEY *key, X509 *signer, EVP_PKEY *signer_key)
{
    X509 *cert = X509_new();
    X509_NAME *subject;

    if (cert == NULL)
        exit(2);
    subject = X509_get_subject_name(cert);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400L * 90);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, signer ? X509_get_subject_name(signer) : subject);
    X509_set_pubkey(cert, key);
    if (X509_sign(cert, signer_key ? signer_key : key, EVP_sha256()) == 0) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

/* -- sites --------------------------------------------------------------- */

static int site_open(struct site *s, unsigned number, X509 *old_root, EVP_PKEY *old_key)
{
    char name[32];

    snprintf(s->name, sizeof s->name, "site%u", number);
    s->key = new_key();
    snprintf(name, sizeof name, "Site %u issuing CA", number);
    s->issuer = new_cert(name, 10 + number, s->key, NULL, NULL);
    if (s->issuer == NULL)
        return -1;
    if (number % 2 == 0) {
        s->cross = new_cert(name, 40 + number, s->key, old_root, old_key);
        if (s->cross == NULL)
            return -1;
    }
    return 0;
}

static void site_close(struct site *s)
{
    X509_free(s->cross);
    X509_free(s->issuer);
    EVP_PKEY_free(s->key);
    memset(s, 0, sizeof *s);
}

/* The certificate goes the way that it goes in production: as text. */
static X509 *through_pem(X509 *cert)
{
    BIO *mem = BIO_new(BIO_s_mem());
    X509 *again = NULL;

    if (mem != NULL && PEM_write_bio_X509(mem, cert))
        again = PEM_read_bio_X509(mem, NULL, NULL, NULL);
    BIO_free(mem);
    return again;
}

/* -- listeners ------------------------------------------------------------ */

static int listener_add_chain(struct listener *l, int old_devices)
{
    X509 *issuer = l->site->issuer;
    X509 *cross = l->site->cross;

    X509_up_ref(issuer);
    if (SSL_CTX_add_extra_chain_cert(l->ctx, issuer) != 1) {
        X509_free(issuer);
        return -1;
    }
    chained++;
    if (!old_devices || cross == NULL)
        return 0;
    X509_up_ref(cross);
    if (SSL_CTX_add_extra_chain_cert(l->ctx, cross) != 1) { /* ACCEPTED */
        X509_free(cross);
        return -1;
    }
#ifdef BUG
    X509_free(cross); /* GUILTY */
#endif
    crossed++;
    return 0;
}

static int listener_load(struct listener *l, int damaged)
{
    EVP_PKEY *key = new_key();
    X509 *made, *cert;
    int rc = -1;

    made = new_cert(l->name, 1000 + l->port, key, l->site->issuer, l->site->key);
    cert = made ? through_pem(made) : NULL;
    X509_free(made);
    if (cert == NULL)
        goto out;
    if (damaged) { /* the key of another listener lies in the folder */
        EVP_PKEY_free(key);
        key = new_key();
    }
    if (SSL_CTX_use_certificate(l->ctx, cert) != 1)
        goto out;
    if (SSL_CTX_use_PrivateKey(l->ctx, key) != 1 || SSL_CTX_check_private_key(l->ctx) != 1)
        goto out;
    rc = 0;
out:
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

static int listener_open(struct listener *l, unsigned number)
{
    snprintf(l->name, sizeof l->name, "broker-%u.example", number);
    l->port = 8883 + number;
    l->site = &sites[number % SITES];
    l->ctx = SSL_CTX_new(TLS_server_method());
    if (l->ctx == NULL)
        return -1;
    if (listener_load(l, number % 7 == 6) < 0 || listener_add_chain(l, number >= 10 && number < 15) < 0) {
        SSL_CTX_free(l->ctx);
        l->ctx = NULL;
        ERR_clear_error();
        return -1;
    }
    return 0;
}

/* What a device would be sent: the bytes of the chain. */
static unsigned listener_chain(struct listener *l, int *bytes)
{
    STACK_OF(X509) *chain = NULL;
    SSL *ssl = SSL_new(l->ctx);
    int n = 0;

    if (ssl == NULL)
        return 0;
    SSL_CTX_get_extra_chain_certs(l->ctx, &chain);
    n = chain ? sk_X509_num(chain) : 0;
    for (int i = 0; i < n; i++)
        *bytes += i2d_X509_NAME(X509_get_subject_name(sk_X509_value(chain, i)), NULL);
    if (SSL_get_certificate(ssl) != NULL)
        n++;
    SSL_free(ssl);
    return (unsigned)n;
}

int main(void)
{
    EVP_PKEY *old_key = new_key();
    X509 *old_root = new_cert("Old Root", 1, old_key, NULL, NULL);
    int bytes = 0;

    if (old_root == NULL)
        return 2;
    for (unsigned i = 0; i < SITES; i++)
        if (site_open(&sites[i], i, old_root, old_key) < 0)
            return 2;
    for (unsigned i = 0; i < LISTENERS; i++)
        failed += listener_open(&listeners[i], i) < 0;
    for (unsigned i = 0; i < LISTENERS; i++)
        if (listeners[i].ctx != NULL)
            printf("%s:%u %s, %u certificates\n", listeners[i].name, listeners[i].port, listeners[i].site->name,
                   listener_chain(&listeners[i], &bytes));
    printf("%u failed, %u chained, %u crossed, %d bytes of names\n", failed, chained, crossed, bytes);
    for (unsigned i = 0; i < LISTENERS; i++)
        SSL_CTX_free(listeners[i].ctx);
    for (unsigned i = 0; i < SITES; i++)
        site_close(&sites[i]);
    X509_free(old_root);
    EVP_PKEY_free(old_key);
    return 0;
}
