#include "store/session_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "base/input_file.h"
#include "base/interruption.h"
#include "base/printable.h"
#include "base/text.h"
#include "store/page_codec.h"
#include "store/schema.h"

namespace refhist {

namespace {

constexpr std::uint32_t kAny32 = 0xffffffffU;
constexpr std::uint32_t kDeepestStack = 4096;  // frames; a recording has at most an eighth of it
constexpr std::size_t kMostNames = 1024;       // functions inlined into each other at one place
// Of all stacks together, which the tree of `refhist balance` has one by one: so many for each frame of them.
constexpr std::size_t kNamesOfFrame = 24;
constexpr std::size_t kNamesOfAny = 100'000;  // of any file
constexpr std::size_t kLongestThreadName = 64;

std::vector<std::string> lines_of(const std::string& text) {
  return text.empty() ? std::vector<std::string>() : split(text, '\n');
}

bool is_numbered(std::string_view table) {
  constexpr std::array<std::string_view, 12> kNumbered = {
      "modules", "families",    "sites",          "threads",       "frames",        "stacks",
      "origins", "event_pages", "folded_moments", "folded_owners", "folded_places", "folded_kinds"};
  return std::find(kNumbered.begin(), kNumbered.end(), table) != kNumbered.end();
}

/// "CREATE TABLE a(b TEXT,c)" of whatever blanks it was written with.
std::string without_blanks(std::string_view sql) {
  std::string text;
  for (const char c : sql) {
    if (c != ' ' && c != '\n' && c != '\t') text += c;
  }
  return text;
}

std::string declaration(const Table& table) {
  return without_blanks(fmt::format("CREATE TABLE {}({})", table.name, table.columns));
}

FromFile from_file(ShownFamily shown) {
  if (shown == ShownFamily::no) return FromFile::closed;
  return shown == ShownFamily::tracked ? FromFile::tracked_there : FromFile::untracked_there;
}

}  // namespace

SessionReader::SessionReader(const std::string& path) : path_(path) {
  bytes_left_ = InputFile(path).size();
  try {
    file_ = std::make_shared<Database>(Database::read(path, bytes_left_));
    check_identity();
    check_tables();
    check_no_programs();
    read_meta();
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    fail("{} cannot be opened: {}", path, error.what());
  }
}

void SessionReader::check_identity() {
  if (file_->number("PRAGMA application_id") != kApplicationId)
    fail("it is not a history file of refhist (refhist save writes one)");
  version_ = file_->number("PRAGMA user_version");
  if (version_ < kOldestFileVersion || version_ > kFileVersion) {
    fail("it has version {} of the format, this refhist reads versions {} to {}", version_,
         kOldestFileVersion, kFileVersion);
  }
}

// What computes something when it is read could be anything, of any size.
void SessionReader::check_no_programs() {
  Statement statement =
      file_->prepare("SELECT type, name FROM sqlite_schema WHERE type NOT IN ('table', 'index')");
  if (statement.next())
    fail("it has a {} ({}), which no history file has", statement.text(0), statement.text(1));
}

// A view or a virtual table of that name could be anything, and so could a column that is computed.
void SessionReader::check_tables() {
  for (const Table& table : kTables) {
    if (table.since > version_) continue;
    Statement statement = file_->prepare(
        fmt::format("SELECT sql FROM sqlite_schema WHERE type='table' AND name='{}'", table.name));
    if (!statement.next()) fail("its table {} is missing: the file is damaged", table.name);
    if (without_blanks(statement.lines(0)) != declaration(table))
      fail("its table {} has other columns than that of a history file", table.name);
  }
}

void SessionReader::read_meta() {
  Statement statement = file_->prepare("SELECT key, value FROM meta");
  while (statement.next()) {
    const std::uint64_t bytes = statement.row_bytes();
    if (bytes > bytes_left_) fail("table meta holds more than the file: the file is damaged");
    bytes_left_ -= bytes;
    meta_[statement.text(0)] = {statement.number(1), statement.lines(1)};
  }
  if (meta_text("format") != kFormat) fail("it is not a history file of refhist");
}

std::int64_t SessionReader::meta(const std::string& key) const {
  const auto found = meta_.find(key);
  if (found == meta_.end()) fail("it lacks {}: the file is damaged", key);
  return found->second.first;
}

std::string SessionReader::meta_text(const std::string& key) const {
  const auto found = meta_.find(key);
  if (found == meta_.end()) fail("it lacks {}: the file is damaged", key);
  return found->second.second;
}

template <class Row>
void SessionReader::each(std::string_view table, std::string_view columns, Row&& row) {
  Statement statement =
      file_->prepare(fmt::format("SELECT {}, rowid FROM {} ORDER BY rowid", columns, table));
  const int number = static_cast<int>(split(columns, ',').size());
  std::optional<std::int64_t> before;
  for (std::size_t i = 0; statement.next(); ++i) {
    // The pages of a damaged table may lead back to each other, and its rows have their text in common.
    if (before && statement.number(number) <= *before) fail("the rows of table {} are not in order", table);
    before = statement.number(number);
    const std::uint64_t bytes = statement.row_bytes();
    if (bytes > bytes_left_) fail("table {} holds more than the file: the file is damaged", table);
    bytes_left_ -= bytes;
    // What others name by its number must have that number.
    if (is_numbered(table) && statement.number(number) != static_cast<std::int64_t>(i))
      fail("table {} has no row {}: the file is damaged", table, i);
    if (i % kBetweenQuestions == 0)
      Interruption::check([&] { return fmt::format("opening: {} rows of {}", i, table); });
    try {
      row(i, statement);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      fail("table {}, row {}: {}", table, i, error.what());
    }
  }
}

void SessionReader::open(SessionState& state) {
  first_module_ = state.modules.all().size();
  first_family_ = state.families.size();
  first_site_ = state.sites.all().size();
  try {
    read_modules();
    read_families();
    read_sites();
    StackTable stacks = read_stacks();
    std::vector<Thread> threads = read_threads();
    EventLog events = read_events(stacks.nodes().size(), threads.size());
    history_.restore(std::move(events), std::move(stacks), std::move(threads), lost_from());
    read_names();
    check_names(history_.stacks());
    read_lost_frames();
    read_objects();
    read_folded_events();
    read_folded_places();
    read_folded_kinds();
    read_reach();
    take_over(state);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    fail("{} cannot be opened: {}", path_, error.what());
  }
}

void SessionReader::read_modules() {
  each("modules", "path, build_id, interpreter, position_independent, bias, first_address, end_address",
       [&](std::size_t, const Statement& row) {
         Placed placed;
         placed.module = std::make_shared<RecordedModule>(
             RecordedModule::Identity{row.text(0), row.text(1), row.text(2), row.flag(3)});
         placed.bias = static_cast<Address>(row.number(4));
         placed.begin = static_cast<Address>(row.number(5));
         placed.end = static_cast<Address>(row.number(6));
         modules_.push_back(std::move(placed));
       });
}

void SessionReader::read_families() {
  const std::string runners = version_ >= kVersionOfRunners ? "counts_unseen, runs" : "0, NULL";
  each("families",
       "name, origin, type, counter_path, counter_read, counter_note, births_note, allocator, by_default, "
       "shown, born, fold, part_of, managed, null_calls, unborn_calls, " +
           runners,
       [&](std::size_t, const Statement& row) {
         TrackedFamily tracked;
         Family& family = tracked.family;
         family.name = row.text(0);
         family.origin = row.text(1);
         family.counter.type = row.text(2);
         family.counter.path = row.text(3);
         if (row.flag(4)) tracked.counter = MemberPlace{};
         tracked.counter_note = row.text(5);
         tracked.births_note = row.text(6);
         family.allocator = row.flag(7);
         tracked.by_default = row.flag(8);
         tracked.untracked = true;  // by this session
         tracked.from_file = from_file(static_cast<ShownFamily>(row.small(9, 2)));
         family.born = row.number(10);
         family.fold = lines_of(row.lines(11));
         family.part_of = row.text(12);
         family.managed = lines_of(row.lines(13));
         tracked.null_puts = static_cast<std::uint64_t>(row.number(14));
         tracked.unborn_calls = static_cast<std::uint64_t>(row.number(15));
         family.counts_unseen = row.flag(16);
         family.runs = lines_of(row.lines(17));
         families_.push_back(std::move(tracked));
       });
}

void SessionReader::read_sites() {
  const std::string results = version_ >= kVersionOfResults ? "returns_it" : "0";
  each("sites",
       "family, role, module, function, file_address, address, clone, inlined, inlined_into, at_instruction, "
       "in_agent, unloaded, why_not, why_breakpoint, rides_on, hits, armed, " +
           results,
       [&](std::size_t, const Statement& row) {
         Site site;
         site.family = row.id<FamilyId>(0, families_.size(), first_family_);
         if (!site.family.valid()) fail("it belongs to no family");
         site.role = static_cast<Role>(row.small(1, static_cast<std::uint32_t>(Role::pool_destroy)));
         site.module = row.id<ModuleId>(2, modules_.size(), first_module_);
         site.function = row.text(3);
         site.file_address = static_cast<Address>(row.number(4));
         site.address = static_cast<Address>(row.number(5));
         site.clone = static_cast<CloneKind>(row.small(6, static_cast<std::uint32_t>(CloneKind::other)));
         site.inlined = row.flag(7);
         site.inlined_into = row.text(8);
         if (row.flag(9)) site.counter.emplace();
         site.in_agent = row.flag(10);
         site.unloaded = row.flag(11);
         site.why_not = row.text(12);
         site.why_breakpoint = row.text(13);
         site.colocated_with = row.id<SiteId>(14, kAny32 - first_site_, first_site_);
         site.hits = static_cast<std::uint64_t>(row.number(15));
         if (row.flag(17)) site.object.from = ObjectSource::From::result;
         site.current = row.flag(16) || !site.why_not.empty();
         sites_.push_back(std::move(site));
       });
  for (const Site& site : sites_) {
    if (site.colocated_with.valid() && site.colocated_with.index() - first_site_ >= sites_.size())
      fail("table sites: a site stands at the instruction of one that is missing");
  }
}

StackTable SessionReader::read_stacks() {
  std::vector<StackFrame> frames;
  each("frames", "module, pc, exact", [&](std::size_t, const Statement& row) {
    frames.push_back(StackFrame{row.id<ModuleId>(0, modules_.size(), first_module_),
                                static_cast<Address>(row.number(1)), row.flag(2)});
  });
  std::vector<StackTable::Node> nodes;
  std::vector<std::uint32_t> depths;
  each("stacks", "parent, frame, truncated", [&](std::size_t i, const Statement& row) {
    nodes.push_back(StackTable::Node{row.id<StackId>(0, i), row.id<FrameId>(1, frames.size()), row.flag(2)});
    const StackId parent = nodes.back().parent;
    depths.push_back(parent.valid() ? depths[parent.index()] + 1 : 1);
    if (depths.back() > kDeepestStack) fail("it is deeper than {} frames", kDeepestStack);
  });
  return StackTable::of(std::move(frames), std::move(nodes));
}

std::vector<Thread> SessionReader::read_threads() {
  std::vector<Thread> threads;
  each("threads", "tid, name", [&](std::size_t, const Statement& row) {
    threads.push_back(Thread{static_cast<long>(row.number(0)), row.text(1)});
    if (threads.back().name.size() > kLongestThreadName) fail("its name is longer than that of a thread");
  });
  return threads;
}

EventLog SessionReader::read_events(std::size_t stacks, std::size_t threads) {
  EventLog::Stored stored;
  const std::int64_t events = meta("events");
  if (events < 0 || events >= kAny32) fail("it has an impossible number of events: {}", events);
  stored.events = static_cast<std::size_t>(events);
  const std::int64_t objects = meta("objects");
  if (objects < 0 || objects >= kAny32) fail("it has an impossible number of objects: {}", objects);
  stored.objects = static_cast<std::size_t>(objects);
  stored.sparse_events = static_cast<std::size_t>(meta("sparse_events"));
  stored.dense_from = static_cast<std::size_t>(meta("dense_from"));
  each("origins", "site, thread, stack, kind", [&](std::size_t, const Statement& row) {
    EventLog::Origin origin;
    origin.site = row.id<SiteId>(0, sites_.size(), first_site_);
    origin.thread = row.id<ThreadIndex>(1, threads);
    if (!origin.thread.valid()) fail("its thread is missing");
    origin.stack = row.id<StackId>(2, stacks);
    origin.kind = row.small(3, kAny32);
    stored.origins.push_back(origin);
  });
  each("event_pages", "blocks, firsts", [&](std::size_t, const Statement& row) {
    stored.pages.push_back({{}, PageCodec::blocks(row.blob(0)), PageCodec::firsts(row.blob(1))});
  });
  auto pages = std::make_shared<Statement>(file_->prepare("SELECT data FROM event_pages WHERE page=?"));
  stored.read = [pages, file = file_, path = path_](std::size_t page) {
    try {
      pages->ask(static_cast<std::int64_t>(page));
      if (!pages->next()) fail("a page of events is missing");
      return PageCodec::unpack(pages->blob(0), EventLog::kPage);
    } catch (const Error& error) {
      fail("{} is damaged: {}", path, error.what());
    }
  };
  return EventLog::open(std::move(stored));
}

void SessionReader::read_names() {
  const std::vector<StackFrame>& frames = history_.stacks().all_frames();
  each("frame_names", "frame, function, file, line, inlined", [&](std::size_t, const Statement& row) {
    const auto id = row.id<FrameId>(0, frames.size());
    if (!id.valid()) fail("it names no frame");
    const StackFrame& frame = frames[id.index()];
    SourceFrame source{row.text(1), row.text(2), row.small(3, kAny32), row.flag(4)};
    if (!frame.module.valid() || (source.function.empty() && source.file.empty())) return;
    modules_[frame.module.index() - first_module_].module->add_frame(frame.exact ? frame.pc : frame.pc - 1,
                                                                     std::move(source));
  });
}

void SessionReader::check_names(const StackTable& stacks) const {
  std::size_t left = kNamesOfAny + kNamesOfFrame * stacks.nodes().size();
  for (const StackTable::Node& node : stacks.nodes()) {
    const StackFrame& frame = stacks.all_frames()[node.frame.index()];
    if (!frame.module.valid()) continue;
    const Placed& placed = modules_[frame.module.index() - first_module_];
    const std::size_t names = placed.module->names_at(frame.exact ? frame.pc : frame.pc - 1);
    if (names > kMostNames || names > left) fail("its stacks have more names than is possible");
    left -= names;
  }
}

// Version 4 has 1 for any loss, as if all were behind it: then no change of a count is told as unseen.
EventId SessionReader::lost_from() const {
  const std::int64_t number = meta("events_were_lost");
  return number == 0 ? EventId() : EventId(static_cast<std::uint32_t>(number - 1));
}

void SessionReader::read_lost_frames() {
  const std::vector<StackFrame>& frames = history_.stacks().all_frames();
  each("lost_frames", "called_frame, calling_frame, called, runs, ways, complete",
       [&](std::size_t, const Statement& row) {
         const auto inner = row.id<FrameId>(0, frames.size());
         const auto outer = row.id<FrameId>(1, frames.size());
         if (!inner.valid() || !outer.valid()) fail("its frames are missing");
         LostFrames lost{row.text(2), row.text(3), {}, row.flag(5)};
         for (const std::string& way : lines_of(row.lines(4))) lost.ways.push_back(split(way, '\t'));
         lost_.push_back(Lost{frames[inner.index()], frames[outer.index()], std::move(lost)});
       });
}

void SessionReader::read_objects() {
  const std::size_t events = history_.event_count();
  const std::size_t origins = history_.log().origins().size();
  const auto all = static_cast<std::size_t>(meta("objects"));
  each("objects",
       "address, family, size, state, complete, base_known, moved_unobserved, uncounted, freed, count, "
       "before_seen, born, died, first_event, last_event, events, birth_origin, id, generation",
       [&](std::size_t, const Statement& row) {
         Object object;
         object.address = static_cast<Address>(row.number(0));
         const auto family = row.id<FamilyId>(1, families_.size(), first_family_);
         if (!family.valid()) fail("it belongs to no family");
         object.family = family;
         object.size = static_cast<std::uint64_t>(row.number(2));
         object.state = static_cast<ObjectState>(row.small(3, static_cast<int>(ObjectState::unknown)));
         object.complete = row.flag(4);
         object.base_known = row.flag(5);
         object.moved_unobserved = row.flag(6);
         object.uncounted = row.flag(7);
         object.freed = row.flag(8);
         object.ledger = row.number(9);
         object.born = row.id<EventId>(11, events);
         object.died = row.id<EventId>(12, events);
         object.first_event = row.id<EventId>(13, events);
         object.last_event = row.id<EventId>(14, events);
         object.events = row.small(15, static_cast<std::uint32_t>(events));
         if (!row.is_null(16)) object.birth_origin = row.small(16, kAny32 - 1);
         if (object.birth_origin != kNoOrigin && object.birth_origin >= origins)
           fail("the origin of its birth is missing");
         object.generation = row.small(18, kAny32);
         const auto id = row.id<ObjectId>(17, all);
         history_.restore_object(id, object);
         history_.set_before_seen(id, row.number(10));
       });
  history_.objects_end(all);
  const auto known = [&](const Statement& row) { return known_object(row, 0); };
  each("object_notes", "object, note",
       [&](std::size_t, const Statement& row) { history_.set_note(known(row), row.text(1)); });
  each("managed", "object, address, type", [&](std::size_t, const Statement& row) {
    managed_.emplace_back(known(row), ManagedObject{static_cast<Address>(row.number(1)), row.text(2)});
  });
  each("snapshots", "name, moment", [&](std::size_t, const Statement& row) {
    snapshots_.push_back(Snapshot{row.text(0), row.id<EventId>(1, events + 1)});
  });
  each("mistakes", "object, event, verdict, why", [&](std::size_t, const Statement& row) {
    const auto verdict = verdict_from_name(row.text(2));
    const auto event = row.id<EventId>(1, events);
    if (!verdict || !event.valid()) fail("verdict {} is unknown", row.text(2));
    history_.add_finding(Finding{*verdict, known(row), event, row.text(3)});
  });
}

ObjectId SessionReader::known_object(const Statement& row, int column) const {
  const auto id = row.id<ObjectId>(column, history_.objects().size());
  if (!id.valid() || !history_.objects().contains(id)) fail("its object is missing");
  return id;
}

void SessionReader::read_folded_events() {
  std::map<ObjectId, History::FoldedEvents> folded;
  const std::size_t events = history_.event_count();
  const auto origins = static_cast<std::uint32_t>(history_.log().origins().size());
  each("folded_events", "object, origin, times, first, last", [&](std::size_t, const Statement& row) {
    const ObjectId id = known_object(row, 0);
    History::FoldedEvents& of = folded[id];
    of.by_origin.emplace_back(row.small(1, kAny32), row.small(2, kAny32));
    of.first = row.id<EventId>(3, events);
    of.last = row.id<EventId>(4, events);
    if (of.by_origin.back().first >= origins) fail("its origin is missing");
    if (of.count() > history_.object(id).events) fail("its object has fewer events");
  });
  for (auto& [id, of] : folded) history_.restore_folded(id, std::move(of));
}

NamedFrame SessionReader::named_frame(const Statement& row, int column) {
  NamedFrame frame;
  frame.function = row.text(column);
  frame.file = row.text(column + 1);
  frame.line = row.small(column + 2, kAny32);
  frame.module = row.text(column + 3);
  frame.pc = static_cast<Address>(row.number(column + 4));
  return frame;
}

void SessionReader::read_folded_places() {
  const std::size_t events = history_.event_count() + 1;
  const auto family = [&](const Statement& row) {
    const auto id = row.id<FamilyId>(0, families_.size(), first_family_);
    if (!id.valid()) fail("it belongs to no family");
    return id;
  };
  if (meta("folded_until") != 0) folded_.until = EventId(static_cast<std::uint32_t>(meta("folded_until")));
  folded_.by_limit = meta("folded_by_limit") != 0;
  each("folded_places",
       "family, made_by, function, file, line, module, pc, objects, bytes, events, other_kinds, peak, "
       "peak_at, "
       "peak_bytes, peak_bytes_at",
       [&](std::size_t i, const Statement& row) {
         FoldedPlace& place = folded_.of(Birthplace{i, family(row), row.text(1), named_frame(row, 2)});
         if (folded_.places().size() != i + 1) fail("it is listed twice");
         const auto number = [&](int column) { return static_cast<std::uint64_t>(row.number(column)); };
         place.objects = number(7);
         place.bytes = number(8);
         place.events = number(9);
         place.other_kinds = number(10);
         place.peak = {number(11), row.id<EventId>(12, events), number(13), row.id<EventId>(14, events)};
       });
  each("folded_owners", "family, put, place, function, file, line, module, pc",
       [&](std::size_t i, const Statement& row) {
         const FoldedOwner owner{family(row), row.flag(1), row.text(2), named_frame(row, 3)};
         if (folded_.owner(owner) != i) fail("it is listed twice");
       });
  each("folded_moments", "moment", [&](std::size_t, const Statement& row) {
    const auto moment = row.id<EventId>(0, events);
    if (!folded_.moments.empty() && moment <= folded_.moments.back()) fail("moments are not in order");
    folded_.moments.push_back(moment);
  });
}

void SessionReader::read_folded_kinds() {
  std::vector<FoldedPlace>& places = folded_.places();
  const auto place_of = [&](const Statement& row) -> FoldedPlace& {
    const std::uint32_t number = row.small(0, kAny32);
    if (number >= places.size()) fail("its place is missing");
    return places[number];
  };
  // A row for each moment of each place: what is not there takes no memory.
  each("folded_live", "place, moment, live", [&](std::size_t, const Statement& row) {
    std::vector<std::uint64_t>& live = place_of(row).live;
    if (row.small(1, kAny32) != live.size()) fail("its moment is out of order");
    live.push_back(static_cast<std::uint64_t>(row.number(2)));
  });
  for (const FoldedPlace& place : places) {
    if (place.live.size() != folded_.moments.size()) fail("table folded_live lacks moments of a place");
  }
  std::vector<std::pair<FoldedPlace*, std::size_t>> kinds;
  each("folded_kinds", "place, objects", [&](std::size_t, const Statement& row) {
    FoldedPlace& place = place_of(row);
    kinds.emplace_back(&place, place.kinds.size());
    place.kinds.push_back({{}, static_cast<std::uint64_t>(row.number(1))});
  });
  each("folded_counts", "kind, owner, times", [&](std::size_t, const Statement& row) {
    const std::uint32_t kind = row.small(0, kAny32);
    const std::uint32_t owner = row.small(1, kAny32);
    if (kind >= kinds.size() || owner >= folded_.owners().size()) fail("its kind or its owner is missing");
    kinds[kind].first->kinds[kinds[kind].second].counts.emplace_back(owner, row.small(2, kAny32));
  });
}

void SessionReader::read_reach() {
  scan_.done = meta("scan_done") != 0;
  scan_.at_exit = meta("scan_at_exit") != 0;
  scan_.at_event = static_cast<std::uint64_t>(meta("scan_at_event"));
  scan_.running_threads = static_cast<std::size_t>(meta("scan_running_threads"));
  scan_.why_not = meta_text("scan_why_not");
  each("reach", "object, reach, freed, holder, place, held_by_leak, holder_object, counter_read, counter",
       [&](std::size_t, const Statement& row) {
         ReachOfObject reach;
         reach.object = known_object(row, 0);
         reach.reach = static_cast<Reach>(row.small(1, static_cast<int>(Reach::reachable)));
         reach.freed = row.flag(2);
         reach.holder = static_cast<Address>(row.number(3));
         reach.where = row.text(4);
         reach.held_by_leak = row.flag(5);
         if (!row.is_null(6)) reach.holder_object = known_object(row, 6);
         reach.counted = row.flag(7);
         if (!row.is_null(8)) reach.counter = row.number(8);
         scan_.objects.emplace(reach.object, reach);
       });
  if (version_ >= kVersionOfCycles) read_cycles();
}

void SessionReader::read_cycles() {
  const auto reached = [&](const Statement& row) -> ReachOfObject& {
    const auto found = scan_.objects.find(known_object(row, 0));
    if (found == scan_.objects.end()) fail("its object was not searched for");
    return found->second;
  };
  each("cycle_members", "object, cycle",
       [&](std::size_t, const Statement& row) { reached(row).cycle_number = row.small(1, kAny32); });
  each("cycle_steps", "object, step_object, step_begin, word", [&](std::size_t, const Statement& row) {
    LostStep step;
    if (!row.is_null(1)) step.object = known_object(row, 1);
    step.begin = static_cast<Address>(row.number(2));
    step.word = static_cast<Address>(row.number(3));
    reached(row).cycle.push_back(step);
  });
}

void SessionReader::take_over(SessionState& state) {
  OpenedFile opened;
  opened.path = path_;
  opened.saved_at = meta("saved_at");
  opened.was_alive = meta("alive") != 0;
  each("notes", "line", [&](std::size_t, const Statement& row) { opened.notes.push_back(row.text(0)); });
  ProgramIdentity program;
  program.executable = one_line(meta_text("executable"));
  program.arguments = lines_of(meta_text("arguments"));
  program.pid = static_cast<long>(meta("pid"));
  ProcessEnd end{meta("ended") != 0, meta("ended_by_signal") != 0, meta("detached") != 0,
                 static_cast<int>(meta("end_status")), meta("replaced") != 0};
  const auto lost_events = static_cast<std::uint64_t>(meta("lost_events"));
  const auto forks = static_cast<std::uint64_t>(meta("forks"));
  const auto followed_children = static_cast<std::uint64_t>(meta("followed_children"));

  // Nothing fails from here on.
  state.sites.retire_all();
  for (TrackedFamily& tracked : state.families) tracked.close_file();
  for (Placed& placed : modules_)
    state.modules.remember(std::move(placed.module), placed.bias, placed.begin, placed.end);
  for (TrackedFamily& tracked : families_) state.families.push_back(std::move(tracked));
  for (Site& site : sites_) state.sites.add(std::move(site));
  state.history = std::move(history_);
  state.managed.forget();
  for (auto& [id, object] : managed_) state.managed.remember(id, std::move(object));
  for (Lost& lost : lost_) state.namer.tail_calls().remember(lost.inner, lost.outer, std::move(lost.frames));
  state.namer.modules_changed();
  state.scan = std::move(scan_);
  state.snapshots = std::move(snapshots_);
  state.confirmed.clear();
  state.folded = std::move(folded_);
  state.over_limit = false;
  state.end = end;
  state.program = std::move(program);
  state.lost_hits = lost_events;
  state.forks = forks;
  state.followed_children = followed_children;
  state.warnings.clear();
  state.opened = std::move(opened);
}

}  // namespace refhist
