#!/bin/sh
# Unpacks Debian's libc++ 14 into a folder, for the test of its smart pointers. usage: libcxx.sh FOLDER
# Its development packages conflict with those that GStreamer's need.
set -eu

folder=$1
[ ! -e "$folder/usr/lib/llvm-14/include/c++/v1/memory" ] || exit 0
"$(dirname "$0")"/unpack.sh "$folder" "libc++ 14" \
  libc++-14-dev libc++1-14 libc++abi-14-dev libc++abi1-14 libunwind-14 libunwind-14-dev || exit 0
