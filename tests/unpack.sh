#!/bin/sh
# Unpacks packages that cannot be installed here into a folder. usage: unpack.sh FOLDER WHAT PACKAGE[|PACKAGE…]…
# Without a network the folder stays away: this is said, with what is left out, and the exit status is 1.
set -eu

. "$(dirname "$0")/packages.sh"
folder=$1
what=$2
shift 2
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages"
download() {
  names=""
  for choice in "$@"; do
    name=$(first_offered "$choice")
    names="$names ${name:-$choice}"
  done
  (cd "$work/packages" && apt-get -qq download $names)
}
# The package lists may be missing or old.
if ! { download "$@" || { [ "$(id -u)" -eq 0 ] && apt-get -qq update && download "$@"; }; } >"$work/log" 2>&1; then
  cat "$work/log" >&2
  echo "$what could not be downloaded: what is tested with it is skipped" >&2
  exit 1
fi
for package in "$work"/packages/*.deb; do
  dpkg -x "$package" "$work"
done
rm -rf "$work/packages" "$work/log"
mv "$work" "$folder"
trap - EXIT
