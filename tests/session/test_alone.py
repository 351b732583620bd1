"""One task at a time: two threads or two tasks on one session raise, and never get a wrong body."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from typing import Any

import pytest

from deepprompt import Session
from deepprompt.errors import SessionError
from tests.support.sessions import OPUS, answer, make

ADVICE = "; use a session from one task at a time, and session.fork() to work in parallel"


def test_two_threads_raise_and_no_body_is_wrong() -> None:
    """Two agents on one session: at least one is refused, and each body is a conversation that was had."""
    session = Session(make())
    errors: list[SessionError] = []
    bodies: list[list[Any]] = []
    together = threading.Barrier(2)

    def agent(name: str) -> None:
        together.wait()
        try:
            for turn in range(200):
                session.user(f"{name} {turn}")
                bodies.append(session.request(**OPUS, marks="none").body["messages"])
                session.append(answer(f"{name} {turn}"))
        except SessionError as error:
            errors.append(error)

    threads = [threading.Thread(target=agent, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors
    assert all(str(error).endswith(ADVICE) for error in errors)
    whole = session.request(**OPUS, marks="none").body["messages"] if not said_last(session) else bodies[-1]
    for body in bodies:
        assert json.dumps(body) == json.dumps(whole[: len(body)]) or len(body) > len(whole)


def said_last(session: Session) -> bool:
    """Whether the last message is the model's."""
    return session.messages[-1]["role"] == "assistant"


def test_two_tasks_that_take_turns_raise() -> None:
    """A response to an earlier request is refused: the conversation went on without it."""

    async def agent(session: Session, name: str) -> None:
        session.user(name)
        session.request(**OPUS)
        await asyncio.sleep(0)  # the model is asked
        session.append(answer(name))

    async def both(session: Session) -> Any:
        return await asyncio.gather(agent(session, "a"), agent(session, "b"), return_exceptions=True)

    session = Session("Be brief.")
    refused, done = asyncio.run(both(session))
    assert done is None
    assert str(refused) == f"this response is to a request of 1 messages, and the session has 2 now{ADVICE}"
    assert [message["content"] for message in session.messages] == ["a", "b", "b"]


def test_one_task_may_move_between_threads() -> None:
    """A turn that is asked in one thread and answered in another, one after the other, is nobody's fault."""

    async def turn(session: Session) -> None:
        for number in range(3):
            await asyncio.to_thread(session.user, f"Q{number}")
            await asyncio.to_thread(session.request, **OPUS)
            session.append(answer("Yes."))

    session = Session("Be brief.")
    asyncio.run(turn(session))
    assert len(session.messages) == 6


def test_a_failed_request_is_asked_again() -> None:
    """After a request without a response, the user may go on, and the next response is to the next request."""
    session = Session("Be brief.")
    session.user("One.")
    session.request(**OPUS)
    session.user("Two.")
    session.request(**OPUS)
    session.append(answer("Yes."))
    assert len(session.messages) == 3


def test_forks_work_in_parallel() -> None:
    """Each fork has a guard of its own."""
    session = Session("Be brief.")
    session.user("One.")
    forks = [session.fork().session for _ in range(4)]

    def ask(fork: Session) -> None:
        for turn in range(50):
            fork.user(f"{turn}")
            fork.request(**OPUS)
            fork.append(answer("Yes."))

    threads = [threading.Thread(target=ask, args=(fork,)) for fork in forks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(fork.messages) for fork in forks] == [101] * 4
    assert len(session.messages) == 1


def test_a_call_inside_a_call_is_refused() -> None:
    """Whatever runs while a call does is refused, and nothing is appended."""
    session = Session("Be brief.")

    with session._alone, pytest.raises(SessionError, match=r"^this session is in use by another call right now; "):
        session.user("One.")
    assert session.messages == ()


def test_copies_have_their_own_guard() -> None:
    """Sessions can be copied and pickled."""
    session = Session(make())
    session.user("One.")
    for other in (copy.deepcopy(session), pickle.loads(pickle.dumps(session))):
        with session._alone:
            assert other.request(**OPUS).body
        assert other.request(**OPUS).body == session.request(**OPUS).body
