"""Write what the extension shows of Merrow's tables: package.json's contributions, src/contributed.ts, the README's tables.

python scripts/generate_extension.py            write what has changed
python scripts/generate_extension.py --check    say what is out of date, and fail if anything is

Settings come from the server's own table, what only the extension knows from vscode-extension/contributions.toml.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from merrow_analysis.definitions.validation import wanted
from merrow_server.lsp.settings import ALL_SETTINGS

EXTENSION = Path(__file__).resolve().parent.parent / "vscode-extension"
TABLE = EXTENSION / "contributions.toml"
MANIFEST = EXTENSION / "package.json"
CATEGORY = "Merrow"
NOTICE = (
    "// Written by scripts/generate_extension.py from contributions.toml and the server's settings; change those.\n\n"
)
_DASH = re.compile(r"-([a-z])")


def camel(name: str) -> str:
    """A setting's name as editors write it: ``rule-pages`` is ``rulePages``."""
    return _DASH.sub(lambda found: found[1].upper(), name)


def table() -> dict[str, Any]:
    """What contributions.toml says."""
    return tomllib.loads(TABLE.read_text("utf-8"))


def own_settings() -> list[dict[str, Any]]:
    """The settings that only the extension has."""
    return list(table().get("setting", []))


def commands() -> list[dict[str, Any]]:
    """The extension's commands, in the order of the palette's table."""
    return list(table().get("command", []))


def configuration() -> dict[str, Any]:
    """``contributes.configuration``: the server's settings, then the extension's."""
    properties: dict[str, Any] = {}
    for setting in ALL_SETTINGS:
        properties[f"merrow.{camel(setting.name)}"] = {
            **_schema(setting.schema),
            "default": setting.default,
            "scope": "machine" if setting.personal else "resource",
            "markdownDescription": setting.help,
        }
    for own in own_settings():
        properties[f"merrow.{own['name']}"] = {
            **own["schema"],
            "default": own["default"],
            "scope": own["scope"],
            "markdownDescription": own["help"],
        }
    for order, value in enumerate(properties.values()):
        value["order"] = order
    return {"title": CATEGORY, "properties": properties}


def _schema(schema: Any) -> dict[str, Any]:
    """A setting's schema with the type that the settings page needs to show an enumeration."""
    given = dict(schema)
    return given if "type" in given else {"type": "string", **given}


def command_list() -> list[dict[str, Any]]:
    """``contributes.commands``."""
    optional = ("icon", "enablement")
    return [
        {
            "command": f"merrow.{command['id']}",
            "title": command["title"],
            "category": CATEGORY,
            **{key: command[key] for key in optional if key in command},
        }
        for command in commands()
    ]


def menus() -> dict[str, list[dict[str, Any]]]:
    """``contributes.menus``, with the palette's conditions."""
    found: dict[str, list[dict[str, Any]]] = {}
    for command in commands():
        name = f"merrow.{command['id']}"
        palette = command.get("palette")
        if palette is not None:
            when = "false" if palette == "never" else palette
            found.setdefault("commandPalette", []).append({"command": name, "when": when})
        for menu, place in command.get("menus", {}).items():
            for one in place if isinstance(place, list) else [place]:
                found.setdefault(menu, []).append({"command": name, **one})
    return found


def keybindings() -> list[dict[str, Any]]:
    """``contributes.keybindings``."""
    return [{"command": f"merrow.{command['id']}", **command["key"]} for command in commands() if "key" in command]


def manifest() -> str:
    """package.json with its generated parts."""
    package = json.loads(MANIFEST.read_text("utf-8"))
    contributes = package["contributes"]
    generated = {
        "configuration": configuration(),
        "commands": command_list(),
        "menus": menus(),
        "keybindings": keybindings(),
    }
    for key, value in generated.items():
        if value:
            contributes[key] = value
        else:
            contributes.pop(key, None)
    trust = package["capabilities"]["untrustedWorkspaces"]
    trust["restrictedConfigurations"] = [f"merrow.{own['name']}" for own in own_settings() if own.get("restricted")]
    return json.dumps(package, indent=2, ensure_ascii=False) + "\n"


def constants() -> str:
    """The names as TypeScript constants, so that none is typed twice."""
    text = NOTICE + "export const Command = {\n"
    for command in commands():
        text += f"  {command['id']}: 'merrow.{command['id']}',\n"
    text += "} as const;\n\nexport const Setting = {\n"
    for own in own_settings():
        text += f"  {own['name']}: '{own['name']}',\n"
    text += "} as const;\n\n/** What holds where nothing is set. */\nexport const defaults = {\n"
    for own in own_settings():
        text += f"  {own['name']}: {_literal(own['default'])},\n"
    return text + "};\n"


def _literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else json.dumps(value)


def settings_rows() -> str:
    """The settings as a Markdown table."""
    rows = ["| setting | value | default | what it does |", "|---|---|---|---|"]
    rows += [_row(camel(one.name), one.schema, one.default, one.help) for one in ALL_SETTINGS]
    rows += [_row(own["name"], own["schema"], own["default"], own["help"]) for own in own_settings()]
    return "\n".join(rows)


def _row(name: str, schema: Any, default: Any, text: str) -> str:
    value = wanted(schema)
    if schema.get("type") == "object":
        value = f"an object; each value {wanted(schema['additionalProperties'])}"
    cells = (f"`merrow.{name}`", value, f"`{json.dumps(default, ensure_ascii=False)}`", text)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def command_rows() -> str:
    """The commands of the palette as a Markdown table."""
    rows = ["| command | id |", "|---|---|"]
    shown = [command for command in commands() if command.get("palette") != "never"]
    rows += [f"| {CATEGORY}: {command['title']} | `merrow.{command['id']}` |" for command in shown]
    return "\n".join(rows)


def readme() -> str:
    """The extension's README with its tables."""
    text = (EXTENSION / "README.md").read_text("utf-8")
    for name, rows in (("settings", settings_rows()), ("commands", command_rows())):
        begin, end = f"<!-- {name}: written by scripts/generate_extension.py -->", f"<!-- end of {name} -->"
        before, mark, rest = text.partition(begin)
        _, closing, after = rest.partition(end)
        if not mark or not closing:
            raise SystemExit(f"vscode-extension/README.md has no place for its {name}.")
        text = f"{before}{begin}\n\n{rows}\n\n{end}{after}"
    return text


FILES: dict[str, Callable[[], str]] = {"package.json": manifest, "src/contributed.ts": constants, "README.md": readme}


def stale() -> list[str]:
    """The names of the extension's files that are not as the tables would have them."""
    return [
        name
        for name, write in FILES.items()
        if not (EXTENSION / name).is_file() or (EXTENSION / name).read_text("utf-8") != write()
    ]


def main() -> int:
    """Write or check; the exit code."""
    changed = stale()
    if "--check" in sys.argv[1:]:
        for name in changed:
            sys.stderr.write(f"vscode-extension/{name} is out of date; run: python scripts/generate_extension.py\n")
        return int(bool(changed))
    for name in changed:
        (EXTENSION / name).write_text(FILES[name](), "utf-8")
        sys.stdout.write(f"vscode-extension/{name} written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
