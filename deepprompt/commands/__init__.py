"""The commands of the command line: a module for each, named after it, and beside them what several of them share.

A command's module has `configure(parser)`, which adds its options, and `run(options)`, which returns the exit code.
"""

from __future__ import annotations

COMMANDS = {
    "build": "print the system prompt for a folder",
    "plan": "list the instruction files that an agent loads, and why",
    "skills": "list a project's skills, and what is wrong with them",
    "assemble": "assemble one prompt from a template and its includes",
    "compile": "assemble every node of each workflow, or report every problem",
    "replay": "assemble a log's prompts again, and report changed includes",
    "tiers": "show a repository to a model, unchanged files first",
    "map": "print the declarations in a repository's files",
    "edits": "apply the edit blocks of a response, or show what they change",
    "init": "start a preset of your own, with a test",
    "versions": "list the families of prompt parts and their versions",
    "parts": "list the prompt parts with their sizes, paces and conditions",
    "show": "print a prompt part, or copy it to start an override",
    "diff": "show what changed between two versions, or around an override",
    "blame": "show where two prompts or requests differ, why, and the cost",
    "perturb": "test whether a function's prompt depends on its surroundings",
    "lint": "find what breaks the cache, leaks, or could be forged",
    "lock": "pin every part of a project's prompts, or report changes",
    "check": "lint, lock and perturb a project's prompts, for CI",
    "cache": "simulate a provider's cache over a conversation",
    "record": "run an agent and record its requests",
    "report": "report from logs what cache misses cost, and why",
    "explain": "list the parts of a prompt with sizes that add up",
    "inspect": "write a page that shows a prompt, a difference or a session",
    "batch": "write the files of a provider's batch, or join its results",
    "completion": "print a script that completes commands and options in a shell",
    "help": "show an overview, or the help of one command",
}


def unknown_command(name: str) -> str:
    """Return what to say about a command that does not exist."""
    from deepprompt.text.suggest import did_you_mean

    return f"no command {name!r}; {did_you_mean(name, list(COMMANDS))}"
