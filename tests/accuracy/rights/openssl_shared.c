/* summary: get0/get1/set0/set1/add0/up_ref mixtures; SSL_set_bio with the same BIO twice eats one reference; new-session callback that keeps the reference by returning 1; SSL_CTX freed by each of 2 threads; EVP_sha256() static object whose up_ref/free do nothing; BIO freed twice by its two owners
 * track: openssl
 * build: gcc -O0 -g openssl_shared.c -o OUT $(pkg-config --cflags --libs openssl) -pthread
 */
/* OpenSSL 3: get0/get1/set0/set1/add0/up_ref mixtures, as curl and nginx use
 * them.  An SSL_CTX shared by threads that each free it, a BIO used for both
 * directions (SSL_set_bio eats one reference when rbio == wbio), SSL_set0_*
 * with up_ref, sessions kept by an external cache through the new_session
 * callback (returning 1 keeps the reference), EVP_PKEY_assign, X509_STORE
 * that up_refs, ex_data that frees a counted own struct, EVP_MD fetched and
 * static (EVP_sha256() is never freed and up_ref'd for nothing).             */
#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/ec.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NCACHE 8
static SSL_SESSION *cache[NCACHE];
static unsigned cached;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static int keep_session(SSL *ssl, SSL_SESSION *s)
{
	(void)ssl;
	pthread_mutex_lock(&cache_lock);
	SSL_SESSION *old = cache[cached % NCACHE];
	cache[cached++ % NCACHE] = s;   /* the callback's reference is ours now */
	pthread_mutex_unlock(&cache_lock);
	SSL_SESSION_free(old);          /* NULL is allowed */
	return 1;
}

static SSL_SESSION *take_session(void)
{
	SSL_SESSION *s = NULL;
	pthread_mutex_lock(&cache_lock);
	for (int i = 0; i < NCACHE && !s; i++)
		if (cache[i] && SSL_SESSION_is_resumable(cache[i])) {
			s = cache[i];
			SSL_SESSION_up_ref(s);
		}
	pthread_mutex_unlock(&cache_lock);
	return s;
}

static X509 *self_signed(EVP_PKEY *k)
{
	X509 *x = X509_new();
	X509_NAME *n;
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, k);                  /* up_refs */
	n = X509_get_subject_name(x);           /* borrowed */
	X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const unsigned char *)"t", -1, -1, 0);
	X509_set_issuer_name(x, n);
	X509_sign(x, k, EVP_sha256());
	return x;
}

struct job { SSL_CTX *srv, *cl; int ok; };

static int pump(SSL *a, SSL *b)
{
	for (int i = 0; i < 50; i++) {
		int r1 = SSL_do_handshake(a), r2 = SSL_do_handshake(b);
		if (r1 == 1 && r2 == 1) return 1;
		if (r1 <= 0 && SSL_get_error(a, r1) != SSL_ERROR_WANT_READ) return 0;
		if (r2 <= 0 && SSL_get_error(b, r2) != SSL_ERROR_WANT_READ) return 0;
	}
	return 0;
}

static void *talk(void *arg)
{
	struct job *j = arg;
	for (int i = 0; i < 3; i++) {
		SSL *c = SSL_new(j->cl), *s = SSL_new(j->srv);
		BIO *b1, *b2;
		BIO_new_bio_pair(&b1, 0, &b2, 0);
		SSL_set_connect_state(c);
		SSL_set_accept_state(s);
		SSL_set_bio(c, b1, b1);         /* same twice: eats one */
		BIO_up_ref(b2);
		SSL_set0_rbio(s, b2);           /* each eats one */
		SSL_set0_wbio(s, b2);
		SSL_SESSION *old = take_session();
		if (old) {
			SSL_set_session(c, old); /* up_refs */
			SSL_SESSION_free(old);
		}
		char buf[8];
		if (pump(c, s) && SSL_write(s, "hello", 5) == 5 && SSL_read(c, buf, 5) == 5)
			j->ok++;
		SSL_SESSION *one = SSL_get1_session(c);
		SSL_SESSION *zero = SSL_get0_session(c);
		if (one == zero) SSL_SESSION_free(one);
		X509 *peer = SSL_get1_peer_certificate(c);
		X509_free(peer);
		STACK_OF(X509) *ch = SSL_get_peer_cert_chain(c); /* borrowed */
		if (ch && sk_X509_num(ch) > 0) {
			STACK_OF(X509) *own = X509_chain_up_ref(ch);
			sk_X509_pop_free(own, X509_free);
		}
		SSL_shutdown(c);
		SSL_shutdown(s);
		SSL_free(c);
		SSL_free(s);
	}
	SSL_CTX_free(j->srv);           /* each thread had its own reference */
	SSL_CTX_free(j->cl);
	OPENSSL_thread_stop();
	return NULL;
}

int main(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *crt = self_signed(key);
	SSL_CTX *srv = SSL_CTX_new(TLS_server_method());
	SSL_CTX *cl = SSL_CTX_new(TLS_client_method());

	SSL_CTX_use_certificate(srv, crt);      /* up_refs */
	SSL_CTX_use_PrivateKey(srv, key);
	X509_STORE *st = X509_STORE_new();
	X509_STORE_add_cert(st, crt);           /* up_refs */
	X509_STORE_up_ref(st);
	SSL_CTX_set_cert_store(cl, st);         /* eats */
	SSL_CTX_set1_verify_cert_store(srv, st);
	X509_STORE_free(st);
	X509_up_ref(crt);
	SSL_CTX_add0_chain_cert(srv, crt);      /* eats the new one */
	SSL_CTX_clear_chain_certs(srv);
	SSL_CTX_set_session_cache_mode(cl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(cl, keep_session);
	SSL_CTX_set_verify(cl, SSL_VERIFY_PEER, NULL);

	pthread_t th[2];
	struct job jobs[2];
	for (int i = 0; i < 2; i++) {
		SSL_CTX_up_ref(srv);
		SSL_CTX_up_ref(cl);
		jobs[i] = (struct job){ srv, cl, 0 };
		pthread_create(&th[i], NULL, talk, &jobs[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(th[i], NULL);

	for (int i = 0; i < 200; i++) {         /* fetched digests and keys */
		EVP_MD *md = EVP_MD_fetch(NULL, i & 1 ? "SHA256" : "SHA512", NULL);
		EVP_MD_CTX *h = EVP_MD_CTX_new();
		unsigned char d[64]; unsigned n;
		EVP_DigestInit_ex(h, md, NULL);
		EVP_MD_free(md);                /* the ctx has its own */
		EVP_DigestUpdate(h, &i, sizeof i);
		EVP_DigestFinal_ex(h, d, &n);
		EVP_MD_CTX_free(h);
		EVP_MD_up_ref((EVP_MD *)EVP_sha256()); /* static: no count at all */
		EVP_MD_free((EVP_MD *)EVP_sha256());
		BIO *m = BIO_push(BIO_new(BIO_f_base64()), BIO_new(BIO_s_mem()));
		BIO_write(m, d, n);
		BIO_flush(m);
		BIO_up_ref(BIO_next(m));
		BIO *tail = BIO_pop(m);         /* tail has 2: ours twice */
		BIO_free(m);
		BIO_free(tail);
		BIO_free(tail);
		X509 *dup = crt;
		X509_up_ref(dup);
		EVP_PKEY *pk = X509_get0_pubkey(dup);   /* borrowed */
		EVP_PKEY_up_ref(pk);
		X509_free(dup);
		EVP_PKEY_free(pk);
	}
	for (int i = 0; i < NCACHE; i++)
		SSL_SESSION_free(cache[i]);
	SSL_CTX_free(cl);
	SSL_CTX_free(srv);
	X509_free(crt);
	EVP_PKEY_free(key);
	printf("ok %d of 6, sessions seen %u\n", jobs[0].ok + jobs[1].ok, cached);
	return jobs[0].ok + jobs[1].ok == 6 ? 0 : 1;
}
