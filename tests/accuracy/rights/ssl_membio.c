/* summary: TLS over memory BIOs, a ticket callback that keeps the session, resumption, ex_data with a counted host, up_ref of five types, set calls that take over references, SSL references sent through a pipe
 * track: openssl
 * build: gcc -O2 -g -o OUT ssl_membio.c $(pkg-config --cflags --libs openssl) -pthread
 */
/*
 * ssl_membio: TLS client and server talking over memory BIOs in one process,
 * with a certificate made on the spot, session tickets, resumption, and a
 * second thread that inspects connections handed to it over a pipe.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static void
die(const char *what)
{
	fprintf(stderr, "%s failed\n", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

/* ---- what a client remembers about a host, shared by its connections --- */

struct host {
	int refs;		/* guarded by host_lock */
	char name[32];
	SSL_SESSION *session;	/* newest ticket, owned */
	unsigned tickets, full, resumed;
};

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static int ssl_host_index;

static struct host *
host_new(const char *name)
{
	struct host *host = calloc(1, sizeof *host);

	if (host == NULL)
		die("calloc");
	host->refs = 1;
	snprintf(host->name, sizeof host->name, "%s", name);
	return host;
}

static struct host *
host_get(struct host *host)
{
	pthread_mutex_lock(&host_lock);
	host->refs++;
	pthread_mutex_unlock(&host_lock);
	return host;
}

static void
host_put(struct host *host)
{
	int last;

	pthread_mutex_lock(&host_lock);
	last = --host->refs == 0;
	pthread_mutex_unlock(&host_lock);
	if (last) {
		SSL_SESSION_free(host->session);
		free(host);
	}
}

/* called when an SSL dies: drop the reference it carries */
static void
host_ex_free(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int idx, long argl, void *argp)
{
	if (ptr != NULL)
		host_put(ptr);
}

static int
on_new_ticket(SSL *ssl, SSL_SESSION *session)
{
	struct host *host = SSL_get_ex_data(ssl, ssl_host_index);

	SSL_SESSION_free(host->session);
	host->session = session;	/* returning 1 keeps the reference */
	host->tickets++;
	return 1;
}

/* ---- certificate ------------------------------------------------------- */

static EVP_PKEY *
make_key(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	if (key == NULL)
		die("EVP_EC_gen");
	return key;
}

static X509 *
make_cert(const char *cn, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
	X509 *cert = X509_new();
	X509_NAME *name = X509_NAME_new();
	X509_EXTENSION *ext;

	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), issuer ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
	X509_set_subject_name(cert, name);
	X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : name);
	X509_NAME_free(name);
	X509_set_pubkey(cert, key);
	ext = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
	X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
	if (X509_sign(cert, issuer_key, EVP_sha256()) == 0)
		die("X509_sign");
	return cert;
}

static SSL_CTX *
make_server_ctx(X509 *leaf, EVP_PKEY *key, X509 *root)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (ctx == NULL || SSL_CTX_use_certificate(ctx, leaf) != 1 || SSL_CTX_use_PrivateKey(ctx, key) != 1)
		die("server context");
	/* the "extra chain" call takes over a reference, so give it its own */
	X509_up_ref(root);
	if (SSL_CTX_add_extra_chain_cert(ctx, root) != 1)
		die("SSL_CTX_add_extra_chain_cert");
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"demo", 4);
	return ctx;
}

static SSL_CTX *
make_client_ctx(X509 *root)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	X509_STORE *store = X509_STORE_new();

	if (ctx == NULL || store == NULL)
		die("client context");
	X509_STORE_add_cert(store, root);	/* takes its own reference */
	SSL_CTX_set_cert_store(ctx, store);	/* takes ours */
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
	SSL_CTX_sess_set_new_cb(ctx, on_new_ticket);
	return ctx;
}

/* ---- the inspector thread ---------------------------------------------- */

struct inspection {		/* travels through the pipe by value */
	SSL *ssl;
	SSL_CTX *ctx;
};

struct inspector {
	int fd;
	unsigned seen, chain_certs;
	X509 *last_peer;
};

static void *
inspector_main(void *arg)
{
	struct inspector *in = arg;
	struct inspection item;

	while (read(in->fd, &item, sizeof item) == (ssize_t)sizeof item) {
		X509 *peer = SSL_get1_peer_certificate(item.ssl);
		STACK_OF(X509) *chain = SSL_get_peer_cert_chain(item.ssl);
		STACK_OF(X509) *mine = chain ? X509_chain_up_ref(chain) : NULL;

		in->seen++;
		if (mine != NULL)
			in->chain_certs += (unsigned)sk_X509_num(mine);
		sk_X509_pop_free(mine, X509_free);
		X509_free(in->last_peer);
		in->last_peer = peer;
		SSL_free(item.ssl);
		SSL_CTX_free(item.ctx);
	}
	close(in->fd);
	return NULL;
}

/* ---- one connection ----------------------------------------------------- */

/* Move whatever one side has written to the other side's input. */
static void
shuttle(SSL *from, SSL *to)
{
	char buf[4096];
	int n;

	while ((n = BIO_read(SSL_get_wbio(from), buf, sizeof buf)) > 0)
		if (BIO_write(SSL_get_rbio(to), buf, n) != n)
			die("BIO_write");
}

/* One turn of the handshake for one side; says whether it is through. */
static int
step(SSL *ssl, SSL *other)
{
	int ret = SSL_do_handshake(ssl);

	if (ret != 1 && SSL_get_error(ssl, ret) != SSL_ERROR_WANT_READ)
		die("SSL_do_handshake");
	shuttle(ssl, other);
	return ret == 1;
}

static SSL *
make_ssl(SSL_CTX *ctx)
{
	SSL *ssl = SSL_new(ctx);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

	if (ssl == NULL || in == NULL || out == NULL)
		die("SSL_new");
	BIO_set_mem_eof_return(in, -1);
	SSL_set_bio(ssl, in, out);	/* takes both */
	return ssl;
}

static void
talk(SSL_CTX *server_ctx, SSL_CTX *client_ctx, struct host *host, int inspect_fd)
{
	SSL *server = make_ssl(server_ctx), *client = make_ssl(client_ctx);
	char buf[128];
	int n, done = 0;

	SSL_set_ex_data(client, ssl_host_index, host_get(host));
	SSL_set_tlsext_host_name(client, host->name);
	SSL_set1_host(client, host->name);
	if (host->session != NULL)
		SSL_set_session(client, host->session);	/* keeps its own reference */
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	for (int round = 0; round < 20 && !done; round++) {
		done = step(client, server);
		done &= step(server, client);
	}

	if (SSL_write(client, "GET /", 5) != 5)
		die("SSL_write");
	shuttle(client, server);
	n = SSL_read(server, buf, sizeof buf);
	if (n > 0)
		SSL_write(server, buf, n);
	shuttle(server, client);
	n = SSL_read(client, buf, sizeof buf);	/* takes the tickets in, too */
	if (n != 5 || memcmp(buf, "GET /", 5) != 0)
		die("echo");
	if (SSL_session_reused(client))
		host->resumed++;
	else
		host->full++;

	SSL_shutdown(client);
	shuttle(client, server);
	SSL_shutdown(server);
	if (inspect_fd >= 0) {
		struct inspection item = { client, client_ctx };

		SSL_up_ref(client);
		SSL_CTX_up_ref(client_ctx);
		if (write(inspect_fd, &item, sizeof item) != (ssize_t)sizeof item)
			die("write");
	}
	SSL_free(client);
	SSL_free(server);
}

int
main(void)
{
	EVP_PKEY *root_key = make_key(), *key = make_key();
	X509 *root = make_cert("Demo Root", root_key, NULL, root_key);
	X509 *leaf = make_cert("alpha.test", key, root, root_key);
	SSL_CTX *server_ctx = make_server_ctx(leaf, key, root), *client_ctx = make_client_ctx(root);
	struct host *hosts[2] = { host_new("alpha.test"), host_new("alpha.test") };
	struct inspector inspector = { 0 };
	SSL_SESSION *copy;
	pthread_t thread;
	int fds[2], session_ok;

	ssl_host_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, host_ex_free);
	if (pipe(fds) != 0)
		die("pipe");
	inspector.fd = fds[0];
	if (pthread_create(&thread, NULL, inspector_main, &inspector) != 0)
		die("pthread_create");

	/* the contexts hold what they need from here on */
	EVP_PKEY_free(root_key);
	EVP_PKEY_free(key);
	X509_free(leaf);

	for (int i = 0; i < 4; i++) {
		if (i == 2) {		/* TLS 1.2 for the other host */
			SSL_CTX_set_max_proto_version(client_ctx, TLS1_2_VERSION);
		}
		talk(server_ctx, client_ctx, hosts[i / 2], fds[1]);
	}
	close(fds[1]);
	pthread_join(thread, NULL);

	copy = SSL_SESSION_dup(hosts[0]->session);
	SSL_SESSION_up_ref(copy);
	session_ok = SSL_SESSION_is_resumable(copy) && SSL_SESSION_has_ticket(copy);
	SSL_SESSION_free(copy);
	SSL_SESSION_free(copy);

	for (int i = 0; i < 2; i++) {
		printf("%s: full %u resumed %u tickets %s\n", hosts[i]->name, hosts[i]->full, hosts[i]->resumed,
		    hosts[i]->tickets > 0 ? "yes" : "no");
		host_put(hosts[i]);
	}
	printf("inspected %u, session %s, peer is root's: %s\n", inspector.seen, session_ok ? "good" : "bad",
	    X509_check_issued(root, inspector.last_peer) == X509_V_OK ? "yes" : "no");
	X509_free(inspector.last_peer);
	X509_free(root);
	SSL_CTX_free(client_ctx);
	SSL_CTX_free(server_ctx);
	return 0;
}
