"""The tests, in the rooms of the package: `tests/sources/test_files.py` tests `deepprompt/sources/files.py`."""
