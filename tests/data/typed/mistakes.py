"""What a type checker has to find: each line with a comment `error:` has exactly that error, and no other line has one."""

from __future__ import annotations

from deepprompt import Pace, Part, Prompt, Session, SystemPromptBuilder, build_request, lint, read_usage
from deepprompt import SystemPromptBulider  # error: attr-defined
from deepprompt.systems.builder import BASE_PROMPT_V2  # error: attr-defined
import deepprompt

deepprompt.compose_system_promt  # error: attr-defined
assert deepprompt.BASE_PROMPT_V1.upper()
deepprompt.BASE_PROMPT_V1.uper()  # error: attr-defined

builder = SystemPromptBuilder(static_bse="You are careful.")  # error: call-arg
builder.project = "/project"  # error: assignment
prompt: str = builder.compose()  # error: assignment
builder.compose().static_prefx  # error: attr-defined

Part("rules", "Read first.", "project", "argument")  # error: arg-type
Prompt(("You are careful.",))  # error: arg-type
Pace.WEEK  # error: attr-defined

session = Session(42)  # error: arg-type
session.user(b"Hello")  # error: arg-type
session.request(to="anthropic")  # error: call-arg
session.record({}).knd  # error: attr-defined

build_request("You are careful.", to="anthropic", model="claude-opus-5-5", stream="yes")  # error: arg-type
build_request(42, to="anthropic", model="claude-opus-5-5")  # error: arg-type
share: str = read_usage({}).cached_read  # error: assignment
lint("You are careful.", select=[101])  # error: list-item
for finding in lint("You are careful."):
    finding.kode  # error: attr-defined
