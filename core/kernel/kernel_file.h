// What a file says that is a Linux kernel: vmlinux.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/module.h"

namespace refhist {

/// Where the architecture puts the kernel's image: nothing of a program lies there.
constexpr Address kKernelHalf = 0xffffffff80000000ULL;

/// By its segments and symbols. Costs nothing for a program.
bool is_kernel(const Module& module);

/// Where the notes with the build id lie, as file addresses. Nothing when the file has none.
std::optional<FileRange> notes_of_kernel(const Module& module);

/// "Linux version 6.1.0-…" of the file; empty when it cannot be read.
std::string banner_of_file(const Module& module);

/// "6.1.0-56-cloud-amd64" of a banner; empty when it is none.
std::string release_in(std::string_view banner);

/// Where stacks begin: the entries from user space and the first code of a thread. As file addresses.
std::vector<FileRange> stack_ends(const Module& module);

}  // namespace refhist
