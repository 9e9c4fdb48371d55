#!/bin/sh
# Unpacks the libc++ that belongs to the installed clang into a folder, for the test of its smart pointers.
# usage: libcxx.sh FOLDER. Its development packages conflict with those that GStreamer's need.
set -eu

folder=$1
command -v apt-get >/dev/null && command -v clang >/dev/null || exit 0
number=$(clang -dumpversion | cut -d. -f1)
[ ! -e "$folder/usr/lib/llvm-$number/include/c++/v1/memory" ] || exit 0
"$(dirname "$0")"/unpack.sh "$folder" "libc++ $number" "libc++-$number-dev" "libc++1-$number" "libc++abi-$number-dev" \
  "libc++abi1-$number" "libunwind-$number" "libunwind-$number-dev" || exit 0
