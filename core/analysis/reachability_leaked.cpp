#include "analysis/reachability_leaked.h"

#include <algorithm>

namespace refhist {

LeakedSweep::LeakedSweep(HeapMap& heap, TrackedCells& cells, HeapImage& image)
    : heap_(heap), cells_(cells), image_(image) {
  for (const TrackedCell& cell : cells.cells()) {
    if (cell.reach == Reach::reachable) continue;
    if (wanted_.end == 0) wanted_.begin = cell.range.begin;
    wanted_.end = cell.range.end;
  }
}

void LeakedSweep::run() {
  if (wanted_.size() == 0) return;
  for (HeapSpan& span : heap_.spans()) {
    if (span.blocks) sweep_blocks(span);
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const TrackedCell& cell = cells_.cell(i);
    if (!cell.whole && cell.reach != Reach::reachable) sweep_cell(*heap_.span_at(cell.range.begin), i);
  }
}

void LeakedSweep::sweep_blocks(HeapSpan& span) {
  // The marker has cleared what it reached: what is left is handed out and lost.
  for (auto it = std::find(span.live.begin(), span.live.end(), true); it != span.live.end();
       it = std::find(it + 1, span.live.end(), true)) {
    const auto granule = static_cast<std::size_t>(it - span.live.begin());
    sweep_block(span, {span.address(granule), span.block_end(granule)});
  }
}

void LeakedSweep::sweep_block(HeapSpan& span, AddressRange range) {
  for (std::size_t i = cells_.first_behind(range.begin); i < cells_.size(); ++i) {
    const TrackedCell& cell = cells_.cell(i);
    if (cell.range.begin >= range.end) break;
    if (cell.whole) return sweep_cell(span, i);
    sweep(span, {range.begin, cell.range.begin & ~Address{7}}, kNoCell);
    range.begin = cell.range.end;
  }
  sweep(span, range, kNoCell);
}

void LeakedSweep::sweep_cell(HeapSpan& span, std::size_t cell) { sweep(span, cells_.cell(cell).range, cell); }

void LeakedSweep::sweep(HeapSpan& span, AddressRange range, std::size_t source) {
  if (range.begin >= range.end) return;
  if (!image_.alone(span, range)) {
    const std::size_t window = image_.window_of(span, range.begin);
    if (!image_.loaded(window)) image_.load(window);
  }
  image_.words(span, range, [&](Address at, const Word* words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted_.contains(words[i])) point(words[i], at + i * sizeof(Word), source);
    }
  });
}

void LeakedSweep::point(Address target, Address holder, std::size_t source) {
  TrackedCell* cell = cells_.at(target);
  if (cell == nullptr || cell->reach == Reach::reachable) return;
  if (source != kNoCell && cell == &cells_.cell(source)) return;
  const bool better = cell->holder == 0 || (source != kNoCell && cells_.at(cell->holder) == nullptr);
  cell->reach = Reach::from_leaked;
  if (better) cell->holder = holder;
}

}  // namespace refhist
