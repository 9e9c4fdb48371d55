#!/bin/sh
# Unpacks the headers of Qt 5 and Qt 6 into a folder, for the tests of their smart pointers. usage: qt.sh FOLDER
# Their development packages ask for those of OpenGL and X. The libraries themselves are installed (tests/packages).
set -eu

folder=$1
command -v apt-get >/dev/null || exit 0
for number in 5 6; do
  package=qtbase5-dev
  [ $number = 5 ] || package=qt6-base-dev
  [ -e "$folder/$number" ] || "$(dirname "$0")"/unpack.sh "$folder/$number" "Qt $number" $package || true
done
