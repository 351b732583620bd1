"""The SDKs' own objects for a sample of a response, and their own types' judgement of the body that goes back."""

from __future__ import annotations

import base64
from typing import Any

from deepprompt.request.request import Request
from tests.support.recorder import sdk
from tests.support.sdk_types import MESSAGE, Sample

USAGE = {"input_tokens": 9, "output_tokens": 3}


def answer(sample: Sample) -> Any:
    """Return a response with a sample in it, as the SDK parses it."""
    return {
        "anthropic": _message, "openai": _completion, "openai-responses": _response, "gemini": _content,
        "bedrock": _converse,
    }[sample.api](sample)  # fmt: skip


def _message(sample: Sample) -> Any:
    value = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
        "content": [sample.block, {"type": "text", "text": "So."}], "usage": USAGE,
    }  # fmt: skip
    return sdk("anthropic._models").construct_type(type_=sdk("anthropic.types.beta").BetaMessage, value=value)


def _completion(sample: Sample) -> Any:
    message = {"role": "assistant", **sample.block}
    value = {
        "id": "c", "object": "chat.completion", "created": 0, "model": "gpt",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }  # fmt: skip
    return sdk("openai._models").construct_type(type_=sdk("openai.types.chat").ChatCompletion, value=value)


def _response(sample: Sample) -> Any:
    value = {"id": "resp_1", "object": "response", "output": [sample.block, MESSAGE], "model": "gpt"}
    return sdk("openai._models").construct_type(type_=sdk("openai.types.responses").Response, value=value)


def _content(sample: Sample) -> Any:
    value = {"candidates": [{"content": {"role": "model", "parts": [sample.block, {"text": "So."}]}}]}
    return sdk("google.genai.types").GenerateContentResponse.model_validate(value)


def _converse(sample: Sample) -> Any:
    content = [_with_blobs(sample.block), {"text": "So."}]
    return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}


def _with_blobs(value: Any) -> Any:
    """Return a value with bytes where botocore has them."""
    if isinstance(value, list):
        return [_with_blobs(item) for item in value]
    if not isinstance(value, dict):
        return value
    blobs = ("bytes", "redactedContent", "data")
    return {
        key: base64.b64decode(item) if key in blobs and item == "aGVsbG8=" else _with_blobs(item)
        for key, item in value.items()
    }


def check_accepted(request: Request) -> None:
    """Raise if the SDK's own types do not take a request."""
    if request.to == "bedrock":
        model = sdk("botocore.session").get_session().get_service_model("bedrock-runtime")
        report = (
            sdk("botocore.validate")
            .ParamValidator()
            .validate(request.arguments, model.operation_model("Converse").input_shape)
        )
        assert not report.has_errors(), report.generate_report()
    elif request.to == "gemini":
        for content in request.body["contents"]:
            sdk("google.genai.types").Content.model_validate(content)
    else:
        module, name = {
            "anthropic": ("anthropic.types.beta.message_create_params", "MessageCreateParamsNonStreaming"),
            "openai": ("openai.types.chat.completion_create_params", "CompletionCreateParamsNonStreaming"),
            "openai-responses": (
                "openai.types.responses.response_create_params", "ResponseCreateParamsNonStreaming"
            ),
        }[request.to]  # fmt: skip
        adapter = sdk("pydantic").TypeAdapter(getattr(sdk(module), name))
        _drain(adapter.validate_python(request.body))


def _drain(value: Any) -> None:
    """Validate what pydantic validates only when it is asked for."""
    if isinstance(value, dict):
        for inner in value.values():
            _drain(inner)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for inner in value:
            _drain(inner)
