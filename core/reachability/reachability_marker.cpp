#include "reachability/reachability_marker.h"

#include <algorithm>
#include <map>
#include <set>

namespace refhist {

namespace {
// Reading a window costs as much as reading about this many blocks one by one.
constexpr std::size_t kWorthAWindow = 512;
}  // namespace

ReachabilityMarker::ReachabilityMarker(HeapMap& heap, TrackedCells& cells, HeapImage& image,
                                       const std::vector<std::pair<Address, Address>>& lists)
    : heap_(heap),
      cells_(cells),
      image_(image),
      lists_(lists),
      lowest_(heap.lowest()),
      extent_(heap.highest() - heap.lowest()),
      deferred_(image.window_count()),
      read_alone_(image.window_count()) {}

void ReachabilityMarker::root_register(Address value, std::uint32_t index) {
  point(untagged(value), 0, index);
}

void ReachabilityMarker::root_objects(AddressRange range,
                                      const std::function<bool(const AddressRange&)>& is_variable) {
  for (std::size_t i = cells_.first_behind(range.begin); i < cells_.size(); ++i) {
    TrackedCell& cell = cells_.cells()[i];
    if (cell.range.begin >= range.end) break;
    if (range.contains(cell.range.begin) && is_variable(cell.range))
      reach_cell(cell, cell.range.begin, TrackedCell::kNoRegister);
  }
}

void ReachabilityMarker::root_indexed(AddressRange range,
                                      const std::function<Address(Address)>& variable_of) {
  std::map<Address, std::vector<TrackedCell*>> variables;
  std::set<Address> pointed_at;
  for (std::size_t i = cells_.first_behind(range.begin); i < cells_.size(); ++i) {
    TrackedCell& cell = cells_.cells()[i];
    if (cell.range.begin >= range.end) break;
    const Address variable = variable_of(cell.range.begin);
    variables[variable].push_back(&cell);
    if (cell.reach == Reach::reachable) pointed_at.insert(variable);
  }
  for (const auto& [variable, cells] : variables) {
    if (pointed_at.contains(variable)) continue;
    for (TrackedCell* cell : cells) reach_cell(*cell, cell->range.begin, TrackedCell::kNoRegister);
  }
}

void ReachabilityMarker::root_words(Address at, const Word* words, std::size_t count) {
  const Address end = at + count * sizeof(Word);
  const Address begin = at;
  for (std::size_t i = cells_.first_behind(at); i < cells_.size(); ++i) {
    const AddressRange& cell = cells_.cell(i).range;
    if (cell.begin >= end) break;
    // Words that belong to the cell only in part are left out as well.
    const Address stop = cell.begin & ~Address{7};
    if (stop > at) scan_words(at, words + (at - begin) / sizeof(Word), (stop - at) / sizeof(Word));
    at = (cell.end + 7) & ~Address{7};
  }
  if (at < end) scan_words(at, words + (at - begin) / sizeof(Word), (end - at) / sizeof(Word));
}

void ReachabilityMarker::scan_words(Address at, const Word* words, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Address target = untagged(words[i]);
    if (target - lowest_ < extent_) {
      point(target, at + i * sizeof(Word));
    } else if (const Address moved = above_tag(words[i]); moved - lowest_ < extent_) {
      point(moved, at + i * sizeof(Word));
    }
  }
}

void ReachabilityMarker::point(Address target, Address holder, std::uint32_t register_root) {
  HeapSpan* span = heap_.span_at(target);
  if (span == nullptr) return;
  if (!span->blocks) {
    if (TrackedCell* cell = cells_.at(target)) reach_cell(*cell, holder, register_root);
    return;
  }
  const std::size_t granule = span->starts.floor(span->granule(target));
  const bool special = !span->special.empty() && span->special[granule];
  if (!span->live[granule] && !special) return;
  // The second word of the next block's header lies behind this one's end.
  const std::size_t next = span->granule(target) + 1;
  if ((target - span->begin) % 16 == 8 && span->starts.test(next) && span->has_header(next)) return;
  if (special) {
    TrackedCell* cell = cells_.at(target);
    if (cell != nullptr &&
        (is_next_header(*cell, target) || is_entry(*cell, target, holder) || cells_.is_link(*cell, target)))
      return;
    if (cell != nullptr) reach_cell(*cell, holder, register_root);
  }
  // Whoever holds an object in a slab holds the slab: its other objects are not reached by that.
  if (!span->live[granule]) return;
  span->live[granule] = false;
  work_.push_back({span->address(granule), false, false});
}

bool ReachabilityMarker::is_entry(const TrackedCell& cell, Address target, Address holder) const {
  return !lists_.empty() && cells_.is_listed(cell, target) && is_list(holder);
}

bool ReachabilityMarker::is_list(Address address) const {
  const auto behind = std::upper_bound(lists_.begin(), lists_.end(), address,
                                       [](Address at, const auto& list) { return at < list.first; });
  return behind != lists_.begin() && address < std::prev(behind)->second;
}

// GLib has all signal handlers in one table; what a handler's closure holds lives as long as the object that
// emits the signal.
bool ReachabilityMarker::waits_for_object(const HeapSpan& span, AddressRange range) {
  if (lists_.empty() || !is_list(range.begin)) return false;
  std::set<const TrackedCell*> objects;
  image_.words(span, range, [&](Address, const Word* words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Address target = untagged(words[i]);
      const TrackedCell* cell = target - lowest_ < extent_ ? cells_.at(target) : nullptr;
      if (cell != nullptr && cells_.is_listed(*cell, target)) objects.insert(cell);
    }
  });
  if (objects.size() != 1 || (*objects.begin())->reach == Reach::reachable) return false;
  entries_.push_back({range.begin, *objects.begin()});
  return true;
}

bool ReachabilityMarker::follow_entries() {
  const auto reached = std::stable_partition(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.object->reach != Reach::reachable;
  });
  for (auto entry = reached; entry != entries_.end(); ++entry) work_.push_back({entry->begin, false, false});
  entries_.erase(reached, entries_.end());
  return !work_.empty();
}

void ReachabilityMarker::give_up_entries() {
  for (const Entry& entry : entries_) heap_.block_at(entry.begin)->set_live(true);
  entries_.clear();
}

// A block's last word is the first of the next chunk's header, and malloc leaves pointers to headers on the
// stack. When the object does not reach that far, it is the header that is meant.
bool ReachabilityMarker::is_next_header(const TrackedCell& cell, Address target) {
  return cell.whole && target + sizeof(Word) == cell.range.end && target >= cell.used_end;
}

void ReachabilityMarker::reach_cell(TrackedCell& cell, Address holder, std::uint32_t register_root) {
  if (cell.reach == Reach::reachable) return;
  // An object that lies in a root does not hold itself; its own words are not scanned before this.
  cell.reach = Reach::reachable;
  cell.holder = holder;
  cell.register_root = register_root;
  if (!cell.whole) work_.push_back({cell.range.begin, true, false});
}

void ReachabilityMarker::run() {
  do {
    while (!work_.empty()) {
      const Work work = work_.back();
      work_.pop_back();
      follow(work);
    }
  } while (resume() || follow_entries());
}

void ReachabilityMarker::follow(const Work& work) {
  const HeapSpan& span = *heap_.span_at(work.begin);
  const AddressRange range = work.cell ? cells_.at(work.begin)->range
                                       : AddressRange{work.begin, span.block_end(span.granule(work.begin))};
  if (!work.direct && !image_.alone(span, range)) {
    const std::size_t window = image_.window_of(span, work.begin);
    if (!image_.loaded(window)) {
      if (!image_.has_room(window)) return defer(window, work);
      image_.load(window);
    }
  }
  if (!work.cell && waits_for_object(span, range)) return;
  const bool special =
      span.blocks && !span.special.empty() && span.special[span.starts.floor(span.granule(work.begin))];
  if (!work.cell && special) return scan_around_cells(span, range);
  scan(span, range);
}

void ReachabilityMarker::scan(const HeapSpan& span, AddressRange range) {
  image_.words(span, range,
               [this](Address at, const Word* words, std::size_t count) { scan_words(at, words, count); });
}

void ReachabilityMarker::scan_around_cells(const HeapSpan& span, AddressRange range) {
  for (std::size_t i = cells_.first_behind(range.begin); i < cells_.size(); ++i) {
    const TrackedCell& cell = cells_.cell(i);
    if (cell.whole || cell.range.begin >= range.end) break;
    if (cell.range.begin > range.begin) scan(span, {range.begin, cell.range.begin & ~Address{7}});
    range.begin = cell.range.end;
  }
  if (range.begin < range.end) scan(span, range);
}

void ReachabilityMarker::defer(std::size_t window, const Work& work) {
  if (deferred_[window].empty()) waiting_.push_back(window);
  const Address offset = work.begin - image_.window_begin(window);
  deferred_[window].push_back(static_cast<std::uint32_t>(offset << 1 | (work.cell ? 1 : 0)));
}

// The window that waits longest is next: by then much may have come together for it.
bool ReachabilityMarker::resume() {
  if (waiting_.empty()) return false;
  const std::size_t window = waiting_.front();
  waiting_.pop_front();
  std::vector<std::uint32_t> items;
  items.swap(deferred_[window]);
  const bool direct = !image_.loaded(window) && (read_alone_[window] += items.size()) < kWorthAWindow;
  if (!direct && !image_.loaded(window)) {
    image_.load(window);
    read_alone_[window] = 0;
  }
  for (const std::uint32_t item : items) {
    work_.push_back({image_.window_begin(window) + (item >> 1), (item & 1) != 0, direct});
  }
  return true;
}

}  // namespace refhist
