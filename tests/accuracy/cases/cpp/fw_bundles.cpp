/* summary: when a signature is refused, the section is released although the bundle's destructor releases it as well
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: own
 * build: g++ -O2 -g
 */
// Firmware bundles for a family of routers: sections (boot loader, kernel, radio blobs) are loaded once, put together into a
// bundle for each board, checked against the board's limits and written as an image.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace fw {

class Section {
public:
    enum Kind { Boot, Kernel, Radio, Config };

    static Section *load(const char *name, Kind kind, uint32_t version, size_t bytes);

    void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
    void unref() {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }
    const char *name() const { return name_; }
    Kind kind() const { return kind_; }
    uint32_t version() const { return version_; }
    size_t size() const { return size_; }
    uint32_t checksum() const {
        uint32_t sum = 2166136261u;
        for (size_t i = 0; i < size_; i++)
            sum = (sum ^ data_[i]) * 16777619u;
        return sum;
    }

private:
    Section() : refs_(1) {}
    ~Section() {}
    char name_[32];
    Kind kind_;
    uint32_t version_;
    size_t size_;
    std::atomic<int> refs_;
    uint8_t data_[256];
};

Section *Section::load(const char *name, Kind kind, uint32_t version, size_t bytes) {
    if (bytes == 0 || bytes > sizeof data_)
        return nullptr;
    Section *section = new Section;
    snprintf(section->name_, sizeof section->name_, "%s", name);
    section->kind_ = kind;
    section->version_ = version;
    section->size_ = bytes;
    uint32_t seed = version;
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1103515245u + 12345u;
        section->data_[i] = static_cast<uint8_t>(seed >> 16);
    }
    return section;
}

struct Board {
    const char *name;
    size_t flash;
    uint32_t oldest;       // sections below this version do not start on it
    uint32_t key;          // 0: a board that takes unsigned sections
};

class Bundle {
public:
    explicit Bundle(const Board &board) : board_(board), used_(0) {}
    ~Bundle() {
        for (Section *section : sections_)
            section->unref();
    }
    Bundle(const Bundle &) = delete;

    // The bundle takes over the caller's reference, unless there is no space.
    bool append(Section *section) {
        if (used_ + section->size() > board_.flash)
            return false;
        sections_.push_back(section);
        used_ += section->size();
        return true;
    }
    const Board &board() const { return board_; }
    size_t used() const { return used_; }
    bool has(Section::Kind kind) const {
        for (const Section *section : sections_) {
            if (section->kind() == kind)
                return true;
        }
        return false;
    }
    uint32_t image() const {
        uint32_t sum = 0;
        for (const Section *section : sections_)
            sum = (sum << 5 | sum >> 27) ^ section->checksum();
        return sum;
    }

private:
    const Board &board_;
    size_t used_;
    std::vector<Section *> sections_;
};

class Repository {
public:
    ~Repository() {
        for (auto &entry : sections_)
            entry.second->unref();
    }
    bool add(const char *name, Section::Kind kind, uint32_t version, size_t bytes) {
        Section *section = Section::load(name, kind, version, bytes);
        if (!section)
            return false;
        auto placed = sections_.emplace(name, section);
        if (!placed.second) {
            Section *old = placed.first->second;
            if (old->version() >= version) {
                section->unref();
                return false;
            }
            placed.first->second = section;
            old->unref();
        }
        return true;
    }
    // Gives a reference.
    Section *checkout(const char *name) const {
        auto found = sections_.find(name);
        if (found == sections_.end())
            return nullptr;
        found->second->ref();
        return found->second;
    }

private:
    std::map<std::string, Section *> sections_;
};

static bool signature_matches(const Section *section, const Board &board) {
    if (board.key == 0 || section->kind() == Section::Config)
        return true;
    return (section->checksum() ^ board.key) % 7 != 3;
}

enum Refusal { None, Missing, TooOld, NoSpace, BadSignature, Incomplete };

static const char *const kRefusals[] = {"ok", "missing", "too old", "no space", "bad signature", "incomplete"};

// Puts the named sections together. The caller deletes the bundle.
static Refusal assemble(const Repository &repository, const Board &board, const char *const *names, Bundle **out) {
    Bundle *bundle = new Bundle(board);
    Refusal refusal = None;
    *out = nullptr;
    for (; *names; names++) {
        Section *section = repository.checkout(*names);
        if (!section) {
            refusal = Missing;
            goto refused;
        }
        if (section->version() < board.oldest) {
            section->unref();
            refusal = TooOld;
            goto refused;
        }
        if (!bundle->append(section)) {
            section->unref();
            refusal = NoSpace;
            goto refused;
        }
        if (!signature_matches(section, board)) {
#ifdef BUG
            section->unref(); // GUILTY
#endif
            refusal = BadSignature;
            goto refused;
        }
    }
    if (!bundle->has(Section::Boot) || !bundle->has(Section::Kernel)) {
        refusal = Incomplete;
        goto refused;
    }
    *out = bundle;
    return None;

refused:
    delete bundle;
    return refusal;
}

class Release {
public:
    ~Release() {
        for (Bundle *bundle : bundles_)
            delete bundle;
    }
    void build(const Repository &repository, const Board &board, const char *const *names) {
        Bundle *bundle;
        Refusal refusal = assemble(repository, board, names, &bundle);
        printf("%-8s %s", board.name, kRefusals[refusal]);
        if (refusal == None) {
            printf(", %zu of %zu bytes, image %08x", bundle->used(), board.flash, bundle->image());
            bundles_.push_back(bundle);
        } else {
            refused_++;
        }
        printf("\n");
    }
    size_t bundles() const { return bundles_.size(); }
    int refused() const { return refused_; }

private:
    std::vector<Bundle *> bundles_;
    int refused_ = 0;
};

} // namespace fw

int main() {
    using namespace fw;
    static const Board boards[] = {
        {"ax-lite", 520, 2, 0},      {"ax-pro", 760, 3, 0x5f3a90ccu}, {"ax-mesh", 760, 3, 0x91d04e29u},
        {"ax-mini", 300, 1, 0},      {"ax-max", 900, 5, 0},       {"ax-old", 640, 1, 0},
    };
    static const char *const basic[] = {"boot", "kernel", "radio-2g", nullptr};
    static const char *const full[] = {"boot", "kernel", "radio-2g", "radio-5g", nullptr};
    static const char *const mesh[] = {"boot", "kernel", "radio-mesh", nullptr};
    static const char *const bare[] = {"boot", "config", nullptr};
    static const char *const lost[] = {"boot", "kernel", "lte", nullptr};

    Repository repository;
    int added = 0;
    added += repository.add("boot", Section::Boot, 3, 96);
    added += repository.add("kernel", Section::Kernel, 5, 240);
    added += repository.add("radio-2g", Section::Radio, 3, 128);
    added += repository.add("radio-5g", Section::Radio, 4, 160);
    added += repository.add("radio-mesh", Section::Radio, 6, 176);
    added += repository.add("config", Section::Config, 3, 24);
    added += repository.add("boot", Section::Boot, 4, 100);
    added += repository.add("kernel", Section::Kernel, 2, 230);
    added += repository.add("huge", Section::Radio, 2, 4096);

    Release release;
    release.build(repository, boards[0], basic);
    release.build(repository, boards[5], full);
    release.build(repository, boards[5], mesh);
    release.build(repository, boards[3], full);
    release.build(repository, boards[4], full);
    release.build(repository, boards[0], bare);
    release.build(repository, boards[0], lost);
    release.build(repository, boards[1], full);
    release.build(repository, boards[2], mesh);
    printf("%d sections, %zu bundles, %d refused\n", added, release.bundles(), release.refused());
    return 0;
}
