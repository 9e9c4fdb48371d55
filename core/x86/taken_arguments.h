// What is known by name alone of library functions that keep a pointer and take no reference for it: it has
// to come with one.
#pragma once

#include <optional>
#include <string_view>

namespace refhist {

/// The number of the argument (1-based) whose reference the function takes over, as json_object_set_new()
/// does.
std::optional<unsigned> taken_over(std::string_view function);
/// The family of functions that work on such containers, "g_ptr_array_"; empty where it is none of theirs.
std::string_view container_of(std::string_view function);
/// The number of the argument (1-based) that becomes an element of the container.
std::optional<unsigned> contained(std::string_view function);
/// By name, it takes a reference, or the one that nobody has yet.
bool takes_floating(std::string_view function);
/// By name, it returns what somebody else has the reference to, as json_object_get() does.
bool looks_up(std::string_view function);
/// By name, it leaves what somebody else has the reference to in a variable, as json_object_object_get_ex()
/// does.
bool lends_out(std::string_view function);
/// By name, it asks something of what it is given, or works on what never changes: its caller still has the
/// reference behind it.
bool borrows(std::string_view function);
/// By name, a function that a destroying one is passed to does not call it for the argument before.
bool has_elements(std::string_view function);

}  // namespace refhist
