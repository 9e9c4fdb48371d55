#include "x86/taken_arguments.h"

#include <algorithm>
#include <array>
#include <utility>

#include "x86/name_words.h"

namespace refhist {

namespace {

using Numbered = std::pair<std::string_view, unsigned>;

template <std::size_t N>
std::optional<unsigned> number_of(const std::array<Numbered, N>& known, std::string_view function) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Numbered& one) { return one.first == function; });
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

template <std::size_t N>
bool has_any_word(const std::array<std::string_view, N>& words, std::string_view function) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return has_word(function, word); });
}

}  // namespace

std::optional<unsigned> taken_over(std::string_view function) {
  static constexpr std::array<Numbered, 41> kTaken{{{"g_value_take_object", 2},
                                                    {"g_value_take_boxed", 2},
                                                    {"g_value_take_variant", 2},
                                                    {"g_value_take_param", 2},
                                                    {"gst_structure_take_value", 3},
                                                    {"gst_pad_push", 2},
                                                    {"gst_pad_push_list", 2},
                                                    {"gst_pad_push_event", 2},
                                                    {"gst_pad_send_event", 2},
                                                    {"gst_pad_chain", 2},
                                                    {"gst_element_send_event", 2},
                                                    {"gst_element_post_message", 2},
                                                    {"gst_bus_post", 2},
                                                    {"gst_buffer_append", 2},
                                                    {"gst_buffer_append_memory", 2},
                                                    {"gst_buffer_prepend_memory", 2},
                                                    {"gst_buffer_insert_memory", 3},
                                                    {"gst_buffer_list_insert", 3},
                                                    {"gst_app_src_push_buffer", 2},
                                                    {"gst_adapter_push", 2},
                                                    {"gst_caps_append", 2},
                                                    {"gst_caps_append_structure", 2},
                                                    {"gst_event_new_tag", 1},
                                                    {"gst_message_new_tag", 2},
                                                    {"json_object_set_new", 3},
                                                    {"json_object_set_new_nocheck", 3},
                                                    {"json_object_setn_new", 4},
                                                    {"json_object_update_new", 2},
                                                    {"json_array_set_new", 3},
                                                    {"json_array_append_new", 2},
                                                    {"json_array_insert_new", 3},
                                                    {"json_object_object_add", 3},
                                                    {"json_object_object_add_ex", 3},
                                                    {"json_object_array_add", 2},
                                                    {"json_object_array_put_idx", 3},
                                                    {"json_object_array_insert_idx", 3},
                                                    {"EVP_PKEY_assign", 3},
                                                    {"PyList_SetItem", 3},
                                                    {"PyTuple_SetItem", 3},
                                                    {"PyStructSequence_SetItem", 3},
                                                    {"PyModule_AddObject", 3}}};
  for (const std::string_view part : {"_set0_", "_add0_", "_push0_"}) {  // OpenSSL's
    if (function.find(part) != std::string_view::npos) return 2;
  }
  return number_of(kTaken, function);
}

std::string_view container_of(std::string_view function) {
  static constexpr std::array<std::string_view, 8> kContainers{
      "g_ptr_array_", "g_hash_table_",  "g_list_",     "g_slist_",
      "g_queue_",     "g_async_queue_", "g_sequence_", "OPENSSL_sk_"};
  const auto found = std::find_if(kContainers.begin(), kContainers.end(),
                                  [&](std::string_view prefix) { return function.starts_with(prefix); });
  return found == kContainers.end() ? std::string_view() : *found;
}

std::optional<unsigned> contained(std::string_view function) {
  static constexpr std::array<Numbered, 26> kKept{
      {{"g_ptr_array_add", 2},          {"g_ptr_array_insert", 3},
       {"g_hash_table_insert", 3},      {"g_hash_table_replace", 3},
       {"g_hash_table_add", 2},         {"g_list_append", 2},
       {"g_list_prepend", 2},           {"g_list_insert", 2},
       {"g_list_insert_sorted", 2},     {"g_list_insert_before", 3},
       {"g_slist_append", 2},           {"g_slist_prepend", 2},
       {"g_slist_insert", 2},           {"g_slist_insert_sorted", 2},
       {"g_queue_push_tail", 2},        {"g_queue_push_head", 2},
       {"g_queue_push_nth", 2},         {"g_queue_insert_sorted", 2},
       {"g_async_queue_push", 2},       {"g_async_queue_push_front", 2},
       {"g_sequence_append", 2},        {"g_sequence_prepend", 2},
       {"g_sequence_insert_before", 2}, {"OPENSSL_sk_push", 2},
       {"OPENSSL_sk_unshift", 2},       {"OPENSSL_sk_insert", 2}}};
  return number_of(kKept, function);
}

bool takes_floating(std::string_view function) {
  return function.ends_with("_ref_sink") || function.ends_with("_take_ref");
}

bool looks_up(std::string_view function) {
  static constexpr std::array<std::string_view, 11> kWords{"get",  "get0",  "peek", "lookup", "find", "first",
                                                           "last", "index", "nth",  "at",     "value"};
  return has_any_word(kWords, function);
}

bool lends_out(std::string_view function) {
  static constexpr std::array<std::string_view, 4> kNames{
      "json_object_object_get_ex", "g_hash_table_lookup_extended", "g_hash_table_iter_next", "PyDict_Next"};
  return std::find(kNames.begin(), kNames.end(), function) != kNames.end();
}

bool borrows(std::string_view function) {
  static constexpr std::array<std::string_view, 4> kNeverChange{"g_date_time_", "g_bytes_", "g_time_zone_",
                                                                "g_regex_"};
  static constexpr std::array<std::string_view, 34> kAsking{
      "get",    "get0",    "peek",  "lookup",   "find",       "is",        "has",     "can",   "check",
      "cmp",    "compare", "equal", "hash",     "length",     "len",       "size",    "count", "print",
      "printf", "format",  "dump",  "contains", "difference", "to",        "string",  "query", "copy",
      "dup",    "clone",   "iter",  "foreach",  "name",       "intersect", "subtract"};
  static constexpr std::array<std::string_view, 32> kKeeping{
      "set",    "add",     "append",   "prepend", "insert",  "push",   "put",      "take",
      "steal",  "own",     "adopt",    "send",    "queue",   "attach", "register", "connect",
      "emit",   "free",    "unref",    "release", "close",   "finish", "destroy",  "install",
      "remove", "replace", "writable", "sink",    "consume", "move",   "new",      "builder"};
  const auto begins = [&](std::string_view prefix) { return function.starts_with(prefix); };
  const bool ends = has_any_word(std::array<std::string_view, 4>{"unref", "free", "take", "new"}, function);
  if (std::any_of(kNeverChange.begin(), kNeverChange.end(), begins)) return !ends;
  return has_any_word(kAsking, function) && !has_any_word(kKeeping, function);
}

bool has_elements(std::string_view function) {
  static constexpr std::array<std::string_view, 10> kWords{"free", "foreach", "each",    "clear", "new",
                                                           "func", "init",    "destroy", "pop",   "remove"};
  return has_any_word(kWords, function);
}

}  // namespace refhist
