/*
 * summary: a docket whose signature line is missing frees the head of its chain of BIOs alone
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: BIO
 * packages: libcrypto
 * build: gcc -O2 -g
 */
#include <openssl/bio.h>
#include <openssl/buffer.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A docket goes with a pallet: lines of goods, at the end a line with the digest of all lines above it. Dockets are kept in
   base64. The digest of the dockets of a day is the day's seal. */

#define MOST_LINES 16

struct docket {
    int number;
    int lines;
    long weight;
    char digest[65];
};

struct day {
    BIO *ledger; /* what is printed in the evening */
    BIO *seal;   /* digest over the ledger */
    struct docket dockets[8];
    int count;
    int rejected;
};

static void to_hex(const unsigned char *bytes, int length, char *text)
{
    for (int i = 0; i < length; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

/* Text to base64, as the handhelds do it. Returns memory that the caller frees. */
static char *docket_encode(const char *text)
{
    BIO *base64 = BIO_new(BIO_f_base64());
    BIO *memory = BIO_new(BIO_s_mem());
    BUF_MEM *content;
    char *result = NULL;

    if (base64 == NULL || memory == NULL) {
        BIO_free(base64);
        BIO_free(memory);
        return NULL;
    }
    BIO_set_flags(base64, BIO_FLAGS_BASE64_NO_NL);
    BIO_push(base64, memory);
    if (BIO_puts(base64, text) > 0 && BIO_flush(base64) == 1) {
        BIO_get_mem_ptr(memory, &content);
        result = malloc(content->length + 1);
        if (result != NULL) {
            memcpy(result, content->data, content->length);
            result[content->length] = '\0';
        }
    }
    BIO_free_all(base64);
    return result;
}

/* The digest of a docket's lines in hex. */
static bool lines_digest(const char *text, size_t length, char *hex)
{
    BIO *digest = BIO_new(BIO_f_md());
    BIO *sink = BIO_new(BIO_s_null());
    unsigned char bytes[EVP_MAX_MD_SIZE];
    bool good = false;
    int got;

    if (digest != NULL && sink != NULL && BIO_set_md(digest, EVP_sha256()) == 1) {
        BIO_push(digest, sink);
        BIO_write(digest, text, (int)length);
        got = BIO_gets(digest, (char *)bytes, sizeof bytes);
        if (got == 32) {
            to_hex(bytes, got, hex);
            good = true;
        }
        BIO_pop(digest);
    }
    BIO_free(digest);
    BIO_free(sink);
    return good;
}

/* Opens a docket for reading: decoding in front of buffering in front of the bytes. NULL: no memory. */
static BIO *docket_open(const char *encoded)
{
    BIO *memory = BIO_new_mem_buf(encoded, -1);
    BIO *base64 = BIO_new(BIO_f_base64());
    BIO *lines = BIO_new(BIO_f_buffer());

    if (memory == NULL || base64 == NULL || lines == NULL) {
        BIO_free(lines);
        BIO_free(base64);
        BIO_free(memory);
        return NULL;
    }
    BIO_set_flags(base64, BIO_FLAGS_BASE64_NO_NL);
    BIO_push(base64, memory);
    return BIO_push(lines, base64);
}

static int parse_line(struct docket *docket, const char *line)
{
    char article[32];
    long pieces, grams;

    if (sscanf(line, "%31[^;];%ld;%ld", article, &pieces, &grams) != 3)
        return -1;
    docket->lines++;
    docket->weight += pieces * grams;
    return 0;
}

/* Reads a docket: 0, or what is wrong with it: 1 is a bad line, 2 a missing or wrong digest. */
static int docket_read(struct docket *docket, const char *encoded)
{
    BIO *input = docket_open(encoded);
    char text[1024] = "", line[128], expected[65];
    size_t used = 0;
    bool signature = false;
    int length;

    if (input == NULL)
        return -1;
    while ((length = BIO_gets(input, line, sizeof line)) > 0) {
        if (strncmp(line, "digest ", 7) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(docket->digest, sizeof docket->digest, "%.64s", line + 7);
            signature = true;
            break;
        }
        if (docket->lines == MOST_LINES || used + (size_t)length >= sizeof text || parse_line(docket, line) != 0) {
            BIO_free_all(input);
            return 1;
        }
        memcpy(text + used, line, (size_t)length);
        used += (size_t)length;
    }
    if (!signature) {
#ifdef BUG
        BIO_free(input); /* GUILTY */
#else
        BIO_free_all(input);
#endif
        return 2;
    }
    BIO_free_all(input);
    if (!lines_digest(text, used, expected) || strcmp(expected, docket->digest) != 0)
        return 2;
    return 0;
}

static bool day_open(struct day *day)
{
    day->ledger = BIO_new(BIO_s_mem());
    day->seal = BIO_new(BIO_f_md());
    if (day->ledger == NULL || day->seal == NULL || BIO_set_md(day->seal, EVP_sha256()) != 1)
        return false;
    BIO_push(day->seal, day->ledger);
    return true;
}

static void day_enter(struct day *day, int number, const char *encoded)
{
    static const char *const reasons[] = {"fine", "a bad line", "no valid digest"};
    struct docket docket = {.number = number};
    const int wrong = docket_read(&docket, encoded);

    if (wrong != 0) {
        printf("docket %d: %s\n", number, wrong > 0 ? reasons[wrong] : "no memory");
        BIO_printf(day->seal, "%d rejected\n", number);
        day->rejected++;
        return;
    }
    BIO_printf(day->seal, "%d %d lines %ld g\n", number, docket.lines, docket.weight);
    if (day->count < (int)(sizeof day->dockets / sizeof day->dockets[0]))
        day->dockets[day->count++] = docket;
}

static void day_close(struct day *day)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "", line[128];
    const int got = BIO_gets(day->seal, (char *)bytes, sizeof bytes);
    BIO *ledger = BIO_pop(day->seal);

    if (got > 0)
        to_hex(bytes, got, hex);
    while (BIO_gets(ledger, line, sizeof line) > 0)
        printf("  %s", line);
    printf("sealed %.16s, %d dockets, %d rejected\n", hex, day->count, day->rejected);
    BIO_free(day->seal);
    BIO_free(day->ledger);
}

static void day_receive(struct day *day, int number, const char *lines, const char *digest)
{
    char text[1200], hex[65];
    char *encoded;

    if (digest == NULL) {
        snprintf(text, sizeof text, "%s", lines);
    } else {
        if (strcmp(digest, "auto") == 0 && lines_digest(lines, strlen(lines), hex))
            digest = hex;
        snprintf(text, sizeof text, "%sdigest %s\n", lines, digest);
    }
    encoded = docket_encode(text);
    if (encoded != NULL)
        day_enter(day, number, encoded);
    free(encoded);
}

int main(void)
{
    struct day day = {0};

    if (!day_open(&day)) {
        printf("no memory for the day\n");
        BIO_free(day.seal);
        BIO_free(day.ledger);
        return 1;
    }
    day_receive(&day, 5101, "flour;40;1000\nyeast;12;42\n", "auto");
    day_receive(&day, 5102, "sugar;20;1000\n", "auto");
    day_receive(&day, 5103, "salt;25;500\npepper;10;50\n", NULL);
    day_receive(&day, 5104, "butter;30;250\nno weight\n", "auto");
    day_receive(&day, 5105, "honey;6;500\n", "c0ffee");
    day_receive(&day, 5106, "oats;50;500\n", NULL);
    day_receive(&day, 5107, "rice;15;1000\nlentils;15;500\n", "auto");
    day_close(&day);
    return 0;
}
