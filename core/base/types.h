// Strong ids and plain words that the whole core shares.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace refhist {

/// An address in the debugged program (or in a file, where the name says so).
using Address = std::uint64_t;

/// The bytes of a page of x86-64.
constexpr std::uint64_t kPage = 4096;

/// An index that cannot be mixed up with an index of another kind.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  [[nodiscard]] constexpr bool valid() const { return value != kNone; }
  [[nodiscard]] constexpr std::size_t index() const { return value; }
  constexpr auto operator<=>(const Id&) const = default;
};

using ObjectId = Id<struct ObjectTag>;
using EventId = Id<struct EventTag>;
using StackId = Id<struct StackTag>;
using FrameId = Id<struct FrameTag>;
using SiteId = Id<struct SiteTag>;
using FamilyId = Id<struct FamilyTag>;
using ThreadIndex = Id<struct ThreadTag>;
using ModuleId = Id<struct ModuleTag>;

}  // namespace refhist

template <class Tag>
struct std::hash<refhist::Id<Tag>> {
  std::size_t operator()(refhist::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
