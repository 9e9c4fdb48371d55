"""The plugin in an LLDB of another major version than it is built for: one clear line, and the session goes on."""

import os
import re
import shutil

from harness.checks import equal, lacks, matches

LOAD_REFHIST = False


def versions(d):
    """That of this LLDB, and the one that the plugin is built for."""
    version = d.command("version").split("lldb version ")[1].split(".")[0]
    with open(os.path.join(d.case.build, "other-lldb", "version"), encoding="utf-8") as file:
        other = file.read().strip()
    return version, "19" if version == other else other


def told(d, load_line, what_to_do):
    version, built_for = versions(d)
    lines = d.command(load_line).strip().splitlines()
    of_refhist = [line for line in lines if not line.startswith("error:")]
    equal(len(of_refhist), 1, f"lines about the version in {lines}")
    matches(of_refhist[0], rf"^refhist: this plugin is built for LLDB {built_for}, and this is lldb version {version}\b.*: {what_to_do}$")


def test_the_right_plugin_is_named(d):
    """Installed plugins lie beside each other."""
    version, built_for = versions(d)
    here, right = (os.path.join(d.case.scratch, f"lldb-{number}", "librefhist_lldb.so") for number in (built_for, version))
    for path in (here, right):
        os.mkdir(os.path.dirname(path))
    shutil.copy(d.case.plugin, here)
    open(right, "w", encoding="utf-8").close()
    told(d, f"plugin load {here}", re.escape(f"plugin load {right}"))


def test_one_line_and_the_session_goes_on(d):
    version, built_for = versions(d)
    told(d, d.load_line(), rf"use lldb-{built_for}, or build refhist with -DREFHIST_LLDB_VERSION={version}")
    equal(d.execute("refhist status")["ok"], False, "a refhist command afterwards")
    d.break_at("checkpoint")
    lacks(d.run(), "refhist", "the run afterwards")
    d.expect_stop(function="checkpoint")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
