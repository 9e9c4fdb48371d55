/* summary: KeyIndex::note releases the key into emplace, which drops it when the fingerprint is in the index already
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: EVP_PKEY X509
 * packages: openssl
 * build: clang++-14 -O2 -g
 * exit: 0
 */
// Looks through the certificates of an estate for keys that are used more than once.
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct KeyFree {
  void operator()(EVP_PKEY *k) const { EVP_PKEY_free(k); }
};
struct CertFree {
  void operator()(X509 *c) const { X509_free(c); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, KeyFree>;
using CertPtr = std::unique_ptr<X509, CertFree>;

static std::string make_cert(EVP_PKEY *subject, EVP_PKEY *issuer, long serial) {
  CertPtr c(X509_new());
  unsigned char *der = nullptr;

  X509_set_version(c.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(c.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(c.get()), 86400);
  X509_NAME *name = X509_get_subject_name(c.get());
  std::string cn = "host" + std::to_string(serial);

  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char *>(cn.c_str()), -1, -1, 0);
  X509_set_issuer_name(c.get(), name);
  X509_set_pubkey(c.get(), subject);
  X509_sign(c.get(), issuer, EVP_sha256());

  int len = i2d_X509(c.get(), &der);
  std::string out(reinterpret_cast<char *>(der), len);

  OPENSSL_free(der);
  return out;
}

static CertPtr parse_cert(const std::string &der) {
  const auto *p = reinterpret_cast<const unsigned char *>(der.data());

  return CertPtr(d2i_X509(nullptr, &p, static_cast<long>(der.size())));
}

static std::string fingerprint(X509 *cert) {
  unsigned char md[EVP_MAX_MD_SIZE];
  unsigned len = 0;

  X509_pubkey_digest(cert, EVP_sha256(), md, &len);
  return std::string(reinterpret_cast<char *>(md), len);
}

class KeyIndex {
public:
  struct Entry {
    EVP_PKEY *key; // owned
    std::vector<long> serials;
  };

  KeyIndex() = default;
  KeyIndex(const KeyIndex &) = delete;
  KeyIndex &operator=(const KeyIndex &) = delete;
  ~KeyIndex() {
    for (auto &e : entries_)
      EVP_PKEY_free(e.second.key);
  }

  void note(X509 *cert) {
    KeyPtr key(X509_get_pubkey(cert)); /* ACCEPTED */

    if (!key) {
      unreadable_++;
      return;
    }
    if (EVP_PKEY_get_bits(key.get()) < 256) {
      weak_++;
      return;
    }
#ifdef BUG
    auto it = entries_.emplace(fingerprint(cert), Entry{key.release(), {}}).first; /* GUILTY */
#else
    std::string print = fingerprint(cert);
    auto it = entries_.find(print);

    if (it == entries_.end())
      it = entries_.emplace(print, Entry{key.release(), {}}).first;
#endif
    it->second.serials.push_back(ASN1_INTEGER_get(X509_get0_serialNumber(cert)));
  }

  // Borrowed.
  EVP_PKEY *find(X509 *cert) const {
    auto it = entries_.find(fingerprint(cert));

    return it == entries_.end() ? nullptr : it->second.key;
  }

  // A reference of the caller's own for each key that is used by several certificates.
  std::vector<KeyPtr> reused() const {
    std::vector<KeyPtr> out;

    for (auto &e : entries_)
      if (e.second.serials.size() > 1 && EVP_PKEY_up_ref(e.second.key))
        out.emplace_back(e.second.key);
    return out;
  }

  bool retire(X509 *cert) {
    auto it = entries_.find(fingerprint(cert));

    if (it == entries_.end())
      return false;
    EVP_PKEY_free(it->second.key);
    entries_.erase(it);
    return true;
  }

  size_t size() const { return entries_.size(); }
  int weak() const { return weak_; }

private:
  std::map<std::string, Entry> entries_;
  int weak_ = 0, unreadable_ = 0;
};

static std::vector<std::string> make_estate() {
  std::vector<KeyPtr> keys;
  std::vector<std::string> out;
  KeyPtr small(EVP_EC_gen("secp224r1"));

  for (int i = 0; i < 6; i++)
    keys.emplace_back(EVP_EC_gen("P-256"));
  for (int i = 0; i < 3; i++)
    keys.emplace_back(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  for (int i = 0; i < 12; i++)
    keys.emplace_back(EVP_EC_gen("P-256"));
  for (size_t i = 0; i < keys.size(); i++)
    out.push_back(make_cert(keys[i].get(), keys[0].get(), 100 + static_cast<long>(i)));
  for (int i : {2, 11, 15})
    out.push_back(make_cert(keys[i].get(), keys[0].get(), 300 + i));
  out.push_back(make_cert(small.get(), keys[0].get(), 400));
  return out;
}

int main() {
  std::vector<std::string> ders = make_estate();
  std::vector<CertPtr> certs;
  size_t nkeys, nreused;
  int signed_ok = 0, known = 0, weak;

  for (const std::string &der : ders)
    certs.push_back(parse_cert(der));
  {
    KeyIndex index;

    for (const CertPtr &c : certs)
      index.note(c.get());
    index.retire(certs[4].get());
    // The first certificate's key has signed them all.
    KeyPtr ca(X509_get_pubkey(certs[0].get()));

    for (const CertPtr &c : certs) {
      signed_ok += X509_verify(c.get(), ca.get()) == 1;
      EVP_PKEY *key = index.find(c.get());

      if (key && EVP_PKEY_eq(key, X509_get0_pubkey(c.get())) == 1)
        known++;
    }
    std::vector<KeyPtr> reused = index.reused();

    nreused = reused.size();
    nkeys = index.size();
    weak = index.weak();
    certs.clear();
    for (const KeyPtr &k : reused)
      known += EVP_PKEY_get_bits(k.get()) == 256;
  }
  printf("certificates %zu keys %zu reused %zu weak %d signed %d known %d\n", ders.size(), nkeys, nreused, weak,
         signed_ok, known);
  return 0;
}
