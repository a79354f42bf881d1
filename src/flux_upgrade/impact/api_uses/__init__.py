"""Where the tree names versions of Flux's APIs."""
