#include <doctest/doctest.h>

#include "fleet/answer_text.h"
#include "fleet/finding_record.h"
#include "fleet/html_text.h"
#include "fleet/onset.h"
#include "fleet/robust_fit.h"
#include "fleet/run_facts.h"

using namespace refhist;

TEST_CASE("a robust fit follows the trend, not the outliers") {
  CHECK(fit_robustly({1, 2}).slope == 0);
  const RobustFit line = fit_robustly({10, 20, 30, 40, 50, 60});
  CHECK(line.slope == doctest::Approx(10));
  CHECK(line.start == doctest::Approx(10));
  CHECK(line.chance < 0.01);
  const RobustFit hit = fit_robustly({10, 20, 30, 9000, 50, 60, 70, 80});
  CHECK(hit.slope == doctest::Approx(10));
  // Two points rise, the others do not.
  const RobustFit flat = fit_robustly({5, 5, 5, 5, 5, 5, 9});
  CHECK(flat.slope == 0);
  CHECK(fit_robustly({3, 1, 4, 1, 5, 2, 3}).chance > 0.3);
  CHECK(fit_robustly({7, 7, 7, 7}).chance == 1);
}

TEST_CASE("how many clean runs it takes") {
  CHECK(runs_needed(0, 10) == 0);
  CHECK(runs_needed(1000, 1000) == 1);
  CHECK(runs_needed(1, 1) == 5);      // seen once in one run: who knows
  CHECK(runs_needed(10, 100) == 29);  // (1 - 10 / 101)^29 < 5%
  CHECK(runs_needed(1, 1000) > 2900);
}

TEST_CASE("the onset of a finding") {
  CHECK(!find_onset({}));
  CHECK(!find_onset({{4, 0}, {4, 0}}));
  const auto steady = find_onset({{4, 0}, {4, 0}, {4, 4}, {4, 4}});
  REQUIRE(steady);
  CHECK(steady->first == 2);
  CHECK(steady->last_not == 1);
  CHECK(steady->rate == doctest::Approx(1));
  CHECK(steady->clean_before == 8);
  CHECK(steady->surely_not == 1);
  CHECK(steady->clean_since == 0);

  const auto flaky = find_onset({{20, 0}, {2, 0}, {10, 1}, {10, 1}});
  REQUIRE(flaky);
  CHECK(flaky->last_not == 1);
  CHECK(flaky->confidence < 0.9);  // two clean runs prove nothing
  CHECK(flaky->needed > 22);
  CHECK(!flaky->surely_not);

  const auto gone = find_onset({{1, 1}, {5, 0}, {7, 0}});
  REQUIRE(gone);
  CHECK(!gone->last_not);
  CHECK(gone->clean_since == 12);
}

TEST_CASE("passwords have no place on a command line") {
  CHECK_NOTHROW(refuse_password("postgresql://sender@db.example/refhist?sslmode=verify-full"));
  CHECK_NOTHROW(refuse_password("service=refhist"));
  CHECK_NOTHROW(refuse_password("postgresql://[::1]:5432/refhist"));
  CHECK_THROWS(refuse_password("postgresql://sender:secret@db.example/refhist"));
  CHECK_THROWS(refuse_password("host=db password=secret"));
  CHECK_THROWS(refuse_password("postgresql://db/x?password=secret"));
}

TEST_CASE("labels") {
  RunFacts facts;
  facts.add_label("os=debian=12");
  CHECK(facts.labels.at("os") == "debian=12");
  CHECK_THROWS(facts.add_label("os"));
  CHECK_THROWS(facts.add_label("=x"));
}

TEST_CASE("what is sent fits the database") {
  CHECK(sent_text("a\nb\x1b", 100) == "a\\x0ab\\x1b");
  CHECK(sent_text(std::string(100, 'x'), 10).size() <= 10);
  const std::string umlauts = sent_text("ääääääää", 9);
  CHECK(umlauts.ends_with("…"));
  CHECK(umlauts.size() <= 9);
}

TEST_CASE("text of others in a page") {
  CHECK(html_text("<b a=\"1\" c='2'>&") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;");
  CHECK(html_text("\x1b") == "\\x1b");
}

TEST_CASE("a sparkline") {
  CHECK(sparkline({}).empty());
  CHECK(sparkline({0, 1, 0.5, 8}) == "·▁▁█");
}
