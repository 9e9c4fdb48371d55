/* summary: check_pin() frees the certificate that SSL_get0_peer_certificate lends it when the key is not the pinned one
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: openssl
 * packages: openssl
 * build: gcc -O2 -g
 * exit: 0
 */
/*
 * A client for a chain of update mirrors. Mirrors have certificates of their
 * own, and the client pins their keys. The mirrors are simulated here, in the
 * same process, behind BIO pairs.
 */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

#define NMIRRORS 4

struct mirror {
	char name[32];
	EVP_PKEY *key;
	X509 *cert;
	SSL_CTX *ctx;
};

struct pin {
	const char *name;
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length;
};

struct client {
	SSL_CTX *ctx;
	struct pin pins[NMIRRORS];
	int npins;
	int fetched, mismatched, failed;
};

/* ---------------------------------------------------------------- mirrors */

static X509 *
make_cert(const char *name, EVP_PKEY *key, int serial)
{
	X509 *cert = X509_new();
	X509_NAME *subject;

	if (!cert)
		return NULL;
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	subject = X509_get_subject_name(cert);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(cert, subject);
	X509_set_pubkey(cert, key);
	if (!X509_sign(cert, key, EVP_sha256())) {
		X509_free(cert);
		return NULL;
	}
	return cert;
}

static int
mirror_open(struct mirror *mirror, int number)
{
	snprintf(mirror->name, sizeof(mirror->name), "mirror%d.example.net", number);
	mirror->key = EVP_EC_gen("P-256");
	if (!mirror->key)
		return -1;
	mirror->cert = make_cert(mirror->name, mirror->key, 100 + number);
	mirror->ctx = SSL_CTX_new(TLS_server_method());
	if (!mirror->cert || !mirror->ctx)
		return -1;
	SSL_CTX_set_session_cache_mode(mirror->ctx, SSL_SESS_CACHE_OFF);
	if (SSL_CTX_use_certificate(mirror->ctx, mirror->cert) != 1 ||
	    SSL_CTX_use_PrivateKey(mirror->ctx, mirror->key) != 1)
		return -1;
	return 0;
}

static void
mirror_close(struct mirror *mirror)
{
	SSL_CTX_free(mirror->ctx);
	X509_free(mirror->cert);
	EVP_PKEY_free(mirror->key);
}

/* ---------------------------------------------------------------- client */

static int
key_digest(EVP_PKEY *key, unsigned char *digest, unsigned *length)
{
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(key, &der);
	int ok;

	if (n <= 0)
		return 0;
	ok = EVP_Digest(der, (size_t)n, digest, length, EVP_sha256(), NULL);
	OPENSSL_free(der);
	return ok;
}

static int
client_pin(struct client *client, const char *name, X509 *cert)
{
	struct pin *pin = &client->pins[client->npins];
	EVP_PKEY *key = X509_get_pubkey(cert);
	int ok;

	if (!key)
		return -1;
	pin->name = name;
	ok = key_digest(key, pin->digest, &pin->length);
	EVP_PKEY_free(key);
	if (!ok)
		return -1;
	client->npins++;
	return 0;
}

static int
check_pin(struct client *client, SSL *ssl, const char *name)
{
	X509 *cert = SSL_get0_peer_certificate(ssl); /* ACCEPTED */
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length;
	int i;

	if (!cert)
		return -1;
	if (!key_digest(X509_get0_pubkey(cert), digest, &length))
		return -1;
	for (i = 0; i < client->npins; i++) {
		const struct pin *pin = &client->pins[i];

		if (strcmp(pin->name, name) != 0)
			continue;
		if (pin->length == length && memcmp(pin->digest, digest, length) == 0)
			return 0;
		client->mismatched++;
#ifdef BUG
		X509_free(cert); /* GUILTY */
#endif
		return -1;
	}
	return -1;
}

static int
handshake(SSL *client, SSL *server)
{
	int round;

	for (round = 0; round < 12; round++) {
		int c = SSL_do_handshake(client);
		int s = SSL_do_handshake(server);

		if (c == 1 && s == 1)
			return 0;
		if (c != 1 && SSL_get_error(client, c) != SSL_ERROR_WANT_READ)
			return -1;
		if (s != 1 && SSL_get_error(server, s) != SSL_ERROR_WANT_READ)
			return -1;
	}
	return -1;
}

static int
fetch_index(SSL *client, SSL *server, const char *what)
{
	char line[64];
	int n;

	if (SSL_write(client, what, (int)strlen(what)) <= 0)
		return -1;
	n = SSL_read(server, line, sizeof(line));
	if (n <= 0 || SSL_write(server, line, n) != n)
		return -1;
	n = SSL_read(client, line, sizeof(line));
	return n == (int)strlen(what) && memcmp(line, what, (size_t)n) == 0 ? 0 : -1;
}

/* One visit: the mirror that answers need not be the one that we asked for. */
static int
client_visit(struct client *client, const char *name, struct mirror *answers)
{
	BIO *near = NULL, *far = NULL;
	SSL *ssl = SSL_new(client->ctx);
	SSL *peer = SSL_new(answers->ctx);
	int status = -1;

	if (!ssl || !peer || BIO_new_bio_pair(&near, 0, &far, 0) != 1)
		goto out;
	SSL_set_bio(ssl, near, near);
	SSL_set_bio(peer, far, far);
	SSL_set_connect_state(ssl);
	SSL_set_accept_state(peer);
	SSL_set_tlsext_host_name(ssl, name);

	if (handshake(ssl, peer) < 0)
		goto out;
	if (check_pin(client, ssl, name) < 0) {
		SSL_shutdown(ssl);
		goto out;
	}
	if (fetch_index(ssl, peer, "GET /index") < 0)
		goto out;
	client->fetched++;
	SSL_shutdown(ssl);
	SSL_shutdown(peer);
	status = 0;
out:
	if (status < 0)
		client->failed++;
	SSL_free(ssl);
	SSL_free(peer);
	ERR_clear_error();
	return status;
}

int
main(void)
{
	struct mirror mirrors[NMIRRORS];
	struct client client;
	int i, retries = 0;

	memset(mirrors, 0, sizeof(mirrors));
	memset(&client, 0, sizeof(client));
	client.ctx = SSL_CTX_new(TLS_client_method());
	if (!client.ctx)
		return 1;
	SSL_CTX_set_verify(client.ctx, SSL_VERIFY_NONE, NULL);
	for (i = 0; i < NMIRRORS; i++)
		if (mirror_open(&mirrors[i], i) < 0)
			return 1;
	/* The last one is new and not pinned yet. */
	for (i = 0; i < NMIRRORS - 1; i++)
		if (client_pin(&client, mirrors[i].name, mirrors[i].cert) < 0)
			return 1;

	for (i = 0; i < 14; i++) {
		struct mirror *asked = &mirrors[i % NMIRRORS];
		/* A stale DNS entry now and then. */
		struct mirror *answers = i % 5 == 1 ? &mirrors[(i + 1) % NMIRRORS] : asked;

		if (client_visit(&client, asked->name, answers) < 0) {
			retries++;
			client_visit(&client, mirrors[0].name, &mirrors[0]);
		}
	}
	printf("%d fetched, %d failed, %d with the wrong key, %d retries\n", client.fetched, client.failed,
	       client.mismatched, retries);

	for (i = 0; i < NMIRRORS; i++)
		mirror_close(&mirrors[i]);
	SSL_CTX_free(client.ctx);
	return 0;
}
