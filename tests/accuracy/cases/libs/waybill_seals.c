/*
 * summary: a waybill whose seal does not match gives back the head of the chain of BIOs that it was read through, not the rest
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: BIO EVP_PKEY
 * packages: openssl
 * build: clang -O2 -g
 */
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGEST EVP_MAX_MD_SIZE

/* A waybill travels as base64; its seal is the SHA-256 of the text, signed by the depot. */

typedef struct {
    BIO *store;
    unsigned char digest[MAX_DIGEST];
    unsigned digest_len;
    unsigned char *sig;
    size_t sig_len;
    EVP_PKEY *depot;
} Waybill;

typedef struct {
    char **lines;
    size_t count;
    unsigned accepted, forged, unread;
} Ledger;

static EVP_PKEY *depot_key(void)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

    if (key == NULL)
        abort();
    return key;
}

static int sign_digest(Waybill *bill)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    int ok = 0;

    if (ctx == NULL)
        return 0;
    if (EVP_DigestSignInit(ctx, NULL, NULL, NULL, bill->depot) <= 0)
        goto out;
    if (EVP_DigestSign(ctx, NULL, &bill->sig_len, bill->digest, bill->digest_len) <= 0)
        goto out;
    bill->sig = OPENSSL_malloc(bill->sig_len);
    ok = bill->sig != NULL && EVP_DigestSign(ctx, bill->sig, &bill->sig_len, bill->digest, bill->digest_len) > 0;
out:
    EVP_MD_CTX_free(ctx);
    return ok;
}

static int check_signature(const Waybill *bill)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    int ok = 0;

    if (ctx == NULL)
        return 0;
    if (EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, bill->depot) > 0)
        ok = EVP_DigestVerify(ctx, bill->sig, bill->sig_len, bill->digest, bill->digest_len) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

static Waybill *waybill_write(EVP_PKEY *depot, const char *text)
{
    Waybill *bill = calloc(1, sizeof *bill);
    BIO *b64 = BIO_new(BIO_f_base64());
    BIO *md = BIO_new(BIO_f_md());
    BIO *mem = BIO_new(BIO_s_mem());
    BIO *chain;

    if (bill == NULL || b64 == NULL || md == NULL || mem == NULL)
        abort();
    BIO_set_md(md, EVP_sha256());
    chain = BIO_push(md, BIO_push(b64, mem));
    BIO_write(chain, text, (int)strlen(text));
    BIO_flush(chain);
    bill->digest_len = (unsigned)BIO_gets(md, (char *)bill->digest, MAX_DIGEST);
    BIO_pop(mem);
    bill->store = mem;
    BIO_free_all(chain);

    EVP_PKEY_up_ref(depot);
    bill->depot = depot;
    if (!sign_digest(bill))
        abort();
    return bill;
}

static void waybill_free(Waybill *bill)
{
    EVP_PKEY_free(bill->depot);
    OPENSSL_free(bill->sig);
    BIO_free(bill->store);
    free(bill);
}

static void ledger_add(Ledger *ledger, const char *text, size_t len)
{
    ledger->lines = realloc(ledger->lines, (ledger->count + 1) * sizeof *ledger->lines);
    ledger->lines[ledger->count] = malloc(len + 1);
    memcpy(ledger->lines[ledger->count], text, len);
    ledger->lines[ledger->count][len] = '\0';
    ledger->count++;
}

static void ledger_free(Ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        free(ledger->lines[i]);
    free(ledger->lines);
}

static BIO *open_reader(const Waybill *bill, BIO **digest)
{
    char *data;
    long len = BIO_get_mem_data(bill->store, &data);
    BIO *mem = BIO_new_mem_buf(data, (int)len);
    BIO *b64 = BIO_new(BIO_f_base64());
    BIO *md = BIO_new(BIO_f_md());

    if (mem == NULL || b64 == NULL || md == NULL) {
        BIO_free(mem);
        BIO_free(b64);
        BIO_free(md);
        return NULL;
    }
    BIO_set_md(md, EVP_sha256());
    *digest = md;
    return BIO_push(md, BIO_push(b64, mem));
}

/* 1 where the text is what the depot has sealed, 0 where it is not, -1 where it cannot be read. */
static int ledger_read(Ledger *ledger, const Waybill *bill)
{
    unsigned char seal[MAX_DIGEST];
    char text[256];
    BIO *digest;
    BIO *chain = open_reader(bill, &digest);
    int len, seal_len;

    if (chain == NULL)
        return -1;
    len = BIO_read(chain, text, sizeof text);
    if (len <= 0) {
        BIO_free_all(chain);
        ledger->unread++;
        return -1;
    }
    seal_len = BIO_gets(digest, (char *)seal, sizeof seal);
    if (seal_len != (int)bill->digest_len || memcmp(seal, bill->digest, bill->digest_len) != 0) {
#ifdef BUG
        BIO_free(chain); /* GUILTY */
#else
        BIO_free_all(chain);
#endif
        ledger->forged++;
        return 0;
    }
    if (!check_signature(bill)) {
        BIO_free_all(chain);
        ledger->forged++;
        return 0;
    }
    ledger_add(ledger, text, (size_t)len);
    ledger->accepted++;
    BIO_free_all(chain);
    return 1;
}

static void tamper(Waybill *bill, size_t at)
{
    char *data;

    if (BIO_get_mem_data(bill->store, &data) > (long)at)
        data[at] = data[at] == 'Q' ? 'R' : 'Q';
}

int main(void)
{
    static const char *const texts[] = {
        "17 crates of lamps, Hull to Leith", "4 pallets of tea, dry", "1 boiler, 9.4 t, upright only",
        "220 sacks of malt", "3 horses, water at Crewe", "60 rolls of newsprint", "2 pianos",
    };
    enum { BILLS = sizeof texts / sizeof texts[0] };
    EVP_PKEY *north = depot_key(), *south = depot_key();
    Waybill *bills[BILLS];
    Ledger ledger = { NULL, 0, 0, 0, 0 };
    BIO *out;

    for (size_t i = 0; i < BILLS; i++)
        bills[i] = waybill_write(i % 2 ? south : north, texts[i]);
    tamper(bills[1], 6);
    tamper(bills[4], 9);
    BIO_reset(bills[6]->store);
    EVP_PKEY_free(bills[5]->depot);
    EVP_PKEY_up_ref(north);
    bills[5]->depot = north;

    for (size_t i = 0; i < BILLS; i++)
        ledger_read(&ledger, bills[i]);

    out = BIO_new_fp(stdout, BIO_NOCLOSE);
    for (size_t i = 0; i < ledger.count; i++)
        BIO_printf(out, "- %s\n", ledger.lines[i]);
    BIO_printf(out, "%u accepted, %u forged, %u unread\n", ledger.accepted, ledger.forged, ledger.unread);
    BIO_free(out);

    for (size_t i = 0; i < BILLS; i++)
        waybill_free(bills[i]);
    ledger_free(&ledger);
    EVP_PKEY_free(north);
    EVP_PKEY_free(south);
    return 0;
}
