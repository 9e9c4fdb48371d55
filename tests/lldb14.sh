#!/bin/sh
# Unpacks Debian's LLDB 14 into a folder, for the tests of the plugin in LLDB 14. usage: lldb14.sh FOLDER
# Its packages conflict with those of LLDB 19, so they are not installed. What they need comes with clang-14 and LLDB 19.
# Without a network the folder stays away, and with it the tests: this is said, and is no failure.
set -eu

folder=$1
[ ! -x "$folder/lldb" ] || exit 0
work=$folder.new
"$(dirname "$0")"/unpack.sh "$work" "LLDB 14 (the test lldb14.not_there is skipped)" \
  lldb-14 liblldb-14 python3-lldb-14 liblldb-14-dev || exit 0

# Debian's lldb finds neither its library nor its Python modules outside /usr.
cat >"$work/lldb" <<'END'
#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="$here/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$here/usr/lib/llvm-14/lib/python3.11/dist-packages${PYTHONPATH:+:$PYTHONPATH}"
export LLDB_DEBUGSERVER_PATH="$here/usr/lib/llvm-14/bin/lldb-server"
exec "$here/usr/lib/llvm-14/bin/lldb" "$@"
END
for program in lldb-server lldb-vscode; do
  sed "s|bin/lldb\"|bin/$program\"|" "$work/lldb" >"$work/$program"
done
chmod 755 "$work/lldb" "$work/lldb-server" "$work/lldb-vscode"
rm -rf "$folder"
mv "$work" "$folder"
