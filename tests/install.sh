#!/bin/sh
# Installs the Debian 12 packages that building and testing need, or those that are named. Does nothing, quickly, when
# none is missing.
set -eu

packages="
  g++ cmake ninja-build pkg-config git ca-certificates
  gdb gdbserver lldb-19 liblldb-19-dev python3-lldb-19 python3 python3-dev python3-six python3-yaml
  libfmt-dev libdw-dev libelf-dev libtomlplusplus-dev libzydis-dev libsqlite3-dev libzstd-dev libxxhash-dev nlohmann-json3-dev doctest-dev
  libjson-c-dev libglib2.0-dev libgstreamer1.0-dev libdbus-1-dev libssl-dev libudev-dev libkmod-dev libsystemd-dev
  libjemalloc-dev
  binutils check clang-14 clang-format-14 libboost-dev
"

[ $# -eq 0 ] || packages="$*"
missing=""
for package in $packages; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "missing packages (install them as root):$missing" >&2; exit 1; }
  as_root=sudo
fi
echo "installing:$missing"
log=$(mktemp)
install() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing
}
# The package lists of a fresh system are empty or old: fetch them first, but only once a package is missing.
if ! { $as_root apt-get -qq update && install; } >"$log" 2>&1; then
  cat "$log" >&2
  rm -f "$log"
  echo "could not install:$missing" >&2
  exit 1
fi
rm -f "$log"
