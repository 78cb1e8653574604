"""What of this folder is no page with examples for the tests to run."""

collect_ignore_glob = ["*.py", "_build/*", "gallery/*", "generated/*"]
