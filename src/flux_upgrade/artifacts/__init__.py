"""Take an OCI artifact to another release of Flux, and its tag as far as the policy allows.

The flow of RFC "Flux Bootstrap for OCI-compliant Container Registries", story 4: pull, rebase, push
under an immutable tag, promote.
"""
