"""One module a command, each with `configure(parser)` and `run(options) -> exit code`."""
