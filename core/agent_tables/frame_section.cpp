#include "agent_tables/frame_section.h"

#include <dwarf.h>

namespace refhist {

namespace {

constexpr std::uint8_t kFormat = 0x0f;
constexpr std::uint8_t kApplication = 0x70;

/// The contents of the record at the reader, without its length. Nothing at the terminator and at the end.
std::optional<ByteReader> next_record(ByteReader& in, bool& wide) {
  std::uint64_t length = in.number<std::uint32_t>();
  wide = length == 0xffffffff;
  if (wide) length = in.number<std::uint64_t>();
  if (in.failed() || length == 0) return std::nullopt;
  const std::string_view bytes = in.take(length);
  if (in.failed()) return std::nullopt;
  return ByteReader(bytes);
}

}  // namespace

FrameSection::FrameSection(Kind kind, Address address, std::string_view bytes)
    : kind_(kind), address_(address), bytes_(bytes) {
  ByteReader in(bytes_);
  while (!in.done()) read_record(in);
}

/// Both kinds of records begin alike; in entries there is a reference to the common part instead of the mark.
void FrameSection::read_record(ByteReader& in) {
  bool wide = false;
  auto record = next_record(in, wide);
  if (!record) return;  // a terminator may stand between what the linker has put together
  const auto place = static_cast<std::size_t>(record->position() - bytes_.data());
  const std::uint64_t id = wide ? record->number<std::uint64_t>() : record->number<std::uint32_t>();
  const bool eh = kind_ == Kind::eh_frame;
  const std::uint64_t mark = eh ? 0 : wide ? ~std::uint64_t{0} : 0xffffffff;
  if (record->failed() || id == mark || (eh && id > place)) return;
  const FrameCommon* common = common_at(eh ? place - id : id);
  if (common != nullptr) read_entry(*record, *common);
}

void FrameSection::read_entry(ByteReader in, const FrameCommon& common) {
  FrameEntry entry;
  entry.common = &common;
  entry.begin = pointer(in, common.pointer_encoding);
  entry.end = entry.begin + pointer(in, common.pointer_encoding & kFormat);
  if (common.has_augmentation) in.take(in.uleb());
  entry.instructions = in.rest();
  if (!in.failed() && entry.begin != 0 && entry.begin < entry.end) entries_.push_back(entry);
}

const FrameCommon* FrameSection::common_at(std::size_t offset) {
  const auto [found, is_new] = commons_.try_emplace(offset);
  if (is_new && offset < bytes_.size()) {
    ByteReader in(bytes_.substr(offset));
    bool wide = false;
    if (auto record = next_record(in, wide)) {
      record->take(wide ? 8 : 4);
      found->second = read_common(*record);
    }
  }
  return found->second ? &*found->second : nullptr;
}

std::optional<FrameCommon> FrameSection::read_common(ByteReader in) const {
  FrameCommon common;
  const auto version = in.number<std::uint8_t>();
  const std::string_view augmentation = in.string();
  if (version >= 4 && in.number<std::uint8_t>() != sizeof(Address)) return std::nullopt;
  if (version >= 4 && in.number<std::uint8_t>() != 0) return std::nullopt;  // segments
  common.code_factor = in.uleb();
  common.data_factor = in.sleb();
  common.return_register = version == 1 ? in.number<std::uint8_t>() : in.uleb();
  if (!read_augmentation(in, augmentation, common)) return std::nullopt;
  common.instructions = in.rest();
  return in.failed() ? std::nullopt : std::optional(common);
}

bool FrameSection::read_augmentation(ByteReader& in, std::string_view text, FrameCommon& common) const {
  if (text.empty()) return true;
  if (text.front() != 'z') return false;
  common.has_augmentation = true;
  ByteReader data(in.take(in.uleb()));
  for (const char letter : text.substr(1)) {
    switch (letter) {
      case 'R':
        common.pointer_encoding = data.number<std::uint8_t>();
        break;
      case 'P':
        static_cast<void>(pointer(data, data.number<std::uint8_t>()));  // of the personality routine
        break;
      case 'L':
        data.take(1);
        break;
      case 'S':
        common.signal_frame = true;
        break;
      default:
        break;  // the size is known, so what is unknown can be left out
    }
  }
  return !data.failed();
}

Address FrameSection::pointer(ByteReader& in, std::uint8_t encoding) const {
  const Address here = address_ + static_cast<Address>(in.position() - bytes_.data());
  Address base = 0;
  if ((encoding & kApplication) == DW_EH_PE_pcrel) base = here;
  if ((encoding & kApplication) > DW_EH_PE_pcrel || encoding == DW_EH_PE_omit) in.take(~std::uint64_t{0});
  switch (encoding & kFormat) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return base + in.number<std::uint64_t>();
    case DW_EH_PE_uleb128:
      return base + in.uleb();
    case DW_EH_PE_udata2:
      return base + in.number<std::uint16_t>();
    case DW_EH_PE_udata4:
      return base + in.number<std::uint32_t>();
    case DW_EH_PE_sleb128:
      return base + static_cast<Address>(in.sleb());
    case DW_EH_PE_sdata2:
      return base + static_cast<Address>(std::int64_t{in.number<std::int16_t>()});
    case DW_EH_PE_sdata4:
      return base + static_cast<Address>(std::int64_t{in.number<std::int32_t>()});
    default:
      in.take(~std::uint64_t{0});
      return 0;
  }
}

}  // namespace refhist
