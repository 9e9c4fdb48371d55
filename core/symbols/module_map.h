// The modules of the process as they are loaded now, and what lies at an address.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "port/debugger_port.h"
#include "symbols/mapped_region.h"
#include "symbols/module.h"

namespace refhist {

struct LoadedModule {
  ModuleId id;  ///< never reused: the same file loaded again gets a new id
  std::shared_ptr<const Module> module;
  Address bias = 0;
  Address begin = 0;  ///< lowest and highest+1 loaded address
  Address end = 0;
};

struct UnreadModule {
  std::string path;
  std::string reason;
};

class ModuleMap {
 public:
  struct Change {
    std::vector<ModuleId> loaded;
    std::vector<ModuleId> unloaded;
  };

  /// Brings the map up to date: from /proc/PID/maps of a local process, else from port.modules().
  /// Without a process only the executable is listed, at bias 0.
  Change update(DebuggerPort& port);
  /// Everything is unloaded (the process ended or was replaced).
  Change clear();

  /// A module of a process that is gone, as a file of ours tells of it. It is not loaded.
  ModuleId remember(std::shared_ptr<const Module> module, Address bias, Address begin, Address end);

  /// Code that no file holds: found by `at` only, with an invalid id. Stays until `clear` or the next one
  /// that begins there.
  void put_generated(const std::shared_ptr<const Module>& module, Address bias);

  /// Of a module of a target that is not on this machine: its bias, where the debugger may not know it. May
  /// throw Error: the module is not there.
  void place_remote(std::function<Address(DebuggerPort&, const Module&, Address told)> placement) {
    placement_ = std::move(placement);
  }

  /// What the program's own code has at a place in generated code; 0 where it has nothing.
  void translate_generated(std::function<Address(Address)> translation) {
    translation_ = std::move(translation);
  }
  [[nodiscard]] Address original(Address pc) const { return translation_ ? translation_(pc) : 0; }

  [[nodiscard]] const LoadedModule* at(Address address) const;  ///< nullptr outside every module
  [[nodiscard]] const LoadedModule* get(
      ModuleId id) const;  ///< also of unloaded ones: histories outlive dlclose
  [[nodiscard]] std::vector<const LoadedModule*> loaded() const;  ///< in load order (by address)
  [[nodiscard]] std::vector<const LoadedModule*> all() const;     ///< also those unloaded since
  [[nodiscard]] const std::vector<UnreadModule>& unread() const { return unread_; }
  /// Modules whose file cannot be read, and why: of them only what is loaded is known (exported names, call
  /// frames).
  [[nodiscard]] const std::vector<UnreadModule>& from_memory() const { return from_memory_; }

 private:
  struct Found {
    std::shared_ptr<const Module> module;
    Address bias = 0;
  };
  std::vector<Found> find_local(DebuggerPort& port, long pid, const std::string& maps);
  std::vector<Found> find_remote(DebuggerPort& port);
  std::vector<Found> find_executable(const ProcessInfo& process);
  void add_mapped_file(DebuggerPort& port, long pid, const std::vector<MappedRegion>& regions,
                       std::vector<Found>& found);
  void add_loaded_copies(DebuggerPort& port, const std::vector<MappedRegion>& regions, const std::string& why,
                         std::vector<Found>& found);
  /// False when no ELF header lies at `base`.
  bool add_from_memory(DebuggerPort& port, Address base, const std::string& path, const std::string& why,
                       std::vector<Found>& found);
  void add_vdso(DebuggerPort& port, const MemoryRegion& region, std::vector<Found>& found);
  std::shared_ptr<const Module> open_cached(const std::string& file, const std::string& path);
  Change replace(const std::vector<Found>& found);
  [[nodiscard]] const LoadedModule* generated_at(Address address) const;

  /// What was found in the mappings of a file. They are looked at again when they are others: a program that
  /// loads a thousand libraries asks a thousand times.
  struct KnownFile {
    std::vector<MappedRegion> regions;
    std::vector<Found> found;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, KnownFile> known_files_;  // by device and inode
  std::string seen_maps_;                                                     // /proc/PID/maps
  long seen_pid_ = 0;
  std::size_t seen_generated_ = 0;
  std::deque<LoadedModule> all_;               // by ModuleId; a deque, so that pointers to them stay valid
  std::map<Address, ModuleId> by_begin_;       // only those loaded now
  std::map<Address, LoadedModule> generated_;  // by begin
  std::function<Address(Address)> translation_;
  std::function<Address(DebuggerPort&, const Module&, Address)> placement_;
  std::vector<UnreadModule> unread_;
  std::vector<UnreadModule> from_memory_;
  std::map<std::string, Address> memory_bias_;                  // by the key of cache_
  std::map<std::string, std::shared_ptr<const Module>> cache_;  // by path, inode, size and mtime
};

}  // namespace refhist
