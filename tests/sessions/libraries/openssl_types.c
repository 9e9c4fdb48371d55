// Types of OpenSSL with X_up_ref, and X_free, which is the put and the destructor.
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "tally.h"

int main(void) {
  static void *kept[7];
  TWO_LIVES("EVP_PKEY", kept[0], EVP_PKEY_new(), EVP_PKEY_up_ref, EVP_PKEY_free);
  TWO_LIVES("X509", kept[1], X509_new(), X509_up_ref, X509_free);
  TWO_LIVES("X509_CRL", kept[2], X509_CRL_new(), X509_CRL_up_ref, X509_CRL_free);
  TWO_LIVES("X509_STORE", kept[3], X509_STORE_new(), X509_STORE_up_ref, X509_STORE_free);
  TWO_LIVES("BIO", kept[4], BIO_new(BIO_s_mem()), BIO_up_ref, BIO_free);
  TWO_LIVES("SSL_CTX", kept[5], SSL_CTX_new(TLS_method()), SSL_CTX_up_ref, SSL_CTX_free);
  TWO_LIVES("SSL_SESSION", kept[6], SSL_SESSION_new(), SSL_SESSION_up_ref, SSL_SESSION_free);
  // A put of nothing is none.
  EVP_PKEY_free(NULL);
  // The store holds a reference of the certificate's own until it is freed.
  X509_STORE *store = X509_STORE_new();
  tally("init", "X509_STORE", store);
  X509 *certificate = X509_new();
  tally("init", "X509", certificate);
  tally("get", "X509", certificate);
  X509_STORE_add_cert(store, certificate);
  tally("put", "X509", certificate);
  GIVE("X509_STORE", store, X509_STORE_free);
  GIVE("X509", certificate, X509_free);
  checkpoint();
  return 0;
}
