/* summary: the callback for new sessions says that it keeps the second ticket of a connection (returns 1), and does not keep it
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: openssl
 * packages: openssl
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * Connections of a proxy to its upstream servers, over TLS, with the sessions
 * of earlier connections used again. Both ends are in this process and talk
 * through memory.
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct upstream {
	const char *name;
	int max_version;
	int reuse;			/* may sessions be used again? */
	SSL_CTX *server;		/* the other end */
	SSL_SESSION *session;		/* of the last connection, owned */
	unsigned full, resumed, saved;
};

struct connection {
	struct upstream *up;
	SSL *ssl, *peer;
	int have_session;		/* from this connection */
	char reply[64];
};

static int conn_index = -1;

static void die(const char *what)
{
	fprintf(stderr, "%s failed\n", what);
	ERR_print_errors_fp(stderr);
	exit(2);
}

/* ---- identity of the servers ---- */

static X509 *make_cert(EVP_PKEY *key, const char *name, long serial)
{
	X509 *cert = X509_new();
	X509_NAME *subject;

	if (!cert)
		die("X509_new");
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	subject = X509_get_subject_name(cert);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(cert, subject);
	X509_set_pubkey(cert, key);
	if (!X509_sign(cert, key, EVP_sha256()))
		die("X509_sign");
	return cert;
}

static SSL_CTX *make_server(const struct upstream *up, long serial)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert;

	if (!ctx || !key)
		die("server");
	cert = make_cert(key, up->name, serial);
	if (SSL_CTX_use_certificate(ctx, cert) != 1 || SSL_CTX_use_PrivateKey(ctx, key) != 1)
		die("certificate");
	X509_free(cert);
	EVP_PKEY_free(key);
	SSL_CTX_set_max_proto_version(ctx, up->max_version);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"up", 2);
	return ctx;
}

/* ---- sessions ---- */

/* Called for each session (in TLS 1.3: each ticket) that the server gives us.
 * One of a connection is enough. */
static int upstream_new_session(SSL *ssl, SSL_SESSION *session)
{
	struct connection *c = SSL_get_ex_data(ssl, conn_index);
	struct upstream *up = c->up;

	if (!up->reuse || !SSL_SESSION_is_resumable(session))
		return 0;
	if (c->have_session) {
#ifdef BUG
		return 1;	/* GUILTY */
#else
		return 0;
#endif
	}
	SSL_SESSION_free(up->session);
	up->session = session;
	up->saved++;
	c->have_session = 1;
	return 1;
}

static void upstream_forget(struct upstream *up)
{
	SSL_SESSION_free(up->session);
	up->session = NULL;
}

static SSL_CTX *make_client(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (!ctx)
		die("client");
	SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, upstream_new_session);
	return ctx;
}

/* ---- connections ---- */

static void join(SSL *a, SSL *b)
{
	BIO *x, *y;

	if (!BIO_new_bio_pair(&x, 0, &y, 0))
		die("BIO_new_bio_pair");
	SSL_set_bio(a, x, x);
	SSL_set_bio(b, y, y);
}

static int step(SSL *ssl)
{
	int ret = SSL_do_handshake(ssl), err;

	if (ret == 1)
		return 1;
	err = SSL_get_error(ssl, ret);
	return err == SSL_ERROR_WANT_READ || err == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static int connection_open(struct connection *c, struct upstream *up, SSL_CTX *client)
{
	int a = 0, b = 0;

	memset(c, 0, sizeof(*c));
	c->up = up;
	c->ssl = SSL_new(client);
	c->peer = SSL_new(up->server);
	if (!c->ssl || !c->peer)
		die("SSL_new");
	SSL_set_ex_data(c->ssl, conn_index, c);
	join(c->ssl, c->peer);
	SSL_set_connect_state(c->ssl);
	SSL_set_accept_state(c->peer);
	if (up->session)
		SSL_set_session(c->ssl, up->session);
	for (int i = 0; i < 20 && (a != 1 || b != 1); i++) {
		a = step(c->ssl);
		b = step(c->peer);
		if (a < 0 || b < 0)
			return -1;
	}
	if (SSL_session_reused(c->ssl))
		up->resumed++;
	else
		up->full++;
	return 0;
}

static int connection_ask(struct connection *c, const char *question)
{
	char buf[64];
	int n;

	if (SSL_write(c->ssl, question, (int)strlen(question)) <= 0)
		return -1;
	n = SSL_read(c->peer, buf, sizeof(buf));
	if (n <= 0 || SSL_write(c->peer, buf, n) <= 0)
		return -1;
	n = SSL_read(c->ssl, c->reply, sizeof(c->reply) - 1);
	if (n <= 0)
		return -1;
	c->reply[n] = '\0';
	return n;
}

static void connection_close(struct connection *c)
{
	SSL_shutdown(c->ssl);
	SSL_shutdown(c->peer);
	SSL_free(c->ssl);
	SSL_free(c->peer);
	c->ssl = c->peer = NULL;
}

static int proxy_request(struct upstream *up, SSL_CTX *client, const char *path)
{
	struct connection c;
	char question[64];
	int n = -1;

	snprintf(question, sizeof(question), "GET %s %s", up->name, path);
	if (connection_open(&c, up, client) == 0)
		n = connection_ask(&c, question);
	else
		upstream_forget(up);
	connection_close(&c);
	return n;
}

int main(void)
{
	struct upstream ups[] = {
		{ .name = "app1", .max_version = TLS1_3_VERSION, .reuse = 1 },
		{ .name = "app2", .max_version = TLS1_3_VERSION, .reuse = 1 },
		{ .name = "legacy", .max_version = TLS1_2_VERSION, .reuse = 1 },
		{ .name = "bank", .max_version = TLS1_3_VERSION, .reuse = 0 },
	};
	static const char *const paths[] = { "/", "/login", "/cart", "/pay", "/bye" };
	enum { N = sizeof(ups) / sizeof(ups[0]) };
	SSL_CTX *client = make_client();
	int bytes = 0;

	conn_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
	for (int i = 0; i < N; i++)
		ups[i].server = make_server(&ups[i], i + 1);

	for (int i = 0; i < 12; i++) {
		struct upstream *up = &ups[i % N];
		int n = proxy_request(up, client, paths[i % 5]);

		if (n < 0)
			die("request");
		bytes += n;
		if (i == 6)			/* app1 was restarted */
			upstream_forget(&ups[0]);
	}
	for (int i = 0; i < N; i++) {
		printf("%s: %u full, %u resumed, %u saved\n", ups[i].name, ups[i].full, ups[i].resumed, ups[i].saved);
		upstream_forget(&ups[i]);
		SSL_CTX_free(ups[i].server);
	}
	printf("%d bytes\n", bytes);
	SSL_CTX_free(client);
	return 0;
}
