"""The entry of the process, and of ``python -m flux_upgrade``.

The program is imported late: an interrupt of its first imports ends it as one of a run does.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # As `flux_upgrade.main` has it


def main() -> int:
    try:
        from flux_upgrade import main as program

        return program.main()
    except KeyboardInterrupt:
        sys.stderr.write("flux-upgrade: interrupted\n")
        return _INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
