// Which functions look like the get and the put of one type, by their names: conn_ref and conn_unref,
// X509_up_ref and X509_free, ns::Conn::AddRef and ns::Conn::Release.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refhist {

/// How much the verbs of a pair say.
enum class Certainty : std::uint8_t {
  sure,    ///< used for reference counts and for nothing else: ref, retain
  likely,  ///< for reference counts, and for tables, pools and locks: get, acquire
  counts,  ///< inc and dec: of any counter
  copies,  ///< dup, copy, clone: mostly a new object
};

struct NamePair {
  std::size_t get = 0;  ///< index into the names
  std::size_t put = 0;
  Certainty certainty = Certainty::sure;
  std::vector<std::string> subject;  ///< the words that are left without the verbs: {"conn"}
  std::string spelling;              ///< of the subject, as the get's name writes it: "conn"
};

/// "dbus_connection_ref" -> dbus connection ref; "ns::HTTPConn::AddRef" -> ns http conn add ref.
std::vector<std::string> name_words(std::string_view name);

/// "conn" of "struct conn".
std::string without_struct(std::string_view type);

/// True for the path of a member whose name says that it counts references: "kref.refcount". "users" may be
/// those of a device that is switched off when there are none.
bool is_count_of_references(std::string_view member);

/// All pairs among the names (C names, or C++ names without parameters), in the order of the gets.
std::vector<NamePair> pair_names(const std::vector<std::string>& names);

/// True for the words of a conditional get of the same subject: get = {conn, get}, words = {conn, get,
/// unless, zero}.
bool is_conditional_get(const std::vector<std::string>& get, const std::vector<std::string>& words);
/// True for a constructor of the subject: {conn, new, …}, {conn, create, …}, {new, conn}.
bool is_constructor(const std::vector<std::string>& subject, const std::vector<std::string>& words);
/// True for an initialiser of memory that the caller has: {conn, init, …}.
bool is_initialiser(const std::vector<std::string>& subject, const std::vector<std::string>& words);

}  // namespace refhist
