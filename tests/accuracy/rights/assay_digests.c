/* summary: an assay office's digests: fetched algorithms that contexts share, chains of BIOs with further references, get0 and get1 and set0 and set1 side by side
 * track: EVP_MD EVP_MAC EVP_KDF EVP_CIPHER EVP_PKEY BIO X509 X509_CRL
 * build: clang -O1 -g assay_digests.c -o OUT -lcrypto
 */
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "assay: %s\n", what);
		failures++;
	}
}

/* Fetches hand out the same object again; a context has its own reference. */
static void weigh_digests(void)
{
	EVP_MD *first = EVP_MD_fetch(NULL, "SHA2-256", NULL);
	EVP_MD *again = EVP_MD_fetch(NULL, "SHA256", NULL);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char out[EVP_MAX_MD_SIZE];
	unsigned length;
	EVP_DigestInit_ex2(context, first, NULL);
	EVP_MD_free(first);
	EVP_DigestUpdate(context, "gold", 4);
	EVP_MD *mine = EVP_MD_CTX_get1_md(context);
	const EVP_MD *theirs = EVP_MD_CTX_get0_md(context);
	expect(mine == theirs, "one digest");
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	EVP_MD_CTX_copy_ex(copy, context);
	EVP_MD_CTX_free(context);
	EVP_MD_free(again);
	expect(EVP_DigestFinal_ex(copy, out, &length) && length == 32, "digest");
	EVP_MD_CTX_reset(copy);
	EVP_DigestInit_ex2(copy, EVP_sha1(), NULL);      /* a built-in one: not ours to free */
	EVP_DigestFinal_ex(copy, out, &length);
	EVP_MD_CTX_free(copy);
	expect(EVP_MD_get_size(mine) == 32, "size");     /* still ours */
	EVP_MD_free(mine);
	EVP_MD_free((EVP_MD *)EVP_sha1());               /* built-in ones do not count */

	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-CBC", NULL);
	EVP_CIPHER_up_ref(cipher);
	EVP_CIPHER_CTX *sealing = EVP_CIPHER_CTX_new();
	EVP_EncryptInit_ex2(sealing, cipher, (const unsigned char *)"0123456789abcdef", (const unsigned char *)"0123456789abcdef", NULL);
	EVP_CIPHER_free(cipher);
	EVP_CIPHER_CTX_free(sealing);
	expect(EVP_CIPHER_get_block_size(cipher) == 16, "cipher");
	EVP_CIPHER_free(cipher);
}

static void weigh_macs(void)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *contexts[4];
	char digest[] = "SHA256";
	OSSL_PARAM params[] = { OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_END };
	for (int i = 0; i < 4; i++)
		contexts[i] = i % 2 ? EVP_MAC_CTX_dup(contexts[i - 1]) : EVP_MAC_CTX_new(mac);
	EVP_MAC *borrowed = EVP_MAC_CTX_get0_mac(contexts[2]);
	EVP_MAC_free(mac);                               /* four contexts have one each */
	EVP_MAC_up_ref(borrowed);                        /* so that it may outlive them */
	unsigned char out[64];
	size_t length = 0;
	EVP_MAC_init(contexts[1], (const unsigned char *)"key", 3, params);
	EVP_MAC_update(contexts[1], (const unsigned char *)"silver", 6);
	expect(EVP_MAC_final(contexts[1], out, &length, sizeof out) && length == 32, "mac");
	for (int i = 0; i < 4; i++)
		EVP_MAC_CTX_free(contexts[i]);
	expect(EVP_MAC_is_a(borrowed, "HMAC"), "name");
	EVP_MAC_free(borrowed);

	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *deriving = EVP_KDF_CTX_new(kdf);
	EVP_KDF *other = (EVP_KDF *)EVP_KDF_CTX_kdf(deriving);
	EVP_KDF_up_ref(other);
	EVP_KDF_free(kdf);
	EVP_KDF_CTX_reset(deriving);
	EVP_KDF_CTX_free(deriving);
	expect(other == kdf && EVP_KDF_is_a(other, "HKDF"), "kdf");
	EVP_KDF_free(other);
}

/* A chain is freed as a whole; a link with a further reference ends that, and is free on its own after. */
static void string_bios(void)
{
	BIO *text = BIO_new(BIO_s_mem());
	BIO *base64 = BIO_new(BIO_f_base64());
	BIO *buffer = BIO_new(BIO_f_buffer());
	BIO *chain = BIO_push(buffer, BIO_push(base64, text));
	BIO_write(chain, "assay", 5);
	(void)BIO_flush(chain);
	char *data;
	expect(BIO_get_mem_data(text, &data) > 0, "base64");
	BIO_up_ref(text);
	BIO_free_all(chain);                             /* stops before a link that others have */
	expect(BIO_pending(text) > 0, "text");
	BIO_free(text);

	BIO *left, *right;
	BIO_new_bio_pair(&left, 64, &right, 64);
	BIO_up_ref(left);
	BIO_write(left, "pair", 4);
	BIO_free(right);                                 /* the pair is cut, left lives on */
	BIO_free(left);
	BIO_free_all(left);

	BIO *popped = BIO_new(BIO_f_null());
	BIO *rest = BIO_new(BIO_s_mem());
	BIO_push(popped, rest);
	expect(BIO_pop(popped) == rest, "pop");
	BIO_vfree(popped);
	BIO_free(rest);
	BIO_free(NULL);
}

static X509 *make_certificate(EVP_PKEY *key, long serial)
{
	X509 *certificate = X509_new();
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
	X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
	X509_set_pubkey(certificate, key);               /* takes one of its own */
	X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)"Assay", -1, -1, 0);
	X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
	X509_sign(certificate, key, EVP_sha256());
	return certificate;
}

static void stamp(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = make_certificate(key, 1);
	EVP_PKEY *borrowed = X509_get0_pubkey(certificate);
	EVP_PKEY *owned = X509_get_pubkey(certificate);
	expect(borrowed == owned, "get0 and get");

	/* A stack with references, its copy without, and one that is taken over by the other's free function. */
	STACK_OF(X509) *plain = sk_X509_new_null();
	X509_add_cert(plain, certificate, X509_ADD_FLAG_UP_REF);
	X509_add_cert(plain, certificate, X509_ADD_FLAG_UP_REF | X509_ADD_FLAG_NO_DUP);      /* is there: takes none */
	X509_add_cert(plain, make_certificate(key, 2), X509_ADD_FLAG_DEFAULT);               /* gives it away */
	STACK_OF(X509) *view = sk_X509_dup(plain);
	STACK_OF(X509) *chain = X509_chain_up_ref(view);
	sk_X509_free(view);
	sk_X509_pop_free(plain, X509_free);
	X509 *second = sk_X509_delete(chain, 1);         /* what the stack had is ours */
	expect(second && X509_verify(second, key) == 1, "second");
	X509_free(second);
	sk_X509_pop_free(chain, X509_free);

	X509_CRL *list = X509_CRL_new();
	X509_CRL_set_issuer_name(list, X509_get_subject_name(certificate));
	X509_CRL_up_ref(list);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_add_cert(store, certificate);         /* its own */
	X509_STORE_add_crl(store, list);                 /* its own */
	X509_STORE_add_cert(store, certificate);         /* is there: success, and none taken */
	X509_free(certificate);
	X509_CRL_free(list);
	STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
	X509 *inside = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, 0));
	if (!inside)
		inside = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, 1));
	expect(inside == certificate, "store");
	X509_STORE_free(store);
	X509_CRL_free(list);
	expect(EVP_PKEY_eq(owned, key) == 1, "key outlives");
	EVP_PKEY_free(owned);

	EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
	EVP_PKEY_CTX *copy = EVP_PKEY_CTX_dup(context);
	EVP_PKEY_free(key);
	expect(EVP_PKEY_CTX_get0_pkey(copy) == EVP_PKEY_CTX_get0_pkey(context), "one key");
	EVP_PKEY_CTX_free(context);
	EVP_PKEY_CTX_free(copy);
}

int main(void)
{
	weigh_digests();
	weigh_macs();
	string_bios();
	stamp();
	printf("%d failures\n", failures);
	return failures != 0;
}
