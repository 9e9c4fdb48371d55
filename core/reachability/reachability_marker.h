// Follows pointers from the roots through the heap and marks what they reach.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "heap/heap_image.h"
#include "heap/heap_map.h"
#include "reachability/reachability_objects.h"

namespace refhist {

class ReachabilityMarker {
 public:
  using Word = ScanMemory::Word;

  /// `lists`: as ReachOptions has them; stays valid as long as this object.
  ReachabilityMarker(HeapMap& heap, TrackedCells& cells, HeapImage& image,
                     const std::vector<std::pair<Address, Address>>& lists);

  /// A register's value; `index` is remembered as the holder.
  void root_register(Address value, std::uint32_t index);
  /// Objects that are variables of a module: code names them without a pointer.
  void root_objects(AddressRange range, const std::function<bool(const AddressRange&)>& is_variable);
  /// After run: objects in variables, such as arrays, of which a pointer reaches none: code comes to them by
  /// an index, or by the variable's name. `variable_of`: where the variable begins.
  void root_indexed(AddressRange range, const std::function<Address(Address)>& variable_of);
  /// Words of a root. Tracked objects in there are left out: they hold only once they are reached.
  void root_words(Address at, const Word* words, std::size_t count);
  /// Follows everything that the roots have reached. What a list has of one object is followed once that
  /// object is reached.
  void run();
  /// After the last run: memory that lists objects which nothing has reached is not reached either.
  void give_up_entries();

 private:
  /// A block without the cells in it, or a cell.
  struct Work {
    Address begin = 0;
    bool cell = false;
    bool direct = false;  ///< to be read for itself, without its window
  };
  void scan_words(Address at, const Word* words, std::size_t count);
  void point(Address target, Address holder, std::uint32_t register_root = TrackedCell::kNoRegister);
  /// The word only lists the object.
  [[nodiscard]] bool is_entry(const TrackedCell& cell, Address target, Address holder) const;
  static bool is_next_header(const TrackedCell& cell, Address target);
  void reach_cell(TrackedCell& cell, Address holder, std::uint32_t register_root);
  void follow(const Work& work);
  [[nodiscard]] bool is_list(Address address) const;
  bool waits_for_object(const HeapSpan& span, AddressRange range);
  bool follow_entries();
  void scan(const HeapSpan& span, AddressRange range);
  void scan_around_cells(const HeapSpan& span, AddressRange range);
  void defer(std::size_t window, const Work& work);
  bool resume();

  HeapMap& heap_;
  TrackedCells& cells_;
  HeapImage& image_;
  const std::vector<std::pair<Address, Address>>& lists_;
  Address lowest_;
  Address extent_;
  /// In a list, all that is known of one object, which nothing has reached yet.
  struct Entry {
    Address begin = 0;
    const TrackedCell* object = nullptr;
  };
  std::vector<Entry> entries_;
  std::vector<Work> work_;
  std::vector<std::vector<std::uint32_t>> deferred_;  // by window: offset in it, twice, plus one for a cell
  std::deque<std::size_t> waiting_;                   // windows with deferred work
  std::vector<std::size_t> read_alone_;               // by window: blocks read one by one since it was loaded
};

}  // namespace refhist
