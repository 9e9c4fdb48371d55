/* summary: BIO chains with a shared end: BIO_free_all stops at the first one that others have; a tee filter that holds a second chain
 *          by its data; a head with two owners whose first BIO_free_all puts the head alone; a pair; a duplicate of a chain
 * track: BIO EVP_MD
 * build: gcc -O2 wiretap_bios.c -o OUT $(pkg-config --cflags --libs libcrypto)
 */
#include <openssl/bio.h>
#include <openssl/buffer.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAPS 5

static BIO_METHOD *tee_method;
static int tees_made, tees_gone;

/* ---- a filter that writes to the next BIO, and the same to the one in its data, of which it has a reference ---- */

static int tee_write(BIO *tee, const char *data, int size)
{
    BIO *next = BIO_next(tee), *copy = BIO_get_data(tee);
    int written = next ? BIO_write(next, data, size) : 0;
    if (written > 0 && copy)
        BIO_write(copy, data, written);
    BIO_clear_retry_flags(tee);
    return written;
}

static long tee_ctrl(BIO *tee, int command, long number, void *pointer)
{
    BIO *next = BIO_next(tee), *copy = BIO_get_data(tee);
    switch (command) {
    case BIO_CTRL_DUP: {
        /* The duplicate has the same copy: one reference more. `pointer` is the new BIO. */
        BIO *to = pointer;
        if (copy)
            BIO_up_ref(copy);
        BIO_set_data(to, copy);
        BIO_set_init(to, 1);
        return 1;
    }
    case BIO_CTRL_FLUSH:
        if (copy)
            (void)BIO_flush(copy);
        return next ? BIO_ctrl(next, command, number, pointer) : 1;
    case BIO_CTRL_PUSH:
    case BIO_CTRL_POP:
        return 0;
    default:
        return next ? BIO_ctrl(next, command, number, pointer) : 0;
    }
}

static int tee_create(BIO *tee)
{
    tees_made++;
    BIO_set_init(tee, 1);
    return 1;
}

static int tee_destroy(BIO *tee)
{
    tees_gone++;
    BIO_free_all(BIO_get_data(tee));
    BIO_set_data(tee, NULL);
    return 1;
}

static int tee_setup(void)
{
    tee_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_FILTER, "tee");
    return tee_method && BIO_meth_set_write(tee_method, tee_write) && BIO_meth_set_ctrl(tee_method, tee_ctrl)
           && BIO_meth_set_create(tee_method, tee_create) && BIO_meth_set_destroy(tee_method, tee_destroy);
}

/* Takes the caller's reference to `copy`. */
static BIO *tee_new(BIO *copy)
{
    BIO *tee = BIO_new(tee_method);
    BIO_set_data(tee, copy);
    return tee;
}

/* ---- taps: digest in front of a line that all of them write to ---- */

static BIO *tap_new(BIO *line, const EVP_MD *digest)
{
    BIO *tap = BIO_new(BIO_f_md());
    BIO_set_md(tap, digest);
    BIO_up_ref(line);
    return BIO_push(tap, line);
}

static int tap_digest(BIO *tap, unsigned char *out)
{
    BIO *md = BIO_find_type(tap, BIO_TYPE_MD);
    return BIO_gets(md, (char *)out, EVP_MAX_MD_SIZE);
}

/* Five taps on one line. Each chain is freed as a whole, and leaves the line to the others. */
static int tapped_line(const EVP_MD *digest)
{
    BIO *line = BIO_new(BIO_s_mem()), *tap[TAPS];
    unsigned char first[EVP_MAX_MD_SIZE], other[EVP_MAX_MD_SIZE];
    char *text;
    int same = 0;

    for (int i = 0; i < TAPS; i++)
        tap[i] = tap_new(line, digest);
    for (int i = 0; i < TAPS; i++)
        BIO_write(tap[i], i == TAPS - 1 ? "line busy\n" : "line free\n", 10);
    int size = tap_digest(tap[0], first);
    for (int i = 1; i < TAPS; i++)
        same += tap_digest(tap[i], other) == size && memcmp(first, other, (size_t)size) == 0;

    for (int i = 0; i < TAPS; i++)
        BIO_free_all(tap[i]);
    long held = BIO_get_mem_data(line, &text);
    BIO_free(line);
    return same == TAPS - 2 && held == TAPS * 10;
}

/* A recorder and the operator have the same head; the one that comes last takes the chain down. */
static int two_owners(void)
{
    BIO *log = BIO_new(BIO_s_mem()), *copy = BIO_new(BIO_s_mem());
    BUF_MEM *kept;

    BIO_up_ref(log);
    BIO_up_ref(copy);
    BIO *operator = BIO_push(BIO_new(BIO_f_base64()), BIO_push(tee_new(copy), log));
    BIO *recorder = operator;
    BIO_set_flags(operator, BIO_FLAGS_BASE64_NO_NL);
    BIO_up_ref(recorder);

    BIO_write(operator, "ringing", 7);
    BIO_free_all(operator);             /* the head had two: nothing behind it is touched */
    BIO_write(recorder, " again", 6);
    (void)BIO_flush(recorder);
    BIO_free_all(recorder);             /* head and tee; the log stays with us */

    BIO_get_mem_ptr(log, &kept);
    BIO_set_close(log, BIO_NOCLOSE);    /* the memory is ours when the log is gone */
    BIO_free(log);
    char *text;
    int right = BIO_get_mem_data(copy, &text) == (long)kept->length && memcmp(text, kept->data, kept->length) == 0;
    BUF_MEM_free(kept);
    BIO_free(copy);
    return right;
}

/* Duplicates share what the filters hold, and get an end of their own. */
static int duplicate(void)
{
    BIO *copy = BIO_new(BIO_s_mem());
    BIO *chain = tee_new(copy), *again, *tail;
    char *text;

    again = BIO_dup_chain(chain);       /* a second tee: `copy` has two references, none of them ours */
    if (!again)
        return 0;
    chain = BIO_push(chain, BIO_new(BIO_s_null()));
    again = BIO_push(again, BIO_new(BIO_s_null()));
    BIO_write(chain, "one ", 4);
    BIO_write(again, "two", 3);
    tail = BIO_pop(chain);              /* the head is out; the rest is a chain of its own */
    BIO_free(chain);
    BIO_free_all(tail);
    BIO_write(again, " three", 6);
    int right = BIO_get_mem_data(copy, &text) == 13 && memcmp(text, "one two three", 13) == 0;
    BIO_free_all(again);
    return right;
}

/* Both ends of a pair know each other without counting; one end is also the end of a chain. */
static int trunk(void)
{
    BIO *here, *there;
    char buffer[32] = "";
    if (!BIO_new_bio_pair(&here, 256, &there, 256))
        return 0;
    BIO *talk = BIO_push(BIO_new(BIO_f_buffer()), here);
    BIO_puts(talk, "exchange");
    (void)BIO_flush(talk);
    int size = BIO_read(there, buffer, sizeof buffer - 1);
    BIO_free_all(talk);                 /* takes the pair apart */
    size += BIO_read(there, buffer + size, (int)sizeof buffer - 1 - size) > 0;
    BIO_free(there);
    return size == 8 && strcmp(buffer, "exchange") == 0;
}

int main(void)
{
    EVP_MD *fetched = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    if (!fetched || !tee_setup())
        return 1;
    int right = tapped_line(fetched) & tapped_line(EVP_sha1());
    EVP_MD_free(fetched);
    for (int i = 0; i < 3; i++)
        right &= two_owners() & duplicate() & trunk();
    BIO_meth_free(tee_method);
    printf("%d tees made, %d gone\n", tees_made, tees_gone);
    return right && tees_made == tees_gone ? 0 : 1;
}
