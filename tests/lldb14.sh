#!/bin/sh
# Unpacks Debian's LLDB 14 into a folder, for the tests of the plugin in LLDB 14. usage: lldb14.sh FOLDER
# Its packages conflict with those of LLDB 19, so they are not installed. What they need comes with clang-14 and LLDB 19.
# Without a network the folder stays away, and with it the tests: this is said, and is no failure.
set -eu

folder=$1
packages="lldb-14 liblldb-14 python3-lldb-14 liblldb-14-dev"
[ ! -x "$folder/lldb" ] || exit 0

mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages"
download() {
  (cd "$work/packages" && apt-get -qq download $packages)
}
# The package lists may be missing or old.
if ! { download || { [ "$(id -u)" -eq 0 ] && apt-get -qq update && download; }; } >"$work/log" 2>&1; then
  cat "$work/log" >&2
  echo "LLDB 14 could not be downloaded: what is tested in it is left out (the test lldb14.not_there is skipped)" >&2
  exit 0
fi
for package in "$work"/packages/*.deb; do
  dpkg -x "$package" "$work"
done
rm -rf "$work/packages" "$work/log"

# Debian's lldb finds neither its library nor its Python modules outside /usr.
cat >"$work/lldb" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$here/usr/lib/llvm-14/lib/python3.11/dist-packages${PYTHONPATH:+:$PYTHONPATH}"
export LLDB_DEBUGSERVER_PATH="$here/usr/lib/llvm-14/bin/lldb-server"
exec "$here/usr/lib/llvm-14/bin/lldb" "$@"
END
sed 's|bin/lldb"|bin/lldb-server"|' "$work/lldb" >"$work/lldb-server"
chmod 755 "$work/lldb" "$work/lldb-server"
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
