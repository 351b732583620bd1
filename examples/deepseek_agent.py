"""An agent on DeepSeek, by OpenAI's SDK, whose every request begins with all of the one before it.

    python examples/deepseek_agent.py          against a stand-in on loopback
    python examples/deepseek_agent.py --real   against DeepSeek, with the key in DEEPSEEK_API_KEY

DeepSeek caches by itself and takes no marks. It wants the `reasoning_content` that led to a tool call back with the
call, and refuses the request without it. OpenAI's types do not know that field, so a loop that copies text and calls
out of a message loses it. Append the response whole: `session.append` keeps it, and `session.request` sends it. This
agent streams: a `StreamedResponse` collects the chunks.
"""

from __future__ import annotations

import time
from typing import Any

import demo
from openai import OpenAI

from deepprompt import Prompt, Session, StreamedResponse, SystemPromptBuilder, load_instruction_files

MODEL = "deepseek-v4-pro"


def prompt_now(builder: SystemPromptBuilder) -> Prompt:
    """Return the prompt as it is at this moment: the same prefix and tools, and what git says now."""
    builder.project = demo.project_now()
    return builder.compose(tools=demo.TOOLS)


def answer_question(client: OpenAI, session: Session) -> str:
    """Let the model call tools until it has an answer, and return that."""
    while True:
        request = session.request(to="deepseek", model=MODEL, stream=True)
        started, answer = time.time(), StreamedResponse()
        chunks: Any = client.chat.completions.create(**request.arguments)
        text = "".join([answer.add(chunk) for chunk in chunks])  # print each piece to show it as it arrives
        session.record(answer.response, at=started)
        session.append(answer.response)  # whole, with its reasoning
        if not session.open_calls:
            return text
        for call in session.open_calls:
            result = demo.run_tool(call.name, call.arguments)
            session.append({"role": "tool", "tool_call_id": call.id, "content": result})


def main() -> None:
    """Ask about a project that changes between the questions."""
    with demo.project(), demo.endpoint("DEEPSEEK_API_KEY", real="https://api.deepseek.com") as endpoint:
        client = OpenAI(api_key=endpoint.api_key, base_url=endpoint.base_url)
        builder = SystemPromptBuilder(instructions=load_instruction_files("."))  # on the bundled base prompt
        session = Session(prompt_now(builder))  # from here on prefix and tools are frozen
        for question in demo.questions():
            print(f"user: {question}")
            session.user(question, prompt_now(builder))  # what moved since the last one is told before it
            print(f"agent: {answer_question(client, session)}")
        demo.report(session)


if __name__ == "__main__":
    main()
