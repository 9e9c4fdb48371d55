#pragma once
#include "patching/patch.h"
namespace refhist {
enum class StackArguments { no, yes, unknown };
inline StackArguments reads_stack_arguments(const CodeRange&) { return StackArguments::no; }
}
