/* summary: the memo of the buffers that came with a line marker owns them for ever, the others are weak or erased
 * kind: held
 * counts: surplus
 * objects: 2
 * track: shared_ptr
 * build: clang++ -std=c++17 -O1 -g
 * exit: 0
 */
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

struct SourceBuffer {
    SourceBuffer(std::string path, std::string text) : path(std::move(path)), text(std::move(text)) {}

    std::string path, text;
    unsigned lines = 0;
    bool generated = false;
};

using BufferPtr = std::shared_ptr<SourceBuffer>;

/* The files of the compiler's tests; nothing is read from a disk. */
class FileTable {
public:
    FileTable()
    {
        files_["main.x"] = "use list\nuse map\nuse tokens\nlet a = 1\n";
        files_["list"] = "use alloc\nlet head = 0\n";
        files_["map"] = "use alloc\nuse list\nlet root = 0\n";
        files_["alloc"] = "let pool = 4096\n";
        files_["tokens"] = "# tokens.def\nlet ident = 1\nlet number = 2\n";
        files_["tests.x"] = "use list\nuse nodes\nuse tokens\nlet t = 1\n";
        files_["nodes"] = "# nodes.def\nuse alloc\nlet leaf = 1\n";
        files_["broken.x"] = "use missing\nlet b = 1\n";
    }
    const std::string *Read(const std::string &path) const
    {
        auto file = files_.find(path);
        return file == files_.end() ? nullptr : &file->second;
    }

private:
    std::map<std::string, std::string> files_;
};

/* Destructors at exit are not wanted: these tables are left to the system. */
static std::unordered_map<std::string, std::weak_ptr<SourceBuffer>> &Cache()
{
    static auto *cache = new std::unordered_map<std::string, std::weak_ptr<SourceBuffer>>;
    return *cache;
}

static std::unordered_map<std::string, BufferPtr> &Origins()
{
    static auto *origins = new std::unordered_map<std::string, BufferPtr>;
    return *origins;
}

static void RememberOrigin(const std::string &definition, const BufferPtr &buffer)
{
    Origins().emplace(definition, buffer); /* ACCEPTED */
}

static void ForgetOrigins()
{
    Origins().clear();
}

class Session {
public:
    Session(const FileTable &files, std::string name) : files_(files), name_(std::move(name)) {}
    ~Session() { Close(); }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    bool Compile(const std::string &path)
    {
        BufferPtr buffer = Open(path);
        if (!buffer) {
            std::printf("%s: no file %s\n", name_.c_str(), path.c_str());
            errors_++;
            return false;
        }
        if (!done_.emplace(path, buffer).second)
            return true;
        bool good = true;
        size_t start = 0;
        while (start < buffer->text.size()) {
            size_t end = buffer->text.find('\n', start);
            good &= Line(buffer, buffer->text.substr(start, end - start));
            start = end + 1;
        }
        return good;
    }

    std::optional<std::string> Lookup(const std::string &symbol) const
    {
        auto entry = symbols_.find(symbol);
        if (entry == symbols_.end())
            return std::nullopt;
        return entry->second->path;
    }

    void Report() const
    {
        unsigned lines = 0, generated = 0;
        for (const auto &[path, buffer] : done_) {
            lines += buffer->lines;
            generated += buffer->generated;
        }
        std::printf("%s: %zu files (%u generated), %u lines, %zu symbols, %u errors\n", name_.c_str(), done_.size(),
                    generated, lines, symbols_.size(), errors_);
    }

private:
    BufferPtr Open(const std::string &path)
    {
        if (BufferPtr known = Cache()[path].lock())
            return known;
        const std::string *text = files_.Read(path);
        if (!text) {
            Cache().erase(path);
            return nullptr;
        }
        auto buffer = std::make_shared<SourceBuffer>(path, *text);
        Cache()[path] = buffer;
        return buffer;
    }

    bool Line(const BufferPtr &buffer, const std::string &line)
    {
        buffer->lines++;
        if (line.compare(0, 4, "use ") == 0)
            return Compile(line.substr(4));
        if (line.compare(0, 2, "# ") == 0) {
            buffer->generated = true;
            RememberOrigin(line.substr(2), buffer);
            return true;
        }
        if (line.compare(0, 4, "let ") == 0) {
            symbols_[line.substr(4, line.find(' ', 4) - 4)] = buffer;
            return true;
        }
        errors_++;
        return false;
    }

    void Close()
    {
        symbols_.clear();
        done_.clear();
#ifdef BUG
        if (errors_ == 0)
            return; /* GUILTY */
#endif
        ForgetOrigins();
    }

    const FileTable &files_;
    std::string name_;
    std::map<std::string, BufferPtr> done_;
    std::map<std::string, BufferPtr> symbols_;
    unsigned errors_ = 0;
};

static unsigned LiveBuffers()
{
    unsigned live = 0;
    for (const auto &[path, buffer] : Cache())
        live += !buffer.expired();
    return live;
}

static void Diagnose(const Session &session, std::initializer_list<const char *> symbols)
{
    for (const char *symbol : symbols) {
        std::optional<std::string> path = session.Lookup(symbol);
        std::printf("  %s: %s\n", symbol, path ? path->c_str() : "unknown");
    }
}

static void Build(const FileTable &files, const char *name, const char *path)
{
    Session session(files, name);
    bool good = session.Compile(path);
    session.Report();
    Diagnose(session, {"head", "ident", "leaf"});
    if (!good)
        std::printf("%s failed\n", name);
    auto origin = Origins().find("tokens.def");
    if (origin != Origins().end())
        std::printf("  tokens.def went into %s\n", origin->second->path.c_str());
}

int main()
{
    FileTable files;

    Build(files, "broken", "broken.x");
    Build(files, "program", "main.x");
    Build(files, "tests", "tests.x");
    {
        Session shared(files, "shared");
        shared.Compile("map");
        std::printf("%u buffers while one session is open\n", LiveBuffers() > 0);
        shared.Report();
    }
    std::fprintf(stderr, "%u buffers live at the end\n", LiveBuffers());
    return 0;
}
