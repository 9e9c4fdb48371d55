// Which files are mapped comes from /proc/PID/maps: it needs no running program, no dynamic linker data and
// no debugger, and it is right for static programs, dlmopen and code that was mapped by hand.
#include "symbols/module_map.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "symbols/elf_file.h"
#include "symbols/memory_image.h"

namespace refhist {

namespace {

constexpr std::string_view kVdso = "[vdso]";

using Extent = std::pair<Address, Address>;

/// Lowest and highest+1 file address of what is loaded. A kernel's per-CPU data has a segment at 0 that is
/// loaded elsewhere.
Extent extent(const Module& module) {
  constexpr Address kUpperHalf = Address{1} << 63U;
  const auto& segments = module.segments();
  const bool upper = std::any_of(segments.begin(), segments.end(),
                                 [](const Segment& segment) { return segment.address >= kUpperHalf; });
  Extent all{~Address{0}, 0};
  for (const Segment& segment : segments) {
    if (upper && segment.address < kUpperHalf) continue;
    all.first = std::min(all.first, segment.address & ~(kPage - 1));
    all.second = std::max(all.second, segment.address + segment.memory_size);
  }
  return all;
}

using FileIdentity = std::pair<dev_t, ino_t>;

std::optional<FileIdentity> identity(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

struct MappedFile {
  std::string file;   ///< what to open; empty when it can no longer be opened
  bool sure = false;  ///< it is the very file that is mapped
};

/// /proc/PID/map_files opens the mapped file whatever became of its name, but not everybody may use it. The
/// file's own name comes first, so that debug files beside it are found.
MappedFile locate(long pid, const MappedRegion& region) {
  const std::string in_root = fmt::format("/proc/{}/root{}", pid, region.path);
  const std::string mapped = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, region.begin, region.end);
  const std::optional<FileIdentity> direct = identity(mapped);
  const FileIdentity wanted = direct.value_or(FileIdentity{region.device, region.inode});
  for (const std::string& path : {region.path, in_root}) {
    if (identity(path) == wanted) return {path, true};
  }
  if (direct) return {mapped, true};
  if (region.deleted || !identity(in_root)) return {};
  return {in_root, false};  // some file systems number files otherwise in /proc/PID/maps
}

/// False when the program holds another build than the file: the notes in memory tell. True when unknown.
bool same_build_in_memory(DebuggerPort& port, const Module& module, Address bias) {
  if (module.build_id().empty() || module.segments().empty()) return true;
  std::vector<char> head(kPage);
  const Address begin = (module.segments().front().address & ~(kPage - 1)) + bias;
  Elf64_Ehdr header;
  if (!port.read_memory(begin, head.data(), head.size())) return true;
  std::memcpy(&header, head.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return true;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr phdr;
    const std::uint64_t at = header.e_phoff + std::uint64_t{i} * sizeof phdr;
    if (at > head.size() - sizeof phdr) break;
    std::memcpy(&phdr, head.data() + at, sizeof phdr);
    if (phdr.p_type != PT_NOTE || phdr.p_offset > head.size() || phdr.p_filesz > head.size() - phdr.p_offset)
      continue;
    const std::string id = build_id_in_notes({head.data() + phdr.p_offset, phdr.p_filesz});
    if (!id.empty()) return id == module.build_id();
  }
  return true;
}

/// Load bias of the copy of the file that this executable mapping belongs to.
std::optional<Address> bias_of(const Module& module, const MemoryRegion& region) {
  for (const Segment& segment : module.segments()) {
    if (!segment.executable) continue;
    const std::uint64_t begin = segment.file_offset & ~(kPage - 1);
    if (region.file_offset < begin || region.file_offset >= segment.file_offset + segment.file_size) continue;
    return region.begin - region.file_offset + segment.file_offset - segment.address;
  }
  return std::nullopt;
}

}  // namespace

ModuleMap::Change ModuleMap::update(DebuggerPort& port) {
  const ProcessInfo process = port.process();
  const bool alive = process.state == ProcessState::stopped || process.state == ProcessState::running;
  const bool local = alive && process.local && process.pid != 0;
  std::string maps = local ? read_maps_text(process.pid) : std::string();
  if (local && process.pid == seen_pid_ && seen_generated_ == generated_.size() && maps == seen_maps_)
    return {};
  unread_.clear();
  from_memory_.clear();
  seen_pid_ = local ? process.pid : 0;
  seen_generated_ = generated_.size();
  seen_maps_ = std::move(maps);
  if (local) return replace(find_local(port, process.pid, seen_maps_));
  known_files_.clear();
  if (alive || process.state == ProcessState::core) return replace(find_remote(port));
  return replace(find_executable(process));
}

ModuleMap::Change ModuleMap::clear() {
  unread_.clear();
  known_files_.clear();
  seen_pid_ = 0;
  generated_.clear();
  from_memory_.clear();
  for (const auto& [key, bias] : memory_bias_) cache_.erase(key);
  memory_bias_.clear();
  return replace({});
}

std::vector<ModuleMap::Found> ModuleMap::find_local(DebuggerPort& port, long pid, const std::string& maps) {
  // All mappings of a file together, in the order of the first.
  std::vector<std::vector<MappedRegion>> files;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> places;
  std::vector<Found> found;
  for (MappedRegion& region : parse_mapped_regions(maps)) {
    // A file is a module when code of it is mapped, or when nothing but its header tells (see
    // add_loaded_copies).
    const bool header = region.inode != 0 && region.file_offset == 0;
    if (!region.executable && !header) continue;
    if (region.path == kVdso) files.push_back({region});
    if (region.inode == 0) continue;
    const auto [place, is_new] = places.try_emplace({region.device, region.inode}, files.size());
    if (is_new) files.emplace_back();
    files[place->second].push_back(std::move(region));
  }
  auto before = std::exchange(known_files_, {});
  for (const std::vector<MappedRegion>& regions : files) {
    const MappedRegion& first = regions.front();
    if (first.inode == 0) {
      add_vdso(port, first, found);
      continue;
    }
    const auto known = before.find({first.device, first.inode});
    if (known != before.end() && known->second.regions == regions) {
      found.insert(found.end(), known->second.found.begin(), known->second.found.end());
      known_files_.insert(before.extract(known));
    } else {
      add_mapped_file(port, pid, regions, found);
    }
  }
  return found;
}

void ModuleMap::add_mapped_file(DebuggerPort& port, long pid, const std::vector<MappedRegion>& regions,
                                std::vector<Found>& found) {
  const bool code =
      std::any_of(regions.begin(), regions.end(), [](const MappedRegion& r) { return r.executable; });
  const bool ours = std::any_of(regions.begin(), regions.end(),
                                [this](const MappedRegion& r) { return generated_at(r.begin) != nullptr; });
  if (!code || ours) return;
  const MappedRegion& first = regions.front();
  const MappedFile located = locate(pid, first);
  if (located.file.empty())
    return add_loaded_copies(port, regions, "deleted or replaced on disk since it was loaded", found);
  try {
    const auto module = open_cached(located.file, first.path);
    std::set<Address> biases;
    std::vector<Found> here;
    for (const MappedRegion& region : regions) {
      const std::optional<Address> bias = region.executable ? bias_of(*module, region) : std::nullopt;
      if (!bias || !biases.insert(*bias).second) continue;
      if (!located.sure && !same_build_in_memory(port, *module, *bias))
        fail("replaced on disk since it was loaded");
      here.push_back({module, *bias});
    }
    found.insert(found.end(), here.begin(), here.end());
    if (located.sure) known_files_[{first.device, first.inode}] = {regions, std::move(here)};
  } catch (const Error& error) {
    add_loaded_copies(port, regions, error.what(), found);
  }
}

void ModuleMap::add_loaded_copies(DebuggerPort& port, const std::vector<MappedRegion>& regions,
                                  const std::string& why, std::vector<Found>& found) {
  bool any = false;
  for (const MappedRegion& region : regions) {
    if (region.file_offset != 0 || !add_from_memory(port, region.begin, region.path, why, found)) continue;
    // The file may also be mapped as plain data: only a copy whose code lies in its place was loaded.
    const Found& copy = found.back();
    const bool loaded = std::any_of(regions.begin(), regions.end(), [&](const MappedRegion& code) {
      return code.executable && bias_of(*copy.module, code) == copy.bias;
    });
    any = any || loaded;
    if (loaded) continue;
    found.pop_back();
    from_memory_.pop_back();
  }
  if (!any) unread_.push_back({regions.front().path, why});
}

bool ModuleMap::add_from_memory(DebuggerPort& port, Address base, const std::string& path,
                                const std::string& why, std::vector<Found>& found) {
  const auto read = [&](Address address, void* out, std::size_t size) {
    return port.read_memory(address, out, size);
  };
  const std::string key = fmt::format("{}|memory|{:x}", path, base);
  std::shared_ptr<const Module>& module = cache_[key];
  Address& bias = memory_bias_[key];
  if (module != nullptr && !same_build_in_memory(port, *module, bias))
    module = nullptr;  // another one came there
  if (module == nullptr) {
    try {
      std::optional<MemoryImage> image = read_memory_image(read, base);
      if (!image) return false;
      bias = image->bias;
      module = Module::from_image(path, std::move(image->bytes));
    } catch (const Error&) {
      return false;
    }
  }
  found.push_back({module, bias});
  from_memory_.push_back({path, why});
  return true;
}

void ModuleMap::add_vdso(DebuggerPort& port, const MemoryRegion& region, std::vector<Found>& found) {
  const std::string name(kVdso);
  std::shared_ptr<const Module>& module = cache_[name + std::to_string(region.end - region.begin)];
  try {
    if (module == nullptr) {
      std::vector<std::uint8_t> image(region.end - region.begin);
      if (!port.read_memory(region.begin, image.data(), image.size())) fail("its memory cannot be read");
      module = Module::from_image(name, std::move(image));
    }
    found.push_back({module, region.begin - extent(*module).first});
  } catch (const Error& error) {
    unread_.push_back({name, error.what()});
  }
}

std::vector<ModuleMap::Found> ModuleMap::find_remote(DebuggerPort& port) {
  std::vector<Found> found;
  for (const ModuleInfo& info : port.modules()) {
    try {
      const auto module = open_cached(info.path, info.path);
      const Address bias = placement_ ? placement_(port, *module, info.bias) : info.bias;
      if (!same_build_in_memory(port, *module, bias)) {
        fail("the file on this machine is a different build from the one loaded");
      }
      found.push_back({module, bias});
    } catch (const Error& error) {
      static constexpr std::string_view kDeleted = " (deleted)";
      std::string path = info.path;
      if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
      const bool process = port.process().state != ProcessState::core;
      if (!process || !add_from_memory(port, info.bias, path, error.what(), found))
        unread_.push_back({path, error.what()});
    }
  }
  for (const MemoryRegion& region : port.regions()) {
    if (region.path == kVdso) add_vdso(port, region, found);
  }
  return found;
}

std::vector<ModuleMap::Found> ModuleMap::find_executable(const ProcessInfo& process) {
  std::vector<Found> found;
  if (process.executable.empty()) return found;
  try {
    found.push_back({open_cached(process.executable, process.executable), 0});
  } catch (const Error& error) {
    unread_.push_back({process.executable, error.what()});
  }
  return found;
}

std::shared_ptr<const Module> ModuleMap::open_cached(const std::string& file, const std::string& path) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) fail("{}: {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("{}: not a regular file", path);
  const std::string key = fmt::format("{}|{}|{}|{}.{}", path, status.st_ino, status.st_size,
                                      status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  std::shared_ptr<const Module>& module = cache_[key];
  if (module == nullptr) {
    try {
      module = Module::open(file, path);
    } catch (...) {
      cache_.erase(key);
      throw;
    }
  }
  return module;
}

ModuleMap::Change ModuleMap::replace(const std::vector<Found>& found) {
  Change change;
  std::map<Address, ModuleId> now;
  for (const Found& next : found) {
    const auto [low, high] = extent(*next.module);
    if (high <= low) continue;
    const Address begin = low + next.bias;
    const auto old = by_begin_.find(begin);
    if (old != by_begin_.end() && get(old->second)->module == next.module) {
      now.emplace(begin, old->second);
      continue;
    }
    const ModuleId id(all_.size());
    if (!now.emplace(begin, id).second) continue;
    all_.push_back(
        {.id = id, .module = next.module, .bias = next.bias, .begin = begin, .end = high + next.bias});
    change.loaded.push_back(id);
  }
  for (const auto& [begin, id] : by_begin_) {
    const auto kept = now.find(begin);
    if (kept == now.end() || kept->second != id) change.unloaded.push_back(id);
  }
  by_begin_ = std::move(now);
  return change;
}

ModuleId ModuleMap::remember(std::shared_ptr<const Module> module, Address bias, Address begin, Address end) {
  const ModuleId id(all_.size());
  all_.push_back({.id = id, .module = std::move(module), .bias = bias, .begin = begin, .end = end});
  return id;
}

void ModuleMap::put_generated(const std::shared_ptr<const Module>& module, Address bias) {
  const auto [low, high] = extent(*module);
  generated_[low + bias] = {
      .id = ModuleId(), .module = module, .bias = bias, .begin = low + bias, .end = high + bias};
}

const LoadedModule* ModuleMap::at(Address address) const {
  const auto next = by_begin_.upper_bound(address);
  if (next != by_begin_.begin()) {
    const LoadedModule* module = get(std::prev(next)->second);
    if (address < module->end) return module;
  }
  return generated_at(address);
}

const LoadedModule* ModuleMap::generated_at(Address address) const {
  const auto made = generated_.upper_bound(address);
  if (made == generated_.begin() || address >= std::prev(made)->second.end) return nullptr;
  return &std::prev(made)->second;
}

const LoadedModule* ModuleMap::get(ModuleId id) const {
  return id.index() < all_.size() ? &all_[id.index()] : nullptr;
}

std::vector<const LoadedModule*> ModuleMap::all() const {
  std::vector<const LoadedModule*> modules;
  for (const LoadedModule& module : all_) modules.push_back(&module);
  return modules;
}

std::vector<const LoadedModule*> ModuleMap::loaded() const {
  std::vector<const LoadedModule*> modules;
  for (const auto& [begin, id] : by_begin_) modules.push_back(get(id));
  return modules;
}

}  // namespace refhist
