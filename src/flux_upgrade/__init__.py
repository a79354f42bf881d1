"""Keep Flux current in every GitOps repository, and lose nothing."""

__version__ = "0.1.0"
