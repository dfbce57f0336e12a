"""``merrow completion``: what makes a shell complete the words of a command line."""

from __future__ import annotations

import os
import re

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from merrow_server.cli import COMPLETION, NOT_WELL, OK, Command, program
from merrow_server.rendering.terminal import emit

_PROGRAM = "merrow"
_END = "\0"
"""Marks the cursor while a line is split: the last word is what is typed so far, also where that is nothing."""
_SPECIAL = re.compile(r"[^\w@%+=:,./^-]")
"""What bash would take as something else than a letter of a word."""


class _Shell(ShellComplete):
    """A shell whose script hands over the line up to the cursor, as it is typed, in COMP_LINE.

    An answer has items of the types that click knows (``plain``, ``file``, ``dir``) and ``open``: a value to which more is
    added, so no space follows. ``skip`` is how many characters of the typed word stay in front of what is completed: those
    of ``--option=`` and of ``NAME=@``.
    """

    def complete(self) -> str:
        *words, last = split_arg_string(os.environ["COMP_LINE"] + _END)
        typed = last.removesuffix(_END)
        option = typed.index("=") + 1 if typed.startswith("-") and "=" in typed else 0
        items = self.get_completions(words[1:], typed)
        skip = option + max((item.skip or 0 for item in items), default=0)
        return self.answer(items, typed, skip)

    def answer(self, items: list[CompletionItem[str]], typed: str, skip: int) -> str:
        """What the script reads."""
        raise NotImplementedError


class _Bash(_Shell):
    """Bash hands over what it takes for the word, in COMP_WORD: for it a word also ends at ``=``, ``:`` and ``@``, and what it
    is given replaces that alone. It inserts words as they are, so these must not mean anything to it. Behind an ``@`` it would
    complete names of hosts.
    """

    source_template = """\
%(complete_func)s() {
    local row value file
    COMPREPLY=()
    while IFS= read -r row; do
        value=${row#*,}
        case ${row%%%%,*} in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            behind)
                compopt -o nospace
                while IFS= read -r file; do
                    [[ -d $file ]] && file+=/
                    COMPREPLY+=("${value%%%%,*}$(printf %%q "$file")")
                done < <(compgen -f -- "${value#*,}") ;;
            open) COMPREPLY+=("$value"); compopt -o nospace ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env %(complete_var)s=bash_complete COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def answer(self, items: list[CompletionItem[str]], typed: str, skip: int) -> str:
        word = os.environ.get("COMP_WORD", "")
        left = len(typed) - len(word) if typed.endswith(word) else skip
        if any(item.skip for item in items):
            return f"behind,{typed[left:skip]},{typed[skip:]}"
        return "\n".join(f"{item.type},{_SPECIAL.sub(_escaped, (typed[:skip] + item.value)[left:])}" for item in items)


class _Zsh(_Shell):
    """Zsh is given how much of the word stays, then three lines for each item."""

    source_template = """\
#compdef %(prog_name)s
%(complete_func)s() {
    local -a answer plain opened
    local type value help
    (( $+commands[%(prog_name)s] )) || return 1
    local -x %(complete_var)s=zsh_complete COMP_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX"
    answer=("${(@f)$(%(prog_name)s 2>/dev/null)}")
    [[ -n $answer[1] ]] || return 1
    (( answer[1] )) && compset -p $answer[1]
    for type value help in "${(@)answer[2,-1]}"; do
        case $type in
            (dir) _path_files -/ ;;
            (file) _path_files -f ;;
            (open) opened+=("${value//:/\\\\:}${help:+:$help}") ;;
            (plain) plain+=("${value//:/\\\\:}${help:+:$help}") ;;
        esac
    done
    local -a any_case=(-M 'm:{[:lower:][:upper:]}={[:upper:][:lower:]}')
    (( $#plain )) && _describe -V %(prog_name)s plain $any_case
    (( $#opened )) && _describe -V %(prog_name)s opened $any_case -S ''
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""

    def answer(self, items: list[CompletionItem[str]], typed: str, skip: int) -> str:  # noqa: ARG002
        return (
            "\n".join([str(skip), *(f"{item.type}\n{item.value}\n{item.help or ''}" for item in items)])
            if items
            else ""
        )


class _Fish(_Shell):
    """Fish is given whole words, each with its help behind a tab, and completes files itself."""

    source_template = """\
function %(complete_func)s
    set -lx %(complete_var)s fish_complete
    set -lx COMP_LINE (commandline -cp | string collect --allow-empty)
    for row in (%(prog_name)s 2>/dev/null)
        set -l parts (string split -m 1 , -- $row)
        switch $parts[1]
            case plain open
                echo -- $parts[2]
            case file dir
                set -l word (commandline -ct | string collect --allow-empty)
                set -l before (string sub -l $parts[2] -- $word)
                for path in (complete -C "'' "(string sub -s (math $parts[2] + 1) -- $word))
                    test $parts[1] = file; or string match -q '*/' -- $path; and echo -- $before$path
                end
        end
    end
end
complete --no-files --command %(prog_name)s --arguments '(%(complete_func)s)'
"""

    def answer(self, items: list[CompletionItem[str]], typed: str, skip: int) -> str:
        return "\n".join(
            f"{item.type},{skip}"
            if item.type in ("file", "dir")
            else f"{item.type},{typed[:skip]}{item.value}" + (f"\t{item.help}" if item.help else "")
            for item in items
        )


_SHELLS: dict[str, type[_Shell]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


@click.command(
    "completion",
    cls=Command,
    epilog="""
    eval "$(merrow completion bash)"                                   in ~/.bashrc
    eval "$(merrow completion zsh)"                                    in ~/.zshrc, below compinit
    merrow completion fish > ~/.config/fish/completions/merrow.fish    once
    """,
)
@click.argument("shell", metavar="SHELL", type=click.Choice(list(_SHELLS)))
def command(shell: str) -> None:
    """Print a script that makes SHELL (bash, zsh or fish) complete commands, options, files, nodes, inputs, runs, rules and
    patterns.

    Bash must be version 4.4 or newer.
    """
    emit(_SHELLS[shell](program, {}, _PROGRAM, COMPLETION).source())


def answer(asked: str) -> int:
    """Answer what a shell asks: ``bash_complete`` and so on, with the command line in the environment; the exit code.

    A person is in the middle of a line there, so whatever goes wrong, nothing is written and nothing is completed.
    """
    shell = _SHELLS.get(asked.removesuffix("_complete"))
    if shell is None:
        return NOT_WELL
    try:
        completions = shell(program, {}, _PROGRAM, COMPLETION).complete()
    except Exception:  # noqa: BLE001 (a traceback would be drawn over the line that is being typed)
        return NOT_WELL
    emit(completions)
    return OK
