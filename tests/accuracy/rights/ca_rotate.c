/* summary: OpenSSL's ways to hand references over: set0 and set1 of stores and BIOs, one BIO given twice by SSL_set_bio, BIO chains, add0 and chain_up_ref stacks, a session cache that owns, objects owned by ex_data and freed by its callback, globals freed in OPENSSL_atexit, after main
 * track: openssl
 * build: gcc -O2 -g -Wall ca_rotate.c -o OUT $(pkg-config --cflags --libs openssl) -pthread
 */
/*
 * ca_rotate - a service whose certificate authority changes while it runs.
 * Client and server are two ends of a BIO pair in the same thread.
 */
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void die(const char *what)
{
	fprintf(stderr, "ca_rotate: %s\n", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

/* ---- authorities ---------------------------------------------------------- */

struct authority {
	X509 *cert;
	EVP_PKEY *key;
	STACK_OF(X509) *extra;          /* owns its certificates */
};

static struct authority current;        /* freed after main */
static int peer_index;                  /* of SSL: the peer's certificate, owned */
static int peers_freed, at_exit;

static X509 *certify(const char *name, EVP_PKEY *key, const struct authority *by)
{
	static long serial = 100;
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);       /* borrowed */

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(cert, by ? X509_get_subject_name(by->cert) : subject);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);                     /* takes a reference */
	if (!by) {
		X509_EXTENSION *ca = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, "critical,CA:TRUE");
		X509_add_ext(cert, ca, -1);
		X509_EXTENSION_free(ca);
	}
	if (!X509_sign(cert, by ? by->key : key, EVP_sha256()))
		die("sign");
	return cert;
}

static void rotate(int number)
{
	struct authority next = { .key = EVP_EC_gen("P-256") };
	char name[32];

	snprintf(name, sizeof name, "authority %d", number);
	next.cert = certify(name, next.key, NULL);
	next.extra = sk_X509_new_null();
	X509_add_cert(next.extra, next.cert, X509_ADD_FLAG_UP_REF);
	if (current.cert) {     /* the old one still is shown for a while */
		X509_add_cert(next.extra, current.cert, X509_ADD_FLAG_DEFAULT);         /* moved */
		EVP_PKEY_free(current.key);
		sk_X509_pop_free(current.extra, X509_free);
	}
	current = next;
}

static void forget_authority(void)
{
	X509_free(current.cert);
	EVP_PKEY_free(current.key);
	sk_X509_pop_free(current.extra, X509_free);
	at_exit = 1;
}

/* ---- contexts --------------------------------------------------------------- */

static void peer_free(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int index, long argl, void *argp)
{
	if (ptr)
		peers_freed++;
	X509_free(ptr);
}

static SSL_CTX *server_context(int number)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	char name[32];

	snprintf(name, sizeof name, "service %d", number);
	X509 *cert = certify(name, key, &current);
	STACK_OF(X509) *chain = X509_chain_up_ref(current.extra);
	if (number % 2)
		SSL_CTX_set0_chain(ctx, chain);         /* stack and references */
	else {
		SSL_CTX_set1_chain(ctx, chain);
		sk_X509_pop_free(chain, X509_free);
	}
	SSL_CTX_use_certificate(ctx, cert);
	SSL_CTX_use_PrivateKey(ctx, key);
	X509_free(cert);
	EVP_PKEY_free(key);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"rotate", 6);
	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	return ctx;
}

static SSL_CTX *client_context(int number)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	X509_STORE *store = X509_STORE_new();

	X509_STORE_add_cert(store, current.cert);       /* takes a reference */
	if (number % 2) {
		SSL_CTX_set1_verify_cert_store(ctx, store);
		SSL_CTX_set_cert_store(ctx, store);     /* this one takes ours */
	} else {
		SSL_CTX_set0_verify_cert_store(ctx, store);
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_LOOKUP);
	return ctx;
}

/* ---- connections ------------------------------------------------------------ */

static int shake(SSL *client, SSL *server)
{
	for (int i = 0; i < 20; i++) {
		int c = SSL_do_handshake(client), s = SSL_do_handshake(server);
		if (c == 1 && s == 1)
			return 1;
		if ((c < 1 && SSL_get_error(client, c) == SSL_ERROR_SSL) ||
		    (s < 1 && SSL_get_error(server, s) == SSL_ERROR_SSL))
			return 0;
	}
	return 0;
}

/* Returns the client's session with a reference, or NULL. */
static SSL_SESSION *connect_once(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *resume, int how)
{
	SSL *client = SSL_new(client_ctx), *server = SSL_new(server_ctx);
	BIO *near, *far;
	char buffer[32] = "";

	BIO_new_bio_pair(&near, 0, &far, 0);
	switch (how % 3) {
	case 0:                         /* the same one twice: one reference is enough */
		SSL_set_bio(client, near, near);
		break;
	case 1:
		BIO_up_ref(near);
		SSL_set0_rbio(client, near);
		SSL_set0_wbio(client, near);
		break;
	default:                        /* in two calls: the second one takes the other reference */
		BIO_up_ref(near);
		SSL_set_bio(client, near, near);
		BIO_free(near);
	}
	SSL_set_bio(server, BIO_push(BIO_new(BIO_f_buffer()), far), NULL);
	BIO_up_ref(far);
	SSL_set0_wbio(server, far);
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	if (resume)
		SSL_set_session(client, resume);        /* takes a reference */

	SSL_SESSION *session = NULL;
	if (shake(client, server)) {
		SSL_set_ex_data(client, peer_index, SSL_get1_peer_certificate(client));
		SSL_write(server, "rotate", 6);
		if (SSL_read(client, buffer, sizeof buffer) != 6)
			die("read");
		session = SSL_get1_session(client);
		if (how % 2)
			SSL_CTX_add_session(client_ctx, session);       /* the cache owns one, too */
		SSL_shutdown(client);
		SSL_shutdown(server);
	}
	SSL_free(client);
	SSL_free(server);
	return session;
}

static void *run(void *arg)
{
	intptr_t number = (intptr_t)arg;
	SSL_CTX *server = server_context((int)number), *client = client_context((int)number);
	SSL_SESSION *last = NULL;
	intptr_t done = 0, reused = 0;

	for (int i = 0; i < 4; i++) {
		SSL_SESSION *session = connect_once(client, server, last, i);
		if (!session)
			continue;
		done++;
		reused += last && SSL_SESSION_get_time(session) == SSL_SESSION_get_time(last);
		SSL_SESSION_free(last);
		last = session;
	}
	SSL_SESSION_up_ref(last);
	SSL_CTX_remove_session(client, last);   /* may be in the cache, or not */
	SSL_SESSION_free(last);
	SSL_CTX_free(server);
	SSL_CTX_free(client);
	SSL_SESSION_free(last);                 /* outlives its context */
	OPENSSL_thread_stop();
	return (void *)(done * 100 + reused);
}

int main(void)
{
	intptr_t done = 0;

	if (!OPENSSL_init_ssl(0, NULL) || !OPENSSL_atexit(forget_authority))
		die("init");
	peer_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, peer_free);
	for (intptr_t i = 0; i < 4; i++) {
		pthread_t thread;
		void *result;

		rotate((int)i);
		if (pthread_create(&thread, NULL, run, (void *)i))
			die("thread");
		pthread_join(thread, &result);
		done += (intptr_t)result / 100;
	}
	ERR_clear_error();
	printf("%ld connections, %d peers freed, authorities shown %d\n", (long)done, peers_freed, sk_X509_num(current.extra));
	return done != 16 || peers_freed != 16;
}
