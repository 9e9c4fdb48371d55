/* summary: when the audited key is too weak the code jumps to the label below the one that frees the public key
 * kind: missing-put
 * counts: surplus
 * objects: 7
 * track: openssl
 * packages: openssl
 * build: gcc -O2 -g
 * exit: 0
 */
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#define N_LEAVES  36
#define MIN_BITS  256

struct ca {
    X509 *cert;
    EVP_PKEY *key;
};

struct audit {
    X509_STORE *store;
    BIO *report;
    int weak, bad_issuer, expired, fine;
};

/* ---- making certificates -------------------------------------------- */

static X509 *make_cert(const char *cn, long serial, EVP_PKEY *key, const struct ca *issuer, int days)
{
    X509 *cert = X509_new();
    X509_NAME *name;

    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
    name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"Example", -1, -1, 0);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
    X509_set_issuer_name(cert, issuer->cert ? X509_get_subject_name(issuer->cert) : name);
    X509_gmtime_adj(X509_getm_notBefore(cert), -86400L * 400);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400L * days);
    X509_set_pubkey(cert, key);
    if (!issuer->cert) {
        X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
                                                  "critical,CA:TRUE");
        X509_add_ext(cert, ext, -1);
        X509_EXTENSION_free(ext);
    }
    if (!X509_sign(cert, issuer->key, NULL)) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static int ca_init(struct ca *ca, const char *cn)
{
    struct ca self = { NULL, EVP_PKEY_Q_keygen(NULL, NULL, "ED25519") };

    if (!self.key)
        return 0;
    ca->key = self.key;
    ca->cert = make_cert(cn, 1, self.key, &self, 3650);
    return ca->cert != NULL;
}

static void ca_clear(struct ca *ca)
{
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
}

static EVP_PKEY *leaf_key(int i)
{
    switch (i % 9) {
    case 2: case 6:
        return EVP_EC_gen("secp224r1");
    case 4:
        return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    default:
        return EVP_EC_gen("prime256v1");
    }
}

/* The whole inventory as one PEM bundle, the way it would come from disk. */
static BIO *make_bundle(const struct ca *good, const struct ca *stranger)
{
    BIO *bundle = BIO_new(BIO_s_mem());

    for (int i = 0; i < N_LEAVES; i++) {
        char cn[64];
        EVP_PKEY *key = leaf_key(i);
        X509 *cert;

        snprintf(cn, sizeof cn, "host%02d.example.org", i);
        cert = make_cert(cn, 100 + i, key, i % 12 == 5 ? stranger : good, i % 8 == 7 ? -3 : 90);
        PEM_write_bio_X509(bundle, cert);
        X509_free(cert);
        EVP_PKEY_free(key);
    }
    return bundle;
}

/* ---- the audit ------------------------------------------------------ */

enum verdict { V_FINE, V_WEAK, V_BAD_ISSUER, V_EXPIRED };

static X509 *find_issuer(struct audit *a, X509 *cert)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509 *issuer = NULL;

    if (ctx && X509_STORE_CTX_init(ctx, a->store, cert, NULL)
        && X509_STORE_CTX_get1_issuer(&issuer, ctx, cert) <= 0)
        issuer = NULL;
    X509_STORE_CTX_free(ctx);
    return issuer;
}

static void report_line(struct audit *a, X509 *cert, const char *text)
{
    X509_NAME_print_ex(a->report, X509_get_subject_name(cert), 0, XN_FLAG_RFC2253);
    BIO_printf(a->report, ": %s\n", text);
}

static enum verdict audit_cert(struct audit *a, X509 *cert)
{
    enum verdict verdict = V_BAD_ISSUER;
    X509 *issuer;
    EVP_PKEY *key;

    issuer = find_issuer(a, cert);
    if (!issuer) {
        report_line(a, cert, "unknown issuer");
        goto out;
    }
    if (X509_verify(cert, X509_get0_pubkey(issuer)) != 1) {
        report_line(a, cert, "bad signature");
        goto out_issuer;
    }

    key = X509_get_pubkey(cert);                        /* ACCEPTED */
    if (!key)
        goto out_issuer;
    if (!EVP_PKEY_is_a(key, "ED25519") && EVP_PKEY_get_bits(key) < MIN_BITS) {
        report_line(a, cert, "key too short");
        verdict = V_WEAK;
#ifdef BUG
        goto out_issuer;                                /* GUILTY */
#else
        goto out_key;
#endif
    }

    if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0) {
        report_line(a, cert, "expired");
        verdict = V_EXPIRED;
        goto out_key;
    }
    verdict = V_FINE;

out_key:
    EVP_PKEY_free(key);
out_issuer:
    X509_free(issuer);
out:
    return verdict;
}

static STACK_OF(X509) *read_bundle(BIO *bundle)
{
    STACK_OF(X509) *certs = sk_X509_new_null();
    X509 *cert;

    while ((cert = PEM_read_bio_X509(bundle, NULL, NULL, NULL)) != NULL)
        sk_X509_push(certs, cert);
    return certs;
}

static void audit_all(struct audit *a, STACK_OF(X509) *certs, STACK_OF(X509) *keep)
{
    for (int i = 0; i < sk_X509_num(certs); i++) {
        X509 *cert = sk_X509_value(certs, i);

        switch (audit_cert(a, cert)) {
        case V_FINE:
            a->fine++;
            X509_up_ref(cert);
            sk_X509_push(keep, cert);
            break;
        case V_WEAK:
            a->weak++;
            break;
        case V_BAD_ISSUER:
            a->bad_issuer++;
            break;
        case V_EXPIRED:
            a->expired++;
            break;
        }
    }
}

int main(void)
{
    struct ca good, stranger;
    struct audit audit = { 0 };
    STACK_OF(X509) *certs, *keep = sk_X509_new_null();
    BIO *bundle;
    char *text;
    long len, lines = 0;

    if (!ca_init(&good, "Example Root") || !ca_init(&stranger, "Somebody Else"))
        return 1;
    bundle = make_bundle(&good, &stranger);
    certs = read_bundle(bundle);
    BIO_free(bundle);

    audit.store = X509_STORE_new();
    X509_STORE_add_cert(audit.store, good.cert);
    audit.report = BIO_new(BIO_s_mem());
    audit_all(&audit, certs, keep);
    sk_X509_pop_free(certs, X509_free);

    len = BIO_get_mem_data(audit.report, &text);
    for (long i = 0; i < len; i++)
        lines += text[i] == '\n';
    printf("%d fine, %d weak, %d expired, %d with a wrong issuer\n",
           audit.fine, audit.weak, audit.expired, audit.bad_issuer);
    printf("first of %ld findings: %.*s\n", lines, (int)strcspn(text, "\n"), text);
    printf("%d certificates kept\n", sk_X509_num(keep));

    sk_X509_pop_free(keep, X509_free);
    BIO_free(audit.report);
    X509_STORE_free(audit.store);
    ca_clear(&good);
    ca_clear(&stranger);
    return 0;
}
