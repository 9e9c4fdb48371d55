// A suite of libcheck, which forks for each test: one is right, one keeps a reference, one fails, one
// crashes.
#include <check.h>
#include <json-c/json.h>

START_TEST(right) {
  json_object *object = json_object_new_object();
  json_object_object_add(object, "number", json_object_new_int(1));
  ck_assert_int_eq(json_object_put(object), 1);
}
END_TEST

START_TEST(keeps) {
  json_object *object = json_object_new_object();
  json_object *list = json_object_new_array();
  json_object_object_add(object, "list", json_object_get(list));
  ck_assert_int_eq(json_object_put(object), 1);
}
END_TEST

START_TEST(fails) { ck_assert_int_eq(1, 2); }
END_TEST

START_TEST(crashes) { *(volatile int *)0 = 1; }
END_TEST

int main(void) {
  Suite *suite = suite_create("json");
  TCase *tests = tcase_create("objects");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, right);
  tcase_add_test(tests, keeps);
  tcase_add_test(tests, fails);
  tcase_add_test_raise_signal(tests, crashes, 11);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  const int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed;
}
