"""Batch services: their data, their ids, and results in every form that providers return them."""

from __future__ import annotations

import json

import pytest

from deepprompt.batch.services import Result, find_service, read_result, services
from deepprompt.errors import MessageError


def test_the_table() -> None:
    """Every service has a dated source, and its line is JSON with the id and the body in their places."""
    for name, service in services().items():
        assert service.sources
        assert all(source["read"] <= service.as_of for source in service.sources)
        before, between, after = service.line
        line = json.loads(f'{before}"ID"{between}{{"b":1}}{after}')
        assert "ID" in line.values(), name
        assert {"b": 1} in line.values(), name
        begin, separator, end = service.file
        assert separator.endswith("\n")
        assert begin == "" or json.loads(f"{begin}1{separator}2{end}") == {"requests": [1, 2]}


@pytest.mark.parametrize(
    ("name", "value"), [("anthropic", "a b"), ("anthropic", "x" * 65), ("openai", ""), ("openai", "a\nb")]
)
def test_ids_that_a_service_refuses(name: str, value: str) -> None:
    """An id that the service would refuse is an error that shows the pattern."""
    with pytest.raises(MessageError, match=r"takes no id .* it has to match"):
        find_service(name).check_id(value)


def test_an_unknown_service() -> None:
    """An unknown service is an error that lists the known ones."""
    with pytest.raises(
        MessageError, match="no batch service 'deepseek'; there are: anthropic, bedrock, bedrock-invoke, gemini"
    ):
        find_service("deepseek")


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (
            {"custom_id": "a", "response": {"status_code": 200, "body": {"x": 1}}, "error": None},
            Result("a", "done", {"x": 1}),
        ),
        (
            {"custom_id": "a", "response": {"status_code": 400, "body": {"error": {"message": "no"}}}, "error": None},
            Result("a", "failed", {"error": {"message": "no"}}, "no"),
        ),
        (
            {"custom_id": "a", "response": None, "error": {"code": "batch_expired", "message": "too late"}},
            Result("a", "expired", None, "batch_expired: too late"),
        ),
        ({"custom_id": "a", "response": {"status_code": 500, "body": None}}, Result("a", "failed", None, "status 500")),
        ({"custom_id": "a", "result": {"type": "succeeded", "message": {"id": "m"}}}, Result("a", "done", {"id": "m"})),
        (
            {"custom_id": "a", "result": {"type": "errored", "error": {"error": {"type": "t", "message": "m"}}}},
            Result("a", "failed", None, "t: m"),
        ),
        ({"custom_id": "a", "result": {"type": "expired"}}, Result("a", "expired", None, "expired")),
        ({"custom_id": "a", "result": {"type": "canceled"}}, Result("a", "canceled", None, "canceled")),
        ({"custom_id": "a", "result": {"type": "new"}}, Result("a", "failed", None, "new")),
        ({"key": "a", "response": {"candidates": []}}, Result("a", "done", {"candidates": []})),
        ({"key": "a", "status": {"code": 3, "message": "bad"}}, Result("a", "failed", None, "3: bad")),
        ({"recordId": "a", "modelInput": {}, "modelOutput": {"o": 1}}, Result("a", "done", {"o": 1})),
        (
            {"recordId": "a", "error": {"errorCode": 400, "errorMessage": "bad request"}},
            Result("a", "failed", None, "bad request"),
        ),
        ({"recordId": "a"}, Result("a", "failed", None, "no response")),
    ],
)
def test_results(line: object, result: Result) -> None:
    """A line of any service's output says whether there is a response, and if not, why."""
    assert read_result(line) == result


@pytest.mark.parametrize("line", [None, [], {}, {"custom_id": 7}, "text", {"id": "x"}])
def test_lines_that_are_no_results(line: object) -> None:
    """Anything else is an error."""
    with pytest.raises(MessageError, match="not a result of a batch"):
        read_result(line)
