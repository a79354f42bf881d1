"""What a configuration of Git can say so that a program runs: one row for each way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SSH, HTTP, FILE = "ssh://git@127.0.0.1:1/fleet.git", "http://127.0.0.1:{port}/fleet/infra.git", "file://{bare}"
HOOKS = (
    *("fsmonitor-watchman", "post-checkout", "post-index-change", "pre-auto-gc", "pre-commit", "pre-push"),
    *("commit-msg", "post-commit", "prepare-commit-msg", "reference-transaction", "proc-receive", "update"),
    *("pre-receive", "post-receive", "post-update", "push-to-checkout", "post-rewrite"),
)


@dataclass(frozen=True)
class Hostile:
    """``settings``: in the form of ``.git/config``; ``{canary}`` is a program that must not run.

    ``files``: written below ``.git``. ``attributes``: what ``.gitattributes`` has. ``url``: of the remote `origin`.
    """

    settings: str = ""
    url: str = FILE
    attributes: str = ""
    files: dict[str, str] = field(default_factory=dict)
    clone: tuple[str, ...] = ()
    """Options of `git clone`."""
    is_owners: bool = False
    """It is how the owner of a checkout connects to its server: it runs where the user is the owner."""


FILTERED = "* filter=x diff=x merge=x ident working-tree-encoding=UTF-8\n"
EXT = "ext::{canary} %S"
DRIVER = '[filter "x"]\n{key} = {{canary}}\nrequired = true\n'
ROWS: dict[str, Hostile] = {
    "core.fsmonitor": Hostile("[core]\nfsmonitor = {canary}\n"),
    "core.hooksPath": Hostile("[core]\nhooksPath = {hooks}\n"),
    "hooks": Hostile(files={f"hooks/{name}": "#!/bin/sh\nexec {canary}\n" for name in HOOKS}),
    "core.pager": Hostile("[core]\npager = {canary}\n"),
    "pager.log": Hostile("[pager]\nlog = {canary}\nconfig = {canary}\nrev-parse = {canary}\n"),
    "core.editor": Hostile("[core]\neditor = {canary}\n[sequence]\neditor = {canary}\n"),
    "core.sshCommand": Hostile("[core]\nsshCommand = {canary}\n", SSH, is_owners=True),
    "core.gitProxy": Hostile("[core]\ngitProxy = {canary}\n", "git://127.0.0.1/fleet.git", is_owners=True),
    "core.askPass": Hostile("[core]\naskPass = {canary}\n", HTTP, is_owners=True),
    "core.alternateRefsCommand": Hostile("[core]\nalternateRefsCommand = {canary}\n"),
    "core.attributesFile": Hostile(
        '[core]\nattributesFile = {git}/attributes\n[diff "x"]\ntextconv = {canary}\n[filter "x"]\nclean = {canary}\n',
        files={"attributes": FILTERED},
    ),
    "core.worktree": Hostile("[core]\nworktree = {elsewhere}\nfsmonitor = {canary}\n"),
    "credential.helper": Hostile("[credential]\nhelper = {canary}\n", HTTP, is_owners=True),
    "credential of a host": Hostile(
        '[credential "http://127.0.0.1:{port}"]\nhelper = "!{canary}"\n', HTTP, is_owners=True
    ),
    "url.insteadOf ext": Hostile('[url "ext::{canary} "]\ninsteadOf = ssh://git@127.0.0.1:1/\n', SSH),
    "url.insteadOf ext, allowed": Hostile(
        '[protocol "ext"]\nallow = always\n[url "ext::{canary} "]\ninsteadOf = ssh://git@127.0.0.1:1/\n', SSH
    ),
    "url.pushInsteadOf ext": Hostile(
        '[protocol]\nallow = always\n[url "ext::{canary} "]\npushInsteadOf = file://\n', FILE
    ),
    "url.insteadOf ssh": Hostile(
        '[core]\nsshCommand = {canary}\n[url "ssh://git@127.0.0.1:1/"]\ninsteadOf = file://\n', FILE, is_owners=True
    ),
    "origin by ext": Hostile('[protocol "ext"]\nallow = always\n', EXT),
    "origin by ext, all allowed": Hostile("[protocol]\nallow = always\n", EXT),
    "origin by fd": Hostile('[protocol "fd"]\nallow = always\n', "fd::17"),
    "origin by a helper": Hostile("[protocol]\nallow = always\n", "canary::address"),
    "origin by a scheme": Hostile("[protocol]\nallow = always\n", "canary://127.0.0.1/fleet"),
    "origin with an option of ssh": Hostile(url="ssh://-oProxyCommand={canary}/fleet"),
    "origin with an option of Git": Hostile(url="--upload-pack={canary}"),
    "remote.vcs": Hostile(
        '[protocol]\nallow = always\n[remote "origin"]\nvcs = canary\n[remote "flux-upgrade"]\nvcs = canary\n'
    ),
    "remote.uploadpack": Hostile(
        '[remote "origin"]\nuploadpack = {canary}\n[remote "flux-upgrade"]\nuploadpack = {canary}\n'
    ),
    "remote.receivepack": Hostile(
        '[remote "origin"]\nreceivepack = {canary}\n[remote "flux-upgrade"]\nreceivepack = {canary}\n'
    ),
    "remote.proxy": Hostile('[remote "flux-upgrade"]\nproxy = http://127.0.0.1:1\nproxyAuthMethod = {canary}\n'),
    "include.path": Hostile(
        "[include]\npath = more\n", SSH, files={"more": "[core]\nsshCommand = {canary}\n"}, is_owners=True
    ),
    "includeIf": Hostile(
        '[includeIf "gitdir:/"]\npath = {git}/more\n',
        SSH,
        files={"more": "[core]\nsshCommand = {canary}\n"},
        is_owners=True,
    ),
    "filter.clean": Hostile(DRIVER.format(key="clean"), attributes=FILTERED),
    "filter.smudge": Hostile(DRIVER.format(key="smudge"), attributes=FILTERED),
    "filter.process": Hostile(DRIVER.format(key="process"), attributes=FILTERED),
    "diff.textconv": Hostile('[diff "x"]\ntextconv = {canary}\n', attributes=FILTERED),
    "diff.command": Hostile('[diff "x"]\ncommand = {canary}\n', attributes=FILTERED),
    "diff.external": Hostile("[diff]\nexternal = {canary}\n"),
    "merge.driver": Hostile('[merge "x"]\ndriver = {canary}\n', attributes=FILTERED),
    "uploadpack.packObjectsHook": Hostile("[uploadpack]\npackObjectsHook = {canary}\n"),
    "alias": Hostile(
        "[alias]\nlog = !{canary}\nconfig = !{canary}\nrev-parse = !{canary}\nremote = !{canary}\nfetch = !{canary}\n"
    ),
    "gpg.program": Hostile("[gpg]\nprogram = {canary}\n[log]\nshowSignature = true\n[commit]\ngpgSign = true\n"),
    "gpg.ssh.program": Hostile(
        '[gpg]\nformat = ssh\n[gpg "ssh"]\nprogram = {canary}\ndefaultKeyCommand = {canary}\n[push]\ngpgSign = true\n'
    ),
    "submodule.update": Hostile(
        '[submodule]\nrecurse = true\n[fetch]\nrecurseSubmodules = true\n[submodule "x"]\nupdate = !{canary}\nurl = ext::{canary}\n'
    ),
    "partial clone by ext": Hostile(
        "[core]\nrepositoryFormatVersion = 1\n[extensions]\npartialClone = evil\n[protocol]\nallow = always\n"
        '[remote "evil"]\npromisor = true\nurl = ext::{canary} %S\n',
        url=EXT,
        clone=("--filter=blob:none",),
    ),
    "partial clone by ssh": Hostile(
        f'[core]\nsshCommand = {{canary}}\n[remote "evil"]\npromisor = true\nurl = {SSH}\npartialCloneFilter = blob:none\n',
        url=SSH,
        clone=("--filter=blob:none",),
        is_owners=True,
    ),
    "extensions.worktreeConfig": Hostile(
        "[core]\nrepositoryFormatVersion = 1\n[extensions]\nworktreeConfig = true\n",
        files={"config.worktree": "[core]\nfsmonitor = {canary}\nsshCommand = {canary}\n"},
        url=SSH,
    ),
    "trailer.command": Hostile('[trailer "x"]\nkey = X\ncommand = {canary}\ncmd = {canary}\nifmissing = add\n'),
    "interactive.diffFilter": Hostile("[interactive]\ndiffFilter = {canary}\n"),
    "help.autocorrect": Hostile('[help]\nautocorrect = 1\nbrowser = x\n[browser "x"]\ncmd = {canary}\n'),
    "maintenance": Hostile(
        "[maintenance]\nauto = true\n[gc]\nauto = 1\nautoDetach = false\nrecentObjectsHook = {canary}\n"
    ),
    "trace2": Hostile("[trace2]\neventTarget = {ran}\nnormalTarget = {ran}\nperfTarget = {ran}\n"),
    "hook by configuration": Hostile(
        '[hook "x"]\ncommand = {canary}\nevent = pre-push\nevent = reference-transaction\nevent = post-index-change\n'
    ),
}
"""Name → a way. ``{bare}``: the server's repository; ``{port}``: of a server that asks for a password."""


@dataclass(frozen=True)
class Planted:
    """A canary, and what it leaves behind if it runs."""

    canary: Path
    ran: Path

    @classmethod
    def make(cls, folder: Path) -> Planted:
        folder.mkdir()
        planted = cls(folder / "canary", folder / "ran")
        planted.canary.write_text(f'#!/bin/sh\necho "$0 $@" >> {planted.ran}\nexit 1\n')
        planted.canary.chmod(0o755)
        (folder / "git-remote-canary").symlink_to(planted.canary)
        (folder / "hooks").mkdir()
        for name in HOOKS:
            (folder / "hooks" / name).symlink_to(planted.canary)
        folder.chmod(0o755)
        return planted

    @property
    def path(self) -> str:
        """Of the environment: its helpers for remotes are found."""
        return f"{self.canary.parent}:{os.environ.get('PATH', os.defpath)}"  # noqa: TID251  (where git is)

    def put(self, row: Hostile, checkout: Path, fill: Callable[[str], str]) -> None:
        """Write the row into the configuration of ``checkout``; ``fill`` completes an address."""
        git = checkout / ".git"

        def filled(text: str) -> str:
            for name, value in {
                "canary": self.canary,
                "ran": self.ran,
                "hooks": self.canary.parent / "hooks",
                "git": git,
                "elsewhere": self.canary.parent,
            }.items():
                text = text.replace(f"{{{name}}}", str(value))
            return fill(text)

        for name, text in row.files.items():
            (git / name).parent.mkdir(exist_ok=True)
            (git / name).write_text(filled(text))
            (git / name).chmod(0o755)
        with (git / "config").open("a") as file:
            file.write(f"\n{filled(row.settings)}")
        if row.attributes:
            (git / "info").mkdir(exist_ok=True)
            (git / "info" / "attributes").write_text(row.attributes)
