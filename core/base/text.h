// Small text helpers: globs, nearest names, splitting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refhist {

/// True when `text` matches `pattern`, in which '*' is any run and '?' any one character.
bool glob_match(std::string_view pattern, std::string_view text);

/// True when `pattern` has a '*' or '?' in it.
bool is_glob(std::string_view pattern);

/// Edit distance in which two letters swapped are one edit, cut off at `limit` (returns limit + 1 beyond it).
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

/// The candidate nearest to `word` when one is near enough to be a likely misspelling.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// " (did you mean X?)" or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// Splits a command line into words; '…' and "…" group, backslash escapes. Throws Error when unclosed.
std::vector<std::string> split_words(std::string_view line);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& words, std::string_view separator);
/// "a, b and 40 more": at most `most` of the words.
std::string some_of(std::vector<std::string> words, std::size_t most);
/// `text` with every `what` replaced.
std::string replace_all(std::string text, std::string_view what, std::string_view with);
std::string_view trim(std::string_view text);

/// A letter, a digit or '_'.
bool is_identifier_character(char c);
/// The word stands somewhere in the text, and is no part of a longer identifier there.
bool has_whole_word(std::string_view text, std::string_view word);

/// One word of a command line that means this text, for split_words and for a shell.
std::string quoted_word(const std::string& text);

/// "1 object", "2 objects".
std::string plural(std::size_t n, std::string_view noun);

/// "9.5 KiB", "2.0 GiB"
std::string bytes_text(std::uint64_t bytes);
/// The bytes of "4096", "64K", "512M", "2G", "1.5GiB"; nothing when it is no size.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// The last component of a path.
std::string file_name(std::string_view path);

}  // namespace refhist
