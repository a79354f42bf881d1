"""What the user of a simulated year does."""

from __future__ import annotations

from collections.abc import Callable

from github_stand_in.model import Pull
from github_stand_in.refusals import Refused

from convergence.dashboards import boxes, dashboard, dashboards
from convergence.fleet import CONFIG, manifest
from convergence.year_memory import GROUP, Memory, path_of, subject_of
from flux_upgrade.model import markers
from flux_upgrade.model.versions import Version

_APPROVED = "flux-upgrade/approved"


class User(Memory):
    """Does one thing at a time, by chance."""

    def act(self) -> None:
        deed = self.chance.choice(self.deeds())
        try:
            done = deed()
        except Refused as error:
            done = f"refused: {error}"
        if done:
            name = deed.__name__.removeprefix("_").replace("_", "-")
            self.seen[name] += 1
            self.log.append(f"{self.day.date()} {name} {done}")

    def deeds(self) -> tuple[Callable[[], str], ...]:
        """Each as often as it is likely."""
        return (
            *(self._merge, self._merge, self._merge, self._mark_ready, self._mark_ready, self._to_draft),
            *(self._label, self._close, self._reopen, self._skip, self._rebase, self._push, self._write, self._rename),
            *(self._delete_branch, self._revert, self._work, self._work, self._upgrade, self._dispatch),
            *(self._dispatch_for_one, self._update_branch, self._update_branch, self._let_a_bot_close),
            *(self._rename_the_group, self._ignore),
            *(self._tick_the_dashboard, self._tick_the_dashboard, self._tick_the_dashboard),
            *(self._close_the_dashboard, self._write_above_the_dashboard),
        )

    def _any(self, *, is_draft: bool | None = None, state: str = "open") -> Pull | None:
        found = [
            pull
            for pull in self.pulls
            if pull.state == state and not pull.merged_at and (is_draft is None or pull.is_draft is is_draft)
        ]
        return self.chance.choice(found) if found else None

    def _merge(self) -> str:
        pull = self._any(is_draft=False)
        if pull is None:
            return ""
        method = self.chance.choice(("merge", "squash", "rebase"))
        try:
            self.merged.append(self.people.merge(pull.number, method))
        except Refused:
            if method != "rebase":
                raise
            # One of its commits conflicts with the base, though all of them together do not.
            method = "merge"
            self.merged.append(self.people.merge(pull.number, method))
        self.forget(pull.head)
        self.ready.discard(subject_of(pull))  # What was approved is done, and does not count again after a revert
        return f"#{pull.number} by {method}"

    def _mark_ready(self) -> str:
        pull = self._any(is_draft=True)
        if pull is None:
            return ""
        self.people.mark_ready(pull.number)
        self.ready.add(subject_of(pull))
        return f"#{pull.number}"

    def _to_draft(self) -> str:
        pull = self._any(is_draft=False)
        if pull is None:
            return ""
        self.people.to_draft(pull.number)
        self.put_back(pull)
        return f"#{pull.number}"

    def _label(self) -> str:
        pull = self._any(is_draft=True)
        if pull is None or not pull.head.endswith("/minor"):
            return ""
        self.people.label(pull.number, _APPROVED)
        self.ready.add(subject_of(pull))
        return f"#{pull.number}"

    def _close(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.people.close(pull.number)
        self.refuse(pull)
        return f"#{pull.number}"

    def _reopen(self) -> str:
        pull = self._any(state="closed")
        if pull is None:
            return ""
        self.people.reopen(pull.number)
        self.refused.discard(subject_of(pull))
        if not pull.is_draft or _APPROVED in pull.labels or pull.number in self.approved:
            self.ready.add(subject_of(pull))  # As it was when it was closed
        head = self.fleet.repository.head(pull.head)
        commit = self.fleet.repository.store.read(head)
        is_merge = len(commit.parents) > 1
        if is_merge and any(each.merged_at and each.head_sha == head for each in self.pulls):
            self.commits[pull.head] = head  # GitHub updated another one, which was merged: what is there is not ours
        if commit.message == "Touch up\n":
            self.commits[pull.head] = head  # As it was pushed, though what it was pushed to was closed since
        return f"#{pull.number}"

    def _skip(self) -> str:
        pull = self._any()
        if pull is None or markers.is_ticked(pull.body, markers.SKIP):
            return ""
        self.people.tick(pull.number, "skip")
        self.refuse(pull)
        return f"#{pull.number}"

    def _rebase(self) -> str:
        pull = self._any()
        if pull is None or markers.is_ticked(pull.body, markers.REBASE):
            return ""
        self.people.tick(pull.number, "rebase")
        self.forget(pull.head)
        return f"#{pull.number}"

    def _push(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.commits[pull.head] = self.people.push(pull.head, {"NOTES.md": str(self.day).encode()})
        return pull.head

    def _write(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        text = f"{self.texts.get(pull.number, '')}Read on {self.day.date()}.\r\n"
        body = pull.body.removeprefix(self.texts.get(pull.number, ""))
        self.texts[pull.number] = text
        self.people.edit(pull.number, body=text + body)
        return f"#{pull.number}"

    def _rename(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.titles[pull.number] = f"Flux, as of {self.day.date()}"
        self.people.edit(pull.number, title=self.titles[pull.number])
        return f"#{pull.number}"

    def _delete_branch(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.refuse(pull)
        self.forget(pull.head)
        self.people.delete_branch(pull.head)
        return pull.head

    def _revert(self) -> str:
        if not self.merged:
            return ""
        self.people.revert(self.merged[-1])
        return self.merged.pop()[:7]

    def _work(self) -> str:
        return self.people.advance_base(content=str(self.day).encode())[:7]

    def _upgrade(self) -> str:
        """Another tool, or the user, writes a release to the base."""
        cluster = self.chance.choice(self.clusters)
        later = [tag for tag in self.released if Version(tag) > self.current(cluster)]
        if not later:
            return ""
        tag = self.chance.choice(later)
        self.people.push("main", {path_of(cluster): manifest(tag)}, f"Upgrade Flux to {tag}\n")
        return f"{cluster} to {tag}"

    def _dispatch(self) -> str:
        minor = Version(self.chance.choice(self.released)).minor
        if all(self.current(cluster).minor >= minor for cluster in self.clusters):
            return ""
        self.dispatched.append(minor)
        self.approve(minor, *self.clusters)
        return minor

    def _dispatch_for_one(self) -> str:
        cluster = self.chance.choice(self.clusters)
        minor = Version(self.chance.choice(self.released)).minor
        if self.current(cluster).minor >= minor or (cluster == "staging" and self.is_ignored):
            return ""
        self.dispatched.append(f"{self._asked_of(cluster)}={minor}")
        self.approve(minor, cluster)
        return self.dispatched[-1]

    def _asked_of(self, cluster: str) -> str:
        """How the input of a run names it."""
        return GROUP if cluster == "production" and self.is_grouped else f"clusters/{cluster}"

    def _update_branch(self) -> str:
        pull = self._any()
        if pull is None:
            return ""
        self.people.update_branch(pull.number)
        return f"#{pull.number}"

    def _let_a_bot_close(self) -> str:
        pull = self._any(is_draft=True)
        if pull is None:
            return ""
        self.fleet.repository.close(pull, by="stale[bot]")
        self.end_approval(pull)
        return f"#{pull.number}"

    def _configure(self, **changed: bool) -> str:
        """Write the config file with the group, or what it ignores, the other way round."""
        self.is_grouped = changed.get("is_grouped", self.is_grouped)
        self.is_ignored = changed.get("is_ignored", self.is_ignored)
        text = "dashboard: true\n"
        text += "ignore: [clusters/staging/**]\n" if self.is_ignored else ""
        text += f"groups: {{{GROUP}: {{paths: [clusters/production/**]}}}}\n" if self.is_grouped else ""
        self.people.push("main", {CONFIG: text.encode()}, "Configure\n")
        return f"grouped {self.is_grouped}, ignored {self.is_ignored}"

    def _rename_the_group(self) -> str:
        return self._configure(is_grouped=not self.is_grouped)

    def _ignore(self) -> str:
        kept = {subject_of(pull) for pull in self.pulls if pull.state == "open" and pull.head in self.commits}
        self.ready = {each for each in self.ready if each[0] != "staging" or each in kept}
        return self._configure(is_ignored=not self.is_ignored)

    def _tick_the_dashboard(self) -> str:
        names = sorted(boxes(self.fleet)) if dashboards(self.fleet) else []
        if not names:
            return ""
        name = self.chance.choice(names)
        self.people.tick(dashboard(self.fleet).number, f"flux-upgrade:{name} -->")
        number = name.removeprefix("rebase-")
        if number.isdecimal():
            self.forget(self.fleet.repository.pulls[int(number)].head)
        return name

    def _close_the_dashboard(self) -> str:
        if not dashboards(self.fleet):
            return ""
        self.people.close(dashboard(self.fleet).number)
        return "closed"

    def _write_above_the_dashboard(self) -> str:
        if not dashboards(self.fleet):
            return ""
        issue = dashboard(self.fleet)
        note = f"Read on {self.day.date()}.\r\n"
        self.people.edit(issue.number, body=note + issue.body.removeprefix(self.note))
        self.note = note
        return f"#{issue.number}"
