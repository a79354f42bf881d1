"""``gotk-components.yaml``, as ``flux bootstrap`` and ``flux install --export`` write it."""
