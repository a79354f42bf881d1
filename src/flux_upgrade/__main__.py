"""``python -m flux_upgrade``."""

from flux_upgrade.cli import main

raise SystemExit(main())
