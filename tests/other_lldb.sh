#!/bin/sh
# Unpacks a second LLDB into a folder, for the tests of the plugin in it: the oldest that the plugin is tested with and
# that is offered here. usage: other_lldb.sh FOLDER
# Its packages conflict with those of the installed LLDB. Without a network the folder stays away, and its tests are skipped.
set -eu

. "$(dirname "$0")/packages.sh"
folder=$1
[ ! -x "$folder/lldb" ] || exit 0
command -v apt-get >/dev/null || exit 0
number=$(first_offered 'lldb-14|lldb-15|lldb-16|lldb-17|lldb-18')
number=${number#lldb-}
[ -n "$number" ] || { echo "no second LLDB is offered here: what is tested in it is skipped" >&2; exit 0; }
work=$folder.new
"$(dirname "$0")"/unpack.sh "$work" "LLDB $number" "lldb-$number" "liblldb-${number}t64|liblldb-$number" "python3-lldb-$number" \
  "liblldb-$number-dev" "libllvm${number}t64|libllvm$number" "libclang-cpp${number}t64|libclang-cpp$number" || exit 0

# Debian's lldb finds neither its library nor its Python modules outside /usr.
python=$(basename "$(echo "$work/usr/lib/llvm-$number/lib"/python3*)")
cat >"$work/lldb" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")" && pwd)
export LD_LIBRARY_PATH="\$here/usr/lib/x86_64-linux-gnu:\$here/usr/lib/llvm-$number/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export PYTHONPATH="\$here/usr/lib/llvm-$number/lib/$python/dist-packages\${PYTHONPATH:+:\$PYTHONPATH}"
export LLDB_DEBUGSERVER_PATH="\$here/usr/lib/llvm-$number/bin/lldb-server"
exec "\$here/usr/lib/llvm-$number/bin/lldb" "\$@"
END
for program in lldb-server lldb-vscode lldb-dap; do
  [ ! -e "$work/usr/lib/llvm-$number/bin/$program" ] || sed "s|bin/lldb\"|bin/$program\"|" "$work/lldb" >"$work/$program"
done
chmod 755 "$work"/lldb*
echo "$number" >"$work/version"
rm -rf "$folder"
mv "$work" "$folder"
