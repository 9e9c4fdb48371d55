#include "symbols/debug_file.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/folder_entries.h"

namespace refhist {

namespace {

constexpr const char* kDebugFolder = "/usr/lib/debug";

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
    table[i] = value;
  }
  return table;
}

std::uint32_t crc32(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::unique_ptr<ElfFile> open_if_there(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return nullptr;
  try {
    return ElfFile::open(path);
  } catch (const Error&) {
    return nullptr;  // a broken debug file is as good as none
  }
}

bool belongs(const ElfFile& debug, const ElfFile& main, const DebugLink& link) {
  if (!debug.build_id().empty() && !main.build_id().empty()) return debug.build_id() == main.build_id();
  return crc32(debug.contents()) == link.crc;
}

std::unique_ptr<ElfFile> by_build_id(const ElfFile& main) {
  const std::string& id = main.build_id();
  if (id.size() < 4) return nullptr;
  auto file = open_if_there(std::string(kDebugFolder) + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) +
                            ".debug");
  return file != nullptr && file->build_id() == id ? std::move(file) : nullptr;
}

std::unique_ptr<ElfFile> by_debug_link(const ElfFile& main) {
  const std::optional<DebugLink> link = main.debug_link();
  if (!link) return nullptr;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(main.path(), error);
  if (error) return nullptr;
  const std::string folder = real.parent_path().string();
  for (const std::string& path : {folder + "/" + link->name, folder + "/.debug/" + link->name,
                                  kDebugFolder + folder + "/" + link->name}) {
    if (path == real.string()) continue;
    auto file = open_if_there(path);
    if (file != nullptr && belongs(*file, main, *link)) return file;
  }
  return nullptr;
}

/// A kernel without its debug information, which is better for LLDB: the file with it lies beside it, or
/// where Debian's package puts it.
std::unique_ptr<ElfFile> of_kernel(const ElfFile& main) {
  constexpr Address kKernel = 0xffffffff80000000ULL;
  const auto& segments = main.segments();
  if (main.build_id().empty() || segments.empty() || segments.front().address < kKernel) return nullptr;
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::canonical(main.path(), error);
  std::vector<fs::path> candidates{real.parent_path() / "vmlinux"};
  for (const auto& entry : entries_of(std::string(kDebugFolder) + "/boot")) {
    if (entry.filename().string().starts_with("vmlinux")) candidates.push_back(entry);
  }
  for (const fs::path& candidate : candidates) {
    if (candidate == real) continue;
    auto file = open_if_there(candidate.string());
    if (file != nullptr && file->build_id() == main.build_id() && file->has_dwarf()) return file;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<ElfFile> find_debug_file(const ElfFile& main) {
  if (auto file = by_build_id(main)) return file;
  if (auto file = by_debug_link(main)) return file;
  return of_kernel(main);
}

}  // namespace refhist
