"""Why kustomize, or what is known here of it, comes to no result."""

from __future__ import annotations


class CannotBuild(Exception):
    """kustomize would end with an error; the message is what is wrong, a sentence without markup."""

    def __init__(self, message: str, line: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        """1-based, in the file of the step; 0: that of the step itself."""
        self.hint = hint


class CannotTell(Exception):
    """What kustomize would do is not known here; the message says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
