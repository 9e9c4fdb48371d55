/* summary: OpenSSL with every convention mixed: get0 and get1, set0 and set1, a BIO for both directions with one reference, BIO chains freed as one, keys assigned (given away), chains shared by up_ref, a session kept by a cache after its connection, ex_data that owns and is put by its free function, a store shared by contexts, a context left to the end
 * track: openssl
 * build: clang -O2 -g -Wall -o OUT buoy_certs.c $(pkg-config --cflags --libs openssl)
 */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

static int failed;
#define CHECK(x) do { if (!(x)) { failed = 1; fprintf(stderr, "line %d\n", __LINE__); } } while (0)

static EVP_PKEY *new_key(void) { return EVP_EC_gen("P-256"); }

static X509 *new_cert(const char *cn, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key)
{
	static int serial = 1;
	X509 *x = X509_new();
	X509_NAME *n = X509_get_subject_name(x);        /* get0: the certificate's own */
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
	X509_set_version(x, 2);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600 * 24);
	X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
	X509_set_issuer_name(x, ca ? X509_get_subject_name(ca) : n);
	X509_set_pubkey(x, key);                        /* its own reference */
	if (!ca) {
		X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
		X509_add_ext(x, e, -1);                 /* a copy */
		X509_EXTENSION_free(e);
	}
	X509_sign(x, ca_key, EVP_sha256());
	return x;
}

/* ---- ex_data: a certificate that hangs on a connection; the library calls our put ---- */

static int buoy_index;

static void buoy_free(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int idx, long argl, void *argp)
{
	X509_free(ptr);
}

/* ---- a cache of sessions: the callback's 1 keeps the reference that it is handed ---- */

#define CACHE 4
static SSL_SESSION *cache[CACHE];
static int n_cached;

static int new_session(SSL *s, SSL_SESSION *sess)
{
	if (n_cached == CACHE)
		return 0;               /* the library puts it */
	cache[n_cached++] = sess;
	return 1;
}

static int verify_all(int ok, X509_STORE_CTX *c) { return 1; }

static SSL_CTX *keep;           /* reachable to the end: OpenSSL's own atexit comes after main */

static SSL *connection(SSL_CTX *ctx, BIO *io, int server)
{
	SSL *s = SSL_new(ctx);          /* a reference on ctx */
	SSL_set_bio(s, io, io);         /* one reference for both */
	if (server)
		SSL_set_accept_state(s);
	else
		SSL_set_connect_state(s);
	return s;
}

static void shake(SSL *a, SSL *b)
{
	for (int i = 0; i < 20; i++) {
		int x = SSL_do_handshake(a), y = SSL_do_handshake(b);
		if (x == 1 && y == 1)
			break;
	}
	ERR_clear_error();
}

static void talk(SSL_CTX *client, SSL_CTX *server, SSL_SESSION *resume, X509 *label)
{
	BIO *one, *two;
	char buffer[64];
	BIO_new_bio_pair(&one, 0, &two, 0);
	SSL *c = connection(client, one, 0), *s = connection(server, two, 1);
	if (resume)
		CHECK(SSL_set_session(c, resume));      /* its own reference */
	X509_up_ref(label);
	SSL_set_ex_data(c, buoy_index, label);          /* ours until SSL_free */
	shake(c, s);
	CHECK(SSL_write(s, "bell", 4) == 4);
	CHECK(SSL_read(c, buffer, sizeof buffer) == 4);
	X509 *peer0 = SSL_get0_peer_certificate(c), *peer1 = SSL_get1_peer_certificate(c);
	CHECK(peer0 && peer0 == peer1);
	X509_free(peer1);
	SSL_SESSION *now = SSL_get1_session(c);
	CHECK(SSL_SESSION_get0_peer(now) != NULL);
	SSL_SESSION_free(now);
	/* the same BIO set again: nothing changes; then the read side gets another one by set0 */
	SSL_set_bio(c, SSL_get_rbio(c), SSL_get_wbio(c));
	BIO *null = BIO_new(BIO_s_null());
	BIO_up_ref(null);
	SSL_set0_rbio(c, null);                         /* takes one */
	SSL_set0_wbio(c, null);                         /* takes the other, frees the pair's end */
	SSL_set_SSL_CTX(s, keep);                       /* moves the connection's reference */
	SSL_set_shutdown(c, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_set_shutdown(s, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(c);
	SSL_free(s);
}

static void bios(void)
{
	char buffer[16];
	BIO *mem = BIO_new(BIO_s_mem()), *b64 = BIO_new(BIO_f_base64()), *buf = BIO_new(BIO_f_buffer());
	BIO *chain = BIO_push(b64, BIO_push(buf, mem));
	BIO_up_ref(mem);                                /* the chain has one, we keep one */
	BIO_puts(chain, "two long blasts");
	(void)BIO_flush(chain);
	BIO *rest = BIO_pop(chain);                     /* b64 is alone */
	BIO_free(b64);
	BIO_free_all(rest);                             /* stops at mem, which has another owner */
	CHECK(BIO_read(mem, buffer, sizeof buffer) > 0);
	BIO *dup = BIO_dup_chain(mem);
	BIO_free_all(dup);
	BIO_free(mem);
}

static void stacks(X509 *leaf, X509 *ca, EVP_PKEY *key)
{
	STACK_OF(X509) *mine = sk_X509_new_null();
	X509_add_cert(mine, leaf, X509_ADD_FLAG_UP_REF);
	X509_up_ref(ca);
	sk_X509_push(mine, ca);
	STACK_OF(X509) *same = X509_chain_up_ref(mine), *shallow = sk_X509_dup(mine);
	sk_X509_free(shallow);                          /* the stack, not what is on it */
	X509_STORE *store = X509_STORE_new();
	X509_STORE_add_cert(store, ca);
	X509_STORE_CTX *v = X509_STORE_CTX_new();
	X509_STORE_CTX_init(v, store, leaf, same);
	CHECK(X509_verify_cert(v) == 1);
	STACK_OF(X509) *chain = X509_STORE_CTX_get1_chain(v);
	CHECK(sk_X509_num(X509_STORE_CTX_get0_chain(v)) == sk_X509_num(chain));
	X509 *issuer = NULL;
	CHECK(X509_STORE_CTX_get1_issuer(&issuer, v, leaf) == 1);
	X509_free(issuer);
	X509_STORE_CTX_free(v);
	while (sk_X509_num(chain))
		X509_free(sk_X509_pop(chain));
	sk_X509_free(chain);
	sk_X509_pop_free(same, X509_free);
	sk_X509_pop_free(mine, X509_free);

	/* one store, two contexts: set0-like and set1 */
	SSL_CTX *a = SSL_CTX_new(TLS_method()), *b = SSL_CTX_new(TLS_method());
	SSL_CTX_set1_cert_store(b, store);
	SSL_CTX_set_cert_store(a, store);               /* takes ours */
	X509_up_ref(ca);
	SSL_CTX_add0_chain_cert(a, ca);                 /* takes it, there is no certificate yet */
	SSL_CTX_use_certificate(b, leaf);
	SSL_CTX_use_PrivateKey(b, key);
	SSL_CTX_add1_chain_cert(b, ca);
	CHECK(SSL_CTX_get0_certificate(b) == leaf);
	SSL_CTX_free(a);
	SSL_CTX_free(b);

	/* a key given to two holders; the second by hand */
	EVP_PKEY *pub = X509_get0_pubkey(leaf), *own = X509_get_pubkey(leaf);
	CHECK(pub == own && EVP_PKEY_eq(own, key) == 1);
	EVP_PKEY_CTX *pc = EVP_PKEY_CTX_new(own, NULL), *pd = EVP_PKEY_CTX_dup(pc);
	EVP_PKEY_free(own);
	EVP_PKEY_CTX_free(pc);
	CHECK(EVP_PKEY_CTX_get0_pkey(pd) == pub);
	EVP_PKEY_CTX_free(pd);
	unsigned char *der = NULL;
	int len = i2d_X509(leaf, &der);
	const unsigned char *p = der;
	X509 *again = X509_new();
	CHECK(d2i_X509(&again, &p, len) == again);      /* fills the one that is there */
	X509_free(again);
	OPENSSL_free(der);
	EVP_MD *md = EVP_MD_fetch(NULL, "SHA256", NULL);
	EVP_MD_CTX *mc = EVP_MD_CTX_new();
	EVP_DigestInit_ex(mc, md, NULL);
	EVP_MD_free(md);                                /* mc has one */
	EVP_DigestInit_ex(mc, EVP_sha1(), NULL);
	EVP_MD_CTX_free(mc);
}

int main(void)
{
	EVP_PKEY *ca_key = new_key(), *key = new_key();
	X509 *ca = new_cert("harbour", ca_key, NULL, ca_key), *leaf = new_cert("buoy 7", key, ca, ca_key);
	buoy_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, buoy_free);

	SSL_CTX *server = SSL_CTX_new(TLS_server_method()), *client = SSL_CTX_new(TLS_client_method());
	SSL_CTX_use_certificate(server, leaf);
	SSL_CTX_use_PrivateKey(server, key);
	SSL_CTX_set_verify(client, SSL_VERIFY_PEER, verify_all);
	SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(client, new_session);
	keep = server;
	SSL_CTX_up_ref(keep);
	stacks(leaf, ca, key);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
	for (int i = 0; i < 3; i++)
		talk(client, server, i ? cache[0] : NULL, leaf);
	X509_free(leaf);
	X509_free(ca);
	SSL_CTX_free(client);           /* sessions stay in our cache */
	bios();
	for (int i = 1; i < n_cached; i++)
		SSL_SESSION_free(cache[i]);
	SSL_CTX_free(server);           /* keep has the other one */
	printf("%d sessions were cached, %s\n", n_cached, failed ? "failed" : "right");
	return failed;
}
