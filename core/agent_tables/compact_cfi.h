// The call frame information of one module as the agent reads it: sorted rows of a few bytes. libdw answers
// single addresses and is far too slow for all of them, so entries and instructions are decoded here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/walker_shared.h"
#include "agent_tables/frame_section.h"
#include "symbols/module.h"

namespace refhist {

class CompactCfi {
 public:
  /// Code whose rule cannot be said in a FrameRule.
  struct Unsaid {
    std::size_t rows = 0;
    std::size_t bytes = 0;
  };

  explicit CompactCfi(const Module& module);
  /// Of code that no file describes. `rows` as rows() gives them.
  CompactCfi(Address base, std::uint64_t extent, std::vector<agent::RuleRow> rows)
      : base_(base), extent_(extent), rows_(std::move(rows)) {}

  /// The file address that the rows count from: the begin of the lowest page.
  [[nodiscard]] Address base() const { return base_; }
  /// From the base to the end of the highest segment.
  [[nodiscard]] std::uint64_t extent() const { return extent_; }
  /// In order; the first is at 0, and the last one without a rule. Neighbours differ.
  [[nodiscard]] const std::vector<agent::RuleRow>& rows() const { return rows_; }
  /// At a file address.
  [[nodiscard]] agent::FrameRule rule(Address address) const;

  /// For each 2^agent::kBlockShift bytes of code the last row that begins at or before the first of them.
  /// Beyond the last block there is no rule.
  [[nodiscard]] std::vector<std::uint32_t> blocks() const;

  /// Rows of call frame information that were read, before neighbours that say the same were joined.
  [[nodiscard]] std::size_t described_rows() const { return described_rows_; }
  [[nodiscard]] std::size_t described_bytes() const { return described_bytes_; }
  /// What is not representable, by reason.
  [[nodiscard]] const std::map<std::string, Unsaid>& unsaid() const { return unsaid_; }

 private:
  struct Piece {
    const FrameSection* section = nullptr;
    const FrameEntry* entry = nullptr;
    Address end = 0;  // where the next entry begins, if that is before its own end
  };
  [[nodiscard]] bool needs_rbx() const;
  void set_bounds(const Module& module);
  void add_pieces(const FrameSection& section, std::vector<Piece>& pieces) const;
  void write(const std::vector<Piece>& pieces);
  void write_piece(const Piece& piece);
  void write_gap(Address begin, Address end);
  void put(Address begin, agent::FrameRule rule);

  Address base_ = 0;
  std::uint64_t extent_ = 0;
  Address entry_point_ = 0;
  bool with_rbx_ = false;  // rows tell where rbx is saved
  std::vector<agent::RuleRow> rows_;
  std::size_t described_rows_ = 0;
  std::size_t described_bytes_ = 0;
  std::map<std::string, Unsaid> unsaid_;
};

}  // namespace refhist
