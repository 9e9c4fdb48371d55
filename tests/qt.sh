#!/bin/sh
# Unpacks Debian's Qt 5 core library and headers into a folder, for the test of its smart pointers. usage: qt.sh FOLDER
# Its development package asks for those of OpenGL and X.
set -eu

folder=$1
[ ! -e "$folder/usr/include/x86_64-linux-gnu/qt5/QtCore/qsharedpointer.h" ] || exit 0
"$(dirname "$0")"/unpack.sh "$folder" "Qt 5" qtbase5-dev libqt5core5a libdouble-conversion3 libicu72 libpcre2-16-0 || exit 0
