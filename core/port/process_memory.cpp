#include "port/process_memory.h"

#include <sys/uio.h>

#include <algorithm>

namespace refhist {

namespace {
constexpr std::size_t kPage = 4096;

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

std::size_t ProcessMemory::read(Address address, void* out, std::size_t size) const {
  if (pid_ == 0) return read_by_pages(port_, address, static_cast<char*>(out), size);
  std::size_t done = 0;
  while (done < size) {
    iovec local{static_cast<char*>(out) + done, size - done};
    iovec remote{reinterpret_cast<void*>(address + done), size - done};
    const ssize_t got = process_vm_readv(static_cast<pid_t>(pid_), &local, 1, &remote, 1, 0);
    if (got <= 0) {
      // One transfer stops before the first unreadable page only when the pieces are single pages.
      const std::size_t piece = std::min<std::size_t>(size - done, kPage - (address + done) % kPage);
      if (piece == local.iov_len) break;
      local.iov_len = remote.iov_len = piece;
      const ssize_t page = process_vm_readv(static_cast<pid_t>(pid_), &local, 1, &remote, 1, 0);
      if (page <= 0) break;
      done += static_cast<std::size_t>(page);
      continue;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace refhist
