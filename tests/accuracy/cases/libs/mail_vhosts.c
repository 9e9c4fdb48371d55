/* summary: a virtual host's intermediate is given to the context, which takes it over, while the bundle still owns it
 * kind: second-owner
 * counts: deficit
 * objects: 1
 * track: X509 EVP_PKEY SSL_CTX
 * packages: libssl libcrypto
 * build: gcc -O2 -g -flto
 * exit: 0
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VHOSTS 16

typedef struct {
    X509 *cert;
    EVP_PKEY *key;
} Authority;

/* What stands in a file of a host: its certificate, its key and the chain. */
typedef struct {
    X509 *leaf;
    EVP_PKEY *key;
    STACK_OF(X509) *chain;
} Bundle;

typedef struct {
    char domain[32];
    SSL_CTX *smtp, *imap;
    X509 *pinned; /* the issuer the host's owner trusts, or NULL */
} Vhost;

typedef struct {
    Vhost vhosts[MAX_VHOSTS];
    unsigned length;
    unsigned refused;
} Server;

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s failed\n", what);
    ERR_print_errors_fp(stderr);
    exit(2);
}

static EVP_PKEY *new_key(void)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

    check(key != NULL, "key");
    return key;
}

static X509 *new_cert(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, long serial)
{
    X509 *cert = X509_new();
    X509_NAME *subject = X509_NAME_new();

    check(cert && subject, "certificate");
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400L * 90);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *) name, -1, -1, 0);
    X509_set_subject_name(cert, subject);
    X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject);
    X509_set_pubkey(cert, key);
    check(X509_sign(cert, issuer_key, NULL) > 0, "signature");
    X509_NAME_free(subject);
    return cert;
}

static void authority_init(Authority *authority, const char *name, const Authority *parent, long serial)
{
    authority->key = new_key();
    authority->cert = new_cert(name, authority->key, parent ? parent->cert : NULL,
                               parent ? parent->key : authority->key, serial);
}

static void authority_clear(Authority *authority)
{
    X509_free(authority->cert);
    EVP_PKEY_free(authority->key);
}

/* The chain has its own references. */
static void bundle_init(Bundle *bundle, const char *domain, const Authority *issuer, unsigned links, long serial)
{
    bundle->key = new_key();
    bundle->leaf = new_cert(domain, bundle->key, issuer->cert, issuer->key, serial);
    bundle->chain = sk_X509_new_null();
    check(bundle->chain != NULL, "chain");
    if (links == 0)
        return;
    X509_up_ref(issuer->cert);
    sk_X509_push(bundle->chain, issuer->cert);
    for (unsigned i = 1; i < links; i++) {
        EVP_PKEY *key = new_key();
        char name[64];

        snprintf(name, sizeof name, "cross %u of %s", i, domain);
        sk_X509_push(bundle->chain, new_cert(name, key, issuer->cert, issuer->key, serial + i));
        EVP_PKEY_free(key);
    }
}

static void bundle_clear(Bundle *bundle)
{
    X509_free(bundle->leaf);
    EVP_PKEY_free(bundle->key);
    sk_X509_pop_free(bundle->chain, X509_free); /* ACCEPTED */
}

static bool check_bundle(const Bundle *bundle)
{
    EVP_PKEY *key = X509_get_pubkey(bundle->leaf);
    bool good = key && EVP_PKEY_eq(key, bundle->key) == 1;

    EVP_PKEY_free(key);
    if (good && sk_X509_num(bundle->chain) > 0) {
        EVP_PKEY *issuer = X509_get0_pubkey(sk_X509_value(bundle->chain, 0));
        good = X509_verify(bundle->leaf, issuer) == 1;
    }
    return good;
}

static SSL_CTX *context_for(const Bundle *bundle)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

    check(ctx != NULL, "context");
    check(SSL_CTX_use_certificate(ctx, bundle->leaf) == 1, "leaf");
    check(SSL_CTX_use_PrivateKey(ctx, bundle->key) == 1, "key");
    return ctx;
}

static SSL_CTX *new_smtp(const Bundle *bundle)
{
    SSL_CTX *ctx = context_for(bundle);

    for (int i = 0; i < sk_X509_num(bundle->chain); i++)
        check(SSL_CTX_add1_chain_cert(ctx, sk_X509_value(bundle->chain, i)) == 1, "chain");
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    return ctx;
}

/* Old readers want the chain as extra certificates, whatever the leaf is. */
static SSL_CTX *new_imap(const Bundle *bundle)
{
    SSL_CTX *ctx = context_for(bundle);

    for (int i = 0; i < sk_X509_num(bundle->chain); i++) {
        X509 *link = sk_X509_value(bundle->chain, i);
        if (i == 0) {
            X509_up_ref(link);
            check(SSL_CTX_add_extra_chain_cert(ctx, link) == 1, "issuer");
        } else {
#ifdef BUG
            check(SSL_CTX_add_extra_chain_cert(ctx, link) == 1, "link"); /* GUILTY */
#else
            X509_up_ref(link);
            check(SSL_CTX_add_extra_chain_cert(ctx, link) == 1, "link");
#endif
        }
    }
    return ctx;
}

static void server_add(Server *server, const char *domain, const Authority *issuer, unsigned links, bool pin)
{
    Vhost *vhost = &server->vhosts[server->length];
    Bundle bundle;

    bundle_init(&bundle, domain, issuer, links, 1000 + 10L * server->length);
    if (!check_bundle(&bundle)) {
        server->refused++;
        bundle_clear(&bundle);
        return;
    }
    memset(vhost, 0, sizeof *vhost);
    snprintf(vhost->domain, sizeof vhost->domain, "%s", domain);
    vhost->smtp = new_smtp(&bundle);
    vhost->imap = new_imap(&bundle);
    if (pin && X509_up_ref(issuer->cert))
        vhost->pinned = issuer->cert;
    server->length++;
    bundle_clear(&bundle);
}

static void server_print(Server *server)
{
    for (unsigned i = 0; i < server->length; i++) {
        Vhost *vhost = &server->vhosts[i];
        STACK_OF(X509) *smtp = NULL, *imap = NULL;
        char name[64];

        SSL_CTX_get0_chain_certs(vhost->smtp, &smtp);
        SSL_CTX_get_extra_chain_certs_only(vhost->imap, &imap);
        X509_NAME_get_text_by_NID(X509_get_issuer_name(SSL_CTX_get0_certificate(vhost->smtp)), NID_commonName, name,
                                  sizeof name);
        printf("%s by %s: %d and %d in the chain%s\n", vhost->domain, name, smtp ? sk_X509_num(smtp) : 0,
               imap ? sk_X509_num(imap) : 0, vhost->pinned ? ", pinned" : "");
    }
}

static void server_clear(Server *server)
{
    for (unsigned i = 0; i < server->length; i++) {
        SSL_CTX_free(server->vhosts[i].smtp);
        SSL_CTX_free(server->vhosts[i].imap);
        X509_free(server->vhosts[i].pinned);
    }
}

int main(void)
{
    static const char *const domains[] = { "post.example", "mail.example", "lists.example", "news.example",
                                           "shop.example", "desk.example", "old.example",   "lab.example" };
    Authority root, issuing;
    Server server = { .length = 0 };

    authority_init(&root, "Root", NULL, 1);
    authority_init(&issuing, "Issuing", &root, 2);
    for (unsigned i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        const Authority *issuer = i % 3 == 0 ? &root : &issuing;
        unsigned links = i == 7 ? 2 : i % 2;

        server_add(&server, domains[i], issuer, links, i % 4 == 1);
    }
    server_print(&server);
    printf("%u hosts, %u refused\n", server.length, server.refused);
    server_clear(&server);
    authority_clear(&issuing);
    authority_clear(&root);
    return 0;
}
