"""What a type checker has to find: each line with a comment `error:` has exactly that error, and no other line has one."""

from __future__ import annotations

from deepprompt import Pace, Part, Prompt, PromptAssemblyConfig, Session, SystemPromptBuilder, Target, build_request
from deepprompt import compose_system_prompt, lint, perturb, read_usage
from deepprompt import SourceError  # error: attr-defined
from deepprompt.errors import SourceError as Moved
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
session.request(to="antropic", model="claude-opus-5-5")  # error: arg-type
session.request(to="anthropic", model="claude-opus-5-5", lifetime="1 hour")  # error: arg-type
Session("You are careful.", on_change="shout")  # error: arg-type
session.record({}).knd  # error: attr-defined
if session.record({}).kind == "miss":  # error: comparison-overlap
    pass

build_request("You are careful.", to="anthropic", model="claude-opus-5-5", stream="yes")  # error: arg-type
build_request(42, to="anthropic", model="claude-opus-5-5")  # error: arg-type
build_request("You are careful.", to="antropic", model="claude-opus-5-5")  # error: arg-type
build_request("You are careful.", to="anthropic", model="claude-opus-5-5", marks="sometimes")  # error: arg-type
target: Target = "open-ai"  # error: assignment
build_request("You are careful.", to=input(), model="claude-opus-5-5")  # error: arg-type
compose_system_prompt(PromptAssemblyConfig(cwd="/project"), "alphabet")  # error: arg-type
share: str = read_usage({}).cached_read  # error: assignment
perturb("app:prompt", skip=["weather"])  # error: list-item
lint("You are careful.", select=[101])  # error: list-item
for finding in lint("You are careful."):
    finding.kode  # error: attr-defined
