// C++ names as people read them.
#pragma once

#include <string>
#include <string_view>

namespace refhist {

/// "std::map<int, std::string>::at(int const&)" for what the demangler calls std::map<int,
/// std::__cxx11::basic_string<char, …>, std::less<int>, std::allocator<…> >: template arguments that are the
/// defaults of the standard library are left out, and so are its inner namespaces.
std::string short_name(std::string_view name);

}  // namespace refhist
