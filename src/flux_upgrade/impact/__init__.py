"""What an upgrade breaks in this repository, and the migrations that fix it first."""
