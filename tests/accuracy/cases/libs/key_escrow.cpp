/*
 * summary: rotating a key leaves the old key in the list of its purpose, which nothing takes it out of any more
 * kind: held
 * counts: surplus
 * objects: 3
 * track: EVP_PKEY
 * packages: openssl
 * build: g++ -O2 -g -pthread
 */
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

struct DigestContextFree {
    void operator()(EVP_MD_CTX *context) const { EVP_MD_CTX_free(context); }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, DigestContextFree>;

Bytes sign(EVP_PKEY *key, const std::string &text)
{
    DigestContext context(EVP_MD_CTX_new());
    Bytes signature(128);
    std::size_t length = signature.size();
    const auto *data = reinterpret_cast<const unsigned char *>(text.data());

    if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1 ||
        EVP_DigestSign(context.get(), signature.data(), &length, data, text.size()) != 1)
        return {};
    signature.resize(length);
    return signature;
}

bool verify(EVP_PKEY *key, const std::string &text, const Bytes &signature)
{
    DigestContext context(EVP_MD_CTX_new());
    const auto *data = reinterpret_cast<const unsigned char *>(text.data());

    return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key) == 1 &&
           EVP_DigestVerify(context.get(), signature.data(), signature.size(), data, text.size()) == 1;
}

enum class Purpose { login, payment, archive };

/* Keys by their name, and for each purpose in the order in which they came. */
class Escrow {
public:
    Escrow() = default;
    Escrow(const Escrow &) = delete;
    Escrow &operator=(const Escrow &) = delete;

    ~Escrow()
    {
        while (!by_name_.empty())
            erase(by_name_.begin());
    }

    /* Takes a reference of its own. */
    bool add(const std::string &name, Purpose purpose, EVP_PKEY *key)
    {
        std::lock_guard<std::mutex> guard(lock_);

        if (by_name_.count(name) || !EVP_PKEY_up_ref(key))
            return false;
        by_name_[name] = Entry{purpose, key};
        list(purpose, key);
        return true;
    }

    bool rotate(const std::string &name, EVP_PKEY *fresh)
    {
        std::lock_guard<std::mutex> guard(lock_);
        auto found = by_name_.find(name);

        if (found == by_name_.end() || !EVP_PKEY_up_ref(fresh))
            return false;
        Entry &entry = found->second;
#ifndef BUG
        unlist(entry.purpose, entry.key);
#endif
        EVP_PKEY_free(entry.key); /* GUILTY */
        entry.key = fresh;
        list(entry.purpose, fresh); /* ACCEPTED */
        rotations_++;
        return true;
    }

    bool remove(const std::string &name)
    {
        std::lock_guard<std::mutex> guard(lock_);
        auto found = by_name_.find(name);

        if (found == by_name_.end())
            return false;
        erase(found);
        return true;
    }

    /* A reference for the caller, or null. */
    EVP_PKEY *find(const std::string &name)
    {
        std::lock_guard<std::mutex> guard(lock_);
        auto found = by_name_.find(name);

        if (found == by_name_.end() || !EVP_PKEY_up_ref(found->second.key))
            return nullptr;
        return found->second.key;
    }

    /* The newest key of a purpose that does the job, tried from the last one on. */
    template <class Job> bool with_newest(Purpose purpose, Job job)
    {
        std::vector<EVP_PKEY *> keys;
        bool done = false;

        {
            std::lock_guard<std::mutex> guard(lock_);
            for (EVP_PKEY *key : by_purpose_[purpose])
                if (EVP_PKEY_up_ref(key))
                    keys.push_back(key);
        }
        for (auto it = keys.rbegin(); it != keys.rend() && !done; ++it)
            done = job(*it);
        for (EVP_PKEY *key : keys)
            EVP_PKEY_free(key);
        return done;
    }

    unsigned rotations() const { return rotations_; }

private:
    struct Entry {
        Purpose purpose;
        EVP_PKEY *key;
    };
    using Names = std::map<std::string, Entry>;

    void list(Purpose purpose, EVP_PKEY *key)
    {
        EVP_PKEY_up_ref(key);
        by_purpose_[purpose].push_back(key);
    }

    void unlist(Purpose purpose, EVP_PKEY *key)
    {
        auto &keys = by_purpose_[purpose];
        auto found = std::find(keys.begin(), keys.end(), key);

        if (found == keys.end())
            return;
        EVP_PKEY_free(*found);
        keys.erase(found);
    }

    void erase(Names::iterator position)
    {
        unlist(position->second.purpose, position->second.key);
        EVP_PKEY_free(position->second.key);
        by_name_.erase(position);
    }

    std::mutex lock_;
    Names by_name_;
    std::map<Purpose, std::vector<EVP_PKEY *>> by_purpose_;
    unsigned rotations_ = 0;
};

bool generate(Escrow &escrow, const std::string &name, Purpose purpose)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    bool added = key && escrow.add(name, purpose, key);

    EVP_PKEY_free(key);
    return added;
}

bool renew(Escrow &escrow, const std::string &name)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    bool rotated = key && escrow.rotate(name, key);

    EVP_PKEY_free(key);
    return rotated;
}

struct Signed {
    std::string text;
    Bytes signature;
};

Signed seal(Escrow &escrow, const std::string &name, const std::string &text)
{
    Signed result{text, {}};

    if (EVP_PKEY *key = escrow.find(name)) {
        result.signature = sign(key, text);
        EVP_PKEY_free(key);
    }
    return result;
}

/* One teller: signs slips with its own key and checks them like a customer does. */
void teller(Escrow &escrow, const std::string &name, Purpose purpose, unsigned slips, unsigned &good)
{
    for (unsigned i = 0; i < slips; i++) {
        Signed slip = seal(escrow, name, name + " slip " + std::to_string(i));
        if (slip.signature.empty())
            continue;
        if (escrow.with_newest(purpose, [&](EVP_PKEY *key) { return verify(key, slip.text, slip.signature); }))
            good++;
    }
}

unsigned run_tellers(Escrow &escrow)
{
    unsigned good[3] = {0, 0, 0};
    std::thread first(teller, std::ref(escrow), "desk-1", Purpose::payment, 6, std::ref(good[0]));
    std::thread second(teller, std::ref(escrow), "desk-2", Purpose::payment, 6, std::ref(good[1]));

    teller(escrow, "portal", Purpose::login, 4, good[2]);
    first.join();
    second.join();
    return good[0] + good[1] + good[2];
}

} // namespace

int main()
{
    unsigned good = 0;
    Escrow escrow;

    if (!generate(escrow, "desk-1", Purpose::payment) || !generate(escrow, "desk-2", Purpose::payment) ||
        !generate(escrow, "portal", Purpose::login) || !generate(escrow, "vault", Purpose::archive) ||
        !generate(escrow, "annex", Purpose::archive))
        return 1;
    if (generate(escrow, "vault", Purpose::archive))
        return 1;
    good += run_tellers(escrow);
    renew(escrow, "desk-2");
    renew(escrow, "portal");
    good += run_tellers(escrow);
    escrow.remove("annex");
    renew(escrow, "desk-2");
    if (renew(escrow, "annex"))
        return 1;
    good += run_tellers(escrow);
    escrow.remove("desk-1");
    std::printf("%u good slips, %u rotations\n", good, escrow.rotations());
    return 0;
}
