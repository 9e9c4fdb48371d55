#include "agent_host/thread_id_place.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "symbols/mapped_region.h"

namespace refhist {

namespace {

constexpr std::uint32_t kTidPlace = 720;  // in struct pthread of glibc 2.34 and later on x86-64
constexpr Address kSelfPlace = 16;        // two words of the header point at the struct itself
constexpr Address kAlignment = 64;
constexpr std::uint64_t kMostSearched = std::uint64_t{64} << 20U;

std::optional<std::uint32_t> told_to_libthread_db(const ModuleMap& modules) {
  for (const LoadedModule* module : modules.loaded()) {
    const auto symbol = module->module->data_symbol("_thread_db_pthread_tid");
    std::array<std::uint32_t, 3> field{};  // size in bits, count, offset
    if (symbol && module->module->read_code(*symbol, field.data(), sizeof field) && field[0] == 32)
      return field[2];
  }
  return std::nullopt;
}

bool has_control_block(const std::vector<std::uint8_t>& bytes, Address begin, const std::vector<long>& tids) {
  const Address first = (begin + kAlignment - 1) / kAlignment * kAlignment;
  for (Address at = first; at + kTidPlace + sizeof(std::uint32_t) <= begin + bytes.size(); at += kAlignment) {
    Address self = 0;
    Address again = 0;
    std::uint32_t tid = 0;
    const std::uint8_t* block = bytes.data() + (at - begin);
    std::memcpy(&self, block, sizeof self);
    if (self != at) continue;
    std::memcpy(&again, block + kSelfPlace, sizeof again);
    std::memcpy(&tid, block + kTidPlace, sizeof tid);
    if (again == at && std::find(tids.begin(), tids.end(), static_cast<long>(tid)) != tids.end()) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint32_t> thread_id_place(const ModuleMap& modules, long pid, const ProcessMemory& memory,
                                             const std::vector<long>& tids) {
  if (const auto told = told_to_libthread_db(modules)) return told;
  std::vector<std::uint8_t> bytes;
  std::uint64_t looked_at = 0;
  for (const MemoryRegion& region : read_proc_maps(pid)) {
    const bool heap = region.path.empty() || region.path == "[heap]";
    if (!heap || !region.writable || (looked_at += region.end - region.begin) > kMostSearched) continue;
    bytes.resize(region.end - region.begin);
    bytes.resize(memory.read(region.begin, bytes.data(), bytes.size()));
    if (has_control_block(bytes, region.begin, tids)) return kTidPlace;
  }
  return std::nullopt;
}

}  // namespace refhist
