#!/bin/sh
# Builds Debian packages for the suite that this machine has, into BUILD/deb. usage: deb.sh BUILD [JOBS]
# What building them needs is installed first, as make test does.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1/deb/work"
out=$(cd "$1/deb" && pwd)
jobs=${2:-$(nproc)}
work=$out/work
source=$work/refhist
log=$work/log

complain() {
  echo "make deb: $*" >&2
  exit 1
}

[ -r /etc/debian_version ] && command -v dpkg >/dev/null ||
  complain "this is no Debian; make install PREFIX=… installs refhist here"
[ "$(dpkg --print-architecture)" = amd64 ] || complain "refhist runs on amd64 only"

control=$top/packaging/debian/control
needed=$(sed -n '/^Build-Depends:/,/^Standards-Version:/p' "$control" |
  sed -e 's/^Build-Depends://; /^Standards-Version:/d; s/debhelper-compat/debhelper/; s/([^)]*)//; s/,//')
"$top/tests/install.sh" -- build-essential lintian git $needed

# A plugin for each LLDB of the suite. Their development packages conflict with each other: only the headers are needed.
versions() {
  apt-cache search --names-only '^liblldb-[0-9]+-dev$' | sed 's/^liblldb-\([0-9]*\)-dev.*/\1/' | sort -n
}
lldbs=${LLDBS:-$(versions)}
[ -n "$lldbs" ] || complain "apt knows no liblldb-NN-dev: is its list of packages there (apt-get update)?"
for version in $lldbs; do
  headers=$work/lldb/$version
  [ -e "$headers/usr/lib/llvm-$version/include/lldb/API/LLDB.h" ] ||
    "$top/tests/unpack.sh" "$headers" "the headers of LLDB $version" "liblldb-$version-dev" ||
    complain "no headers of LLDB $version (LLDBS='…' names the versions that are wanted)"
done
newest=$(echo $lldbs | tr ' ' '\n' | sort -n | tail -n 1)

# The sources as they are here, and what Debian wants beside them.
changed() {
  if ! git -C "$top" diff --quiet HEAD 2>/dev/null; then date +%s; else git -C "$top" log -1 --format=%ct; fi
}
maintainer=$(git -C "$top" log -1 --format='%an <%ae>')
[ -z "${DEBEMAIL:-}" ] || maintainer="${DEBFULLNAME:-$DEBEMAIL} <$DEBEMAIL>"
suffix=$(. /etc/os-release && echo "+$ID${VERSION_ID:-}" | sed 's/debian/deb/')
rm -rf "$source"
mkdir "$source"
(cd "$top" && git ls-files -z | tar --null -cT - --ignore-failed-read) | tar -xC "$source"
cp -r "$top/packaging/debian" "$source"
(
  cd "$source/debian"
  version=$(sed -n 's/^project(refhist VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
  python3 -B "$top/packaging/changelog.py" "$top/CHANGELOG.md" "$version" "$suffix" "$maintainer" "$(changed)" >changelog
  fill() {
    sed -e "s|@MAINTAINER@|$maintainer|; s|@LLDB_PACKAGE@|refhist-lldb-$newest|" -e "s|@VERSION@|${1:-}|g" \
      -e "s|@MULTIARCH@|$(dpkg-architecture -qDEB_HOST_MULTIARCH)|"
  }
  fill <control >control.new
  for one in $lldbs; do
    fill "$one" <control.lldb >>control.new
    fill "$one" <README.lldb >"refhist-lldb-$one.README.Debian"
    echo "usr/lib/*/refhist/lldb-$one" >"refhist-lldb-$one.install"
  done
  mv control.new control
  mv README.gdb refhist-gdb.README.Debian
  rm control.lldb README.lldb
)

echo "building packages (LLDB" $lldbs"); $log tells of it"
rm -f "$out"/*.deb "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo
if ! (
  cd "$source"
  export REFHIST_LLDBS="$(echo $lldbs)" REFHIST_LLDB_HEADERS="$work/lldb" REFHIST_OBJECTS="$work/objects"
  export DEB_BUILD_OPTIONS="parallel=$jobs noautodbgsym nocheck"
  dpkg-buildpackage --build=binary --unsigned-changes --no-pre-clean
) >"$log" 2>&1; then
  grep -v "^\[" "$log" | tail -n 30 >&2
  complain "the packages could not be built: $log"
fi
lintian --fail-on error --tag-display-limit 0 "$work"/*.changes >"$work/lintian" 2>&1 || {
  cat "$work/lintian" >&2
  complain "lintian has errors"
}
mv "$work"/*.deb "$out"
ls "$out"/*.deb
