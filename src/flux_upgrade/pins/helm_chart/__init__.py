"""The community's Helm chart ``flux2``."""
