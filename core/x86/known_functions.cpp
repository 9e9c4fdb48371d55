#include "x86/known_functions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "x86/name_words.h"

namespace refhist {
namespace {

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::optional<KnownAddition> known_addition(std::string_view function) {
  static constexpr std::array<std::pair<std::string_view, KnownAddition>, 27> kAdditions{{
      {"g_atomic_int_inc", {1, false, 4}},
      {"g_atomic_int_dec_and_test", {-1, false, 4}},
      {"g_atomic_int_add", {1, true, 4}},
      {"g_atomic_int_exchange_and_add", {1, true, 4}},
      {"g_atomic_pointer_add", {1, true, 8}},
      {"g_atomic_ref_count_inc", {1, false, 4}},
      {"g_atomic_ref_count_dec", {-1, false, 4}},
      {"g_ref_count_inc", {-1, false, 4}},  // this one counts downwards
      {"g_ref_count_dec", {1, false, 4}},
      {"CRYPTO_atomic_add", {1, true, 4}},
      {"__atomic_fetch_add_4", {1, true, 4}},
      {"__atomic_fetch_add_8", {1, true, 8}},
      {"__atomic_add_fetch_4", {1, true, 4}},
      {"__atomic_add_fetch_8", {1, true, 8}},
      {"__atomic_fetch_sub_4", {-1, true, 4}},
      {"__atomic_fetch_sub_8", {-1, true, 8}},
      {"__atomic_sub_fetch_4", {-1, true, 4}},
      {"__atomic_sub_fetch_8", {-1, true, 8}},
      {"__sync_fetch_and_add_4", {1, true, 4}},
      {"__sync_fetch_and_add_8", {1, true, 8}},
      {"__sync_add_and_fetch_4", {1, true, 4}},
      {"__sync_add_and_fetch_8", {1, true, 8}},
      {"__sync_fetch_and_sub_4", {-1, true, 4}},
      {"__sync_fetch_and_sub_8", {-1, true, 8}},
      {"__sync_sub_and_fetch_4", {-1, true, 4}},
      {"__sync_sub_and_fetch_8", {-1, true, 8}},
      {"_ZN9__gnu_cxx18__exchange_and_addEPVii", {1, true, 4}},
  }};
  for (const auto& [name, addition] : kAdditions) {
    if (name == function) return addition;
  }
  return std::nullopt;
}

bool ends_the_path(std::string_view function) {
  static constexpr std::array<std::string_view, 20> kNames{"g_return_if_fail_warning",
                                                           "_dbus_warn_return_if_fail",
                                                           "_dbus_warn_check_failed",
                                                           "abort",
                                                           "exit",
                                                           "_exit",
                                                           "quick_exit",
                                                           "__stack_chk_fail",
                                                           "__assert_fail",
                                                           "__chk_fail",
                                                           "__fortify_fail",
                                                           "__assert_perror_fail",
                                                           "g_assertion_message",
                                                           "g_assertion_message_expr",
                                                           "_dbus_abort",
                                                           "OPENSSL_die",
                                                           "__cxa_throw",
                                                           "__cxa_rethrow",
                                                           "_Unwind_Resume",
                                                           "_ZSt9terminatev"};
  return contains(kNames, function);
}

bool only_looks(std::string_view function) {
  static constexpr std::array<std::string_view, 24> kNames{"strcmp",
                                                           "strncmp",
                                                           "strcasecmp",
                                                           "strncasecmp",
                                                           "strcoll",
                                                           "memcmp",
                                                           "bcmp",
                                                           "strlen",
                                                           "strnlen",
                                                           "strchr",
                                                           "strrchr",
                                                           "strstr",
                                                           "memchr",
                                                           "bsearch",
                                                           "g_strcmp0",
                                                           "g_str_equal",
                                                           "g_str_hash",
                                                           "pthread_mutex_lock",
                                                           "pthread_mutex_unlock",
                                                           "pthread_rwlock_rdlock",
                                                           "pthread_rwlock_unlock",
                                                           "g_mutex_lock",
                                                           "g_mutex_unlock",
                                                           "__errno_location"};
  return contains(kNames, function);
}

bool makes_memory(std::string_view function) {
  static constexpr std::array<std::string_view, 18> kNames{
      "malloc",         "calloc",       "aligned_alloc",       "g_malloc",        "g_malloc0",
      "g_malloc_n",     "g_malloc0_n",  "g_try_malloc",        "g_try_malloc0",   "g_slice_alloc",
      "g_slice_alloc0", "g_object_new", "PyMem_Malloc",        "PyObject_Malloc", "CRYPTO_malloc",
      "CRYPTO_zalloc",  "_Znwm",        "_ZnwmSt11align_val_t"};
  return contains(kNames, function);
}

std::optional<unsigned> freed_argument(std::string_view function) {
  static constexpr std::array<std::string_view, 14> kFirst{
      "free",      "g_free",     "g_free_sized",  "CRYPTO_free",           "CRYPTO_clear_free",
      "dbus_free", "PyMem_Free", "PyObject_Free", "PyObject_GC_Del",       "_ZdlPv",
      "_ZdlPvm",   "_ZdaPv",     "_ZdaPvm",       "_ZdlPvmSt11align_val_t"};
  if (contains(kFirst, function)) return 1;
  return function == "g_slice_free1" ? std::optional(2U) : std::nullopt;
}

bool copies_memory(std::string_view function) {
  static constexpr std::array<std::string_view, 5> kNames{"memcpy", "memmove", "__memcpy_chk",
                                                          "__memmove_chk", "mempcpy"};
  return contains(kNames, function);
}

bool clears_memory(std::string_view function) {
  static constexpr std::array<std::string_view, 4> kNames{"memset", "__memset_chk", "bzero",
                                                          "explicit_bzero"};
  return contains(kNames, function);
}

bool gives_back(std::string_view function) {
  static constexpr std::array<std::string_view, 10> kWords{"free",    "destroy",  "delete",   "dealloc",
                                                           "dispose", "finalize", "finalise", "recycle",
                                                           "reap",    "destruct"};
  if (freed_argument(function) || function == "munmap") return true;
  return std::any_of(kWords.begin(), kWords.end(),
                     [function](std::string_view word) { return has_word(function, word); });
}

}  // namespace refhist
