"""Places with pull requests: GitHub by its API, any other server by Git."""
