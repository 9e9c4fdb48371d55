// The memory in which an ELF file is mapped.
#pragma once

#include <libelf.h>

namespace refhist {

/// What was read of the file counts as memory of the debugger until the kernel wants it for something else.
/// This gives it back at once; the next look at it finds it in the kernel's cache. Does nothing when the file
/// was read and not mapped.
void let_go_of_pages(Elf* elf);

}  // namespace refhist
