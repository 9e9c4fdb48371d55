#include "fleet/questions.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "fleet/onset.h"
#include "fleet/robust_fit.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFleetSchema = "refhist-fleet/1";
constexpr std::size_t kFewestCommits = 5;  // of a fit
constexpr double kChance = 0.05;

/// Of all findings only what tells their state and place in the list is read; the rest is looked up for those
/// that are shown.
constexpr const char* kFindings = R"(
WITH s AS NOT MATERIALIZED (
  SELECT s.id, s.branch, s.name, s.runs FROM refhist.series s WHERE s.project = $1::int AND ($2 = '' OR s.branch = $2)),
f AS (
  SELECT fs.finding, min(fs.first_at) AS first_at, bool_or(s.runs - fs.runs_until < fs.needed) AS present
  FROM refhist.finding_series fs JOIN s ON s.id = fs.series WHERE fs.project = $1::int GROUP BY fs.finding),
told AS MATERIALIZED (
  SELECT f.*, CASE WHEN v.accepted THEN 'accepted' WHEN f.present THEN 'open' ELSE 'gone' END AS state, v.by, v.why
  FROM f LEFT JOIN refhist.verdict v ON v.project = $1::int AND v.finding = f.finding),
shown AS MATERIALIZED (
  SELECT * FROM told WHERE $3 = 'all' OR state = 'open' ORDER BY state = 'open' DESC, first_at DESC, finding LIMIT $4::int),
numbers AS (
  SELECT t.finding, max(fs.last_at) AS last_at, sum(fs.runs_with)::bigint AS runs_with,
    sum(s.runs - fs.runs_before)::bigint AS runs, sum(fs.runs_until - fs.runs_before)::bigint AS span,
    sum(s.runs - fs.runs_until)::bigint AS clean_since, array_agg(DISTINCT s.branch ORDER BY s.branch) AS branches,
    array_agg(DISTINCT s.name ORDER BY s.name) AS names
  FROM shown t JOIN refhist.finding_series fs ON fs.project = $1::int AND fs.finding = t.finding JOIN s ON s.id = fs.series
  GROUP BY t.finding)
SELECT json_build_object(
  'runs', (SELECT coalesce(sum(s.runs), 0) FROM s),
  'numbers', (SELECT json_build_object('open', count(*) FILTER (WHERE state = 'open'),
    'accepted', count(*) FILTER (WHERE state = 'accepted'), 'gone', count(*) FILTER (WHERE state = 'gone')) FROM told),
  'findings', (SELECT coalesce(json_agg(json_build_object('fingerprint', x.fingerprint, 'state', t.state, 'verdict', x.verdict,
      'family', x.family, 'title', x.title, 'place', x.place, 'first_seen', t.first_at, 'last_seen', n.last_at,
      'runs_with', n.runs_with, 'runs', n.runs, 'flaky', n.runs_with < n.span, 'clean_since', n.clean_since,
      'branches', n.branches, 'names', n.names, 'judged_by', t.by, 'why', t.why)
      ORDER BY t.state = 'open' DESC, t.first_at DESC, t.finding), '[]')
    FROM shown t JOIN refhist.finding x ON x.project = $1::int AND x.id = t.finding JOIN numbers n ON n.finding = t.finding),
  'not_counted_yet', (SELECT count(*) FROM (SELECT FROM refhist.unfolded u WHERE u.project = $1::int LIMIT 1000) u)))";

/// Of the findings with these fingerprints: the last 40 commits that their series have.
constexpr const char* kCourses = R"(
SELECT coalesce(json_object_agg(c.fingerprint, c.rates), '{}') FROM (
  SELECT t.fingerprint, json_agg(t.rate ORDER BY t.first_at) AS rates
  FROM (SELECT x.id, x.project, x.fingerprint FROM refhist.finding x
        WHERE x.project = $1::int AND x.fingerprint = ANY ($2::text[])) x
  CROSS JOIN LATERAL (
    SELECT x.fingerprint, p.first_at, round(coalesce(fp.runs_with, 0)::numeric / p.runs, 3) AS rate
    FROM refhist.finding_series fs JOIN refhist.point p ON p.project = fs.project AND p.series = fs.series
    LEFT JOIN refhist.finding_point fp ON fp.project = x.project AND fp.point = p.id AND fp.finding = x.id
    WHERE fs.project = x.project AND fs.finding = x.id AND p.runs > 0 ORDER BY p.first_at DESC LIMIT 40) t
  GROUP BY t.fingerprint) c)";

constexpr const char* kShow = R"(
SELECT json_build_object('fingerprint', x.fingerprint, 'verdict', x.verdict, 'family', x.family, 'title', x.title,
  'place', x.place, 'detail', x.detail,
  'judgements', coalesce((SELECT json_agg(json_build_object('at', j.at, 'by', j.by, 'accepted', j.accepted, 'why', j.why)
    ORDER BY j.at) FROM refhist.judgement j WHERE j.project = x.project AND j.finding = x.id), '[]'),
  'course', coalesce((SELECT json_agg(c ORDER BY c.first_at) FROM (
    SELECT s.branch, s.name, p.commit, p.first_at, p.runs, coalesce(fp.runs_with, 0) AS runs_with,
      coalesce(fp.most_alike, 0) AS most_alike
    FROM refhist.finding_series fs JOIN refhist.series s ON s.project = fs.project AND s.id = fs.series
    JOIN refhist.point p ON p.project = s.project AND p.series = s.id
    LEFT JOIN refhist.finding_point fp ON fp.project = x.project AND fp.point = p.id AND fp.finding = x.id
    WHERE fs.project = x.project AND fs.finding = x.id AND p.runs > 0 ORDER BY p.first_at DESC LIMIT 200) c), '[]'))
FROM refhist.finding x WHERE x.project = $1::int AND x.fingerprint = $2)";

constexpr const char* kSince = R"(
SELECT coalesce(json_agg(json_build_object('commit', c.commit, 'first_at', c.first_at, 'runs', c.runs,
  'runs_with', c.runs_with) ORDER BY c.first_at, c.commit), '[]')
FROM (
  SELECT p.commit, min(p.first_at) AS first_at, sum(p.runs) AS runs, sum(coalesce(fp.runs_with, 0)) AS runs_with
  FROM refhist.finding x JOIN refhist.finding_series fs ON fs.project = x.project AND fs.finding = x.id
  JOIN refhist.series s ON s.project = fs.project AND s.id = fs.series
  JOIN refhist.point p ON p.project = s.project AND p.series = s.id
  LEFT JOIN refhist.finding_point fp ON fp.project = x.project AND fp.point = p.id AND fp.finding = x.id
  WHERE x.project = $1::int AND x.fingerprint = $2 AND s.branch = $3 AND p.runs > 0 GROUP BY p.commit) c)";

constexpr const char* kGrowth = R"(
WITH last AS (
  SELECT s.name, p.* FROM refhist.series s
  CROSS JOIN LATERAL (SELECT p.id, p.commit, p.first_at FROM refhist.point p
                      WHERE p.project = s.project AND p.series = s.id AND p.runs > 0
                      ORDER BY p.first_at DESC LIMIT $3::int) p
  WHERE s.project = $1::int AND s.branch = $2),
medians AS (
  SELECT l.name, u.place, l.commit, l.first_at, percentile_cont(0.5) WITHIN GROUP (ORDER BY u.live) AS live,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY u.bytes) AS bytes
  FROM last l JOIN refhist.run r ON r.project = $1::int AND r.point = l.id
  CROSS JOIN unnest(r.places, r.live_at_end, r.live_bytes) AS u (place, live, bytes)
  GROUP BY 1, 2, 3, 4)
SELECT coalesce(json_agg(json_build_object('name', m.name, 'family', p.family, 'by', p.made_by, 'function', p.function,
  'file', p.file, 'commits', m.commits, 'live', m.live, 'bytes', m.bytes)), '[]')
FROM (SELECT name, place, json_agg(commit ORDER BY first_at) AS commits, json_agg(live ORDER BY first_at) AS live,
        json_agg(bytes ORDER BY first_at) AS bytes
      FROM medians GROUP BY name, place HAVING max(live) > min(live) OR max(bytes) > min(bytes)) m
JOIN refhist.place p ON p.project = $1::int AND p.id = m.place)";

constexpr const char* kRun = R"(json_build_object('run', r.id, 'started_at', r.started_at, 'branch', s.branch,
  'name', s.name, 'commit', p.commit, 'host', r.host, 'debugger', r.debugger, 'refhist', r.refhist, 'program', r.program,
  'arguments', r.arguments, 'labels', r.labels, 'exit_status', r.exit_status, 'signal', r.signal, 'seconds', r.seconds,
  'totals', json_build_object('events', r.events, 'objects', r.objects, 'live', r.live, 'lost_events', r.lost_events),
  'findings', cardinality(r.findings), 'failing', r.failing, 'complete', r.complete, 'failed', r.failed,
  'history_bytes', (SELECT coalesce(sum(octet_length(h.bytes)), 0) FROM refhist.history h
    WHERE h.project = r.project AND h.run = r.id)))";

constexpr const char* kRuns = R"(
FROM (SELECT r.* FROM refhist.run r JOIN refhist.point p ON p.project = r.project AND p.id = r.point
      JOIN refhist.series s ON s.project = p.project AND s.id = p.series
      WHERE r.project = $1::int AND ($2 = '' OR s.branch = $2) AND ($3 = '' OR s.name = $3) AND starts_with(p.commit, $4)
      ORDER BY r.started_at DESC LIMIT $5::int) r
JOIN refhist.point p ON p.project = r.project AND p.id = r.point
JOIN refhist.series s ON s.project = p.project AND s.id = p.series)";

/// What one run has of findings, and of places.
constexpr const char* kCompare = R"(
WITH a AS (SELECT * FROM refhist.run WHERE project = $1::int AND id = $2::uuid),
b AS (SELECT * FROM refhist.run WHERE project = $1::int AND id = $3::uuid),
fa AS (SELECT f.* FROM a, unnest(a.findings, a.alike) AS f (finding, alike)),
fb AS (SELECT f.* FROM b, unnest(b.findings, b.alike) AS f (finding, alike)),
pa AS (SELECT f.* FROM a, unnest(a.places, a.live_at_end, a.live_bytes) AS f (place, live, bytes)),
pb AS (SELECT f.* FROM b, unnest(b.places, b.live_at_end, b.live_bytes) AS f (place, live, bytes))
SELECT json_build_object(
  'findings', coalesce((SELECT json_agg(json_build_object('fingerprint', x.fingerprint, 'title', x.title, 'place', x.place,
      'in', CASE WHEN fa.finding IS NULL THEN 'second' WHEN fb.finding IS NULL THEN 'first' ELSE 'both' END,
      'alike', json_build_array(coalesce(fa.alike, 0), coalesce(fb.alike, 0))) ORDER BY fa.finding IS NULL DESC, x.fingerprint)
    FROM fa FULL JOIN fb ON fa.finding = fb.finding
    JOIN refhist.finding x ON x.project = $1::int AND x.id = coalesce(fa.finding, fb.finding)), '[]'),
  'places', coalesce((SELECT json_agg(json_build_object('family', x.family, 'by', x.made_by, 'function', x.function,
      'file', x.file, 'live', json_build_array(coalesce(pa.live, 0), coalesce(pb.live, 0)),
      'bytes', json_build_array(coalesce(pa.bytes, 0), coalesce(pb.bytes, 0)))
      ORDER BY abs(coalesce(pa.bytes, 0) - coalesce(pb.bytes, 0)) DESC, x.id)
    FROM pa FULL JOIN pb ON pa.place = pb.place
    JOIN refhist.place x ON x.project = $1::int AND x.id = coalesce(pa.place, pb.place)
    WHERE (pa.live, pa.bytes) IS DISTINCT FROM (pb.live, pb.bytes)), '[]')))";

std::vector<double> numbers_of(const Json& array) {
  std::vector<double> values;
  for (const Json& value : array) values.push_back(value.get<double>());
  return values;
}

/// Empty when it does not rise.
Json rise_of(const Json& array) {
  const std::vector<double> values = numbers_of(array);
  const RobustFit fit = fit_robustly(values);
  if (fit.slope <= 0 || fit.chance > kChance) return nullptr;
  return {{"slope", fit.slope},
          {"from", fit.start},
          {"to", fit.start + fit.slope * static_cast<double>(values.size() - 1)},
          {"chance", fit.chance}};
}

bool is_hex(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

}  // namespace

Json Questions::json(const std::string& sql, const std::vector<std::string>& parameters) {
  const std::string text = database_.value(sql, parameters);
  return text.empty() ? Json() : Json::parse(text);
}

const std::string& Questions::project_id() {
  constexpr const char* kNone = "0";
  if (project_id_.empty()) {
    project_id_ = database_.value("SELECT id FROM refhist.project WHERE name = $1", {project_});
    if (project_id_.empty()) project_id_ = kNone;
  }
  return project_id_;
}

Json Questions::answer() const { return {{"schema", kFleetSchema}, {"project", project_}}; }

std::string Questions::one_fingerprint(const std::string& begin) {
  const std::string unknown =
      fmt::format("no finding {} in the project {} (refhist fleet findings --all)", begin, project_);
  if (!is_hex(begin)) fail("{}", unknown);
  const auto rows = database_.ask(
      "SELECT x.fingerprint FROM refhist.finding x WHERE x.project = $1::int AND x.fingerprint BETWEEN $2 "
      "AND "
      "rpad($2, 16, 'f') LIMIT 2",
      {project_id(), begin});
  if (rows.empty()) fail("{}", unknown);
  if (rows.size() > 1) fail("several findings begin with {}: give more of it", begin);
  return rows.front().front().value_or("");
}

std::string Questions::one_run(const std::string& begin) {
  std::string digits = begin;
  std::erase(digits, '-');
  if (!is_hex(begin) || digits.size() > 32) fail("{} is no run (refhist fleet runs shows them)", begin);
  const auto rows = database_.ask(
      "SELECT id FROM refhist.run WHERE project = $1::int AND id BETWEEN rpad($2, 32, '0')::uuid AND "
      "rpad($2, 32, 'f')::uuid LIMIT 2",
      {project_id(), digits});
  if (rows.empty()) fail("no run {} in the project {} (refhist fleet runs shows them)", begin, project_);
  if (rows.size() > 1) fail("several runs begin with {}: give more of it", begin);
  return rows.front().front().value_or("");
}

std::string Questions::usual_branch() {
  return database_.value(
      "SELECT s.branch FROM refhist.series s WHERE s.project = $1::int GROUP BY 1 ORDER BY sum(s.runs) DESC, "
      "1 "
      "LIMIT 1",
      {project_id()});
}

std::string Questions::branch_of(const std::string& fingerprint) {
  return database_.value(
      "SELECT s.branch FROM refhist.finding x JOIN refhist.finding_series fs ON fs.project = x.project AND "
      "fs.finding = x.id JOIN refhist.series s ON s.project = fs.project AND s.id = fs.series "
      "WHERE x.project = $1::int AND x.fingerprint = $2 GROUP BY 1 ORDER BY sum(s.runs) DESC, 1 LIMIT 1",
      {project_id(), fingerprint});
}

Json Questions::findings(const std::string& branch, bool all, int most) {
  Json answer = this->answer();
  answer["branch"] = branch.empty() ? Json(nullptr) : Json(branch);
  answer.update(json(kFindings, {project_id(), branch, all ? "all" : "open", std::to_string(most)}));
  return answer;
}

void Questions::add_courses(Json& findings) {
  constexpr std::size_t kMost = 200;  // findings of one page
  std::vector<std::string> fingerprints;
  for (const Json& finding : findings.at("findings")) {
    if (fingerprints.size() < kMost) fingerprints.push_back(finding.at("fingerprint"));
  }
  Json courses = json(kCourses, {project_id(), FleetDatabase::array_of(fingerprints)});
  for (Json& finding : findings.at("findings")) {
    const auto course = courses.find(finding.at("fingerprint").get<std::string>());
    if (course != courses.end()) finding["course"] = *course;
  }
}

Json Questions::show(const std::string& fingerprint) {
  Json answer = this->answer();
  answer["finding"] = json(kShow, {project_id(), one_fingerprint(fingerprint)});
  return answer;
}

Json Questions::since(const std::string& begin, const std::string& on) {
  const std::string fingerprint = one_fingerprint(begin);
  const std::string branch = on.empty() ? branch_of(fingerprint) : on;
  const Json commits = json(kSince, {project_id(), fingerprint, branch});
  std::vector<CommitRuns> runs;
  for (const Json& commit : commits) runs.push_back({commit.at("runs"), commit.at("runs_with")});
  const auto onset = find_onset(runs);
  if (!onset) fail("no run of the branch {} has the finding {}", branch, fingerprint);
  const auto at = [&](std::optional<std::size_t> index) { return index ? commits[*index] : Json(nullptr); };
  Json answer = this->answer();
  answer["fingerprint"] = fingerprint;
  answer["branch"] = branch;
  answer["first"] = at(onset->first);
  answer["last_not"] = at(onset->last_not);
  answer["last"] = at(onset->last);
  answer["rate"] = onset->rate;
  answer["clean_before"] = onset->clean_before;
  answer["confidence"] = onset->confidence;
  answer["runs_needed"] = onset->needed;
  answer["surely_not"] = at(onset->surely_not);
  answer["clean_since"] = onset->clean_since;
  return answer;
}

Json Questions::growth(const std::string& on, int commits) {
  const std::string branch = on.empty() ? usual_branch() : on;
  const Json places = json(kGrowth, {project_id(), branch, std::to_string(commits)});
  Json rising = Json::array();
  for (const Json& place : places) {
    if (place.at("commits").size() < kFewestCommits) continue;
    Json live = rise_of(place.at("live"));
    Json bytes = rise_of(place.at("bytes"));
    if (live.is_null() && bytes.is_null()) continue;
    Json entry = place;
    entry["live_rises"] = std::move(live);
    entry["bytes_rise"] = std::move(bytes);
    rising.push_back(std::move(entry));
  }
  std::stable_sort(rising.begin(), rising.end(), [](const Json& a, const Json& b) {
    const auto key = [](const Json& entry) {
      const auto slope = [&](const char* name) {
        return entry.at(name).is_null() ? 0.0 : entry.at(name).at("slope").get<double>();
      };
      return std::tuple(slope("bytes_rise"), slope("live_rises"));
    };
    return key(a) > key(b);
  });
  Json answer = this->answer();
  answer["branch"] = branch;
  answer["commits"] = commits;
  answer["fewest_commits"] = kFewestCommits;
  answer["places"] = std::move(rising);
  return answer;
}

Json Questions::runs(const RunFilter& filter) {
  Json answer = this->answer();
  answer["runs"] =
      json(fmt::format("SELECT coalesce(json_agg({} ORDER BY r.started_at DESC), '[]') {}", kRun, kRuns),
           {project_id(), filter.branch, filter.name, filter.commit, std::to_string(filter.last)});
  return answer;
}

Json Questions::compare(const std::string& first, const std::string& second) {
  Json answer = this->answer();
  const std::vector<std::string> runs = {one_run(first), one_run(second)};
  answer["runs"] = Json::array();
  for (const std::string& run : runs)
    answer["runs"].push_back(json(
        fmt::format("SELECT {} FROM refhist.run r JOIN refhist.point p ON p.project = r.project AND p.id = "
                    "r.point JOIN refhist.series s ON s.project = p.project AND s.id = p.series "
                    "WHERE r.project = $1::int AND r.id = $2",
                    kRun),
        {project_id(), run}));
  answer.update(json(kCompare, {project_id(), runs[0], runs[1]}));
  return answer;
}

std::string Questions::history(const std::string& begin) {
  const std::string run = one_run(begin);
  std::string all;
  for (const DatabaseRow& row : database_.ask("SELECT encode(bytes, 'hex') FROM refhist.history WHERE "
                                              "project = $1::int AND run = $2 ORDER BY part",
                                              {project_id(), run})) {
    const std::string& hex = *row.front();
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      all += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  if (all.empty())
    fail("the run {} came without its history (--send-history), or that was thrown away (prune)", run);
  return all;
}

Json Questions::judge(const std::string& begin, bool accepted, const std::string& why) {
  const std::string fingerprint = one_fingerprint(begin);
  database_.ask("SELECT refhist.judge($1, $2, $3, $4)",
                {project_, fingerprint, accepted ? "true" : "false", why});
  Json answer = this->answer();
  answer["fingerprint"] = fingerprint;
  answer["accepted"] = accepted;
  return answer;
}

std::vector<std::string> Questions::seen_on(const std::string& branch,
                                            const std::vector<std::string>& fingerprints) {
  std::vector<std::string> seen;
  for (const DatabaseRow& row : database_.ask("SELECT refhist.seen_on($1, $2, $3)",
                                              {project_, branch, FleetDatabase::array_of(fingerprints)}))
    seen.push_back(row.front().value_or(""));
  return seen;
}

}  // namespace refhist
