// The C ABI over Session. Nothing but translation: types, strings that outlive the call, no exception out.
#include <exception>
#include <string>

#include "base/text.h"
#include "capi/c_port.h"
#include "facade/session.h"
#include "refhist/refhist.h"

struct rh_session {
  explicit rh_session(refhist::SessionOptions options) : session(std::move(options)) {}

  /// Keeps the string until the next one is asked for.
  const char* keep(std::string text) {
    kept = std::move(text);
    return kept.c_str();
  }

  refhist::Session session;
  std::string kept;
};

namespace {

static_assert(RH_NOTICE_STARTED == static_cast<int>(refhist::Notice::started));
static_assert(RH_NOTICE_MODULES == static_cast<int>(refhist::Notice::modules));
static_assert(RH_NOTICE_STOPPED == static_cast<int>(refhist::Notice::stopped));
static_assert(RH_NOTICE_EXITED == static_cast<int>(refhist::Notice::exited));
static_assert(RH_NOTICE_SIGNALLED == static_cast<int>(refhist::Notice::signalled));
static_assert(RH_NOTICE_DETACHED == static_cast<int>(refhist::Notice::detached));
static_assert(RH_NOTICE_EXECUTED == static_cast<int>(refhist::Notice::executed));
static_assert(RH_NOTICE_LEAVING == static_cast<int>(refhist::Notice::leaving));
static_assert(RH_NOTICE_QUITTING == static_cast<int>(refhist::Notice::quitting));
static_assert(RH_NOTICE_HANDED_OVER == static_cast<int>(refhist::Notice::handed_over));
static_assert(RH_NOTICE_BREAKPOINTS == static_cast<int>(refhist::Notice::breakpoints));

/// What `call` gives, or `otherwise` when it throws.
template <class Call, class Result>
Result guarded(Call&& call, Result otherwise) noexcept {
  try {
    return call();
  } catch (...) {
    return otherwise;
  }
}

int failed(rh_session* session, const char** text, const char* why) noexcept {
  *text = guarded([&] { return session->keep(std::string("internal error: ") + why); }, "out of memory");
  return 0;
}

}  // namespace

extern "C" {

#define RH_EXPORT __attribute__((visibility("default")))

RH_EXPORT int rh_abi_version(void) { return RH_ABI_VERSION; }

RH_EXPORT rh_session* rh_session_new(const char* families_folder) {
  return guarded(
      [&] { return new rh_session({.families_folder = families_folder == nullptr ? "" : families_folder}); },
      static_cast<rh_session*>(nullptr));
}

RH_EXPORT void rh_session_free(rh_session* session) { delete session; }

RH_EXPORT int rh_execute(rh_session* session, const rh_port* port, const char* line, const char** text,
                         int* quit_status) {
  *quit_status = -1;
  try {
    refhist::CPort debugger(*port);
    refhist::CommandResult result = session->session.execute(debugger, line);
    *text = session->keep(std::move(result.text));
    *quit_status = result.quit_status;
    return result.ok ? 1 : 0;
  } catch (const std::exception& error) {
    return failed(session, text, error.what());
  } catch (...) {
    return failed(session, text, "unknown");
  }
}

RH_EXPORT int rh_hit(rh_session* session, const rh_port* port, int64_t tid, uint64_t pc) {
  return guarded(
      [&] {
        refhist::CPort debugger(*port);
        return session->session.hit(debugger, static_cast<long>(tid), pc) ? 1 : 0;
      },
      0);
}

RH_EXPORT void rh_changed(rh_session* session, const rh_port* port, int64_t tid, uint64_t address) {
  guarded(
      [&] {
        refhist::CPort debugger(*port);
        session->session.changed(debugger, static_cast<long>(tid), address);
        return 0;
      },
      0);
}

RH_EXPORT int rh_raw_exit(rh_session* session, const rh_port* port, int64_t tid, int whole_process) {
  return guarded(
      [&] {
        refhist::CPort debugger(*port);
        return session->session.raw_exit(debugger, static_cast<long>(tid), whole_process != 0) ? 1 : 0;
      },
      0);
}

RH_EXPORT const char* rh_stop_reason(rh_session* session) {
  return guarded([&] { return session->keep(session->session.stop_reason()); }, "");
}

RH_EXPORT void rh_notify(rh_session* session, const rh_port* port, int notice, int64_t detail) {
  guarded(
      [&] {
        refhist::CPort debugger(*port);
        session->session.notify(debugger, static_cast<refhist::Notice>(notice), detail);
        return 0;
      },
      0);
}

RH_EXPORT const char* rh_complete(rh_session* session, const char* line) {
  return guarded([&] { return session->keep(refhist::join(session->session.complete(line), "\n")); }, "");
}

RH_EXPORT int rh_tracking(rh_session* session) {
  return guarded([&] { return session->session.tracking() ? 1 : 0; }, 0);
}

RH_EXPORT int64_t rh_count_of(rh_session* session, uint64_t address) {
  return guarded([&] { return session->session.count_of(address); }, std::int64_t{-1});
}

RH_EXPORT int rh_own_code(rh_session* session, uint64_t address, void* bytes, size_t size) {
  return guarded(
      [&] {
        return session->session.put_own_code(address, {static_cast<std::uint8_t*>(bytes), size}) ? 1 : 0;
      },
      0);
}

RH_EXPORT const char* rh_verbs(rh_session* session) {
  return guarded([&] { return session->keep(refhist::join(session->session.verbs(), "\n")); }, "");
}

RH_EXPORT const char* rh_help(rh_session* session, const char* verb) {
  return guarded([&] { return session->keep(session->session.help(verb)); }, "");
}

}  // extern "C"
