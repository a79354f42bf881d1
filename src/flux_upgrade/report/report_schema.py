"""The version of docs/reference/report.schema.json, which who reads a report has to know as well."""

VERSION = 2
"""Another one where a name or a meaning changed."""
