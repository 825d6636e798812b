"""Narrate the runs of one file: convert its records to lines of safe text (C10)."""

from __future__ import annotations

from codex_adapter import Event
from codex_adapter.cli.present.lines import Line, printable
from codex_adapter.cli.present.run_narration import RunNarrator, outcome_of
from codex_adapter.cli.present.wording import amount, date_of
from codex_adapter.cli.view.record_reader import PlacedRecord
from codex_adapter.records import RunRecord

__all__ = ["FileNarrator"]


class FileNarrator:
    """A narrator of the runs of one file. Its clock is the time of the last record that it read."""

    def __init__(self) -> None:
        self._time: float | None = None
        self._run: RunNarrator | None = None

    def narrate(self, item: PlacedRecord | RunRecord | None) -> list[Line]:
        """Return the lines of a record, or of the end of the file.

        At the end, the item is the request of a run that has no record yet, or None.
        """
        if not isinstance(item, PlacedRecord):
            return [*self._cut_off(), *_request(item), *(RunNarrator(lambda: None).narrate(None) if item else [])]
        lines: list[Line] = []
        if item.opens or self._run is None:
            lines += self._cut_off()
            self._time = item.time
            self._run = RunNarrator(lambda: self._time, offsets=True)
            lines += [] if self._time is None else [Line("notice", f"run of {date_of(self._time)}")]
            lines += _request(item.asked)
        self._time = self._time if item.time is None else item.time
        if item.missing:
            lines.append(Line("warning", f"{amount(item.missing, 'record')} missing here"))
        if isinstance(item.record, Event):
            return [*lines, *self._run.narrate(item.record)]
        lines += self._run.narrate(outcome_of(item.record))
        self._run = None
        return lines

    def _cut_off(self) -> list[Line]:
        """Return the last lines of a run without a completion."""
        return [] if self._run is None else self._run.narrate(None)


def _request(asked: RunRecord | None) -> list[Line]:
    """Return the lines of the request of a run (J19)."""
    if asked is None:
        return []
    release = f"CLI {asked.release}" if asked.release else ""
    labels = " ".join(f"{name}={value}" for name, value in sorted(asked.labels.items()))
    facts = (asked.run_id, asked.working_dir, asked.model, release, asked.containment, labels)
    lines = [Line("notice", ", ".join(printable(fact) for fact in facts if fact))]
    return [*lines, *([Line("notice", f"prompt: {printable(asked.prompt)}")] if asked.prompt else [])]
