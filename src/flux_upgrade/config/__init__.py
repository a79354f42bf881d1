"""The config file, ``.github/flux-upgrade.yaml``: its values, and what reads and checks them."""
