"""LiteLLM: a prompt hook that sends the prefix with marks, and a callback that judges each response.

LiteLLM keeps no conversation, so the caller stores the news: `user_message` returns the message to append. The hook
gets the messages of a call and not always its tools; so a mark on the tools is set where they are passed, by
`marked_tools`, and the hook leaves it alone.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from litellm.integrations.custom_logger import CustomLogger
from litellm.integrations.custom_prompt_management import CustomPromptManagement

from deepprompt.adapters.shared import Watches, judge, told, watch_of
from deepprompt.prompt import Prompt
from deepprompt.request.request import build_request
from deepprompt.session.tail import Tail

PROMPT_ID = "deepprompt"
"""The `prompt_id` of a call that the hook is for."""

_ASKED = [{"role": "user", "content": "-"}]
_MARK = "cache_control"
_MOST_MARKS = 3
"""Anthropic refuses a request with more than four marks, and the tools of a call may have one."""


def user_message(tail: Tail, question: str, prompt: Prompt | str) -> dict[str, Any]:
    """Return the user's next message: what changed, then the question. Append it to the messages that you keep."""
    texts = told(tail, question, prompt)
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def marked_tools(tools: Sequence[Mapping[str, object]], model: str) -> list[dict[str, Any]]:
    """Return tools for `completion(tools=...)`: in the order of their names, with a mark where LiteLLM keeps it."""
    body = build_request(Prompt((), tuple(tools)), _ASKED, to="litellm", model=model).body
    return list(body.get("tools", ()))


class PrefixHook(CustomPromptManagement):
    """Puts the prefix before the messages of a call, and marks on both.

    Register it as `litellm.callbacks = [PrefixHook(tail)]`, and call `completion(..., prompt_id="deepprompt")` with the
    messages of the conversation, without a system prompt.
    """

    def __init__(self, tail: Tail) -> None:
        super().__init__()
        self._prefix = Prompt(tail.prefix.parts, fixed_order=True)

    @property
    def integration_name(self) -> str:
        """The name under which LiteLLM lists the hook."""
        return PROMPT_ID

    def should_run_prompt_management(self, prompt_id: str | None, *more: Any, **named: Any) -> bool:  # noqa: ARG002
        """Whether a call is meant."""
        return prompt_id == PROMPT_ID

    def get_chat_completion_prompt(
        self,
        model: str,
        messages: list[Any],
        non_default_params: dict[str, Any],
        *more: Any,  # noqa: ARG002
        **named: Any,  # noqa: ARG002
    ) -> tuple[str, list[Any], dict[str, Any]]:
        """Return the messages with the prefix and the marks, and everything else as it is."""
        body = build_request(self._prefix, messages, to="litellm", model=model).body
        return model, _with_fewer_marks(list(body["messages"])), non_default_params

    async def async_get_chat_completion_prompt(
        self, model: str, messages: list[Any], non_default_params: dict[str, Any], *more: Any, **named: Any
    ) -> tuple[str, list[Any], dict[str, Any]]:
        """Do the same in an asynchronous call."""
        return self.get_chat_completion_prompt(model, messages, non_default_params, *more, **named)


def _with_fewer_marks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take away the first marks, which stand inside the prefix, as far as there are too many."""
    holders = [holder for message in messages for holder in (*_blocks(message), message) if _MARK in holder]
    for holder in holders[: max(len(holders) - _MOST_MARKS, 0)]:
        del holder[_MARK]
    return messages


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


class WatchLogger(CustomLogger):
    """Gives each answered request to a `Watch`: `litellm.callbacks = [WatchLogger(watch)]`.

    The body is the one that LiteLLM sends. It reports responses from threads, in any order; they are judged in the
    order in which the requests were sent. If there are several conversations, `watch` is a function from the
    `session_id` in a call's `metadata`.
    """

    def __init__(self, watch: Watches) -> None:
        super().__init__()
        self._watch = watch
        self._lock = threading.Lock()
        self._sent: dict[str, _Call] = {}

    def log_pre_api_call(self, model: str, messages: Any, kwargs: Any) -> None:  # noqa: ARG002
        """Take the place of a request in the order."""
        with self._lock:
            self._sent[_id(kwargs)] = None
            if len(self._sent) > _MOST_WAITING:  # a call that was given up is never reported
                del self._sent[next(iter(self._sent))]

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
        """Judge a response once all before it are judged."""
        self._ended(kwargs, (kwargs, response_obj, start_time))

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
        """Leave out a request that failed."""
        self._ended(kwargs, ())

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Do the same in an asynchronous call."""
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Do the same in an asynchronous call."""
        self.log_failure_event(kwargs, response_obj, start_time, end_time)

    def _ended(self, kwargs: Any, call: _Call) -> None:
        with self._lock:
            if _id(kwargs) in self._sent:
                self._sent[_id(kwargs)] = call
            while self._sent and (first := next(iter(self._sent.values()))) is not None:
                del self._sent[next(iter(self._sent))]
                if first:
                    self._judge(*first)

    def _judge(self, kwargs: Any, answer: Any, start: Any) -> None:
        body = (kwargs.get("additional_args") or {}).get("complete_input_dict")
        metadata = (kwargs.get("litellm_params") or {}).get("metadata") or {}
        if isinstance(body, Mapping) and getattr(answer, "usage", None) is not None:
            judge(watch_of(self._watch, metadata.get("session_id")), body, answer, start.timestamp())


_MOST_WAITING = 1000
_Call = tuple[Any, ...] | None


def _id(kwargs: Any) -> str:
    return str(kwargs.get("litellm_call_id") or "")
