"""An agent on OpenAI's SDK and Chat Completions whose every request begins with all of the one before it.

    python examples/openai_agent.py          against a stand-in on loopback
    python examples/openai_agent.py --real   against OpenAI, with the key in OPENAI_API_KEY

Since GPT-5.6 entries end at the newest message and at marks, and writing one has a price; `session.request` places the
marks. The cache key keeps the requests of a session together, and must not change within it: another key is another
cache.
"""

from __future__ import annotations

import time

import demo
from openai import OpenAI
from openai.types.chat import ChatCompletion

from deepprompt import Prompt, Session, SystemPromptBuilder, load_instruction_files

MODEL = "gpt-5.6-sol"


def prompt_now(builder: SystemPromptBuilder) -> Prompt:
    """Return the prompt as it is at this moment: the same prefix and tools, and what git says now."""
    builder.project = demo.project_now()
    return builder.compose(tools=demo.TOOLS)


def answer_question(client: OpenAI, session: Session) -> str:
    """Let the model call tools until it has an answer, and return that."""
    while True:
        request = session.request(to="openai", model=MODEL, cache_key="postbox")
        started = time.time()
        answer: ChatCompletion = client.chat.completions.create(**request.arguments)
        session.record(answer, at=started)
        session.append(answer)
        if not session.open_calls:
            return answer.choices[0].message.content or ""
        for call in session.open_calls:
            result = demo.run_tool(call.name, call.arguments)
            session.append({"role": "tool", "tool_call_id": call.id, "content": result})


def main() -> None:
    """Ask about a project that changes between the questions."""
    with demo.project(), demo.endpoint("OPENAI_API_KEY", path="/v1") as endpoint:
        client = OpenAI(api_key=endpoint.api_key, base_url=endpoint.base_url)
        builder = SystemPromptBuilder(demo.PROMPT, load_instruction_files("."))
        session = Session(prompt_now(builder))  # from here on prefix and tools are frozen
        for question in demo.questions():
            print(f"user: {question}")
            session.user(question, prompt_now(builder))  # what moved since the last one is told before it
            print(f"agent: {answer_question(client, session)}")
        demo.report(session)


if __name__ == "__main__":
    main()
