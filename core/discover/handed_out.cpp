#include "discover/handed_out.h"

#include "port/registers.h"

namespace refhist {

// Of a status, 0 nearly always is success. Where it is not, births are missed, which is told; what a failed
// call has left in the variable is no object.
std::optional<ObjectPlace> handed_out(const Signature& signature,
                                      const std::function<bool(const Parameter&)>& points_there) {
  if (signature.returns_pointer || !signature.result_pointee.empty()) return std::nullopt;
  std::optional<ObjectPlace> found;
  for (std::size_t i = 0; i < signature.parameters.size() && i < kArgumentRegisters.size(); ++i) {
    if (!points_there(signature.parameters[i])) continue;
    if (found) return std::nullopt;
    found.emplace();
    found->object.argument = static_cast<std::uint8_t>(i + 1);
    found->object.indirect = true;
    const bool truth = signature.result_type == "bool" || signature.result_type == "_Bool";
    found->success = truth ? Success::truth : Success::zero;
    if (signature.result_type == "void") found->success = Success::always;
  }
  return found;
}

}  // namespace refhist
