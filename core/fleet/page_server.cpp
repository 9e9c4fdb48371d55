#include "fleet/page_server.h"

#include <fmt/core.h>
#include <httplib.h>

#include <charconv>
#include <csignal>
#include <mutex>
#include <optional>

#include "base/printable.h"
#include "base/usage_error.h"
#include "fleet/fleet_commands.h"
#include "fleet/pages.h"
#include "fleet/questions.h"
#include "fleet/schema.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kNotFound = 404;
constexpr int kUnavailable = 503;
constexpr int kCommits = 30;
constexpr int kShownRuns = 200;
constexpr int kShownFindings = 200;

httplib::Server* running = nullptr;
void on_end(int) {
  if (running != nullptr) running->stop();
}

struct Place {
  std::string host;
  int port = 0;
};

Place place_of(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  Place place;
  if (colon != std::string::npos) {
    place.host = listen.substr(0, colon);
    const char* end = listen.data() + listen.size();
    const auto [last, error] = std::from_chars(listen.data() + colon + 1, end, place.port);
    if (error == std::errc() && last == end && place.port > 0 && place.port < 65536 && !place.host.empty())
      return place;
  }
  fail_usage("--listen must be HOST:PORT (127.0.0.1:8080), not {}", listen);
}

/// One connection, which cannot write, for one page at a time.
class PageSource {
 public:
  PageSource(std::string target, std::string project)
      : target_(std::move(target)), project_(std::move(project)) {
    connect();
  }

  template <class Ask>
  std::string page(Ask&& ask) {
    const std::lock_guard lock(mutex_);
    if (!database_) connect();
    Questions questions(*database_, project_);
    try {
      return ask(questions);
    } catch (const DatabaseError&) {
      database_.reset();  // the next page tries again
      throw;
    }
  }
  [[nodiscard]] const std::string& project() const { return project_; }

 private:
  void connect() {
    database_.emplace(target_, kFleetSeconds);
    database_->run("SET default_transaction_read_only = on");
    expect_schema(*database_);
  }

  std::string target_;
  std::string project_;
  std::mutex mutex_;
  std::optional<FleetDatabase> database_;
};

PageQuery query_of(const httplib::Request& request) {
  PageQuery query;
  for (const auto& [name, value] : request.params) {
    if (!value.empty()) query[name] = value;
  }
  return query;
}

std::string value_of(const PageQuery& query, const char* name) {
  const auto found = query.find(name);
  return found == query.end() ? std::string() : found->second;
}

void set_headers(httplib::Response& response) {
  response.set_header(
      "Content-Security-Policy",
      "default-src 'none'; style-src 'self'; script-src 'self'; form-action 'self'; base-uri 'none'; "
      "frame-ancestors 'none'");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cache-Control", "no-store");
}

template <class Ask>
void add_page(httplib::Server& server, PageSource& source, const char* path, Ask ask) {
  server.Get(path, [&source, ask](const httplib::Request& request, httplib::Response& response) {
    set_headers(response);
    std::string html;
    try {
      html = source.page([&](Questions& questions) { return ask(questions, request); });
    } catch (const DatabaseError& error) {
      response.status = kUnavailable;
      html = error_page(source.project(), error.what());
    } catch (const std::exception& error) {
      response.status = kNotFound;
      html = error_page(source.project(), error.what());
    }
    response.set_content(html, "text/html; charset=utf-8");
  });
}

std::string one_finding(Questions& questions, const std::string& fingerprint) {
  const Json shown = questions.show(fingerprint);
  Json since;
  try {
    since = questions.since(fingerprint, "");
  } catch (const DatabaseError&) {
    throw;
  } catch (const Error&) {  // its runs were thrown away
  }
  return finding_page(shown, since);
}

void add_pages(httplib::Server& server, PageSource& source) {
  add_page(server, source, "/", [](Questions& questions, const httplib::Request& request) {
    const PageQuery query = query_of(request);
    Json answer = questions.findings(value_of(query, "branch"), query.contains("all"), kShownFindings);
    questions.add_courses(answer);
    return findings_page(answer, query);
  });
  add_page(server, source, R"(/finding/([0-9a-f]{1,16}))",
           [](Questions& questions, const httplib::Request& request) {
             return one_finding(questions, request.matches[1]);
           });
  add_page(server, source, "/growth", [](Questions& questions, const httplib::Request& request) {
    return growth_page(questions.growth(value_of(query_of(request), "branch"), kCommits));
  });
  add_page(server, source, "/runs", [](Questions& questions, const httplib::Request& request) {
    const PageQuery query = query_of(request);
    return runs_page(questions.runs({value_of(query, "branch"), value_of(query, "name"),
                                     value_of(query, "commit"), kShownRuns}),
                     query);
  });
  server.Get("/style.css", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(kPageStyle, "text/css");
  });
  server.Get("/page.js", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(kPageScript, "text/javascript");
  });
}

}  // namespace

int serve_pages(const std::string& target, const std::string& project, const std::string& listen) {
  const Place place = place_of(listen);
  PageSource source(target, project);
  httplib::Server server;
  add_pages(server, source);
  if (!server.bind_to_port(place.host, place.port))
    fail("{} cannot be listened at: is the port in use?", listen);
  running = &server;
  std::signal(SIGINT, on_end);
  std::signal(SIGTERM, on_end);
  fmt::print("http://{}/ shows the project {}\n", printable(listen), printable(project));
  std::fflush(stdout);
  const bool ended_well = server.listen_after_bind();
  running = nullptr;
  return ended_well ? 0 : 1;
}

}  // namespace refhist
