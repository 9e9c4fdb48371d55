#include "write_line.h"

#include <string>

namespace refhist {

void write_line(lldb::SBFile file, std::string_view text) {
  std::string line(text);
  if (line.empty() || line.back() != '\n') line += '\n';
  std::size_t written = 0;
  file.Write(reinterpret_cast<const std::uint8_t*>(line.data()), line.size(), &written);
  file.Flush();
}

}  // namespace refhist
