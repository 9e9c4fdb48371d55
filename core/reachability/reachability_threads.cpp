#include "reachability/reachability_threads.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace refhist {

namespace {

// struct pthread of glibc 2.34 and later on x86-64; offsets in bytes.
constexpr Address kSelf = 16;         // two words of the header point at the struct itself
constexpr Address kThreadVector = 8;  // dtv: where the thread's copies of each module's variables are
constexpr Address kList = 704;        // links of the list that the stack is in
constexpr Address kTid = 720;
constexpr Address kStackFrom = 1536;  // stackblock, stackblock_size lie in here, where differs
constexpr Address kStackTo = 1920;
constexpr Address kControlAlignment = 64;
constexpr std::size_t kMostModules = 4096;
// In the dynamic linker three list heads follow each other: stacks in use, the main thread's, the cache.
constexpr Address kCacheListBehindMain = 16;

struct ListLinks {
  Address next = 0;
  Address previous = 0;
};

AddressRange stack_of(ScanMemory& memory, Address control) {
  std::array<Address, (kStackTo - kStackFrom) / 8> words;
  if (!memory.read_value(control + kStackFrom, words)) return {};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const AddressRange stack{words[i], words[i] + words[i + 1]};
    if (stack.begin == 0 || stack.begin % 8 != 0 || words[i + 1] < kPage) continue;
    if (stack.contains(control) && stack.end - control >= kStackTo && stack.end - control < 16 * kPage) {
      return stack;
    }
  }
  return {};
}

// The vector's first entry is a generation, the others are pairs; the storage lies right below `control`.
Address lowest_tls(ScanMemory& memory, Address control, Address limit) {
  Address vector = 0;
  Address length = 0;
  if (!memory.read_value(control + kThreadVector, vector)) return control;
  if (!memory.read_value(vector - 16, length) || length > kMostModules) return control;
  Address lowest = control;
  for (std::size_t i = 1; i <= length; ++i) {
    Address storage = 0;
    if (!memory.read_value(vector + 16 * i, storage)) break;
    if (storage != 0 && storage >= limit && storage < lowest) lowest = storage;
  }
  return lowest;
}

std::vector<ThreadBlock> find_blocks(ScanMemory& memory, const std::vector<AddressRange>& anonymous) {
  std::vector<ThreadBlock> found;
  const auto look = [&](Address at, const ScanMemory::Word* words, std::size_t count) {
    for (std::size_t i = 0; i + kSelf / 8 < count; ++i) {
      const Address control = at + 8 * i;
      if (words[i] != control || words[i + kSelf / 8] != control || control % kControlAlignment != 0)
        continue;
      std::int32_t tid = 0;
      if (!memory.read_value(control + kTid, tid)) continue;
      // The kernel zeroes it when the thread ends; whoever joins the thread makes it -1.
      found.push_back({std::max(tid, 0), control, stack_of(memory, control), control, false});
    }
  };
  for (const AddressRange& range : anonymous) {
    const std::size_t before = found.size();
    memory.each_piece(range, Backing::anonymous, look);
    for (std::size_t i = before; i < found.size(); ++i) {
      ThreadBlock& block = found[i];
      if (block.tid != 0)
        block.tls_begin = lowest_tls(memory, block.control, std::max(range.begin, block.stack.begin));
    }
  }
  return found;
}

bool is_block(const std::vector<ThreadBlock>& blocks, Address control) {
  const auto it = std::lower_bound(blocks.begin(), blocks.end(), control,
                                   [](const ThreadBlock& b, Address a) { return b.control < a; });
  return it != blocks.end() && it->control == control;
}

/// The links at `at`; nothing when their neighbour does not point back.
std::optional<ListLinks> links_at(ScanMemory& memory, Address at) {
  ListLinks links;
  ListLinks next;
  if (!memory.read_value(at, links) || !memory.read_value(links.next, next)) return std::nullopt;
  if (next.previous != at) return std::nullopt;
  return links;
}

/// The head of the list that the block is in; 0 when it cannot be followed.
Address list_head(ScanMemory& memory, const std::vector<ThreadBlock>& blocks, Address control) {
  Address at = control + kList;
  for (std::size_t n = 0; n <= blocks.size(); ++n) {
    const std::optional<ListLinks> links = links_at(memory, at);
    if (!links) return 0;
    at = links->next;
    if (!is_block(blocks, at - kList)) return at;
  }
  return 0;
}

/// The blocks in the list; empty when it holds anything else.
std::vector<Address> list_members(ScanMemory& memory, const std::vector<ThreadBlock>& blocks, Address head) {
  std::vector<Address> members;
  Address at = head;
  for (std::size_t n = 0; n <= blocks.size(); ++n) {
    const std::optional<ListLinks> links = links_at(memory, at);
    if (!links) return {};
    at = links->next;
    if (at == head) return members;
    if (!is_block(blocks, at - kList)) return {};
    members.push_back(at - kList);
  }
  return {};
}

void find_cached(ScanMemory& memory, std::vector<ThreadBlock>& blocks) {
  const auto main = std::find_if(blocks.begin(), blocks.end(), [](const ThreadBlock& block) {
    return block.tid != 0 && block.stack.size() == 0;
  });
  if (main == blocks.end()) return;
  const Address head = list_head(memory, blocks, main->control);
  if (head == 0) return;
  std::vector<Address> cached = list_members(memory, blocks, head + kCacheListBehindMain);
  std::sort(cached.begin(), cached.end());
  for (ThreadBlock& block : blocks) {
    block.cached = block.tid == 0 && block.stack.size() != 0 &&
                   std::binary_search(cached.begin(), cached.end(), block.control);
  }
}

}  // namespace

std::vector<ThreadBlock> find_thread_blocks(ScanMemory& memory, const std::vector<AddressRange>& anonymous) {
  std::vector<ThreadBlock> blocks = find_blocks(memory, anonymous);
  find_cached(memory, blocks);
  return blocks;
}

}  // namespace refhist
