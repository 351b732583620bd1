"""Ray for tests: a cluster of two CPUs on this machine, or a skip with a reason.

With DEEPPROMPT_NEED_RAY=1 a missing Ray is a failure: a run that is meant to use it must not skip.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.paths import ROOT

NEEDED = bool(os.environ.get("DEEPPROMPT_NEED_RAY"))
REASON = "Ray is not installed: pip install -e '.[ray]'"


def need_ray() -> None:
    """Skip the test without Ray, or fail where Ray is said to be needed."""
    if importlib.util.find_spec("ray") is None:
        if NEEDED:
            pytest.fail(f"{REASON} (DEEPPROMPT_NEED_RAY is set)")
        pytest.skip(REASON)


@contextmanager
def cluster() -> Iterator[Any]:
    """Start a cluster of two CPUs, for as long as the block lasts."""
    need_ray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        import ray.data

        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        before = os.getcwd()
        os.chdir(ROOT)
        try:
            ray.init(
                address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
            )
        finally:
            os.chdir(before)
        try:
            yield ray
        finally:
            ray.shutdown()
