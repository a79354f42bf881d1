"""The text of a pull request, its commit and its status: the same for the same proposal."""
