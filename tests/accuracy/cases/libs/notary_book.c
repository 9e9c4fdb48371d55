/*
 * summary: a seal that is refused gives back the signer's certificate, which it only borrowed from the book
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: X509 EVP_PKEY
 * packages: libcrypto
 * build: gcc -O2 -g
 */
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The book of a chamber of notaries: it holds the certificates of the notaries and of the chambers that issued them, seals
   are checked against it. What was checked is kept for the day's protocol. */

#define MOST_SEALS 16

struct book {
    STACK_OF(X509) *chambers;
    STACK_OF(X509) *notaries;
};

struct seal {
    char deed[24];
    long serial;
    bool chamber_known;
    bool good;
    X509 *signer;
};

struct protocol {
    struct seal *seals[MOST_SEALS];
    int count;
    int refused;
};

static X509 *certificate_new(const char *name, long serial, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, long days)
{
    X509 *certificate = X509_new();
    X509_NAME *subject = X509_NAME_new();
    if (!certificate || !subject)
        abort();
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
    X509_set_subject_name(certificate, subject);
    X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86400L * 90);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400L * days);
    X509_set_pubkey(certificate, key);
    if (!X509_sign(certificate, issuer_key, EVP_sha256()))
        abort();
    X509_NAME_free(subject);
    return certificate;
}

static void book_open(struct book *book)
{
    book->chambers = sk_X509_new_null();
    book->notaries = sk_X509_new_null();
}

static void book_close(struct book *book)
{
    sk_X509_pop_free(book->notaries, X509_free);
    sk_X509_pop_free(book->chambers, X509_free);
}

static void book_enter(STACK_OF(X509) *page, X509 *certificate)
{
    if (!X509_up_ref(certificate))
        abort();
    if (!sk_X509_push(page, certificate))
        abort();
}

static X509 *book_notary(struct book *book, long serial)
{
    for (int i = 0; i < sk_X509_num(book->notaries); i++) {
        X509 *certificate = sk_X509_value(book->notaries, i);
        if (ASN1_INTEGER_get(X509_get0_serialNumber(certificate)) == serial)
            return certificate;
    }
    return NULL;
}

static X509 *book_issuer(struct book *book, X509 *certificate)
{
    for (int i = 0; i < sk_X509_num(book->chambers); i++) {
        X509 *chamber = sk_X509_value(book->chambers, i);
        if (X509_check_issued(chamber, certificate) == X509_V_OK && X509_up_ref(chamber))
            return chamber;
    }
    return NULL;
}

static bool issued_by(X509 *certificate, X509 *chamber)
{
    EVP_PKEY *key = X509_get_pubkey(chamber);
    bool good = key && X509_verify(certificate, key) == 1;
    EVP_PKEY_free(key);
    return good;
}

static struct seal *seal_new(const char *deed, X509 *signer)
{
    struct seal *seal = calloc(1, sizeof *seal);
    if (!seal || !X509_up_ref(signer))
        abort();
    snprintf(seal->deed, sizeof seal->deed, "%s", deed);
    seal->serial = ASN1_INTEGER_get(X509_get0_serialNumber(signer));
    seal->signer = signer;
    return seal;
}

static void seal_free(struct seal *seal)
{
    X509_free(seal->signer);
    free(seal);
}

static bool protocol_check(struct protocol *protocol, struct book *book, const char *deed, long serial)
{
    X509 *signer = book_notary(book, serial);
    X509 *issuer = NULL;
    struct seal *seal;
    if (!signer || protocol->count == MOST_SEALS) {
        protocol->refused++;
        return false;
    }
    seal = seal_new(deed, signer);
    issuer = book_issuer(book, signer);
    seal->chamber_known = issuer != NULL;
    if (!issuer)
        goto refuse;
    if (!issued_by(signer, issuer))
        goto refuse;
    if (X509_cmp_current_time(X509_get0_notAfter(signer)) < 0)
        goto refuse;
    seal->good = true;
    protocol->seals[protocol->count++] = seal;
    X509_free(issuer);
    return true;

refuse:
    protocol->refused++;
    X509_free(issuer);
#ifdef BUG
    X509_free(signer); /* GUILTY */
#endif
    seal_free(seal);
    return false;
}

static void protocol_print(const struct protocol *protocol)
{
    for (int i = 0; i < protocol->count; i++) {
        char name[64] = "";
        X509_NAME_get_text_by_NID(X509_get_subject_name(protocol->seals[i]->signer), NID_commonName, name, sizeof name);
        printf("%-12s %ld %s\n", protocol->seals[i]->deed, protocol->seals[i]->serial, name);
    }
    printf("%d good, %d refused\n", protocol->count, protocol->refused);
}

static void protocol_clear(struct protocol *protocol)
{
    while (protocol->count > 0)
        seal_free(protocol->seals[--protocol->count]);
}

static int book_expiring(struct book *book, int days)
{
    time_t limit = time(NULL) + 86400L * days;
    int expiring = 0;
    for (int i = 0; i < sk_X509_num(book->notaries); i++)
        expiring += X509_cmp_time(X509_get0_notAfter(sk_X509_value(book->notaries, i)), &limit) < 0;
    return expiring;
}

int main(void)
{
    static const struct { const char *name; long serial; int chamber; long days; } notaries[] = {
        {"Brandt", 2001, 0, 300}, {"Okafor", 2002, 0, 20}, {"Lindqvist", 2003, 1, 200},
        {"Moreau", 2004, 1, -3}, {"Castelli", 2005, 0, 410},
    };
    static const char *const chamber_names[] = {"Chamber North", "Chamber South"};
    EVP_PKEY *chamber_keys[2];
    X509 *chambers[2];
    struct book book;
    struct protocol protocol = {.count = 0};

    book_open(&book);
    for (int i = 0; i < 2; i++) {
        chamber_keys[i] = EVP_EC_gen("P-256");
        if (!chamber_keys[i])
            return 1;
        chambers[i] = certificate_new(chamber_names[i], 1001 + i, chamber_keys[i], NULL, chamber_keys[i], 3650);
        book_enter(book.chambers, chambers[i]);
    }
    for (size_t i = 0; i < sizeof notaries / sizeof *notaries; i++) {
        int chamber = notaries[i].chamber;
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *certificate = certificate_new(notaries[i].name, notaries[i].serial, key, chambers[chamber],
                                            chamber_keys[chamber], notaries[i].days);
        book_enter(book.notaries, certificate);
        X509_free(certificate);
        EVP_PKEY_free(key);
    }
    for (int i = 0; i < 2; i++) {
        X509_free(chambers[i]);
        EVP_PKEY_free(chamber_keys[i]);
    }

    printf("%d of %d expire within 30 days\n", book_expiring(&book, 30), sk_X509_num(book.notaries));
    protocol_check(&protocol, &book, "deed 14/1", 2001);
    protocol_check(&protocol, &book, "will 3", 2003);
    protocol_check(&protocol, &book, "deed 14/2", 2001);
    protocol_check(&protocol, &book, "lease 88", 2009);
    protocol_check(&protocol, &book, "will 4", 2002);
    protocol_check(&protocol, &book, "deed 15/1", 2005);
    protocol_check(&protocol, &book, "lease 89", 2004);

    protocol_print(&protocol);
    protocol_clear(&protocol);
    book_close(&book);
    return 0;
}
