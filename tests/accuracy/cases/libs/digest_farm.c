/* summary: lane_retune() stores the newly fetched digest over the one that the lane has fetched before, without EVP_MD_free()
 * kind: overwritten
 * counts: surplus
 * objects: 2
 * track: openssl
 * packages: libcrypto
 * build: gcc -O2 -g
 * exit: 0
 */
#include <openssl/evp.h>
#include <openssl/err.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lanes hash the blocks of a backup. A lane fetches its digest once and is
 * tuned to another one when the client asks for it. */

#define N_LANES 4

typedef struct lane_st {
    OSSL_LIB_CTX *libctx;
    EVP_MD *md;                 /* fetched by the lane */
    EVP_MD_CTX *mctx;
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned int outlen;
    unsigned long blocks;
} LANE;

static void lane_free(LANE *lane)
{
    if (lane == NULL)
        return;
    EVP_MD_CTX_free(lane->mctx);
    EVP_MD_free(lane->md);
    OPENSSL_free(lane);
}

static LANE *lane_new(OSSL_LIB_CTX *libctx, const char *name)
{
    LANE *lane = OPENSSL_zalloc(sizeof(*lane));

    if (lane == NULL)
        return NULL;
    lane->libctx = libctx;
    if ((lane->md = EVP_MD_fetch(libctx, name, NULL)) == NULL
            || (lane->mctx = EVP_MD_CTX_new()) == NULL) {
        lane_free(lane);
        return NULL;
    }
    return lane;
}

/* Changes the digest. The lane stays as it is if there is none of the name. */
static int lane_retune(LANE *lane, const char *name)
{
    EVP_MD *md;

    if (EVP_MD_is_a(lane->md, name))
        return 1;
    if ((md = EVP_MD_fetch(lane->libctx, name, NULL)) == NULL) {
        ERR_clear_error();
        return 0;
    }
    if (EVP_MD_get_size(md) < 20) {
        EVP_MD_free(md);        /* too short for us */
        return 0;
    }
#ifndef BUG
    EVP_MD_free(lane->md);
#endif
    lane->md = md;              /* GUILTY */
    return 1;
}

static int lane_hash(LANE *lane, const void *data, size_t len)
{
    if (!EVP_DigestInit_ex2(lane->mctx, lane->md, NULL)
            || !EVP_DigestUpdate(lane->mctx, data, len)
            || !EVP_DigestFinal_ex(lane->mctx, lane->out, &lane->outlen))
        return 0;
    lane->blocks++;
    return 1;
}

/* Is the lane's digest right? Hashes the same with a digest of its own. */
static int lane_check(LANE *lane, const void *data, size_t len)
{
    unsigned char again[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    EVP_MD *md = EVP_MD_fetch(lane->libctx, EVP_MD_get0_name(lane->md), NULL);
    int ok = 0;

    if (md == NULL)
        return 0;
    if (EVP_Digest(data, len, again, &n, md, NULL))
        ok = n == lane->outlen && memcmp(again, lane->out, n) == 0;
    EVP_MD_free(md);
    return ok;
}

static void fill(unsigned char *block, size_t len, unsigned n)
{
    for (size_t i = 0; i < len; i++) {
        n = n * 1103515245u + 12345u;
        block[i] = n >> 16;
    }
}

static const struct {
    int at, lane;
    const char *digest;
} orders[] = {
    { 10, 0, "SHA2-512" }, { 14, 2, "SHA2-256" }, { 22, 1, "MD5" }, { 30, 3, "SHA3-256" },
    { 31, 3, "no-such-digest" }, { 40, 0, "SHA2-512" }, { 55, 2, "BLAKE2B-512" },
};

int main(void)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    LANE *lanes[N_LANES];
    unsigned char block[512];
    unsigned sum = 0, refused = 0;
    size_t next = 0;
    int bad = 0, ret = EXIT_FAILURE;

    if (libctx == NULL)
        return EXIT_FAILURE;
    memset(lanes, 0, sizeof(lanes));
    for (int i = 0; i < N_LANES; i++)
        if ((lanes[i] = lane_new(libctx, i % 2 ? "SHA2-384" : "SHA2-256")) == NULL)
            goto end;
    for (int n = 0; n < 80; n++) {
        LANE *lane = lanes[n % N_LANES];

        for (; next < sizeof(orders) / sizeof(orders[0]) && orders[next].at == n; next++)
            if (!lane_retune(lanes[orders[next].lane], orders[next].digest))
                refused++;
        fill(block, sizeof(block), n);
        if (!lane_hash(lane, block, sizeof(block)))
            goto end;
        if (n % 8 == 0 && !lane_check(lane, block, sizeof(block)))
            bad++;
        for (unsigned i = 0; i < lane->outlen; i++)
            sum = sum * 31 + lane->out[i];
    }
    for (int i = 0; i < N_LANES; i++)
        printf("lane %d: %lu blocks, %s\n", i, lanes[i]->blocks, EVP_MD_get0_name(lanes[i]->md));
    printf("%u refused, %d bad, checksum %08x\n", refused, bad, sum);
    ret = EXIT_SUCCESS;
end:
    if (ret != EXIT_SUCCESS)
        ERR_print_errors_fp(stderr);
    for (int i = 0; i < N_LANES; i++)
        lane_free(lanes[i]);
    OSSL_LIB_CTX_free(libctx);
    return ret;
}
