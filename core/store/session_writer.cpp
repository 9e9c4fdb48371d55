#include "store/session_writer.h"

#include <fmt/core.h>

#include <ctime>
#include <set>

#include "base/error.h"
#include "base/interruption.h"
#include "base/replaced_file.h"
#include "base/text.h"
#include "reports/check.h"
#include "store/page_codec.h"
#include "store/schema.h"

namespace refhist {

namespace {

std::string create_table(const Table& table) {
  return fmt::format("CREATE TABLE {}({});", table.name, table.columns);
}

Statement into(Database& file, const Table& table) {
  const std::size_t columns = split(table.columns, ',').size();
  std::string places;
  for (std::size_t i = 0; i < columns; ++i) places += i == 0 ? "?" : ",?";
  return file.prepare(fmt::format("INSERT INTO {} VALUES({})", table.name, places));
}

Statement into(Database& file, std::string_view name) {
  for (const Table& table : kTables) {
    if (table.name == name) return into(file, table);
  }
  fail("no table {}", name);
}

void tell(std::size_t done, std::size_t all, const char* what) {
  if (done % kBetweenQuestions == 0)
    Interruption::check([&] { return fmt::format("saving: {} of {} {}", done, all, what); });
}

}  // namespace

SessionWriter::Written SessionWriter::write(const std::string& path) {
  try {
    ReplacedFile replaced(path);
    Database file = Database::create(replaced.unfinished());
    write_tables(file);
    file.close();
    return {replaced.finish()};
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    fail("{} could not be written: {}", path, error.what());
  }
}

void SessionWriter::write_tables(Database& file) {
  for (const Table& table : kTables) file.run(create_table(table));
  write_meta(file);
  write_program(file);
  write_families(file);
  write_sites(file);
  write_stacks(file);
  write_names(file);
  write_lost_frames(file);
  write_objects(file);
  write_what_is_known(file);
  write_reach(file);
  write_findings(file);
  write_events(file);
  write_folded(file);
  write_folded_places(file);
  if (events_ == Events::and_rows) write_event_rows(file);
  file.run(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, kFileVersion));
}

void SessionWriter::write_meta(Database& file) {
  Statement meta = into(file, "meta");
  meta.row("format", kFormat);
  meta.row("saved_at", static_cast<std::int64_t>(std::time(nullptr)));  // seconds since 1970
  meta.row("events", state_.history.event_count());
  meta.row("objects", state_.history.objects().size());
  meta.row("lost_events", state_.lost_events());
  meta.row("events_were_lost", state_.history.lost() ? state_.history.lost_from().value + 1 : 0);
  meta.row("sparse_events", state_.history.log().sparse_events());
  meta.row("dense_from", state_.history.log().dense_from());
  meta.row("folded_until", state_.folded.until);
  meta.row("folded_by_limit", state_.folded.by_limit);
  Statement notes = into(file, "notes");
  for (const std::string& line : caveats(state_)) notes.row(std::optional<std::int64_t>(), line);
}

void SessionWriter::write_program(Database& file) {
  Statement meta = into(file, "meta");
  meta.row("executable", state_.program.executable);
  meta.row("arguments", join(state_.program.arguments, "\n"));
  meta.row("pid", static_cast<std::int64_t>(state_.program.pid));
  meta.row("alive", state_.alive);
  meta.row("ended", state_.end.ended);
  meta.row("ended_by_signal", state_.end.by_signal);
  meta.row("detached", state_.end.detached);
  meta.row("replaced", state_.end.replaced);
  meta.row("end_status", state_.end.status);
  meta.row("forks", static_cast<std::int64_t>(state_.forks));
  meta.row("followed_children", static_cast<std::int64_t>(state_.followed_children));
  Statement modules = into(file, "modules");
  for (const LoadedModule* module : state_.modules.all()) {
    modules.row(module->id, module->module->path(), module->module->build_id(), module->module->interpreter(),
                module->module->position_independent(), module->bias, module->begin, module->end);
  }
  Statement threads = into(file, "threads");
  for (std::size_t i = 0; i < state_.history.threads().size(); ++i) {
    const Thread& thread = state_.history.threads()[i];
    threads.row(ThreadIndex(i), static_cast<std::int64_t>(thread.tid), thread.name);
  }
}

ShownFamily SessionWriter::shown(const TrackedFamily& tracked) const {
  if (!state_.shows(tracked)) return ShownFamily::no;
  return tracked.shown_as_tracked() ? ShownFamily::tracked : ShownFamily::untracked;
}

void SessionWriter::write_families(Database& file) {
  Statement roles = into(file, "roles");
  for (std::uint32_t role = 0; role <= static_cast<std::uint32_t>(Role::use); ++role)
    roles.row(role, role_name(static_cast<Role>(role)));
  Statement families = into(file, "families");
  for (std::size_t i = 0; i < state_.families.size(); ++i) {
    const TrackedFamily& tracked = state_.families[i];
    const Family& family = tracked.family;
    families.row(FamilyId(i), family.name, family.origin, family.counter.type, family.counter.path,
                 tracked.counter.has_value(), tracked.counter_note, tracked.births_note, family.allocator,
                 tracked.by_default, static_cast<std::uint32_t>(shown(tracked)), family.born,
                 join(family.fold, "\n"), family.part_of, join(family.managed, "\n"), tracked.null_puts,
                 tracked.unborn_calls, family.counts_unseen, join(family.runs, "\n"));
  }
}

void SessionWriter::write_sites(Database& file) {
  Statement sites = into(file, "sites");
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    const Site& site = state_.sites.all()[i];
    const bool armed = site.current && site.why_not.empty();
    sites.row(SiteId(i), site.family, static_cast<std::uint32_t>(site.role), site.module, site.function,
              site.file_address, site.address, static_cast<std::uint32_t>(site.clone), site.inlined,
              site.inlined_into, site.counter.has_value(), armed, site.in_agent, site.unloaded, site.why_not,
              site.why_breakpoint, site.colocated_with, site.hits, site.returns_object());
  }
}

void SessionWriter::write_stacks(Database& file) {
  const StackTable& table = state_.history.stacks();
  Statement frames = into(file, "frames");
  for (std::size_t i = 0; i < table.all_frames().size(); ++i) {
    const StackFrame& frame = table.all_frames()[i];
    frames.row(FrameId(i), frame.module, frame.pc, frame.exact);
  }
  Statement stacks = into(file, "stacks");
  for (std::size_t i = 0; i < table.nodes().size(); ++i) {
    const StackTable::Node& node = table.nodes()[i];
    stacks.row(StackId(i), node.parent, node.frame, node.truncated);
  }
}

void SessionWriter::write_names(Database& file) {
  Statement names = into(file, "frame_names");
  const std::vector<StackFrame>& frames = state_.history.stacks().all_frames();
  for (std::size_t i = 0; i < frames.size(); ++i) {
    tell(i, frames.size(), "frames named");
    for (const NamedFrame& name : state_.namer.name(frames[i]))
      names.row(std::optional<std::int64_t>(), FrameId(i), name.function, name.file, name.line, name.inlined);
  }
}

void SessionWriter::write_lost_frames(Database& file) {
  Statement lost = into(file, "lost_frames");
  const StackTable& table = state_.history.stacks();
  std::set<std::pair<FrameId, FrameId>> seen;
  for (std::size_t i = 0; i < table.nodes().size(); ++i) {
    tell(i, table.nodes().size(), "stacks checked");
    const StackTable::Node& node = table.nodes()[i];
    if (!node.parent.valid()) continue;
    const FrameId outer = table.nodes()[node.parent.index()].frame;
    if (!seen.emplace(node.frame, outer).second) continue;
    const auto found = state_.namer.tail_calls().between(table.all_frames()[node.frame.index()],
                                                         table.all_frames()[outer.index()]);
    if (found == nullptr) continue;
    std::vector<std::string> ways;
    for (const std::vector<std::string>& way : found->ways) ways.push_back(join(way, "\t"));
    lost.row(std::optional<std::int64_t>(), node.frame, outer, found->called, found->runs, join(ways, "\n"),
             found->complete);
  }
}

void SessionWriter::write_objects(Database& file) {
  Statement objects = into(file, "objects");
  const ObjectTable& all = state_.history.objects();
  for (const auto& [id, object] : all) {
    tell(id.index(), all.size(), "objects");
    objects.row(id, object.address, object.generation, FamilyId(object.family), object.size,
                static_cast<std::uint32_t>(object.state), object.complete, object.base_known,
                object.moved_unobserved, object.uncounted, object.freed, object.ledger,
                state_.history.before_seen(id), object.born,
                object.birth_origin == kNoOrigin ? std::nullopt : std::optional(object.birth_origin),
                object.died, object.first_event, object.last_event, object.events);
  }
}

void SessionWriter::write_what_is_known(Database& file) {
  Statement notes = into(file, "object_notes");
  for (const auto& [id, note] : state_.history.notes()) notes.row(id, note);
  Statement managed = into(file, "managed");
  for (const auto& [id, object] : state_.managed.known()) managed.row(id, object.address, object.type);
  Statement snapshots = into(file, "snapshots");
  for (const Snapshot& snapshot : state_.snapshots)
    snapshots.row(std::optional<std::int64_t>(), snapshot.name, snapshot.moment);
  Statement mistakes = into(file, "mistakes");
  for (const Finding& finding : state_.history.findings())
    mistakes.row(std::optional<std::int64_t>(), verdict_name(finding.verdict), finding.object, finding.event,
                 finding.why);
}

void SessionWriter::write_reach(Database& file) {
  const ReachScan& scan = state_.scan;
  Statement meta = into(file, "meta");
  meta.row("scan_done", scan.done);
  meta.row("scan_at_exit", scan.at_exit);
  meta.row("scan_at_event", scan.at_event);
  meta.row("scan_running_threads", scan.running_threads);
  meta.row("scan_why_not", scan.why_not);
  Statement reach = into(file, "reach");
  for (const auto& [id, object] : scan.objects)
    reach.row(id, static_cast<std::uint32_t>(object.reach), object.freed, object.holder, object.where,
              object.held_by_leak, object.holder_object, object.counted, object.counter);
  Statement members = into(file, "cycle_members");
  Statement steps = into(file, "cycle_steps");
  std::int64_t number = 0;
  for (const auto& [id, object] : scan.objects) {
    if (object.cycle_number != 0) members.row(id, object.cycle_number);
    for (const LostStep& step : object.cycle) steps.row(number++, id, step.object, step.begin, step.word);
  }
}

void SessionWriter::write_findings(Database& file) {
  Statement findings = into(file, "findings");
  Statement references = into(file, "finding_references");
  Statement suspects = into(file, "suspects");
  std::int64_t number = 0;
  for (const ReportedFinding& finding : collect_findings(state_, FindingFilter{{}, true})) {
    const Object& object = state_.history.object(finding.object);
    findings.row(number, verdict_name(finding.verdict), FamilyId(object.family), finding.object,
                 finding.event, finding.why, finding.fingerprint, finding.alike.size());
    for (const EventId event : finding.references)
      references.row(std::optional<std::int64_t>(), number, event);
    for (const Suspect& suspect : finding.suspects)
      suspects.row(std::optional<std::int64_t>(), number, suspect.what, suspect.confidence,
                   suspect.frame.function, suspect.frame.file, suspect.frame.line, suspect.why);
    ++number;
  }
}

void SessionWriter::write_events(Database& file) {
  const EventLog& log = state_.history.log();
  Statement origins = into(file, "origins");
  for (std::size_t i = 0; i < log.origins().size(); ++i) {
    const EventLog::Origin& origin = log.origins()[i];
    origins.row(i, origin.site, origin.thread, origin.stack, origin.kind);
  }
  Statement pages = into(file, "event_pages");
  PageCodec codec;
  for (std::size_t i = 0; i < log.pages(); ++i) {
    Interruption::check([&] { return fmt::format("saving: {} of {} pages of events", i, log.pages()); });
    const EventLog::Page page = log.page(i);
    pages.row(i, PageCodec::directory(page.blocks), PageCodec::directory(page.firsts),
              codec.pack(page.bytes));
  }
}

void SessionWriter::write_folded(Database& file) {
  Statement folded = into(file, "folded_events");
  for (const auto& [id, events] : state_.history.all_folded_events()) {
    for (const auto& [origin, times] : events.by_origin)
      folded.row(std::optional<std::int64_t>(), id, origin, times, events.first, events.last);
  }
  Statement moments = into(file, "folded_moments");
  for (std::size_t i = 0; i < state_.folded.moments.size(); ++i) moments.row(i, state_.folded.moments[i]);
  Statement owners = into(file, "folded_owners");
  for (std::size_t i = 0; i < state_.folded.owners().size(); ++i) {
    const FoldedOwner& owner = state_.folded.owners()[i];
    owners.row(i, owner.family, owner.put, owner.place, owner.frame.function, owner.frame.file,
               owner.frame.line, owner.frame.module, owner.frame.pc);
  }
}

void SessionWriter::write_folded_places(Database& file) {
  Statement places = into(file, "folded_places");
  Statement live = into(file, "folded_live");
  Statement kinds = into(file, "folded_kinds");
  Statement counts = into(file, "folded_counts");
  std::size_t kind_number = 0;
  for (std::size_t i = 0; i < state_.folded.places().size(); ++i) {
    const FoldedPlace& folded = state_.folded.places()[i];
    const NamedFrame& frame = folded.place.frame;
    places.row(i, folded.place.family, folded.place.by, frame.function, frame.file, frame.line, frame.module,
               frame.pc, folded.objects, folded.bytes, folded.events, folded.other_kinds, folded.peak.objects,
               folded.peak.objects_at, folded.peak.bytes, folded.peak.bytes_at);
    for (std::size_t moment = 0; moment < folded.live.size(); ++moment)
      live.row(std::optional<std::int64_t>(), i, moment, folded.live[moment]);
    for (const FoldedKind& kind : folded.kinds) {
      for (const auto& [owner, times] : kind.counts)
        counts.row(std::optional<std::int64_t>(), kind_number, owner, times);
      kinds.row(kind_number++, i, kind.objects);
    }
  }
}

void SessionWriter::write_event_rows(Database& file) {
  file.run(create_table(kEventRows));
  Statement rows = into(file, kEventRows);
  const History& history = state_.history;
  history.log().for_each(EventId(0U), [&](const EventLog::Entry& entry) {
    tell(entry.id.index(), history.event_count(), "events");
    const Event& event = entry.event;
    rows.row(entry.id, event.time_ns, event.object, static_cast<std::uint32_t>(event.role), event.site,
             event.thread, event.stack, event.before, event.after,
             static_cast<std::uint32_t>(event.after_source), event.unobserved, event.failed,
             event.during_death);
  });
}

}  // namespace refhist
