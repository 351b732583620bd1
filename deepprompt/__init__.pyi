"""The public names for type checkers and editors. Written by scripts/write_stub.py; edit __init__.py instead."""

from typing import Final

from deepprompt.batch.template import RequestTemplate as RequestTemplate
from deepprompt.catalog import bundled as bundled
from deepprompt.catalog import from_folder as from_folder
from deepprompt.catalog import from_package as from_package
from deepprompt.checks.blame.blame import blame as blame
from deepprompt.checks.cache.simulate import simulate as simulate
from deepprompt.checks.explain import explain as explain
from deepprompt.checks.lint.linter import lint as lint
from deepprompt.checks.perturb.perturb import perturb as perturb
from deepprompt.checks.segments import read_request as read_request
from deepprompt.counters import count_tokens as count_tokens
from deepprompt.errors import DeepPromptError as DeepPromptError
from deepprompt.errors import PresetError as PresetError
from deepprompt.fleet.readers import read_records as read_records
from deepprompt.fleet.report import report as report
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY as DYNAMIC_CONTEXT_BOUNDARY
from deepprompt.prompt import Note as Note
from deepprompt.prompt import Pace as Pace
from deepprompt.prompt import Part as Part
from deepprompt.prompt import Prompt as Prompt
from deepprompt.providers.usage import Usage as Usage
from deepprompt.providers.usage import read_usage as read_usage
from deepprompt.request.request import Request as Request
from deepprompt.request.request import build_cached_content as build_cached_content
from deepprompt.request.request import build_request as build_request
from deepprompt.session.session import Session as Session
from deepprompt.session.stream import StreamedResponse as StreamedResponse
from deepprompt.session.tiers import Tiers as Tiers
from deepprompt.sources.claude_md import load_claude_md as load_claude_md
from deepprompt.sources.code import load_repository as load_repository
from deepprompt.sources.git.snapshot import GitSnapshot as GitSnapshot
from deepprompt.sources.git.snapshot import read_git as read_git
from deepprompt.sources.instructions import InstructionFile as InstructionFile
from deepprompt.sources.instructions import load_instruction_files as load_instruction_files
from deepprompt.sources.plan.plan import plan_instructions as plan_instructions
from deepprompt.sources.project import ProjectContext as ProjectContext
from deepprompt.sources.project import discover_project_context as discover_project_context
from deepprompt.sources.skills import load_skills as load_skills
from deepprompt.sources.surroundings import Surroundings as Surroundings
from deepprompt.sources.surroundings import gather as gather
from deepprompt.systems.agents import AgentDefinition as AgentDefinition
from deepprompt.systems.agents import agent_prompt as agent_prompt
from deepprompt.systems.agents import assemble_subagent_prompt as assemble_subagent_prompt
from deepprompt.systems.agents import attach as attach
from deepprompt.systems.agents import compose_subagent_prompt as compose_subagent_prompt
from deepprompt.systems.agents import reminder as reminder
from deepprompt.systems.agents import reminders_for as reminders_for
from deepprompt.systems.audit import AuditLog as AuditLog
from deepprompt.systems.budget import validate_budget as validate_budget
from deepprompt.systems.builder import BASE_PROMPT_V1 as BASE_PROMPT_V1
from deepprompt.systems.builder import SystemPromptBuilder as SystemPromptBuilder
from deepprompt.systems.builder import inject_recalled as inject_recalled
from deepprompt.systems.context import render_project_context as render_project_context
from deepprompt.systems.edits import apply_edits as apply_edits
from deepprompt.systems.edits import parse_edits as parse_edits
from deepprompt.systems.preset import McpServer as McpServer
from deepprompt.systems.preset import PromptAssemblyConfig as PromptAssemblyConfig
from deepprompt.systems.preset import PromptVars as PromptVars
from deepprompt.systems.preset import SlashCommand as SlashCommand
from deepprompt.systems.preset import SystemPromptConfig as SystemPromptConfig
from deepprompt.systems.preset import assemble_system_prompt as assemble_system_prompt
from deepprompt.systems.preset import compose_system_prompt as compose_system_prompt
from deepprompt.systems.presets import Preset as Preset
from deepprompt.systems.presets import load_preset as load_preset
from deepprompt.systems.tagged import AgentConfig as AgentConfig
from deepprompt.systems.tagged import Responsibility as Responsibility
from deepprompt.systems.tagged import Task as Task
from deepprompt.systems.tagged import TaskStep as TaskStep
from deepprompt.systems.tagged import build_system_prompt as build_system_prompt
from deepprompt.systems.tagged import compose_tagged_prompt as compose_tagged_prompt
from deepprompt.systems.template import PromptAssembler as PromptAssembler
from deepprompt.systems.tiers import Tier as Tier
from deepprompt.systems.tiers import TieredContext as TieredContext
from deepprompt.systems.tiers import UrlContent as UrlContent
from deepprompt.systems.tiers import assemble_messages as assemble_messages
from deepprompt.systems.tiers import commit_prompt as commit_prompt
from deepprompt.systems.tiers import compaction_prompt as compaction_prompt
from deepprompt.systems.tiers import compose_messages as compose_messages
from deepprompt.systems.tiers import edit_reminder as edit_reminder
from deepprompt.systems.tiers import tiered_system_prompt as tiered_system_prompt
from deepprompt.systems.tools import tool_definitions as tool_definitions
from deepprompt.tokens import estimate_tokens as estimate_tokens
from deepprompt.tools import fingerprint as fingerprint
from deepprompt.words import Lifetime as Lifetime
from deepprompt.words import Marks as Marks
from deepprompt.words import OnChange as OnChange
from deepprompt.words import Order as Order
from deepprompt.words import Target as Target

__version__: Final[str]
__all__: Final[list[str]]
_NAMES: Final[dict[str, tuple[str, ...]]]
_MODULES: Final[dict[str, str]]
