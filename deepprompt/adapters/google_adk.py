"""Google ADK: news is the first part of the user's message, in the event that the session stores.

`LlmAgent(instruction=...)` replaces `{name}` in a text by the session's state, so an AGENTS.md with braces would be
changed or refused; and a function that is given there is asked again for every request, so each edit would cost the
whole cache. `static_instruction` takes a text as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from deepprompt.adapters.shared import Tails, Watches, by_name, judge, tail_of, watch_of
from deepprompt.prompt import Prompt


class TailPlugin(BasePlugin):
    """Tells the model what changed, once for each message of the user; orders tools; judges each response.

    Give `tail.prefix.text` to `LlmAgent(static_instruction=...)`, and the plugin to `App(plugins=[...])` or to the
    runner. `prompt` builds the prompt as it is now. If a runner has several sessions, `tail` and `watch` are functions
    from a session's id. The agent that a message reaches first is the one that is watched: a subagent sends requests
    of its own.
    """

    def __init__(self, tail: Tails, prompt: Callable[[], Prompt | str], watch: Watches | None = None) -> None:
        super().__init__(name="deepprompt")
        self._tail, self._prompt, self._watch = tail, prompt, watch
        self._watched: dict[str, str] = {}
        self._sent: dict[str, tuple[dict[str, Any], float]] = {}

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Put the news before the parts of the message."""
        news = tail_of(self._tail, invocation_context.session.id).news(self._prompt())
        if not news:
            return None
        parts = [types.Part(text=news), *(user_message.parts or ())]
        return user_message.model_copy(update={"parts": parts})

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Order the tools, and remember the request."""
        for tool in llm_request.config.tools or ():
            if isinstance(tool, types.Tool) and tool.function_declarations:
                tool.function_declarations = by_name(tool.function_declarations)
        session, agent = callback_context.session.id, callback_context.agent_name
        if self._watch and self._watched.setdefault(session, agent) == agent:
            self._sent[session] = _body(llm_request), time.time()
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Judge the response. Pieces of a streamed one have no usage, or one that its last piece repeats."""
        session, usage = callback_context.session.id, llm_response.usage_metadata
        is_watched = self._watched.get(session) == callback_context.agent_name
        if self._watch and is_watched and usage and not llm_response.partial and session in self._sent:
            body, at = self._sent.pop(session)
            judge(watch_of(self._watch, session), body, usage, at)
        return None


def _body(request: LlmRequest) -> dict[str, Any]:
    """Return a request in Gemini's form."""
    config = request.config.model_dump(
        mode="json", by_alias=True, exclude_none=True, include={"system_instruction", "tools", "tool_config"}
    )
    contents = [content.model_dump(mode="json", by_alias=True, exclude_none=True) for content in request.contents]
    return {"model": request.model or "", **config, "contents": contents}
