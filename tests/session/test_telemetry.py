"""What OpenTelemetry's span says about a request, with the real SDK and an exporter in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from deepprompt import Session, Usage, load_preset
from deepprompt.prompt import Pace, Part, Prompt
from deepprompt.session import telemetry
from tests.support.sessions import OPUS, answer, make

PRICED = Usage(input=2100, cached_read=100, cached_write={"5m": 1500, "1h": 300}, output=7)


@pytest.fixture
def exported() -> Iterator[Any]:
    """Yield a tracer of the SDK with an exporter that keeps what ends."""
    reason = "opentelemetry-sdk is not installed: pip install -e '.[telemetry]'"
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason=reason)
    export: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    yield provider.get_tracer("test"), exporter
    provider.shutdown()


def asked(prompt: Prompt | None = None) -> Session:
    """A session with its first request made."""
    session = Session(prompt or make())
    session.user("1" * 8000)
    session.request(**OPUS)
    return session


def test_usage_verdict_and_prompt(exported: Any) -> None:
    """Tokens by kind and lifetime, the verdict, the model and the prompt stand on the span; no text does."""
    tracer, exporter = exported
    session = asked(load_preset("coder").compose())
    with tracer.start_as_current_span("chat"):
        session.record(PRICED, at=0.0)
    (span,) = exporter.get_finished_spans()
    found = dict(span.attributes)
    assert found.pop("deepprompt.facts")
    digest = session.fingerprint.combined[:12]
    assert found == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": OPUS["model"],
        "gen_ai.usage.input_tokens": 2100,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.cache_write.input_tokens": 1800,
        "deepprompt.usage.cache_write.5m": 1500,
        "deepprompt.usage.cache_write.1h": 300,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.prompt.name": "coder",
        "gen_ai.prompt.version": load_preset("coder").version,
        "deepprompt.prompt.fingerprint": digest,
        "deepprompt.cache.verdict": "hit",
        "deepprompt.cache.expected": 0.0,
        "deepprompt.cache.read": pytest.approx(100 / 2100),
        "deepprompt.epoch": 1,
    }
    assert span.events == ()


def test_a_miss_is_blamed_and_an_event(exported: Any) -> None:
    """What broke is named by kind, place, source and line, and never quoted."""
    tracer, exporter = exported
    session = asked()
    session.record(Usage(input=2100), at=0.0)
    session.append(answer("Yes."))
    session.user("Go on.")
    request = session.request(**OPUS)
    request.body["system"][0]["text"] = "SECRET WORDING"
    with tracer.start_as_current_span("chat"):
        verdict = session.record(Usage(input=2200), at=1.0)
    assert verdict.blame is not None
    (span,) = exporter.get_finished_spans()
    blamed = {name: value for name, value in span.attributes.items() if name.startswith("deepprompt.blame.")}
    assert span.attributes["deepprompt.cache.verdict"] == "ours"
    assert blamed == {
        "deepprompt.blame.kind": verdict.blame.kind,
        "deepprompt.blame.place": verdict.blame.place,
        "deepprompt.blame.line": verdict.blame.line,
        "deepprompt.blame.repeated_tokens": verdict.blame.repeated,
    } | ({"deepprompt.blame.source": verdict.blame.source} if verdict.blame.source else {})
    (event,) = span.events
    assert event.name == "deepprompt.cache.miss"
    assert event.attributes.items() >= blamed.items()
    assert "SECRET" not in span.to_json()


def test_what_an_instrumentation_set_stays(exported: Any) -> None:
    """An attribute that is there already is left alone."""
    tracer, exporter = exported
    with tracer.start_as_current_span("chat") as span:
        span.set_attribute("gen_ai.usage.input_tokens", 5)
        asked().record(PRICED)
    (span,) = exporter.get_finished_spans()
    assert span.attributes["gen_ai.usage.input_tokens"] == 5
    assert span.attributes["gen_ai.usage.output_tokens"] == 7


def test_without_a_span_that_records(exported: Any) -> None:
    """Outside of any span, and after it ended, nothing is set and nothing is logged."""
    tracer, exporter = exported
    session = asked()
    with tracer.start_as_current_span("chat") as span:
        pass
    session.record(PRICED)
    telemetry.describe(span, {"deepprompt.cache.verdict": "provider"})
    (ended,) = exporter.get_finished_spans()
    assert not ended.attributes
    assert ended.events == ()


@pytest.mark.parametrize(
    ("origin", "pace", "name"),
    [
        ("deepprompt:coder/1.0.0/identity.md", Pace.RELEASE, "coder"),
        ("mine:reviews/2.1", Pace.RELEASE, "reviews"),
        ("file:docs/AGENTS.md", Pace.RELEASE, None),
        ("deepprompt:coder/1.0.0/identity.md", Pace.PROJECT, None),
        ("call", Pace.RELEASE, None),
    ],
)
def test_the_name_of_a_prompt(origin: str, pace: Pace, name: str | None) -> None:
    """A preset has a name; the version of any other prompt is its fingerprint."""
    found = telemetry.prompt_attributes(Prompt((Part("one", "You help.", pace, origin),)))
    assert found.get("gen_ai.prompt.name") == name
    assert name or found["gen_ai.prompt.version"] == found["deepprompt.prompt.fingerprint"]
    assert len(str(found["deepprompt.prompt.fingerprint"])) == 12


def test_opentelemetry_is_never_imported() -> None:
    """Recording imports neither OpenTelemetry nor our module about it. A half-imported one does no harm."""
    code = (
        "import sys, types; from deepprompt import Session, Usage; s = Session('You help.'); s.user('Hi.');"
        "s.request(to='anthropic', model='claude-opus-5-5'); s.record(Usage(input=9));"
        "print([m for m in sys.modules if 'telemetry' in m]);"
        "sys.modules['opentelemetry.trace'] = types.ModuleType('opentelemetry.trace'); s.record(Usage(input=9))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
