"""What surrounds the package: README, documentation, examples, benchmarks, the release, the originals' vectors."""
