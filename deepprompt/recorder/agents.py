"""Which variables make an agent send its requests through the recorder: a dated table, `assets/agents/<date>/`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepprompt.catalog import bundled
from deepprompt.errors import SourceError

_FAMILY = "agents"
PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
"""The variables that make programs use a proxy."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How a command is run so that it is recorded."""

    agent: str
    """The name of the agent in the table; "" for a command that it does not know."""
    environment: Mapping[str, str]
    arguments: tuple[str, ...]
    """Arguments that go before the command's own."""
    owns_screen: bool
    """Whether the agent draws on the whole terminal, so that nothing else may be written there."""


def table() -> Mapping[str, Any]:
    """Return the newest table of agents."""
    catalog = bundled()
    data: Mapping[str, Any] = json.loads(catalog.file(_FAMILY, catalog.versions(_FAMILY)[-1], "agents.json"))
    return data


def known_agents() -> list[str]:
    """Return the names that `--for` takes."""
    return [name for row in table()["agents"] for name in row["names"]]


def upstreams(only: str = "") -> dict[str, str]:
    """Return the address of each provider by its route; with `only`, that one address for all of them."""
    return {route: only or address for route, address in table()["upstreams"].items()}


def own_upstreams(command: Sequence[str], environment: Mapping[str, str], agent: str = "") -> dict[str, str]:
    """Return the addresses that a user's own variables name, by route: a gateway, or another proxy.

    Raises `SourceError` if such a variable cannot be followed.
    """
    found: dict[str, str] = {}
    for name, template in _variables(command, agent).items():
        route, _, end = template.removeprefix("{").partition("}")
        given = environment.get(name, "").rstrip("/")
        if not given or not template.startswith("{"):
            continue
        if not given.endswith(end) or found.get(route, given.removesuffix(end)) != given.removesuffix(end):
            raise SourceError(
                f"{name} is {given!r:.100} already; unset it, or say --upstream URL, without {end or '/v1'}"
            )
        found[route] = given.removesuffix(end)
    return found


def reach_loopback(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what keeps a command from sending loopback's requests to a proxy, if one is set."""
    if not any(environment.get(name) for name in PROXIES):
        return {}
    given = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    return dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(filter(None, (given, "127.0.0.1"))))


def _variables(command: Sequence[str], agent: str) -> Mapping[str, str]:
    data = table()
    row = _row(data, _name(command, agent))
    variables: Mapping[str, str] = row["env"] if row is not None else data["sdks"]
    return variables


def _name(command: Sequence[str], agent: str) -> str:
    return agent or (os.path.basename(command[0]).removesuffix(".cmd").removesuffix(".exe") if command else "")


def _row(data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((row for row in data["agents"] if name in row["names"]), None)


def _settings(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that undo what recording changes in an agent. A command may start any of them."""
    return {key: value for row in data["agents"] for key, value in row["env"].items() if not value.startswith("{")}


def started_inside(programs: Iterable[str]) -> str:
    """Return the known agent among programs, by the names that they send themselves; "" if there is none."""
    sent = [program.lower() for program in programs]
    return next((name for name in known_agents() if any(one.startswith(name) for one in sent)), "")


def set_up(command: Sequence[str], address: str, agent: str = "") -> Setup:
    """Return how to run a command whose requests are to go to `address`. `agent` names it, if its file does not."""
    data = table()
    name = _name(command, agent)
    row = _row(data, name)
    if agent and row is None:
        raise SourceError(
            f"no agent {agent!r:.40} in the table of {data['as_of']}; there are: {', '.join(known_agents())}"
        )
    routes = {route: f"{address}/{route}" for route in data["upstreams"]}
    given = row["env"] if row is not None else {**data["sdks"], **_settings(data)}
    environment = {key: value.format(**routes) for key, value in given.items()}
    arguments = tuple(one.replace("{openai}", routes["openai"]) for one in (row or {}).get("arguments", ()))
    return Setup(name if row is not None else "", environment, arguments, bool(row and row["screen"]))
