"""The study that a run is kept in: all is checked before anything is written."""

from typing import TYPE_CHECKING, Any, Final

from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.find.opening import RunSettings
    from boxthirding.find.programs import Program
    from boxthirding.study import Study

_PATIENCE: Final = 10.0  # seconds to wait for a database that is locked or a server that does not answer


def open_study_of_run(url: str, name: str | None, settings: "RunSettings", program: "Program") -> "Study | RemoteStudy":
    """Open the study of a run, or make it; refuse one with arms that the program cannot run."""
    from boxthirding._checks import MOST
    from boxthirding.find.opening import open_or_make
    from boxthirding.find.programs import without_rows

    def check(study: "Study | RemoteStudy") -> None:
        """Refuse a study to which arms were added that have no row, if the program needs more than their labels."""
        if study.examples is not None and not program.takes_examples:
            raise InvalidInput(f"study {study.name!r} was made with examples, and none are given: give --examples")
        if program.columns <= {"arm"}:
            return
        arms: Any = settings.arms
        missing = [
            arm.label
            for arm in study.arms(count=MOST, order="given")
            if not arm.withdrawn
            and not program.can_run(arms[arm.label] if arm.label in arms else study.payload(arm.label))
        ]
        if missing:
            raise without_rows(missing)

    return open_or_make(url, name, settings, timeout=_PATIENCE, check=check)
