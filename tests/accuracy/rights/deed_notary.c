/* summary: a notary checks chains and serves TLS in memory: up_ref'd chains, stores that share certificates, sessions that outlive their context
 * track: X509 X509_STORE EVP_PKEY BIO SSL SSL_CTX SSL_SESSION
 * build: gcc -O2 -g -Wno-deprecated-declarations deed_notary.c -o OUT -lssl -lcrypto
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "deed_notary: %s\n", what);
	ERR_print_errors_fp(stderr);
	exit(2);
}

static void extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	check(extension && X509_add_ext(certificate, extension, -1), "extension");   /* copied */
	X509_EXTENSION_free(extension);
}

/* The certificate takes a reference of its own to the key. */
static X509 *issue(const char *name, long serial, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, int authority)
{
	X509 *certificate = X509_new();
	X509_set_version(certificate, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
	X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
	X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
	X509_NAME *subject = X509_get_subject_name(certificate);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject);
	X509_set_pubkey(certificate, key);
	extend(certificate, issuer ? issuer : certificate, NID_basic_constraints, authority ? "critical,CA:TRUE" : "CA:FALSE");
	check(X509_sign(certificate, issuer_key, EVP_sha256()) > 0, "cannot sign");
	return certificate;
}

typedef struct { X509 *root, *middle, *leaf; EVP_PKEY *leaf_key; } Office;

static void office_open(Office *office)
{
	EVP_PKEY *root_key = EVP_EC_gen("P-256"), *middle_key = EVP_EC_gen("P-256");
	office->leaf_key = EVP_EC_gen("P-256");
	office->root = issue("Root", 1, root_key, NULL, root_key, 1);
	office->middle = issue("Middle", 2, middle_key, office->root, root_key, 1);
	office->leaf = issue("localhost", 3, office->leaf_key, office->middle, middle_key, 0);
	EVP_PKEY_free(root_key);
	EVP_PKEY_free(middle_key);
}

static void office_close(Office *office)
{
	X509_free(office->root);
	X509_free(office->middle);
	X509_free(office->leaf);
	EVP_PKEY_free(office->leaf_key);
}

/* Returns a chain of references that the caller owns; the store context is long gone then. */
static STACK_OF(X509) *verify(Office *office, int with_middle)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	STACK_OF(X509) *untrusted = sk_X509_new_null(), *chain = NULL;
	X509_STORE_add_cert(store, office->root);                    /* not taken */
	X509_STORE_add_cert(store, office->root);                    /* known already: no reference */
	if (with_middle)
		sk_X509_push(untrusted, office->middle);             /* borrowed by the stack */
	check(X509_STORE_CTX_init(context, store, office->leaf, untrusted), "context");
	if (X509_verify_cert(context) == 1)
		chain = X509_STORE_CTX_get1_chain(context);
	else
		printf("refused: %s\n", X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
	X509 *current = X509_STORE_CTX_get_current_cert(context);    /* not ours */
	if (current && X509_check_ca(current))
		printf("stopped at an authority\n");
	X509_STORE_CTX_free(context);
	sk_X509_free(untrusted);
	X509_STORE_free(store);
	return chain;
}

static void chains(Office *office)
{
	STACK_OF(X509) *none = verify(office, 0), *chain = verify(office, 1);
	check(!none && chain, "chain");
	STACK_OF(X509) *second = X509_chain_up_ref(chain);
	X509 *top = sk_X509_pop(chain);                              /* its reference is ours now */
	sk_X509_pop_free(chain, X509_free);
	printf("chain of %d, %s\n", sk_X509_num(second), X509_cmp(top, office->root) ? "other root" : "our root");
	X509_free(top);

	/* Public keys: one borrowed, one with a reference. */
	EVP_PKEY *borrowed = X509_get0_pubkey(sk_X509_value(second, 0)), *owned = X509_get_pubkey(sk_X509_value(second, 0));
	printf("same key: %d\n", borrowed == owned && EVP_PKEY_eq(owned, office->leaf_key) == 1);
	sk_X509_pop_free(second, X509_free);
	EVP_PKEY_free(owned);

	/* A key inside of a key: set1 keeps two references apart, assign takes the only one. */
	RSA *rsa = RSA_new();
	BIGNUM *n = BN_new(), *e = BN_new();
	BN_set_word(n, 3233);
	BN_set_word(e, 17);
	RSA_set0_key(rsa, n, e, NULL);
	EVP_PKEY *first = EVP_PKEY_new(), *last = EVP_PKEY_new();
	EVP_PKEY_set1_RSA(first, rsa);
	EVP_PKEY_assign_RSA(last, rsa);
	EVP_PKEY_free(first);
	EVP_PKEY_free(last);
}

/* What an SSL_CTX carries in its ex_data: a visitors' list that is freed with it. */
static int list_index = -1;
typedef struct { int shakes; SSL_SESSION *latest; } Visitors;

static void visitors_free(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long argl, void *argp)
{
	(void)parent; (void)all; (void)index; (void)argl; (void)argp;
	Visitors *visitors = data;
	if (!visitors)
		return;
	printf("%d handshakes with sessions\n", visitors->shakes);
	SSL_SESSION_free(visitors->latest);
	free(visitors);
}

/* Keeping the session is returning 1: OpenSSL's reference is ours then. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
	Visitors *visitors = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), list_index);
	if (!visitors || !SSL_SESSION_is_resumable(session))
		return 0;
	visitors->shakes++;
	SSL_SESSION_free(visitors->latest);
	visitors->latest = session;
	return 1;
}

static SSL_CTX *server_context(Office *office)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	SSL_CTX_use_certificate(context, office->leaf);              /* takes its own */
	SSL_CTX_use_PrivateKey(context, office->leaf_key);
	X509_up_ref(office->middle);
	check(SSL_CTX_add_extra_chain_cert(context, office->middle) == 1, "chain");  /* takes ours */
	SSL_CTX_set_session_id_context(context, (const unsigned char *)"deed", 4);
	return context;
}

static SSL_CTX *client_context(Office *office)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	X509_STORE *store = X509_STORE_new();
	X509_STORE_add_cert(store, office->root);
	SSL_CTX_set_cert_store(context, store);                      /* takes ours */
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context, on_session);
	SSL_CTX_set_ex_data(context, list_index, calloc(1, sizeof(Visitors)));
	return context;
}

typedef struct { SSL *client, *server; } Line;

static Line line_open(SSL_CTX *client_context, SSL_CTX *server_context, SSL_SESSION *session)
{
	Line line = { SSL_new(client_context), SSL_new(server_context) };
	BIO *near, *far;
	check(BIO_new_bio_pair(&near, 0, &far, 0), "pair");
	SSL_set_bio(line.client, near, near);                        /* one reference, for both directions */
	BIO_up_ref(far);
	SSL_set0_rbio(line.server, far);
	SSL_set0_wbio(line.server, far);                             /* two calls, a reference each */
	SSL_set_connect_state(line.client);
	SSL_set_accept_state(line.server);
	if (session)
		SSL_set_session(line.client, session);               /* takes its own */
	for (int i = 0; i < 20; i++) {
		int done = SSL_do_handshake(line.client);
		done += SSL_do_handshake(line.server);
		if (done == 2)
			break;
	}
	ERR_clear_error();
	return line;
}

static void line_talk(Line *line)
{
	char text[32];
	SSL_write(line->server, "sealed", 6);
	int got = SSL_read(line->client, text, sizeof text);         /* the tickets come along */
	X509 *peer = SSL_get1_peer_certificate(line->client), *same = SSL_get0_peer_certificate(line->client);
	STACK_OF(X509) *chain = SSL_get_peer_cert_chain(line->client);    /* not ours */
	printf("%.*s; reused %d, chain of %d, peer %s\n", got, text, SSL_session_reused(line->client),
	       chain ? sk_X509_num(chain) : 0, peer == same ? "named" : "other");
	X509_free(peer);
}

static void line_close(Line *line)
{
	SSL_shutdown(line->client);
	SSL_shutdown(line->server);
	SSL_free(line->client);
	SSL_free(line->server);
}

int main(void)
{
	Office office;
	list_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, visitors_free);
	office_open(&office);
	chains(&office);

	SSL_CTX *server = server_context(&office), *client = client_context(&office);
	Line line = line_open(client, server, NULL);
	line_talk(&line);
	SSL_SESSION *session = SSL_get1_session(line.client), *latest = NULL;
	line_close(&line);
	Visitors *visitors = SSL_CTX_get_ex_data(client, list_index);
	if (visitors->latest && SSL_SESSION_up_ref(visitors->latest))
		latest = visitors->latest;
	SSL_SESSION_free(session);

	line = line_open(client, server, latest);
	line_talk(&line);
	/* The contexts go before their connection: each SSL has a reference. */
	SSL_CTX_free(client);
	SSL_CTX_up_ref(server);
	SSL_CTX_free(server);
	SSL_CTX *other = server_context(&office);
	SSL_set_SSL_CTX(line.server, other);                         /* the old one's reference goes */
	SSL_CTX_free(other);
	SSL_CTX_free(server);
	line_close(&line);

	/* The session outlives everything, with the peer's certificate in it. */
	X509 *peer = latest ? SSL_SESSION_get0_peer(latest) : NULL;
	printf("remembered: %s\n", peer && !X509_cmp(peer, office.leaf) ? "our leaf" : "nobody");
	SSL_SESSION_free(latest);

	/* A chain of filters: pop gives the rest back, free_all goes along it while counts are 1. */
	BIO *memory = BIO_new(BIO_s_mem()), *encoder = BIO_push(BIO_new(BIO_f_base64()), memory);
	BIO_up_ref(memory);
	BIO_puts(encoder, "deed");
	(void)BIO_flush(encoder);
	BIO_free_all(encoder);                                       /* stops at the shared one */
	char *text;
	long size = BIO_get_mem_data(memory, &text);
	printf("%.*s", (int)size, text);
	BIO_free(memory);
	office_close(&office);
	return 0;
}
