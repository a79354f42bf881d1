"""The semver policy: ranges, the timeline of releases, decisions and hold reasons, your feedback."""
