"""An OCI artifact that holds Flux's manifests, as values: where it is, what it says of itself, its layer."""

SCHEME = "oci://"  # Of an address, as Flux writes it
