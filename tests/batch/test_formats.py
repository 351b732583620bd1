"""The files of each batch service: accepted by the types of the official SDKs, and within the documented limits."""

from __future__ import annotations

import json
import shutil
import typing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deepprompt.batch.files import write_batch
from deepprompt.batch.services import Service, find_service, services
from deepprompt.batch.template import RequestTemplate
from deepprompt.errors import MessageError
from deepprompt.prompt import Pace, Part, Prompt
from tests.support.recorder import sdk

MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "us.anthropic.claude-opus-5-5",
    "bedrock-invoke": "us.anthropic.claude-opus-5-5",
    "gemini": "gemini-4-argon",
    "openai": "gpt-6.1-sol",
    "openai-responses": "gpt-6.1-sol",
    "vllm": "my-model",
}
# What each service's page said on 2026-11-18: requests and bytes of one file. Bedrock's are quotas of an account.
LIMITS = {
    "anthropic": (100_000, 256_000_000),
    "bedrock": (0, 0),
    "bedrock-invoke": (0, 0),
    "gemini": (0, 2_000_000_000),
    "openai": (50_000, 200_000_000),
    "openai-responses": (50_000, 200_000_000),
    "vllm": (0, 0),
}
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"name": "look_up", "description": "Look up a word.", "input_schema": SCHEMA}
PART = Part("base", "You translate words into German, and nothing else.\n" * 200, Pace.RELEASE, "base")


def template_for(service: Service, prompt: Prompt | None) -> RequestTemplate:
    """A template as the command makes it, with tools where the service takes them."""
    return RequestTemplate(
        prompt or Prompt((PART,), tools=() if service.tools else (TOOL,)),
        "Word: {word}",
        to=service.target,
        model=MODELS[service.name],
        prefix_lifetime=service.lifetime,
        marks=service.marks,
        fields=service.fields,
    )


def written(service: Service, folder: Path, words: list[str], prompt: Prompt | None = None) -> list[Path]:
    """Write a batch of words, and return its files."""
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps({"word": word}) + "\n" for word in words))
    manifest = write_batch(str(rows), template_for(service, prompt), service, str(folder / "out"))
    return [folder / "out" / file["name"] for file in manifest["rounds"][0]]


def by_type(module: str, name: str, value: Any) -> Any:
    """Return a value as a TypedDict of an SDK takes it: a wrong value raises, an unknown field is left out."""
    adapter = sdk("pydantic").TypeAdapter(getattr(sdk(module), name))  # has to outlive what it validates lazily
    return _plain(adapter.validate_python(value))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value


def anthropic_takes(path: Path) -> None:
    """One object with all requests, as `client.messages.batches.create` takes them."""
    body = json.loads(path.read_bytes())
    assert by_type("anthropic.types.messages.batch_create_params", "BatchCreateParams", body) == body


def openai_takes(path: Path) -> None:
    """Lines for an endpoint that `client.batches.create` knows, with bodies of its type."""
    endpoints = typing.get_type_hints(sdk("openai.types.batch_create_params").BatchCreateParams)["endpoint"]
    kinds = {
        "/v1/chat/completions": ("openai.types.chat.completion_create_params", "CompletionCreateParamsNonStreaming"),
        "/v1/responses": ("openai.types.responses.response_create_params", "ResponseCreateParamsNonStreaming"),
    }
    for line in map(json.loads, path.read_bytes().splitlines()):
        assert set(line) == {"custom_id", "method", "url", "body"}
        assert line["method"] == "POST"
        assert line["url"] in typing.get_args(endpoints)
        assert by_type(*kinds[line["url"]], line["body"]) == line["body"]


def gemini_takes(path: Path) -> None:
    """A request's fields are those of google-genai, which refuses any that it does not know."""
    types = sdk("google.genai.types")
    for line in map(json.loads, path.read_bytes().splitlines()):
        assert set(line) == {"key", "request"}
        request = dict(line["request"])
        for content in (request.pop("systemInstruction"), *request.pop("contents")):
            types.Content.model_validate(content)
        for tool in request.pop("tools"):
            types.Tool.model_validate(tool)
        assert request.keys() <= {"generationConfig", "toolConfig"}
        types.GenerationConfig.model_validate(request.get("generationConfig", {}))


def converse_takes(path: Path) -> None:
    """A request is what Converse takes beside the model, by botocore's own description; jobs of that type exist."""
    for line in map(json.loads, path.read_bytes().splitlines()):
        assert set(line) == {"recordId", "modelInput"}
        assert "modelId" not in line["modelInput"]
        _by_botocore("bedrock-runtime", "Converse", {"modelId": MODELS["bedrock"], **line["modelInput"]})
    assert "Converse" in _invocation_types()


def invoke_takes(path: Path) -> None:
    """A request is a body of Anthropic's own API with the version that Bedrock wants and without a model."""
    for line in map(json.loads, path.read_bytes().splitlines()):
        assert set(line) == {"recordId", "modelInput"}
        body = line["modelInput"]
        assert body["anthropic_version"] == "bedrock-2023-05-31"
        assert "model" not in body
        assert body["tools"][0]["name"] == "look_up"
        plain = {"model": "claude-opus-5-5", **body}
        del plain["anthropic_version"]
        kind = ("anthropic.types.message_create_params", "MessageCreateParamsNonStreaming")
        assert by_type(*kind, plain) == plain
        _by_botocore("bedrock-runtime", "InvokeModel", {"modelId": MODELS["bedrock"], "body": json.dumps(body)})
    assert "InvokeModel" in _invocation_types()


def _by_botocore(service: str, operation: str, arguments: dict[str, Any]) -> None:
    model = sdk("botocore.session").get_session().get_service_model(service)
    report = sdk("botocore.validate").ParamValidator().validate(arguments, model.operation_model(operation).input_shape)
    assert not report.has_errors(), report.generate_report()


def _invocation_types() -> list[str]:
    model = sdk("botocore.session").get_session().get_service_model("bedrock")
    shape = model.operation_model("CreateModelInvocationJob").input_shape
    return list(shape.members["modelInvocationType"].enum)


TAKES: dict[str, Callable[[Path], None]] = {
    "anthropic": anthropic_takes,
    "bedrock": converse_takes,
    "bedrock-invoke": invoke_takes,
    "gemini": gemini_takes,
    "openai": openai_takes,
    "openai-responses": openai_takes,
    "vllm": openai_takes,
}


@pytest.mark.parametrize("name", services())
def test_the_sdk_takes_every_file(name: str, tmp_path: Path) -> None:
    """Every request of every file is of the SDK's type, with nothing left out, whatever the words are."""
    service = replace(find_service(name), requests=2)
    files = written(service, tmp_path, ["cat", 'dog \\ "x" \n\t', "\u2028 é 🐈", "x" * 100])
    assert len(files) == 2
    for path in files:
        TAKES[name](path)


@pytest.mark.parametrize("name", services())
def test_the_documented_limits(name: str) -> None:
    """The data says what the pages say."""
    service = find_service(name)
    assert (service.requests, service.bytes) == LIMITS[name]
    assert all(source["read"].startswith("2026-") for source in service.sources)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (requests, _) in LIMITS.items() if requests])
def test_one_request_too_many(name: str, tmp_path: Path) -> None:
    """A row more than a file may have is in a second file."""
    most, _ = LIMITS[name]
    words = [str(number) for number in range(most + 1)]
    first, second = written(find_service(name), tmp_path, words, Prompt((replace(PART, text="You translate."),)))
    assert first.read_bytes().count(b"You translate.") == most
    assert second.read_bytes().count(b"You translate.") == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_one_byte_too_many(name: str, tmp_path: Path) -> None:
    """A file may be as large as the limit, and not a byte larger. The real limits take seconds to reach."""
    most = 25_600_000
    service = replace(find_service(name), bytes=most)
    one, two = (_written_size(service, tmp_path / str(count), count) for count in (1, 2))
    count = most // 1_000_000 - 10
    letters = most - one - (two - one) * (count - 1) + count  # of all words together
    for more, files in ((0, 1), (1, 2)):
        words = ["x" * ((letters + more) // count + (number < (letters + more) % count)) for number in range(count)]
        (folder := tmp_path / f"more {more}").mkdir()
        found = written(service, folder, words)
        sizes = [path.stat().st_size for path in found]
        shutil.rmtree(folder)
        assert len(sizes) == files
        assert sizes[0] == most if files == 1 else sizes[0] < most


def _written_size(service: Service, folder: Path, count: int) -> int:
    folder.mkdir()
    (file,) = written(service, folder, ["x"] * count)
    return file.stat().st_size


def test_other_models_of_bedrock() -> None:
    """The body of InvokeModel is the model's own, so only Claude's is written; another model is an error."""
    service = find_service("bedrock-invoke")
    for model in ("us.anthropic.claude-opus-5-5", "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-x"):
        service.check_model(model)
    with pytest.raises(MessageError, match=r"another form for the model 'amazon.nova-pro'"):
        service.check_model("amazon.nova-pro")
    find_service("bedrock").check_model("amazon.nova-pro")
