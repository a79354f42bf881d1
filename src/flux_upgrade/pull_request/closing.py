"""What is put above our text without making it anew: why a pull request was closed, or must wait."""

from __future__ import annotations

from flux_upgrade import markers
from flux_upgrade.decision import Hold
from flux_upgrade.markdown import code, plain
from flux_upgrade.markers import State


def closing(body: str, state: State, why: str) -> str:
    """``body`` with ``why``, one sentence, above our text, and ``state``, which says that we closed it.

    What people wrote stays; where they have removed our block, it is put below.
    """
    said = f"**Closed:** {plain(why)}"
    before = markers.text_of(body)
    if before is None:
        return "\n\n".join(filter(None, (body.rstrip(), markers.block(said, state))))
    told = before if before.startswith(said) else f"{said}\n\n{before}"
    return markers.replaced(body, markers.block(told, state)) or body


_HELD = "**Do not merge this now**"


def held(body: str, state: State, hold: Hold) -> str:
    """``body`` with what is in the way above our text, and ``state``, which says that it waits."""
    hint = f" {plain(hold.hint[:1].upper() + hold.hint[1:])}." if hold.hint else ""
    said = f"{_HELD} ({code(hold.reason)}): {plain(hold.detail)}.{hint} It is made anew once that is done."
    # As a person's browser sends it.
    before = (markers.text_of(body) or "").replace("\r\n", "\n")
    first, _, rest = before.partition("\n\n")
    told = rest if first.startswith(_HELD) else "\n\n".join(filter(None, (first, rest)))
    return markers.replaced(body, markers.block(f"{said}\n\n{told}", state)) or body
