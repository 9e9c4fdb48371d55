// The header, the places of the tables (count, then begin and size of each, all 8 bytes), the tables, each at
// a multiple of 8.
#include "symbols/table_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace refhist {

namespace {

constexpr std::uint64_t kMagic = 0x3178646e69686672ULL;  // "rfhindx1"

struct Header {
  std::uint64_t magic = kMagic;
  std::uint32_t kind = 0;
  std::uint32_t version = 0;
  std::uint64_t hash = 0;   ///< of what follows the header
  std::uint64_t count = 0;  ///< of tables
};

struct Place {
  std::uint64_t begin = 0;  ///< from the first byte of all
  std::uint64_t size = 0;
};

std::uint64_t aligned(std::uint64_t size) { return (size + 7) & ~std::uint64_t{7}; }

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  const auto rest = bytes.subspan(sizeof(Header));
  return XXH3_64bits(rest.data(), rest.size());
}

Header header_of(std::span<const std::byte> bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

TableFile::TableFile(std::uint32_t kind, std::uint32_t version,
                     std::span<const std::span<const std::byte>> tables) {
  std::vector<Place> places;
  std::uint64_t size = sizeof(Header) + tables.size() * sizeof(Place);
  for (const auto& table : tables) {
    places.push_back({size, table.size()});
    size += aligned(table.size());
  }
  // Words: vectors of them begin where every table may.
  auto memory = std::make_shared<std::vector<std::uint64_t>>(size / sizeof(std::uint64_t));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(*memory));
  std::memcpy(bytes.data() + sizeof(Header), places.data(), places.size() * sizeof(Place));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!tables[i].empty()) std::memcpy(bytes.data() + places[i].begin, tables[i].data(), tables[i].size());
  }
  Header header{.kind = kind, .version = version, .count = tables.size()};
  header.hash = hash_of(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes_ = bytes;
  owner_ = std::move(memory);
}

TableFile TableFile::open(const std::string& path, std::uint32_t kind, std::uint32_t version) {
  TableFile file;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return file;
  struct stat status {};
  // A file of somebody else is not trusted.
  const bool ours =
      ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapped = ours && size >= sizeof(Header) ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
                                                : MAP_FAILED;
  ::close(descriptor);
  if (mapped == MAP_FAILED) return file;
  const std::shared_ptr<const void> owner(mapped,
                                          [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(mapped), size);
  const Header header = header_of(bytes);
  const bool whole = header.magic == kMagic && header.kind == kind && header.version == version &&
                     header.count <= (size - sizeof(Header)) / sizeof(Place) && header.hash == hash_of(bytes);
  if (!whole) return file;
  file.owner_ = owner;
  file.bytes_ = bytes;
  return file;
}

std::span<const std::byte> TableFile::table_bytes(std::size_t number) const {
  if (bytes_.empty() || number >= header_of(bytes_).count) return {};
  Place place;
  std::memcpy(&place, bytes_.data() + sizeof(Header) + number * sizeof(Place), sizeof place);
  const bool inside = place.begin <= bytes_.size() && place.size <= bytes_.size() - place.begin;
  return inside ? bytes_.subspan(place.begin, place.size) : std::span<const std::byte>();
}

std::string_view TableFile::text(std::size_t number, std::uint64_t at, std::uint64_t length) const {
  const std::span<const char> all = table<char>(number);
  if (at > all.size() || length > all.size() - at) return {};
  return {all.data() + at, length};
}

bool TableFile::save(const std::string& path) const {
  std::string temporary = path + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool written = write_all(descriptor, bytes_);
  const bool closed = ::close(descriptor) == 0;
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
  ::unlink(temporary.c_str());
  return false;
}

}  // namespace refhist
