"""With `set quarantine`, the program stops at the instruction that uses a dead object, and right programs go on as ever."""

from harness.checks import contains, equal, lacks
from harness.shapes import check_findings, source_line, verdicts

BADGE = "--init badge_new --get badge_get --put badge_put --count refs"


def start(d, way, size="64M"):
    """What the session has printed until the program stands at its signal, or has ended."""
    d.refhist("set allocators auto")
    d.refhist(f"set quarantine {size}")
    d.track(BADGE)
    return d.run(way) + d.command("refhist status")  # LLDB says it at the next command


def expect_use(d, way, text, place, size="64M"):
    screen = start(d, way, size)
    d.expect_stop(signal="SIGSEGV")
    contains(screen, "refhist: use-after-free: badge 0x", "what the stop says")
    contains(screen, f"{text}: SIGSEGV at {place}", "where it was used, and how")
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["use-after-free"]), "exit status and verdicts")
    return found[0]


def expect_told(d, text):
    for command in ("status", "check --stay"):
        contains(d.refhist(command), text, command)


def test_a_word_that_is_only_read(d):
    expect_use(d, "read", "used after its memory was freed, 4 bytes into it", "color_of")


def test_sizes_that_objects_have(d):
    expect_use(d, "sizes", "used after its memory was freed, 4 bytes into it", "color_of", size="auto")


def test_objects_have_room_beside_what_is_set_up(d):
    expect_use(d, "crowd", "used after its memory was freed, 4 bytes into it", "color_of", size="auto")


def test_no_room_is_told(d):
    start(d, "crowded", "auto")
    d.expect_exit(0)
    expect_told(d, "quarantine had no room for ")


def test_its_end_is_told(d):
    start(d, "ended", "auto")
    d.expect_exit(0)
    expect_told(d, "quarantine has ended: ")


def test_none_is_told(d):
    d.refhist("set allocators off")
    d.refhist("set quarantine auto")
    d.track(BADGE)
    d.run("right")
    d.expect_exit(0)
    expect_told(d, "nothing is in quarantine: free is not recorded inside the program")


def test_all_is_as_asked(d):
    start(d, "leak", "auto")
    d.expect_exit(0)
    for command in ("status", "check --stay"):
        for word in ("quarantine has", "quarantine had", "in quarantine"):
            lacks(d.refhist(command), word, command)


def test_a_use_behind_the_own_put(d):
    found = expect_use(d, "late", "used after its memory was freed, 4 bytes into it", "print_and_drop")
    first = found["suspects"][0]
    equal((first["what"], first["function"]), ("late use", "print_and_drop"), "first suspect")
    contains(first["why"], "gave its reference back", "why")


def test_a_use_by_what_the_function_jumps_to(d):
    found = expect_use(d, "jump", "used after its memory was freed, 4 bytes into it", "")
    first = found["suspects"][0]
    contains(source_line(first), "return puts(letter);", "first suspect's line")
    equal((first["what"], first["function"]), ("late use", "drop_and_print"), "first suspect")


def test_a_put_of_what_was_handed_on(d):
    found = expect_use(d, "queued", "used after its memory was freed, 4 bytes into it", "color_of")
    first = found["suspects"][0]
    equal((first["what"], first["function"]), ("extra put", "enqueue"), "first suspect")


def test_memory_that_goes_twice(d):
    expect_use(d, "free", "freed again after its memory was freed", "main")


def test_a_put_too_many(d):
    screen = start(d, "put")
    d.expect_stop(signal="SIGSEGV")
    lacks(screen, "used after", "the put is told by itself")
    status, found = check_findings(d)
    equal((status, len(found)), (23, 1), "exit status and findings")
    contains(found[0]["why"], "put after its memory was freed", "why")


def test_memory_of_no_object(d):
    text = "the program used memory that it had freed, at 0x"
    contains(start(d, "plain"), text, "what the stop says")
    d.expect_stop(signal="SIGSEGV")
    note = d.refhist("check --stay")
    contains(note, text, "note")
    contains(note, ", in read_freed (quarantine.c:", "note")


def test_right_program_with_little_room(d):
    lacks(start(d, "right", "1M"), "nothing is in quarantine", "status")
    d.expect_exit(0)
    equal(check_findings(d), (0, []), "exit status and findings")


def test_a_leak(d):
    start(d, "leak")
    d.expect_exit(0)
    status, found = check_findings(d)
    equal((status, verdicts(found)), (23, ["leak"]), "exit status and verdicts")


def test_environment(d):
    start(d, "leak")
    contains(d.output(), "PYTHONMALLOC malloc", "the program's environment")
    d.refhist("set quarantine off")
    d.run("leak")
    contains(d.output(), "PYTHONMALLOC is not set", "the environment of the next run")


def test_bad_sizes(d):
    for size in ("100G", "1K", "much"):
        contains(d.refhist_error(f"set quarantine {size}"), f"quarantine must be off, auto or a size from 1M to 64M, not {size}", "error")
