"""The configurations that docs/ide.md shows, with the paths of this build in place of the installed ones."""

import json
import re

_PLUGIN = "/usr/local/lib/x86_64-linux-gnu/refhist/librefhist_lldb.so"
_REFHIST = "/usr/local/share/refhist/refhist.py"
_PROGRAM = "${workspaceFolder}/json_client"


def _blocks(page, language, plugin, program):
    with open(page, encoding="utf-8") as file:
        found = re.findall(rf"^```{language}\n(.*?)^```$", file.read(), flags=re.MULTILINE | re.DOTALL)
    for text in found:
        yield text.replace(_PLUGIN, plugin).replace(_REFHIST, plugin).replace(_PROGRAM, program)


def launch_configuration(page, kind, plugin, program):
    """The one of launch.json for this type of debugger, without what Visual Studio Code keeps to itself."""
    for text in _blocks(page, "json", plugin, program):
        (configuration,) = json.loads(text)["configurations"]
        if configuration["type"] == kind:
            return {key: value for key, value in configuration.items() if key not in ("type", "request", "name")}
    raise AssertionError(f"{page} has no configuration for {kind}")


def neovim_arguments(page, plugin):
    """What nvim-dap gives to GDB."""
    (text,) = _blocks(page, "lua", plugin, "")
    arguments = re.search(r"args = \{(.*?)\}", text, flags=re.DOTALL)[1]
    return re.findall(r'"([^"]*)"', arguments)
