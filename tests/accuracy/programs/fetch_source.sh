#!/bin/sh
# Unpacks a source package of Debian 12 as Debian patches it, on Debian 12 or 13. usage: fetch_source.sh FOLDER PACKAGE VERSION
# Prints the folder of the source below FOLDER. Does nothing when it is there.
set -eu

folder=$1 package=$2 version=$3
upstream=${version#*:}
source="$folder/$package-${upstream%-*}"
mkdir -p "$folder/lists/partial" "$folder/archives/partial"
folder=$(cd "$folder" && pwd)
if [ ! -e "$source/.fetched" ]; then
  rm -rf "$source"
  for place in debian:bookworm debian:bookworm-updates debian-security:bookworm-security; do
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/${place%%:*} ${place#*:} main"
  done >"$folder/sources.list"
  apt="apt-get -qq -o Dir::Etc::sourcelist=$folder/sources.list -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root"
  apt="$apt -o Dir::State::lists=$folder/lists -o Dir::Cache::archives=$folder/archives"
  apt="$apt -o Dir::Cache::srcpkgcache=$folder/srcpkgcache.bin -o Dir::Cache::pkgcache=$folder/pkgcache.bin"
  [ -e "$folder/updated" ] || { $apt update >&2 && touch "$folder/updated"; }
  (cd "$folder" && $apt source "$package=$version" >&2) ||
    { echo "$package $version cannot be fetched: a point release may have replaced it; see programs.toml" >&2; exit 1; }
  touch "$source/.fetched"
fi
cd "$source" && pwd
