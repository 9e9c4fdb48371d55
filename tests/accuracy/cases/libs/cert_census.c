/*
 * summary: the chain of a certificate that is rejected as too deep is freed without the certificates in it
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: X509 EVP_PKEY X509_STORE
 * packages: openssl
 * build: gcc -O2 -g
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* ---- a small hierarchy of authorities to examine ---- */

typedef struct {
    X509 *cert;
    EVP_PKEY *key;
} Authority;

static long next_serial = 1;

static int set_name(X509 *cert, const char *common_name, X509 *issuer)
{
    X509_NAME *subject = X509_get_subject_name(cert);

    if (!X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC, (const unsigned char *)"Harbour", -1, -1, 0) ||
        !X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1, 0))
        return 0;
    return X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject);
}

static int add_extension(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    int added;

    if (!extension)
        return 0;
    added = X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

static X509 *make_cert(const char *name, int is_ca, EVP_PKEY *key, const Authority *issuer, long days)
{
    X509 *cert = X509_new();

    if (!cert)
        return NULL;
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), next_serial++);
    X509_gmtime_adj(X509_getm_notBefore(cert), -2 * 86400);
    X509_gmtime_adj(X509_getm_notAfter(cert), days * 86400);
    if (!set_name(cert, name, issuer ? issuer->cert : NULL) || !X509_set_pubkey(cert, key) ||
        !add_extension(cert, NID_basic_constraints, is_ca ? "critical,CA:TRUE" : "CA:FALSE") ||
        !X509_sign(cert, issuer ? issuer->key : key, EVP_sha256())) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static int authority_open(Authority *authority, const char *name, const Authority *issuer)
{
    authority->key = EVP_EC_gen("P-256");
    authority->cert = authority->key ? make_cert(name, 1, authority->key, issuer, 30) : NULL;
    return authority->cert != NULL;
}

static void authority_close(Authority *authority)
{
    X509_free(authority->cert);
    EVP_PKEY_free(authority->key);
}

static X509 *issue(const Authority *issuer, const char *name, long days)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key ? make_cert(name, 0, key, issuer, days) : NULL;

    EVP_PKEY_free(key);
    return cert;
}

/* ---- the census: how deep and under whom certificates hang ---- */

#define MAX_ISSUERS 8

typedef struct {
    X509_STORE *store;
    STACK_OF(X509) *intermediates;
    int deepest_allowed;
    struct {
        X509 *cert;
        unsigned leaves;
    } issuers[MAX_ISSUERS];
    unsigned n_issuers;
    unsigned accepted, too_deep, invalid;
} Census;

static int census_open(Census *census, int deepest_allowed)
{
    memset(census, 0, sizeof *census);
    census->deepest_allowed = deepest_allowed;
    census->store = X509_STORE_new();
    census->intermediates = sk_X509_new_null();
    return census->store && census->intermediates;
}

static int census_add_intermediate(Census *census, X509 *cert)
{
    if (!X509_up_ref(cert))
        return 0;
    if (!sk_X509_push(census->intermediates, cert)) {
        X509_free(cert);
        return 0;
    }
    return 1;
}

static void census_close(Census *census)
{
    for (unsigned i = 0; i < census->n_issuers; i++)
        X509_free(census->issuers[i].cert);
    sk_X509_pop_free(census->intermediates, X509_free);
    X509_STORE_free(census->store);
}

static void count_issuer(Census *census, X509 *issuer)
{
    for (unsigned i = 0; i < census->n_issuers; i++) {
        if (X509_cmp(census->issuers[i].cert, issuer) == 0) {
            census->issuers[i].leaves++;
            return;
        }
    }
    if (census->n_issuers == MAX_ISSUERS || !X509_up_ref(issuer))
        return;
    census->issuers[census->n_issuers].cert = issuer;
    census->issuers[census->n_issuers++].leaves = 1;
}

/* The verified chain of a certificate, or NULL and why there is none. */
static STACK_OF(X509) *find_chain(Census *census, X509 *cert, const char **why)
{
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    STACK_OF(X509) *chain = NULL;

    *why = "out of memory";
    if (!context)
        return NULL;
    if (X509_STORE_CTX_init(context, census->store, cert, census->intermediates)) {
        if (X509_verify_cert(context) == 1)
            chain = X509_STORE_CTX_get1_chain(context);
        else
            *why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
    }
    X509_STORE_CTX_free(context);
    return chain;
}

static void examine(Census *census, const char *label, X509 *cert)
{
    const char *why;
    STACK_OF(X509) *chain = find_chain(census, cert, &why);

    if (!chain) {
        printf("%s: %s\n", label, why);
        census->invalid++;
        ERR_clear_error();
        return;
    }
    if (sk_X509_num(chain) > census->deepest_allowed) {
        printf("%s: %d certificates deep\n", label, sk_X509_num(chain));
        census->too_deep++;
#ifdef BUG
        sk_X509_free(chain); /* GUILTY */
#else
        sk_X509_pop_free(chain, X509_free);
#endif
        return;
    }
    for (int i = 1; i < sk_X509_num(chain); i++)
        count_issuer(census, sk_X509_value(chain, i));
    census->accepted++;
    sk_X509_pop_free(chain, X509_free);
}

static void print_issuers(const Census *census)
{
    char line[128];

    for (unsigned i = 0; i < census->n_issuers; i++) {
        X509_NAME_oneline(X509_get_subject_name(census->issuers[i].cert), line, sizeof line);
        printf("%s: %u\n", line, census->issuers[i].leaves);
    }
}

int main(void)
{
    static const struct {
        const char *name;
        int authority;
        long days;
    } leaves[] = {{"crane.example", 1, 10}, {"gate.example", 1, 5},   {"scale.example", 2, 20},
                  {"camera.example", 2, -1}, {"www.example", 0, 15}, {"tide.example", 1, 9}};
    static const char *const names[] = {"Harbour Root", "Harbour Devices", "Harbour Field"};
    Authority authorities[3], stranger;
    Census census;

    if (!census_open(&census, 3) || !authority_open(&stranger, "Stranger", NULL))
        return 1;
    for (int i = 0; i < 3; i++) {
        if (!authority_open(&authorities[i], names[i], i ? &authorities[i - 1] : NULL))
            return 1;
        if (i > 0 && !census_add_intermediate(&census, authorities[i].cert))
            return 1;
    }
    X509_STORE_add_cert(census.store, authorities[0].cert);
    for (size_t i = 0; i < sizeof leaves / sizeof leaves[0]; i++) {
        X509 *cert = issue(&authorities[leaves[i].authority], leaves[i].name, leaves[i].days);
        if (!cert)
            return 1;
        examine(&census, leaves[i].name, cert);
        X509_free(cert);
    }
    examine(&census, "stranger", stranger.cert);
    print_issuers(&census);
    printf("%u accepted, %u too deep, %u invalid\n", census.accepted, census.too_deep, census.invalid);
    census_close(&census);
    authority_close(&stranger);
    for (int i = 0; i < 3; i++)
        authority_close(&authorities[i]);
    return 0;
}
