/* summary: Library::follow stores the page that it opened anew as a strong pointer into a see-also link that was a weak one; where that page includes the one with the link, the two own each other
 * kind: cycle
 * counts: surplus
 * objects: 3
 * track: shared_ptr
 * build: clang++ -std=c++17 -O2 -g
 * exit: 0
 */
//
// helpbook - the viewer of a help system.  Pages are parsed when somebody wants
// them and thrown away when nobody reads them any more.  A page may include
// other pages, which belong to it then, and may send the reader to others.
//
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace help {

class Page;

struct Link {
    enum class Kind { Include, SeeAlso };

    std::string title;
    Kind kind;
    std::variant<std::monostate, std::weak_ptr<Page>, std::shared_ptr<Page>> to;
};

class Page {
public:
    Page(std::string title, std::string text) : title_(std::move(title)), text_(std::move(text)) {}

    const std::string &title() const { return title_; }
    const std::string &text() const { return text_; }
    std::vector<Link> &links() { return links_; }
    void link(std::string title, Link::Kind kind) { links_.push_back({std::move(title), kind, {}}); }

private:
    std::string title_, text_;
    std::vector<Link> links_;
};

// The help texts as they are installed.  A line that begins with '<' includes
// a page, one that begins with '>' sends the reader to it.
class Source {
public:
    void write(const std::string &title, const std::string &text) { texts_[title] = text; }

    std::optional<std::string> read(const std::string &title) const
    {
        auto it = texts_.find(title);
        if (it == texts_.end())
            return std::nullopt;
        return it->second;
    }

private:
    std::map<std::string, std::string> texts_;
};

class Library {
public:
    using Hook = std::function<void(const std::shared_ptr<Page> &)>;

    explicit Library(const Source &source) : source_(source) {}

    void onOpen(Hook h) { hooks_.push_back(std::move(h)); }
    int parsed() const { return parsed_; }
    int renewed() const { return renewed_; }

    std::shared_ptr<Page> open(const std::string &title)
    {
        auto known = open_.find(title);
        if (known != open_.end())
            if (auto page = known->second.lock())
                return page;
        auto text = source_.read(title);
        if (!text)
            return nullptr;
        auto page = parse(title, *text);
        open_[title] = page;
        for (auto &h : hooks_)
            h(page);
        return page;
    }

    // Where a link leads to, null for a page that is not installed.
    std::shared_ptr<Page> follow(Link &l)
    {
        if (auto *strong = std::get_if<std::shared_ptr<Page>>(&l.to))
            return *strong;
        if (auto *weak = std::get_if<std::weak_ptr<Page>>(&l.to)) {
            if (auto page = weak->lock())
                return page;
            auto page = open(l.title);          // ACCEPTED
            ++renewed_;
#ifdef BUG
            l.to = page;                        // GUILTY
#else
            *weak = page;
#endif
            return page;
        }
        auto page = open(l.title);
        if (page && l.kind == Link::Kind::Include)
            l.to = page;
        else if (page)
            l.to = std::weak_ptr<Page>(page);
        return page;
    }

    std::size_t alive()
    {
        for (auto it = open_.begin(); it != open_.end();)
            it = it->second.expired() ? open_.erase(it) : std::next(it);
        return open_.size();
    }

private:
    std::shared_ptr<Page> parse(const std::string &title, const std::string &text)
    {
        std::istringstream lines(text);
        std::string line, body;
        std::vector<std::pair<std::string, Link::Kind>> found;
        while (std::getline(lines, line)) {
            if (line[0] == '<' || line[0] == '>')
                found.emplace_back(line.substr(1), line[0] == '<' ? Link::Kind::Include : Link::Kind::SeeAlso);
            else
                body += line + "\n";
        }
        auto page = std::make_shared<Page>(title, body);
        for (auto &f : found)
            page->link(std::move(f.first), f.second);
        ++parsed_;
        return page;
    }

    const Source &source_;
    std::map<std::string, std::weak_ptr<Page>> open_;
    std::vector<Hook> hooks_;
    int parsed_ = 0, renewed_ = 0;
};

// What the reader sees: the text with the included texts in it.
class Renderer {
public:
    explicit Renderer(Library &lib) : lib_(lib) {}

    std::string render(Page &page, int depth = 0)
    {
        std::string out(std::size_t(depth) * 2, ' ');
        out += page.text();
        for (Link &l : page.links()) {
            if (l.kind == Link::Kind::SeeAlso) {
                out += "see " + l.title + "\n";
                continue;
            }
            auto part = lib_.follow(l);
            out += part && depth < 3 ? render(*part, depth + 1) : "(" + l.title + " is missing)\n";
        }
        return out;
    }

private:
    Library &lib_;
};

// One window: the page that is shown, and some to go back to.
class Reader {
public:
    Reader(Library &lib, std::size_t history) : lib_(lib), renderer_(lib), most_(history) {}

    bool go(const std::string &title) { return show(lib_.open(title)); }

    bool back()
    {
        if (history_.empty())
            return false;
        shown_ = std::move(history_.back());
        history_.pop_back();
        return true;
    }

    // Follows the n-th of the see-also links on the page.
    bool click(std::size_t n)
    {
        if (!shown_)
            return false;
        for (Link &l : shown_->links())
            if (l.kind == Link::Kind::SeeAlso && n-- == 0)
                return show(lib_.follow(l));
        return false;
    }

    // Replaces the page by the first one that it includes.
    bool zoom()
    {
        for (Link &l : shown_->links())
            if (l.kind == Link::Kind::Include)
                if (auto part = lib_.follow(l)) {
                    shown_ = part;
                    return true;
                }
        return false;
    }

    std::uint32_t digest() const { return digest_; }

private:
    bool show(std::shared_ptr<Page> page)
    {
        if (!page)
            return false;
        if (shown_)
            history_.push_back(std::move(shown_));
        if (history_.size() > most_)
            history_.pop_front();
        shown_ = std::move(page);
        for (char c : renderer_.render(*shown_))
            digest_ = digest_ * 33 + static_cast<unsigned char>(c);
        return true;
    }

    Library &lib_;
    Renderer renderer_;
    std::size_t most_;
    std::shared_ptr<Page> shown_;
    std::deque<std::shared_ptr<Page>> history_;
    std::uint32_t digest_ = 5381;
};

} // namespace help

static void install(help::Source &src)
{
    for (int c = 0; c < 12; ++c) {
        std::string n = std::to_string(c), next = std::to_string((c + 1) % 12);
        src.write("chapter " + n, "Chapter " + n + "\n<note " + n + "\n<legal\n>chapter " + next + "\n");
        src.write("note " + n, "A note on " + n + "\n>" + (c % 3 == 1 ? "glossary" : "chapter " + n) + "\n>keys " + n + "\n");
        if (c % 4)
            src.write("keys " + n, "Keys of " + n + "\n>glossary\n");
    }
    src.write("glossary", "Words\n<legal\n>chapter 0\n");
    src.write("legal", "All rights reserved\n");
}

// What people do with a window: keys are the number of a link, b for back, z to zoom in, l for the imprint.
static int session(help::Reader &reader, const std::string &start, const char *keys)
{
    int dead = !reader.go(start);
    for (; *keys && !dead; ++keys) {
        if (*keys == 'b')
            dead += !reader.back();
        else if (*keys == 'z')
            dead += !reader.zoom();
        else if (*keys == 'l')
            dead += !reader.go("legal");
        else
            dead += !reader.click(std::size_t(*keys - '0'));
    }
    return dead;
}

int main()
{
    static const struct { const char *start, *keys; } kHabits[] = {
        {"chapter ", "0b0z"}, {"note ", "1bl"}, {"chapter ", "z0bl"}, {"keys ", "0b0"}, {"note ", "0b0"},
        {"chapter ", "z1b1"}, {"note ", "0lbb1"},
    };
    help::Source source;
    install(source);
    help::Library library(source);
    std::map<std::string, int> opened;
    std::vector<std::weak_ptr<help::Page>> recent;
    library.onOpen([&opened](const std::shared_ptr<help::Page> &p) { ++opened[p->title()]; });
    library.onOpen([&recent](const std::shared_ptr<help::Page> &p) { recent.push_back(p); });

    int dead = 0;
    std::uint32_t digest = 0;
    help::Reader desk(library, 3);
    for (int day = 0; day < 28; ++day) {
        help::Reader reader(library, 2 + std::size_t(day % 2));
        const auto &h = kHabits[day % 7];
        dead += session(reader, h.start + std::to_string(day * 5 % 12), h.keys);
        if (day % 5 == 0)
            dead += session(desk, "glossary", day % 10 ? "0b" : "0b0b");
        digest ^= reader.digest() + desk.digest();
    }
    recent.erase(std::remove_if(recent.begin(), recent.end(), [](auto &w) { return w.expired(); }), recent.end());
    auto most = std::max_element(opened.begin(), opened.end(),
                                 [](const auto &a, const auto &b) { return a.second < b.second; });
    std::printf("%d pages parsed, %d links renewed, %d dead, %s most often\n", library.parsed(), library.renewed(), dead,
                most->first.c_str());
    std::printf("%zu of them open, digest %08x\n", std::min(library.alive(), recent.size()), digest);
    return 0;
}
