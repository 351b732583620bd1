"""A pytest that a test starts, in a project that is somebody else's."""

from __future__ import annotations

# The plugins that a user of the extra `snapshot` has, by their entry points: to load all of ours takes longer than to
# run the tests.
ITS_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p syrupy -p deepprompt"}
