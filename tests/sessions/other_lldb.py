"""The plugin in an LLDB of another major version than it is built for: one clear line, and the session goes on."""

from harness.checks import equal, lacks, matches

LOAD_REFHIST = False


def test_one_line_and_the_session_goes_on(d):
    version = d.command("version").split("lldb version ")[1].split(".")[0]
    lines = d.command(d.load_line()).strip().splitlines()
    told = [line for line in lines if not line.startswith("error:")]
    equal(len(told), 1, f"lines about the version in {lines}")
    matches(told[0], rf"^refhist: this plugin is built for LLDB (?!{version}\b)(\d+), and this is lldb version {version}\b.*: "
            rf"use lldb-\1, or build refhist with -DREFHIST_LLDB_VERSION={version}$")
    equal(d.execute("refhist status")["ok"], False, "a refhist command afterwards")
    d.break_at("checkpoint")
    lacks(d.run(), "refhist", "the run afterwards")
    d.expect_stop(function="checkpoint")
    d.delete_breakpoints()
    d.cont()
    d.expect_exit(0)
