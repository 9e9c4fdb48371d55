"""Where and under which load the figures were taken."""

import os
import platform
import re
import subprocess


def _first_line(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return re.search(r"model name\s*: (.*)", info.read()).group(1)


def line(gdb, lldb):
    debuggers = [_first_line(gdb, "--version")] + ([_first_line(lldb, "--version")] if lldb else [])
    return f"{_processor()}, {os.cpu_count()} CPUs, Linux {platform.release()}, {', '.join(debuggers)}"


def load():
    return " ".join(f"{value:.1f}" for value in os.getloadavg())
