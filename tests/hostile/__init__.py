"""Input that means harm, built while the tests run: repositories, files, names and programs."""
