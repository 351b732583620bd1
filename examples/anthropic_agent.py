"""An agent on Anthropic's SDK whose every request begins with all of the one before it.

python examples/anthropic_agent.py          against a stand-in on loopback
python examples/anthropic_agent.py --real   against Anthropic, with the key in ANTHROPIC_API_KEY
"""

from __future__ import annotations

import time

import demo
from anthropic import Anthropic
from anthropic.types import Message

from deepprompt import Prompt, Session, SystemPromptBuilder, load_instruction_files

MODEL = "claude-opus-5-5"


def prompt_now(builder: SystemPromptBuilder) -> Prompt:
    """Return the prompt as it is at this moment: the same prefix and tools, and what git says now."""
    builder.project = demo.project_now()
    return builder.compose(tools=demo.TOOLS)


def answer_question(client: Anthropic, session: Session) -> str:
    """Let the model call tools until it has an answer, and return that."""
    while True:
        request = session.request(to="anthropic", model=MODEL)  # its cache marks stand where they pay most
        started = time.time()
        answer: Message = client.messages.create(**request.arguments)
        session.record(answer, at=started)
        session.append(answer)  # whole: whatever is in it goes back as it came
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": demo.run_tool(call.name, call.arguments)}
            for call in session.open_calls
        ]
        if results:
            session.append({"role": "user", "content": results})
        elif answer.stop_reason != "pause_turn":  # a paused response is continued by the next request
            return "".join(block.text for block in answer.content if block.type == "text")


def main() -> None:
    """Ask about a project that changes between the questions."""
    with demo.project(), demo.endpoint("ANTHROPIC_API_KEY") as endpoint:
        client = Anthropic(api_key=endpoint.api_key, base_url=endpoint.base_url)
        builder = SystemPromptBuilder(demo.PROMPT, load_instruction_files("."))
        session = Session(prompt_now(builder))  # from here on prefix and tools are frozen
        for question in demo.questions():
            print(f"user: {question}")
            session.user(question, prompt_now(builder))  # what moved since the last one is told before it
            print(f"agent: {answer_question(client, session)}")
        demo.report(session)


if __name__ == "__main__":
    main()
