#include "port/process_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/folder_entries.h"

namespace refhist {

namespace {

// The debugger reads all or nothing: ask page by page so that the readable beginning is not lost.
std::size_t read_by_pages(DebuggerPort& port, Address address, char* out, std::size_t size) {
  if (port.read_memory(address, out, size)) return size;
  std::size_t done = 0;
  while (done < size) {
    const std::size_t piece = std::min<std::size_t>(size - done, kPage - (address + done) % kPage);
    if (!port.read_memory(address + done, out + done, piece)) break;
    done += piece;
  }
  return done;
}
}  // namespace

long task_with_memory(long pid) {
  const auto has_maps = [](const std::filesystem::path& folder) {
    std::ifstream maps(folder / "maps");
    return maps.peek() != std::ifstream::traits_type::eof();
  };
  const std::filesystem::path process = "/proc/" + std::to_string(pid);
  if (has_maps(process)) return pid;
  for (const auto& task : entries_of(process / "task")) {
    if (has_maps(task)) return std::stol(task.filename().string());
  }
  return pid;
}

bool read_process(long pid, Address address, void* out, std::size_t size) {
  const iovec local{out, size};
  const iovec remote{reinterpret_cast<void*>(address), size};
  return process_vm_readv(static_cast<pid_t>(pid), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

// The kernel stops before the first unreadable page only where the pieces are single pages.
std::size_t ProcessMemory::transfer(Address address, void* out, std::size_t size) const {
  iovec local{out, size};
  iovec remote{reinterpret_cast<void*>(address), size};
  ssize_t got = process_vm_readv(static_cast<pid_t>(pid_), &local, 1, &remote, 1, 0);
  if (got < 0 && errno == ESRCH) {
    pid_ = task_with_memory(pid_);
    got = process_vm_readv(static_cast<pid_t>(pid_), &local, 1, &remote, 1, 0);
  }
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

std::size_t ProcessMemory::read_once(Address address, void* out, std::size_t size) const {
  if (pid_ == 0) return read_by_pages(port_, address, static_cast<char*>(out), size);
  const std::size_t got = transfer(address, out, size);
  const std::size_t rest_of_page = std::min<std::size_t>(size, kPage - address % kPage);
  return got != 0 || rest_of_page == size ? got : transfer(address, out, rest_of_page);
}

std::size_t ProcessMemory::read(Address address, void* out, std::size_t size) const {
  if (pid_ == 0) return read_by_pages(port_, address, static_cast<char*>(out), size);
  std::size_t done = 0;
  while (done < size) {
    const std::size_t got = read_once(address + done, static_cast<char*>(out) + done, size - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

bool ProcessMemory::write(Address address, const void* data, std::size_t size) const {
  if (pid_ == 0) return port_.write_memory(address, data, size);
  iovec local{const_cast<void*>(data), size};
  iovec remote{reinterpret_cast<void*>(address), size};
  return process_vm_writev(static_cast<pid_t>(pid_), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

}  // namespace refhist
