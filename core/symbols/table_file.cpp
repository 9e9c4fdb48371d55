// The header, the places of the tables (count, then begin and size of each, all 8 bytes), the tables, each at
// a multiple of 8.
#include "symbols/table_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/interruption.h"
#include "base/open_file.h"

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

constexpr std::uint64_t kPadding = sizeof(std::uint64_t);

std::uint64_t aligned(std::uint64_t size) { return (size + kPadding - 1) & ~(kPadding - 1); }

class Hash {
 public:
  Hash() { XXH3_64bits_reset(&state_); }
  void add(const void* bytes, std::size_t size) { XXH3_64bits_update(&state_, bytes, size); }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

/// Writes and hashes; `good` until something could not be written.
class HashedOutput {
 public:
  explicit HashedOutput(int file) : file_(file) {}

  void write(std::span<const std::byte> bytes) {
    constexpr std::size_t kStep = std::size_t{1} << 24;
    while (good_ && !bytes.empty()) {
      Interruption::tell([] { return std::string("caching what was read for the next session"); });
      const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), kStep));
      good_ = written > 0;
      if (!good_) return;
      hash_.add(bytes.data(), static_cast<std::size_t>(written));
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_.value(); }

 private:
  int file_;
  Hash hash_;
  bool good_ = true;
};

/// Read and not mapped: so what is never looked at takes no memory. Nothing when it cannot be read.
std::optional<std::uint64_t> hash_of(int file, std::uint64_t size) {
  std::vector<std::byte> piece(std::min<std::uint64_t>(size, std::uint64_t{1} << 20));
  Hash hash;
  for (std::uint64_t at = sizeof(Header); at < size;) {
    Interruption::check([&] {
      return fmt::format("reading what an earlier session cached: {} of {} MB", at >> 20, size >> 20);
    });
    const ssize_t got =
        ::pread(file, piece.data(), std::min<std::uint64_t>(piece.size(), size - at), static_cast<off_t>(at));
    if (got <= 0) return std::nullopt;
    hash.add(piece.data(), static_cast<std::size_t>(got));
    at += static_cast<std::uint64_t>(got);
  }
  return hash.value();
}

enum class Wholeness { checked, known };

}  // namespace

TableFile::TableFile(std::uint32_t kind, std::uint32_t version,
                     std::span<const std::span<const std::byte>> tables, std::shared_ptr<const void> owner)
    : kind_(kind), version_(version), owner_(std::move(owner)), tables_(tables.begin(), tables.end()) {}

namespace {

/// The tables of a file that is mapped; none when a place lies outside of it.
std::vector<std::span<const std::byte>> tables_in(std::span<const std::byte> bytes, std::uint64_t count) {
  std::vector<std::span<const std::byte>> tables;
  for (std::uint64_t i = 0; i < count; ++i) {
    Place place;
    std::memcpy(&place, bytes.data() + sizeof(Header) + i * sizeof(Place), sizeof place);
    if (place.begin > bytes.size() || place.size > bytes.size() - place.begin) return {};
    tables.push_back(bytes.subspan(place.begin, place.size));
  }
  return tables;
}

TableFile open_file(const std::string& path, std::uint32_t kind, std::uint32_t version, Wholeness whole) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  // A file of somebody else is not trusted.
  const bool ours = file.number() >= 0 && ::fstat(file.number(), &status) == 0 && S_ISREG(status.st_mode) &&
                    status.st_uid == ::geteuid();
  const auto size = static_cast<std::size_t>(status.st_size);
  Header header;
  if (!ours || size < sizeof header || ::pread(file.number(), &header, sizeof header, 0) != sizeof header)
    return {};
  if (header.magic != kMagic || header.kind != kind || header.version != version ||
      header.count > (size - sizeof header) / sizeof(Place))
    return {};
  if (whole == Wholeness::checked && hash_of(file.number(), size) != header.hash) return {};
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (mapped == MAP_FAILED) return {};
  std::shared_ptr<const void> owner(mapped, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(mapped), size);
  return {kind, version, tables_in(bytes, header.count), std::move(owner)};
}

}  // namespace

TableFile TableFile::open(const std::string& path, std::uint32_t kind, std::uint32_t version) {
  return open_file(path, kind, version, Wholeness::checked);
}

TableFile TableFile::open_own(const std::string& path, std::uint32_t kind, std::uint32_t version) {
  return open_file(path, kind, version, Wholeness::known);
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
  const bool written = write(descriptor);
  const bool closed = ::close(descriptor) == 0;
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return true;
  ::unlink(temporary.c_str());
  return false;
}

bool TableFile::write(int descriptor) const {
  std::vector<Place> places;
  std::uint64_t size = sizeof(Header) + tables_.size() * sizeof(Place);
  for (const auto& table : tables_) {
    places.push_back({size, table.size()});
    size += aligned(table.size());
  }
  Header header{.kind = kind_, .version = version_, .count = tables_.size()};
  if (::lseek(descriptor, sizeof header, SEEK_SET) < 0) return false;
  HashedOutput output(descriptor);
  output.write(std::as_bytes(std::span(places)));
  for (const auto& table : tables_) {
    static constexpr std::array<std::byte, kPadding> kZeros{};
    output.write(table);
    output.write(std::span(kZeros).first(aligned(table.size()) - table.size()));
  }
  header.hash = output.hash();
  return output.good() && ::pwrite(descriptor, &header, sizeof header, 0) == sizeof header;
}

}  // namespace refhist
