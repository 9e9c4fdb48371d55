#include "agent_tables/frame_program.h"

#include <dwarf.h>

#include "port/registers.h"

namespace refhist {

FrameProgram::FrameProgram(const FrameSection& section, const FrameEntry& entry)
    : section_(section),
      entry_(entry),
      common_(*entry.common),
      in_(common_.instructions),
      begin_(entry.begin),
      end_(entry.begin) {
  run_until_advance();
  if (in_.failed()) failed_ = true;
  initial_ = state_;
  in_ = ByteReader(entry.instructions);
}

bool FrameProgram::next() {
  if (failed() || end_ >= entry_.end) return false;
  begin_ = end_;
  end_ = entry_.end;
  run_until_advance();
  if (end_ > entry_.end) end_ = entry_.end;
  return !failed();
}

/// What comes before the first advance belongs to the row that begins here.
void FrameProgram::run_until_advance() {
  advanced_ = false;
  while (!in_.done() && !failed() && !advanced_) run_one();
}

void FrameProgram::run_one() {
  const auto operation = in_.number<std::uint8_t>();
  const std::uint8_t low = operation & 0x3f;
  switch (operation & 0xc0) {
    case DW_CFA_advance_loc:
      return advance(begin_ + low * common_.code_factor);
    case DW_CFA_offset:
      return set(low, {.kind = SavedRegister::Kind::at_offset, .offset = factored()});
    case DW_CFA_restore:
      return restore(low);
    default:
      return run_extended(operation);
  }
}

void FrameProgram::run_extended(std::uint8_t operation) {
  using Kind = SavedRegister::Kind;
  // In one initializer the parts are evaluated in order, but the number comes first in the instruction.
  const auto number = [&] { return in_.uleb(); };
  std::uint64_t which = 0;
  switch (operation) {
    case DW_CFA_nop:
      return;
    case DW_CFA_set_loc:
      return advance(section_.pointer(in_, common_.pointer_encoding));
    case DW_CFA_advance_loc1:
      return advance(begin_ + in_.number<std::uint8_t>() * common_.code_factor);
    case DW_CFA_advance_loc2:
      return advance(begin_ + in_.number<std::uint16_t>() * common_.code_factor);
    case DW_CFA_advance_loc4:
      return advance(begin_ + in_.number<std::uint32_t>() * common_.code_factor);
    case DW_CFA_offset_extended:
      which = number();
      return set(which, {.kind = Kind::at_offset, .offset = factored()});
    case DW_CFA_offset_extended_sf:
      which = number();
      return set(which, {.kind = Kind::at_offset, .offset = factored_signed()});
    case DW_CFA_GNU_negative_offset_extended:
      which = number();
      return set(which, {.kind = Kind::at_offset, .offset = -factored()});
    case DW_CFA_restore_extended:
      return restore(number());
    case DW_CFA_undefined:
      return set(number(), {.kind = Kind::undefined});
    case DW_CFA_same_value:
      return set(number(), {});
    case DW_CFA_register:
      which = number();
      number();
      return set(which, {.kind = Kind::elsewhere});
    case DW_CFA_expression:
      which = number();
      return set(which, {.kind = Kind::at_expression, .expression = block()});
    case DW_CFA_val_expression:
      which = number();
      block();
      return set(which, {.kind = Kind::elsewhere});
    case DW_CFA_val_offset:
      which = number();
      return set(which, {.kind = Kind::cfa_plus, .offset = factored()});
    case DW_CFA_val_offset_sf:
      which = number();
      return set(which, {.kind = Kind::cfa_plus, .offset = factored_signed()});
    case DW_CFA_remember_state:
      remembered_.push_back(state_);
      return;
    case DW_CFA_restore_state:
      failed_ = failed_ || remembered_.empty();
      if (failed_) return;
      state_ = remembered_.back();
      remembered_.pop_back();
      return;
    case DW_CFA_GNU_args_size:
      number();
      return;
    default:
      return run_cfa(operation);
  }
}

void FrameProgram::run_cfa(std::uint8_t operation) {
  switch (operation) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
      state_.cfa_register = in_.uleb();
      state_.cfa_offset =
          operation == DW_CFA_def_cfa ? static_cast<std::int64_t>(in_.uleb()) : factored_signed();
      break;
    case DW_CFA_def_cfa_register:
      state_.cfa_register = in_.uleb();
      break;
    case DW_CFA_def_cfa_offset:
      state_.cfa_offset = static_cast<std::int64_t>(in_.uleb());
      break;
    case DW_CFA_def_cfa_offset_sf:
      state_.cfa_offset = factored_signed();
      break;
    case DW_CFA_def_cfa_expression:
      state_.cfa_expression = block();
      state_.cfa_by_expression = true;
      return;
    default:
      failed_ = true;
      return;
  }
  state_.cfa_by_expression = false;
}

void FrameProgram::advance(Address to) {
  failed_ = failed_ || to < begin_;
  // Rows without code are no rows.
  if (to <= begin_) return;
  end_ = to;
  advanced_ = true;
}

SavedRegister* FrameProgram::followed(std::uint64_t number, FrameState& state) const {
  if (number == common_.return_register) return &state.rip;
  if (number == kRbp) return &state.rbp;
  if (number == kRsp) return &state.rsp;
  if (number == kRbx) return &state.rbx;
  return nullptr;
}

void FrameProgram::set(std::uint64_t number, SavedRegister saved) {
  if (SavedRegister* place = followed(number, state_)) *place = saved;
}

void FrameProgram::restore(std::uint64_t number) {
  if (SavedRegister* place = followed(number, state_)) *place = *followed(number, initial_);
}

}  // namespace refhist
