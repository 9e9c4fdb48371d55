/* summary: picking the best voice replaces the token found so far without releasing it
 * kind: overwritten
 * counts: surplus
 * objects: 3
 * track: own
 * build: g++ -O2 -g
 */
// Voice selection for the announcement server: a registry of installed voices behind COM-style interfaces, an enumerator with
// attribute filters, and the logic that chooses a voice for every announcement language.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace speech {

typedef int32_t HRESULT;
const HRESULT S_OK = 0;
const HRESULT S_FALSE = 1;
const HRESULT E_INVALIDARG = static_cast<HRESULT>(0x80070057u);
const HRESULT SPERR_NOT_FOUND = static_cast<HRESULT>(0x8004503au);

inline bool SUCCEEDED(HRESULT hr) { return hr >= 0; }
inline bool FAILED(HRESULT hr) { return hr < 0; }

struct IRefCounted {
    virtual uint32_t AddRef() = 0;
    virtual uint32_t Release() = 0;

protected:
    virtual ~IRefCounted() {}
};

struct IVoiceToken : IRefCounted {
    virtual HRESULT GetAttribute(const char *key, std::string *value) = 0;
    virtual HRESULT GetId(std::string *id) = 0;
    virtual HRESULT MatchesAttributes(const char *required, bool *matches) = 0;
};

struct IEnumVoiceTokens : IRefCounted {
    virtual HRESULT Next(uint32_t count, IVoiceToken **tokens, uint32_t *fetched) = 0;
    virtual HRESULT Reset() = 0;
};

class VoiceToken : public IVoiceToken {
public:
    VoiceToken(const std::string &id, const std::map<std::string, std::string> &attributes)
        : refs_(1), id_(id), attributes_(attributes) {}

    uint32_t AddRef() override { return ++refs_; }

    uint32_t Release() override {
        uint32_t left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }

    HRESULT GetAttribute(const char *key, std::string *value) override {
        auto found = attributes_.find(key);
        if (found == attributes_.end())
            return SPERR_NOT_FOUND;
        *value = found->second;
        return S_OK;
    }

    HRESULT GetId(std::string *id) override {
        *id = id_;
        return S_OK;
    }

    // "Language=de;Gender=Female": every pair must be there
    HRESULT MatchesAttributes(const char *required, bool *matches) override {
        *matches = true;
        const char *at = required;
        while (*at) {
            const char *equals = std::strchr(at, '=');
            if (!equals)
                return E_INVALIDARG;
            const char *end = std::strchr(equals, ';');
            if (!end)
                end = equals + std::strlen(equals);
            std::string value;
            if (FAILED(GetAttribute(std::string(at, equals).c_str(), &value)) || value != std::string(equals + 1, end))
                *matches = false;
            at = *end ? end + 1 : end;
        }
        return S_OK;
    }

private:
    ~VoiceToken() {}

    uint32_t refs_;
    std::string id_;
    std::map<std::string, std::string> attributes_;
};

class VoiceEnum : public IEnumVoiceTokens {
public:
    VoiceEnum() : refs_(1), position_(0) {}

    void Append(IVoiceToken *token) {
        token->AddRef();
        tokens_.push_back(token);
    }

    uint32_t AddRef() override { return ++refs_; }

    uint32_t Release() override {
        uint32_t left = --refs_;
        if (left == 0)
            delete this;
        return left;
    }

    HRESULT Next(uint32_t count, IVoiceToken **tokens, uint32_t *fetched) override {
        uint32_t n = 0;
        while (n < count && position_ < tokens_.size()) {
            tokens[n] = tokens_[position_++];
            tokens[n++]->AddRef();
        }
        if (fetched)
            *fetched = n;
        return n == count ? S_OK : S_FALSE;
    }

    HRESULT Reset() override {
        position_ = 0;
        return S_OK;
    }

private:
    ~VoiceEnum() {
        for (IVoiceToken *token : tokens_)
            token->Release();
    }

    uint32_t refs_;
    size_t position_;
    std::vector<IVoiceToken *> tokens_;
};

class VoiceRegistry {
public:
    ~VoiceRegistry() {
        for (IVoiceToken *token : tokens_)
            token->Release();
    }

    void Install(const char *id, const char *language, const char *gender, const char *quality, const char *rate) {
        std::map<std::string, std::string> attributes;
        attributes["Language"] = language;
        attributes["Gender"] = gender;
        attributes["Quality"] = quality;
        if (rate)
            attributes["Rate"] = rate;
        tokens_.push_back(new VoiceToken(id, attributes));
    }

    HRESULT EnumTokens(const char *required, IEnumVoiceTokens **out) {
        VoiceEnum *result = new VoiceEnum;
        for (IVoiceToken *token : tokens_) {
            bool matches = false;
            HRESULT hr = token->MatchesAttributes(required, &matches);
            if (FAILED(hr)) {
                result->Release();
                return hr;
            }
            if (matches)
                result->Append(token);
        }
        *out = result;
        return S_OK;
    }

private:
    std::vector<IVoiceToken *> tokens_;
};

int Score(IVoiceToken *token, int wantedRate) {
    std::string text;
    int score = 0;
    if (SUCCEEDED(token->GetAttribute("Quality", &text)))
        score = 10 * std::atoi(text.c_str());
    if (SUCCEEDED(token->GetAttribute("Rate", &text)))
        score += 5 - std::abs(std::atoi(text.c_str()) - wantedRate);
    return score;
}

// *out is the caller's to release
HRESULT FindBestVoice(VoiceRegistry &registry, const char *required, int wantedRate, IVoiceToken **out) {
    IEnumVoiceTokens *voices = nullptr;
    HRESULT hr = registry.EnumTokens(required, &voices);
    if (FAILED(hr))
        return hr;
    IVoiceToken *best = nullptr, *token = nullptr;
    int bestScore = -1;
    while (voices->Next(1, &token, nullptr) == S_OK) {
        int score = Score(token, wantedRate);
        if (score <= bestScore) {
            token->Release();
            continue;
        }
#ifndef BUG
        if (best)
            best->Release();
#endif
        best = token; // GUILTY
        bestScore = score;
    }
    voices->Release();
    if (!best)
        return SPERR_NOT_FOUND;
    *out = best;
    return S_OK;
}

class Announcer {
public:
    explicit Announcer(VoiceRegistry &registry) : registry_(registry) {}

    ~Announcer() {
        for (auto &entry : voices_)
            entry.second->Release();
    }

    HRESULT Prepare(const std::string &language, const char *gender, int rate) {
        std::string required = "Language=" + language + ";Gender=" + gender;
        IVoiceToken *voice = nullptr;
        HRESULT hr = FindBestVoice(registry_, required.c_str(), rate, &voice);
        if (hr == SPERR_NOT_FOUND)
            hr = FindBestVoice(registry_, ("Language=" + language).c_str(), rate, &voice);
        if (FAILED(hr))
            return hr;
        IVoiceToken *&slot = voices_[language];
        if (slot)
            slot->Release();
        slot = voice;
        return S_OK;
    }

    void Say(const std::string &language, const char *text) {
        auto found = voices_.find(language);
        if (found == voices_.end()) {
            std::printf("[no voice for %s] %s\n", language.c_str(), text);
            return;
        }
        std::string id;
        found->second->GetId(&id);
        std::printf("[%s] %s\n", id.c_str(), text);
    }

private:
    VoiceRegistry &registry_;
    std::map<std::string, IVoiceToken *> voices_;
};

} // namespace speech

int main() {
    speech::VoiceRegistry registry;
    registry.Install("hedda", "de", "Female", "2", "4");
    registry.Install("katja", "de", "Female", "3", "5");
    registry.Install("stefan", "de", "Male", "3", nullptr);
    registry.Install("hazel", "en", "Female", "4", "5");
    registry.Install("susan", "en", "Female", "3", "5");
    registry.Install("george", "en", "Male", "1", "2");
    registry.Install("ryan", "en", "Male", "2", "3");
    registry.Install("oliver", "en", "Male", "2", "5");
    registry.Install("lotte", "nl", "Female", "2", "5");

    speech::Announcer announcer(registry);
    announcer.Prepare("de", "Female", 5);
    announcer.Prepare("en", "Male", 5);
    announcer.Prepare("nl", "Male", 4);
    announcer.Prepare("fr", "Female", 5);
    announcer.Say("de", "Der Zug nach Kassel faehrt auf Gleis 4 ein.");
    announcer.Say("en", "The train to Kassel is arriving at platform 4.");
    announcer.Say("nl", "De trein naar Kassel komt aan op spoor 4.");
    announcer.Prepare("en", "Female", 5);
    announcer.Say("en", "Please mind the gap.");
    announcer.Say("fr", "Attention a la marche.");
    return 0;
}
