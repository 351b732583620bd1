"""The same work on Ray Data: one task for each part, on this machine or on the cluster that Ray's own settings name.

Only parts and sums travel, never the bodies of requests. A worker reads the files of its part itself, so on a cluster
they have to be where every machine reaches them. Ray goes on running until this process ends.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from deepprompt.errors import SourceError

P = TypeVar("P")
S = TypeVar("S")

_PATIENCE = 10.0
_HOME = Path(__file__).resolve().parents[2]


def on_ray(parts: Sequence[P], work: Callable[[P], S]) -> Iterator[S]:
    """Yield the result of each part, as they come. Raises `SourceError` if a part kills its worker each time."""
    if not parts:
        return
    ray = _started()
    how = {"work": work, "folder": os.getcwd()}
    waiting = {number: {"number": number, "part": pickle.dumps(part)} for number, part in enumerate(parts)}
    rows = list(waiting.values())
    items = ray.data.from_items(rows, override_num_blocks=len(rows))
    with warnings.catch_warnings():  # since 2.60 Ray says that the last option will have another name
        warnings.simplefilter("ignore")
        data = items.map(_worked, fn_kwargs=how, num_cpus=1, ray_remote_args_fn=_retries)
    try:
        for row in data.iter_rows():
            del waiting[row["number"]]
            yield _result(row)
    except ray.exceptions.RayError:
        pass  # which part it was is found out below
    alone = ray.remote(num_cpus=1, max_retries=0)(_worked)
    for number, asked in [(number, alone.remote(row, **how)) for number, row in waiting.items()]:
        try:
            row = ray.get(asked)
        except ray.exceptions.RayError as error:
            why = str(error).strip().partition("\n")[0][:200]
            raise SourceError(f"{parts[number]}: its Ray worker was killed, again and again; {why}") from None
        yield _result(row)


def _retries() -> dict[str, int]:
    """Return how often Ray tries a part again whose worker died. Its own default is for ever."""
    return {"max_retries": 1}


def _worked(row: dict[str, Any], *, work: Callable[[Any], object], folder: str) -> dict[str, Any]:
    """Work on one part, in a worker. An error is a result too, so that Ray does not wrap it."""
    with suppress(OSError):
        os.chdir(folder)  # where relative paths start
    try:
        found: object = work(pickle.loads(row["part"]))
    except Exception as error:
        found = error
    return {"number": row["number"], "result": pickle.dumps(found)}


def _result(row: dict[str, Any]) -> Any:
    found = pickle.loads(row["result"])
    if isinstance(found, Exception):
        raise found
    return found


def _started() -> Any:
    """Return Ray, connected: to what runs already, to the cluster of its settings, or started on this machine."""
    try:
        ray: Any = import_module("ray")
        import_module("ray.data")
    except ImportError as error:
        raise SourceError(f"the engine ray needs Ray Data: 'pip install deepprompt[ray]' ({error})") from None
    if not ray.is_initialized():
        _check_address(os.environ.get("RAY_ADDRESS", ""))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
        with _at_home():
            try:
                ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
            except Exception as error:  # Ray has many
                why = str(error).strip().partition("\n")[0][:300]
                raise SourceError(f"Ray can neither be reached nor started: {why or type(error).__name__}") from None
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    return ray


def _check_address(address: str) -> None:
    """Raise `SourceError` for a cluster that does not answer. Ray itself would wait for it for many minutes."""
    found = re.fullmatch(r"(?:ray://)?([^/:]+|\[[^]]+\]):(\d{1,5})", address)
    if found is None:
        return
    try:
        socket.create_connection((found[1].strip("[]"), int(found[2])), _PATIENCE).close()
    except (OSError, OverflowError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"no Ray cluster answers at RAY_ADDRESS={address:.100}: {why}") from None


@contextmanager
def _at_home() -> Iterator[None]:
    """Go to the folder of this package: Ray lets workers import what is in the current one, a stranger's too."""
    before = os.getcwd()
    os.chdir(_HOME)
    try:
        yield
    finally:
        os.chdir(before)
