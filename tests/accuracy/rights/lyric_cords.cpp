/* summary: strings in WebKit's manner: the count goes in steps of two above a flag bit, static instances count from zero and come back to it, hasOneRef lets realloc move the counted object and a new constructor run at the new place, substrings own their base, the atom table owns nothing and is cleaned by the destructor
 * track: own
 * build: clang++ -O3 -g -std=c++17 -Wall -o OUT lyric_cords.cpp
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cords {

class Text;
static std::unordered_map<std::string_view, Text *> &atoms()
{
	static auto *t = new std::unordered_map<std::string_view, Text *>;      // never destroyed
	return *t;
}

static long live;

// A string: its characters follow it, or lie in another one, or are a literal.
class Text {
public:
	static constexpr unsigned flag_static = 1, step = 2;
	enum Kind : unsigned char { inner, part, literal };

	struct Static {};
	constexpr Text(Static, const char *chars, unsigned length)
	    : refs_(flag_static), length_(length), chars_(chars), base_(nullptr), kind_(literal), atom_(false) {}

	static Text *make(unsigned length, char *&out)
	{
		void *memory = malloc(sizeof(Text) + length + 1);
		Text *t = new (memory) Text(length);
		out = t->tail();
		out[length] = 0;
		return t;
	}
	static Text *make(const char *s)
	{
		char *out;
		Text *t = make(strlen(s), out);
		memcpy(out, s, t->length_);
		return t;
	}
	static Text *sub(Text *of, unsigned from, unsigned length)
	{
		Text *base = of->kind_ == part ? of->base_ : of;
		return new (malloc(sizeof(Text))) Text(base, of->chars_ + from, length);
	}
	// moves a string that nobody else has; the reference of the caller moves along
	static Text *regrow(Text *t, unsigned length, char *&out)
	{
		t->~Text();
		Text *moved = static_cast<Text *>(realloc(static_cast<void *>(t), sizeof(Text) + length + 1));
		Text *n = new (moved) Text(length);
		out = n->tail();
		out[length] = 0;
		return n;
	}

	void ref() { refs_ += step; }
	void deref()
	{
		unsigned left = refs_ - step;
		if (!left) {
			destroy(this);
			return;
		}
		refs_ = left;
	}
	bool has_one_ref() const { return refs_ == step; }
	bool is_static() const { return refs_ & flag_static; }
	bool can_grow() const { return has_one_ref() && kind_ == inner && !atom_; }
	std::string_view view() const { return { chars_, length_ }; }
	bool is_atom() const { return atom_; }
	void set_atom(bool on) { atom_ = on; }

	~Text()
	{
		if (atom_)
			atoms().erase(view());
		if (kind_ == part)
			base_->deref();
		live--;
	}

private:
	explicit Text(unsigned length)
	    : refs_(step), length_(length), chars_(nullptr), base_(nullptr), kind_(inner), atom_(false)
	{
		chars_ = tail();
		live++;
	}
	Text(Text *base, const char *chars, unsigned length)
	    : refs_(step), length_(length), chars_(chars), base_(base), kind_(part), atom_(false)
	{
		base->ref();
		live++;
	}
	static void destroy(Text *t)
	{
		t->~Text();             // the count still stands at one step here
		free(static_cast<void *>(t));
	}
	char *tail() { return reinterpret_cast<char *>(this + 1); }

	unsigned refs_, length_;
	const char *chars_;
	Text *base_;
	Kind kind_;
	bool atom_;
};

union StaticText {      // its destructor never runs
	Text text;
	constexpr StaticText(const char *chars, unsigned length) : text(Text::Static{}, chars, length) {}
	~StaticText() {}
};
static StaticText empty_static("", 0), chorus_static("la la la", 8);
static Text &empty_text = empty_static.text, &chorus_text = chorus_static.text;

class Cord {
public:
	Cord() : text_(&empty_text) { text_->ref(); }
	Cord(const char *s) : text_(Text::make(s)) {}
	Cord(Text *adopted, int) : text_(adopted) {}
	explicit Cord(Text &t) : text_(&t) { t.ref(); }
	Cord(const Cord &o) : text_(o.text_) { if (text_) text_->ref(); }
	Cord(Cord &&o) noexcept : text_(std::exchange(o.text_, nullptr)) {}
	Cord &operator=(Cord o) noexcept { std::swap(text_, o.text_); return *this; }
	~Cord() { if (text_) text_->deref(); }

	Text *leak() { return std::exchange(text_, nullptr); }
	Text *text() const { return text_; }
	std::string_view view() const { return text_ ? text_->view() : std::string_view(); }
	Cord part(unsigned from, unsigned n) const { return n ? Cord(Text::sub(text_, from, n), 0) : Cord(); }

	void append(std::string_view more)
	{
		unsigned old = view().size();
		char *out;
		if (text_->can_grow()) {
			text_ = Text::regrow(text_, old + more.size(), out);
			memcpy(out + old, more.data(), more.size());
			return;
		}
		Text *t = Text::make(old + more.size(), out);
		memcpy(out, view().data(), old);
		memcpy(out + old, more.data(), more.size());
		*this = Cord(t, 0);
	}

private:
	Text *text_;
};

// the one string with these characters; the table does not own it
static Cord atom(const Cord &c)
{
	auto found = atoms().find(c.view());
	if (found != atoms().end())
		return Cord(*found->second);
	if (c.text()->is_static())
		return c;
	atoms().emplace(c.view(), c.text());
	c.text()->set_atom(true);
	return c;
}

}  // namespace cords

using cords::Cord;
using cords::Text;

struct Song {
	Cord title, first_line;
	std::vector<Cord> lines;
};

Song *on_air;                                    // still there at the end
static Cord title_of_the_day("none");                   // destroyed after main

__attribute__((noinline)) static Song write_song(int n)
{
	Song s;
	char name[32];
	snprintf(name, sizeof name, "Song %d", n);
	s.title = cords::atom(Cord(name));
	Cord text("when the ");
	for (int i = 0; i < 6; i++)
		text.append(i % 2 ? "wind " : "rain comes and goes, ");
	s.first_line = text.part(0, 14);
	for (unsigned i = 0; i + 9 < text.view().size(); i += 9) {
		s.lines.push_back(text.part(i, 9));
		if (i % 2)
			s.lines.push_back(Cord(cords::chorus_text));
	}
	s.lines.push_back(s.lines.front().part(2, 3));  // of a part: it owns the base
	return s;
}

// as a C interface that carries a reference in a void *
static void *cord_to_handle(Cord c) { return c.leak(); }
static Cord cord_from_handle(void *h) { return Cord(static_cast<Text *>(h), 0); }

int main()
{
	std::vector<Song> book;
	for (int i = 0; i < 12; i++)
		book.push_back(write_song(i % 5));
	size_t shared = 0;
	for (auto &s : book)
		shared += s.title.text()->is_atom();
	std::vector<void *> handles;
	for (auto &s : book)
		handles.push_back(cord_to_handle(s.first_line));
	for (int i = 0; i < 300; i++) {
		Cord a, b(cords::empty_text), c = a;
		c.append(i % 2 ? "x" : "yy");
		Cord grow("g");
		for (int k = 0; k < 8; k++)
			grow.append("growing in place or somewhere else ");
		Cord held = grow;
		grow.append("now it has to be copied");
		if (held.view().size() >= grow.view().size())
			abort();
	}
	book.erase(book.begin() + 1, book.end());
	for (auto &h : handles)
		Cord back = cord_from_handle(h);
	on_air = new Song(std::move(book.front()));
	book.clear();
	title_of_the_day = on_air->title;
	printf("%zu shared, %ld strings left with the song on air, %zu atoms\n", shared, cords::live,
	       cords::atoms().size());
	return on_air->lines.empty();
}
