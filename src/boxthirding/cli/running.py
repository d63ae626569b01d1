"""What a run is made of, and the study that it is kept in: all is checked before anything is written."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boxthirding.cli.study_options import check_new
from boxthirding.errors import InvalidInput, StudyChanged

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.find.inputs import KnownRow, Row
    from boxthirding.find.programs import Program, Pulls
    from boxthirding.study import Study
    from boxthirding.types import Label


@dataclass(frozen=True)
class Plan:
    """What a run is made of, but for what it may spend."""

    arms: "dict[Label, Row | Label]"
    command: str
    shell: bool
    examples: list[str] | None
    repeat: bool
    known: "list[KnownRow] | None"
    spec: str | None
    seed: int | None
    direction: str | None
    budget: int | None

    def seed_of(self, study: "Study | RemoteStudy | None") -> int:
        """Return what decides the order of the examples."""
        return study.seed if study is not None else 0 if self.seed is None else self.seed

    def known_results(self) -> "dict[Label, Any] | None":
        """Return the known results, those with examples by their index."""
        from boxthirding.find.inputs import as_known

        return None if self.known is None else as_known(self.known)

    def opened(self, url: str, name: str | None, program: "Program", *, force: bool) -> "Study | RemoteStudy":
        """Open the study of this run, or make it; refuse one with arms that the program cannot run."""
        from boxthirding.client.addresses import is_remote

        settings = self._settings(force=force)
        if is_remote(url):
            return self._on_server(url, name, program, settings)
        return self._in_database(url, name, program, settings)

    def _settings(self, *, force: bool) -> dict[str, Any]:
        """Return what the study is made with, but for known results, which depend on its seed."""
        from boxthirding.policies.spec import as_policy

        details: dict[str, Any] = {"command": self.command}
        if self.shell:
            details["shell"] = "sh"
        return {
            "arms": self.arms,
            "policy": None if self.spec is None else as_policy(self.spec, budget=self.budget),
            "seed": self.seed,
            "direction": self.direction,
            "examples": None if self.examples is None or self.repeat else len(self.examples),
            "details": details,
            "force": force,
        }

    def _on_server(self, url: str, name: str | None, program: "Program", settings: dict[str, Any]) -> "RemoteStudy":
        """Open the study on a server, which checks what is given before it writes anything."""
        from boxthirding.client import RemoteStudy

        study = RemoteStudy(url, name=name, timeout=10.0, **settings)
        try:
            self._check_rows(study, program)
            study.add_known(self._by_pull(self._paired(study, force=settings["force"])))
        except BaseException:
            study.close()
            raise
        return study

    def _in_database(self, url: str, name: str | None, program: "Program", settings: dict[str, Any]) -> "Study":
        from boxthirding.find.programs import Pulls
        from boxthirding.storage import list_studies, open_study
        from boxthirding.storage.opening import NAME
        from boxthirding.study import Settings

        wanted = NAME if name is None else name
        if wanted in list_studies(url):
            with open_study(url, wanted) as there:  # all is checked before anything is written, which --force does
                self._check_rows(there, program)
                known = self._by_pull(self._order_of(there, force=settings["force"]))
        else:
            known = self._by_pull(Pulls(self.examples, self.seed_of(None)))
            check_new(url, wanted, Settings(**settings, known=known))
        study = open_study(url, wanted, **settings, known=known)
        self._paired(study, force=settings["force"])
        return study

    def _order_of(self, study: "Study", *, force: bool) -> "Pulls":
        """Return the examples in the order that a study has or will have; refuse others, without `force`."""
        from boxthirding.find.programs import Pulls

        if study.knows_examples:
            with suppress(*([StudyChanged] if force else [])):
                return self._paired(study, force=False)
        return Pulls(self.examples, study.seed)

    def _paired(self, study: "Study | RemoteStudy", *, force: bool) -> "Pulls":
        """Return the examples in the order that the study has; refuse others than those that it was made with."""
        from boxthirding.find.programs import Pulls

        return Pulls(self.examples, study.seed, repeat=self.repeat).paired(study, force=force)

    def _check_rows(self, study: "Study | RemoteStudy", program: "Program") -> None:
        """Refuse a study to which arms were added that have no row, if the program needs more than their labels."""
        from boxthirding._checks import MOST
        from boxthirding.find.programs import without_rows

        if study.examples is not None and self.examples is None:
            raise InvalidInput(f"study {study.name!r} was made with examples, and none are given: give --examples")
        if program.columns <= {"arm"}:
            return
        missing = [
            arm.label
            for arm in study.arms(count=MOST, order="given")
            if not arm.withdrawn
            and not program.can_run(self.arms[arm.label] if arm.label in self.arms else study.payload(arm.label))
        ]
        if missing:
            raise without_rows(missing)

    def _by_pull(self, examples: "Pulls") -> "dict[Label, Any] | None":
        """Return the known results, those with examples by the pull that sees it."""
        known = self.known_results()
        if known is None or self.examples is None:
            return known
        return {
            label: {examples.pull_of(example): reward for example, reward in rewards.items()}
            for label, rewards in known.items()
        }
