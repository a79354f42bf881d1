"""The scripts complete commands, options, values and files, in the shells themselves."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest

from error_names import error_names
from flux_upgrade import main
from flux_upgrade.cli.flags import SHELLS
from real_parts import require_program

LINES = {
    "flux-upgrade pl": "plan",
    "flux-upgrade comple": "completion",
    "flux-upgrade plan --pol": "--policy",
    "flux-upgrade plan --policy mi": "minor",
    "flux-upgrade plan --policy=mi": "minor",
    "flux-upgrade upgrade --on-conflict=ta": "take-release",
    "flux-upgrade render --components=he": "helm-controller",
    "flux-upgrade bootstrap --log-level=de": "debug",
    "flux-upgrade plan --multi-step clus": "clusters.yaml",
    "flux-upgrade plan --config=clus": "clusters.yaml",
    "flux-upgrade plan clus": "clusters.yaml",
    "flux-upgrade completion fi": "fish",
}
"""A line, and what its last word is completed to."""
BASH = """
source "$1"
while read -r line; do
  COMP_WORDS=($line) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _flux_upgrade_completion
  echo "${COMPREPLY[*]}"
done
"""
SHOWN = 'source "$1"; complete -p flux-upgrade'
FISH = """
source $argv[1]
while read line
    complete -C "$line"
end
true
"""
ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT=; autoload -Uz compinit; compinit -D -u; eval "$(<'"${(q)1}"')"
show() { zle -I; print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N show; bindkey "^X" show; print rea""dy'
zpty -r -m shell shown '*ready*'
while read -r line; do
  zpty -n -w shell "$line"$'\\t\\x18'
  zpty -r -m shell shown '*<<*>>*'
  print -r -- ${${shown##*<<}%%>>*}
done
"""


def script(shell: str) -> str:
    out, err = io.BytesIO(), io.StringIO()
    assert main.run(["completion", shell], {}, out, err) == 0
    assert err.getvalue() == ""
    return out.getvalue().decode()


def completed(command: list[str], lines: list[str], tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "script").write_text(text)
    (tmp_path / "clusters.yaml").touch()
    done = subprocess.run(  # noqa: S603 ours
        [*command, str(tmp_path / "script")],
        input="".join(f"{line}\n" for line in lines),
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TERM": "dumb"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    return done.stdout.splitlines()


def last_words(shown: list[str]) -> list[str]:
    """What a line ends with, which zsh shows whole, and fish with a description."""
    ends = [line.partition("\t")[0].split()[-1].rstrip("=") for line in shown]
    return [each.rpartition("=")[2] for each in ends]


def as_bash_has_it(line: str) -> str:
    """Bash makes words of ``=``."""
    return line.replace("=", " = ")


def test_bash(tmp_path: Path) -> None:
    bash = require_program("bash")
    lines = [as_bash_has_it(line) for line in LINES]
    assert completed([bash, "-c", BASH, "bash"], lines, tmp_path, script("bash")) == list(LINES.values())


def test_bash_lists_all_values_behind_the_equals_sign(tmp_path: Path) -> None:
    lines = ["flux-upgrade plan --policy ="]
    found = completed([require_program("bash"), "-c", BASH, "bash"], lines, tmp_path, script("bash"))
    assert found == ["none patch minor major"]


def test_bash_calls_it_for_the_command(tmp_path: Path) -> None:
    shown = completed([require_program("bash"), "-c", SHOWN, "bash"], [], tmp_path, script("bash"))
    assert shown == ["complete -o bashdefault -F _flux_upgrade_completion flux-upgrade"]


@pytest.mark.real_part("fish")
def test_fish(tmp_path: Path) -> None:
    fish = require_program("fish")
    shown = completed([fish, "--no-config", "-c", FISH], list(LINES), tmp_path, script("fish"))
    assert last_words(shown) == list(LINES.values())


@pytest.mark.real_part("zsh")
def test_zsh(tmp_path: Path) -> None:
    zsh = require_program("zsh")
    shown = completed([zsh, "-f", "-c", ZSH, "zsh"], list(LINES), tmp_path, script("zsh"))
    assert last_words(shown) == list(LINES.values())


@pytest.mark.real_part("zsh")
def test_zsh_sources_it_too(tmp_path: Path) -> None:
    sourced = 'autoload -Uz compinit; compinit -D -u; source "$1"; print -r -- $_comps[flux-upgrade]'
    shown = completed([require_program("zsh"), "-f", "-c", sourced, "zsh"], [], tmp_path, script("zsh"))
    assert shown == ["_shtab_flux_upgrade"]


@pytest.mark.parametrize("shell", SHELLS)
def test_flags_without_a_use_are_not_completed(shell: str) -> None:
    text = script(shell)
    assert "kubeconfig" in text
    assert "gpg-key-id" not in text


def test_another_shell_is_refused() -> None:
    out, err = io.BytesIO(), io.StringIO()
    assert main.run(["completion", "tcsh"], {}, out, err) == 2
    assert error_names(err.getvalue()) == {"usage"}
    assert "fish" in err.getvalue()
