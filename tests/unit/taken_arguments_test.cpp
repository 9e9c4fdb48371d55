// What the names of functions tell.
#include "x86/taken_arguments.h"

#include <doctest/doctest.h>

#include "x86/known_functions.h"

using namespace refhist;

TEST_CASE("functions that take a reference over are known by their names") {
  CHECK(taken_over("json_object_set_new") == 3U);
  CHECK(taken_over("g_value_take_object") == 2U);
  CHECK(taken_over("X509_STORE_CTX_set0_crls") == 2U);
  CHECK_FALSE(taken_over("json_object_set"));
  CHECK_FALSE(taken_over("g_value_set_object"));
  CHECK_FALSE(taken_over("my_json_object_set_new"));
}

TEST_CASE("containers are told apart by their functions") {
  CHECK(container_of("g_ptr_array_unref") == "g_ptr_array_");
  CHECK(container_of("OPENSSL_sk_pop_free") == "OPENSSL_sk_");
  CHECK(container_of("g_object_unref").empty());
  CHECK(contained("g_ptr_array_insert") == 3U);
  CHECK(contained("g_queue_push_tail") == 2U);
  CHECK_FALSE(contained("g_ptr_array_remove"));
}

TEST_CASE("what a function does with the pointer that it is passed along with a put") {
  // For the pointer itself.
  CHECK_FALSE(has_elements("g_object_set_data_full"));
  CHECK_FALSE(has_elements("gst_pad_add_probe"));
  // For what is in there, or is to come.
  CHECK(has_elements("g_list_free_full"));
  CHECK(has_elements("g_ptr_array_foreach"));
  CHECK(has_elements("g_hash_table_new_full"));
  CHECK(has_elements("g_clear_pointer"));
}

TEST_CASE("results that somebody else has the reference to are known by the name") {
  CHECK(looks_up("json_object_get"));
  CHECK(looks_up("g_hash_table_lookup"));
  CHECK_FALSE(looks_up("json_string"));
  CHECK(takes_floating("g_object_ref_sink"));
  CHECK(takes_floating("g_variant_take_ref"));
  CHECK_FALSE(takes_floating("g_object_unref"));
}

TEST_CASE("functions of the C library that copy and wipe memory") {
  CHECK(copies_memory("__memcpy_chk"));
  CHECK_FALSE(copies_memory("memset"));
  CHECK(clears_memory("memset"));
  CHECK_FALSE(clears_memory("memcpy"));
}
