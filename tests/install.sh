#!/bin/sh
# Installs the packages of the named sets of tests/packages, and those named themselves. Does nothing, quickly, when none
# is missing. Where there is no apt, the build itself says what it lacks. usage: install.sh SET… [-- PACKAGE…]
set -eu

. "$(dirname "$0")/packages.sh"
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
  echo "no apt here: install what $(dirname "$0")/packages lists under the names of this distribution" >&2
  exit 0
}

wanted=""
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  wanted="$wanted $(packages_of "$1")"
  shift
done
[ $# -eq 0 ] || shift
missing=""
for choice in $wanted "$@"; do
  is_installed "$choice" || missing="$missing $choice"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install these packages as root, then try again:$missing" >&2; exit 1; }
  as_root=sudo
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
stop() {
  grep -E '^(E|W|Err):?' "$log" | head -n 5 >&2 || true
  echo "$1" >&2
  exit 1
}
# The package lists of a fresh system are empty or old.
$as_root apt-get -qq update >"$log" 2>&1 ||
  stop "the package lists cannot be fetched: without a network, install these packages first:$missing"
wanted=""
for choice in $missing; do
  package=$(first_offered "$choice")
  [ -n "$package" ] || stop "no package source offers $choice: add one to /etc/apt/sources.list"
  wanted="$wanted $package"
done
echo "installing:$wanted"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $wanted >"$log" 2>&1 </dev/null ||
  stop "these packages could not be installed:$wanted"
