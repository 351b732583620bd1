"""Agents of each framework without us: the whole prompt through the framework's own hook for instructions that change.

Each is as its documentation has it, with the marks that it offers. Where a framework takes a prompt only once, it is
the first one, and the model does not learn of edits.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tests.support.frameworks import Ask, Talk


def _example(name: str) -> Any:
    """Return the module that has the framework's names, and the tool that is the same for both."""
    return import_module(f"examples.frameworks.with_{name}")


@contextmanager
def langchain(url: str, talk: Talk) -> Iterator[Ask]:
    """`dynamic_prompt`, and LangChain's own middleware for marks."""
    middleware, example = (
        import_module("langchain.agents.middleware"),
        _example("langchain"),
    )
    model = example.init_chat_model(f"anthropic:{talk.model}", base_url=url, api_key="x", max_retries=0)
    fresh = middleware.dynamic_prompt(lambda _: talk.prompt().text)
    marks = example.AnthropicPromptCachingMiddleware()
    named = {"middleware": [fresh, marks], "checkpointer": example.InMemorySaver()}
    graph = example.create_agent(model, [example.lookup], **named)
    thread = {"configurable": {"thread_id": "1"}}
    yield lambda question: graph.invoke({"messages": [{"role": "user", "content": question}]}, thread)


@contextmanager
def pydantic_ai(url: str, talk: Talk) -> Iterator[Ask]:
    """A function as instructions, and the capability for marks."""
    example, capabilities = (
        _example("pydantic_ai"),
        import_module("pydantic_ai.capabilities"),
    )
    provider = example.AnthropicProvider(api_key="x", base_url=url)
    asked = example.Agent(
        example.AnthropicModel(talk.model, provider=provider), instructions=lambda: talk.prompt().text,
        tools=[example.lookup], capabilities=[capabilities.Caching()],
    )  # fmt: skip
    history: list[Any] = []

    def ask(question: str) -> object:
        history[:] = runner.run(asked.run(question, message_history=history)).all_messages()
        return history

    with asyncio.Runner() as runner:
        yield ask


@contextmanager
def openai_agents(url: str, talk: Talk) -> Iterator[Ask]:
    """A function as instructions."""
    example = _example("openai_agents")
    model = example.OpenAIResponsesModel(talk.model, example.AsyncOpenAI(base_url=f"{url}/v1", api_key="x"))
    tools = [example.function_tool(example.lookup)]
    asked = example.Agent("a", instructions=lambda _context, _agent: talk.prompt().text, tools=tools, model=model)
    named = {"session": example.SQLiteSession("1"), "run_config": example.RunConfig(tracing_disabled=True)}
    with asyncio.Runner() as runner:
        yield lambda question: runner.run(example.Runner.run(asked, question, **named))


@contextmanager
def google_adk(url: str, talk: Talk) -> Iterator[Ask]:
    """A function as instruction."""
    example = _example("google_adk")
    model = example.Gemini(model=talk.model, base_url=url, client_kwargs={"api_key": "x", "enterprise": False})
    asked = example.LlmAgent(name="a", model=model, instruction=lambda _: talk.prompt().text, tools=[example.lookup])
    runner = example.InMemoryRunner(app=example.App(name="app", root_agent=asked))

    async def ask(question: str) -> object:
        message = example.types.Content(role="user", parts=[example.types.Part(text=question)])
        return [event async for event in runner.run_async(user_id="u", session_id="1", new_message=message)]

    with asyncio.Runner() as loop:
        loop.run(runner.session_service.create_session(app_name="app", user_id="u", session_id="1"))
        yield lambda question: loop.run(ask(question))
        loop.run(runner.close())


@contextmanager
def litellm(url: str, talk: Talk) -> Iterator[Ask]:
    """A fresh system message in each call, and LiteLLM's own points for marks."""
    example = _example("litellm")
    points = [{"location": "message", "role": "system"}, {"location": "message", "index": -1}]
    named: dict[str, Any] = {"model": f"anthropic/{talk.model}", "api_base": url, "api_key": "x"}
    messages: list[dict[str, Any]] = []

    def ask(question: str) -> object:
        messages.append({"role": "user", "content": question})
        while True:
            sent = [{"role": "system", "content": talk.prompt().text}, *messages]
            marks = {"tools": [example.LOOKUP], "cache_control_injection_points": points}
            answer = example.litellm.completion(messages=sent, **marks, **named)
            messages.append(answer.choices[0].message.model_dump(exclude_none=True))
            for call in answer.choices[0].message.tool_calls or ():
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "x is a word"})
            if not answer.choices[0].message.tool_calls:
                return messages

    yield ask


@contextmanager
def claude_agent(url: str, talk: Talk) -> Iterator[Ask]:
    """A custom prompt, which the CLI sends as it was at the start."""
    example = _example("claude_agent")
    with tempfile.TemporaryDirectory() as home, asyncio.Runner() as runner:
        client = example.ClaudeSDKClient(example.options(url, talk.prompt().text, talk.model, home))

        async def ask(question: str) -> object:
            await client.query(question)
            return [message async for message in client.receive_response()]

        runner.run(client.connect())
        yield lambda question: runner.run(ask(question))
        runner.run(client.disconnect())


@contextmanager
def smolagents(url: str, talk: Talk) -> Iterator[Ask]:
    """Fresh instructions before each run."""
    example = _example("smolagents")
    model = example.OpenAIServerModel(talk.model, api_base=f"{url}/v1", api_key="x")
    templates = {**example.EMPTY_PROMPT_TEMPLATES, "system_prompt": example.ONLY_THE_PREFIX}
    asked = example.ToolCallingAgent(
        [example.tool(example.lookup)], model, prompt_templates=templates, verbosity_level=0
    )

    def ask(question: str) -> object:
        asked.instructions = talk.prompt().text
        return asked.run(question, reset=False)

    yield ask


@contextmanager
def openhands(url: str, talk: Talk) -> Iterator[Ask]:
    """A system prompt, which the conversation keeps as it was at the start."""
    example = _example("openhands")
    named = {"api_key": example.SecretStr("x"), "base_url": url, "num_retries": 0, "usage_id": "alone"}
    llm = example.LLM(model=f"anthropic/{talk.model}", **named)
    asked = example.Agent(llm=llm, tools=[example.Tool(name="lookup")], system_prompt=talk.prompt().text)
    with tempfile.TemporaryDirectory() as folder:
        conversation = example.Conversation(asked, workspace=folder, visualizer=None)

        def ask(question: str) -> object:
            conversation.send_message(question)
            return conversation.run()

        yield ask
        conversation.close()


@contextmanager
def agent_framework(url: str, talk: Talk) -> Iterator[Ask]:
    """A context provider that adds fresh instructions to each run."""
    example, core = _example("agent_framework"), import_module("agent_framework")

    class Fresh(core.ContextProvider):  # type: ignore[misc, name-defined]
        """Adds the prompt."""

        async def before_run(self, *, context: Any, **_: Any) -> None:
            """Add it."""
            context.extend_instructions(self.source_id, talk.prompt().text)

    with asyncio.Runner() as runner:
        sdk = example.AsyncAnthropic(api_key="x", base_url=url, max_retries=0)
        client = example.AnthropicClient(model=talk.model, anthropic_client=sdk)
        asked = example.Agent(client, tools=[example.lookup], context_providers=[Fresh("prompt")])
        session = asked.create_session()
        yield lambda question: runner.run(asked.run(question, session=session))
        runner.run(sdk.close())
