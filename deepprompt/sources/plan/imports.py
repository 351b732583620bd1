"""Follow the imports of a file: within the project, within bounds, inline or as entries of their own."""

from __future__ import annotations

import os

from deepprompt.frozen import replace
from deepprompt.prompt import Note
from deepprompt.sources.files import shown_path
from deepprompt.sources.plan.entry import Entry
from deepprompt.sources.plan.lookup import Candidate
from deepprompt.sources.plan.markdown import Mention, find_mentions
from deepprompt.sources.plan.profile import Imports
from deepprompt.text.hygiene import one_line

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.sources.plan.survey import Survey

MOST_IMPORTS = 64
MOST_MENTIONS = 4_096
MOST_DEPTH = 8


class Importer:
    """The imports of one plan. They share a budget, so that no tree of imports is too large."""

    def __init__(self, survey: Survey, rules: Imports) -> None:
        self._survey, self._rules = survey, rules
        self._left = MOST_IMPORTS
        self._mentions_left = MOST_MENTIONS

    def expand(self, entry: Entry, candidate: Candidate) -> list[Entry]:
        """Return an entry with its imports: in its text, or as entries after it."""
        if not entry.included:
            return [entry]
        text, imported = self._expand(entry, candidate, (self._survey.real(candidate),))
        if text != entry.text:
            entry = replace(entry, text=text, bytes_included=len(text.encode()))
        return [entry, *imported]

    def _expand(self, entry: Entry, candidate: Candidate, chain: tuple[str, ...]) -> tuple[str, list[Entry]]:
        """Return the text of a file with its imports in it, and the entries of the imports."""
        pieces, place, entries = [], 0, []
        for mention in find_mentions(entry.text, self._rules):
            if not self._may_look(entry):
                break
            text, found = self._import(mention, entry, candidate, chain)
            entries += found
            if text and self._rules.place != "after":
                pieces += [entry.text[place : mention.start], self._framed(mention, text)]
                place = mention.end
        return "".join([*pieces, entry.text[place:]]), entries

    def _may_look(self, entry: Entry) -> bool:
        """Whether one more mention is looked up: each costs a look at the disk, and a file may hold thousands."""
        self._mentions_left -= 1
        if self._mentions_left == -1:
            what = f"more than {MOST_MENTIONS:,} imports are mentioned; the others stay as they are"
            self._survey.notes.append(Note("skipped", entry.path, what))
        return self._mentions_left >= 0

    def _framed(self, mention: Mention, text: str) -> str:
        if self._rules.alone:
            return text.rstrip("\n")
        path = one_line(mention.path)
        before = f"@{path}\n" if self._rules.place == "beside" else ""
        return f"{before}[start of the imported file {path}]\n{text}\n[end of the imported file {path}]"

    def _import(
        self, mention: Mention, parent: Entry, importing: Candidate, chain: tuple[str, ...]
    ) -> tuple[str, list[Entry]]:
        """Return the text of one import, "" if there is none, and its entries."""
        target = self._target(mention, importing)
        if isinstance(target, Entry):
            return "", [replace(target, parent=parent.path)]
        entry = self._judge(target, mention, chain)
        if entry is None:
            return "", []
        entry = replace(entry, kind="import", parent=parent.path, inline=self._rules.place != "after")
        if not entry.included:
            return "", [entry]
        text, below = self._expand(entry, target, (*chain, self._survey.real(target)))
        if text != entry.text and not entry.inline:
            entry = replace(entry, text=text, bytes_included=len(text.encode()))
        return text, [entry, *below]

    def _judge(self, target: Candidate, mention: Mention, chain: tuple[str, ...]) -> Entry | None:
        """Return the entry of an import; None for `@word` that is no path at all."""
        survey = self._survey
        shown = survey.shown(target)
        missing = Entry(shown, "import", "user" if target.at == "home" else "repository", "missing")
        if not os.path.exists(target.full) or os.path.isdir(target.full):
            is_path = "/" in mention.path or "." in mention.path.strip(".")
            folder = os.path.isdir(target.full)
            return replace(missing, detail="it is a folder" if folder else "") if is_path else None
        real = survey.real(target)
        if real in chain and self._rules.repeat != "always":
            return replace(missing, reason="cycle", detail=shown)
        if self._rules.repeat == "never" and real in survey.loaded:
            return replace(missing, reason="duplicate", detail=survey.loaded[real])
        if len(chain) > min(self._rules.depth, MOST_DEPTH):
            return replace(missing, reason="depth", detail=f"more than {self._rules.depth} imports deep")
        if self._left <= 0:
            return replace(missing, reason="over limit", detail=f"more than {MOST_IMPORTS} imports")
        self._left -= 1
        return survey.read(target, again=True)

    def _target(self, mention: Mention, importing: Candidate) -> Candidate | Entry:
        """Return the file that a mention means, or the entry that says why it may not be read."""
        place, rules = self._survey.place, self._rules
        if "\0" in mention.path:
            return Entry(one_line(shown_path(mention.path)), "import", "outside", "refused", "no path has a null byte")
        if mention.path.startswith("~/"):
            base, full = place.home if rules.home else "", os.path.join(place.home, mention.path[2:])
        else:
            at_home = importing.at == "home"
            base = place.home if at_home else place.top if rules.outside else place.project
            full = os.path.join(os.path.dirname(importing.full), mention.path)
        full = os.path.normpath(full)
        if not base or not (full + os.sep).startswith(base.rstrip(os.sep) + os.sep):
            shown = one_line(shown_path(mention.path))
            return Entry(shown, "import", "outside", "refused", "it leads out of the project")
        at = "home" if base == place.home else importing.at
        if rules.links and at != "home":
            base = place.top
        slot = replace(importing.slot, globs="", words="", names=(os.path.basename(full),), any_case=False)
        return Candidate(base, os.path.dirname(full), os.path.basename(full), slot, at)
