#include "expression_leftovers.h"

#include <cstdint>
#include <vector>

#include "process_access.h"

namespace refhist {

namespace {
// The stack of LLDB's interpreter: the largest piece that it allocates, and at once.
constexpr std::size_t kInterpreterStack = 512 << 10;
// Variables and results have a few bytes each. LLDB hands out the first piece that fits, so what was given
// back last comes first.
constexpr std::size_t kValue = 16;
constexpr std::size_t kValues = 64;
constexpr std::size_t kCode = 4096;

constexpr std::uint32_t kData = lldb::ePermissionsReadable | lldb::ePermissionsWritable;

/// Pieces of what LLDB has allocated in the program and does not use now. LLDB allocates more only when it
/// has none of that size left, and keeps it for the next time.
class FreePieces {
 public:
  explicit FreePieces(lldb::SBProcess& process) : process_(process) {}
  FreePieces(const FreePieces&) = delete;
  FreePieces& operator=(const FreePieces&) = delete;
  ~FreePieces() {
    for (const lldb::addr_t piece : pieces_) process_.DeallocateMemory(piece);
  }

  void erase_one(std::size_t size, std::uint32_t permissions) {
    lldb::SBError error;
    const lldb::addr_t piece = process_.AllocateMemory(size, permissions, error);
    if (error.Fail() || piece == LLDB_INVALID_ADDRESS) return;
    pieces_.push_back(piece);
    const std::vector<char> zeros(size);
    process_.WriteMemory(piece, zeros.data(), zeros.size(), error);
  }

 private:
  lldb::SBProcess& process_;
  std::vector<lldb::addr_t> pieces_;
};
}  // namespace

void ExpressionLeftovers::erase(lldb::SBProcess& process) {
  if (!expected_ || !process.IsValid() || process.GetState() != lldb::eStateStopped) return;
  if (has_core_file(process)) return;
  expected_ = false;
  FreePieces free(process);
  free.erase_one(kInterpreterStack, kData);
  for (std::size_t i = 0; i < kValues; ++i) free.erase_one(kValue, kData);
  free.erase_one(kCode, kData | lldb::ePermissionsExecutable);
}

}  // namespace refhist
