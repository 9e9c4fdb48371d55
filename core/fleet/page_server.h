// `refhist fleet serve`: the answers as pages, over HTTP. It reads only.
#pragma once

#include <string>

namespace refhist {

/// `listen`: "127.0.0.1:8080". Returns an exit status when it is ended. Throws Error.
int serve_pages(const std::string& target, const std::string& project, const std::string& listen);

}  // namespace refhist
