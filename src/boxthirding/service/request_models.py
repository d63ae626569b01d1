"""What goes over the wire: the only file that knows Pydantic. Each body becomes plain values before it goes further."""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.service import pictures, uploaded_arms
from boxthirding.service.studies import About, Choice, arms_from
from boxthirding.session.values import KnownResult
from boxthirding.study.arm_payloads import is_json
from boxthirding.types import Label as PlainLabel

_EXACT = 2**53


def _printable(text: str) -> str:
    if not text.isprintable():
        raise PydanticCustomError("printable", "Text should be printable: leave out tabs, line breaks and the like")
    return text


Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\x00-\x1f\x7f]+$")]
Holder = Annotated[str, Field(min_length=1, max_length=200)]
Policy = Annotated[str, Field(max_length=500)]
Whole = Annotated[int, Field(ge=0, le=_EXACT)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Reward = Annotated[float, Field(allow_inf_nan=False, gt=-1e150, lt=1e150)]
LabelText = Annotated[str, Field(max_length=20_000)]
LabelNumber = Annotated[int, Field(ge=-_EXACT, le=_EXACT)]
Label = LabelText | LabelNumber
WorkerName = Annotated[str, Field(pattern=r"^find_best-[0-9]{1,20}$")]
PictureId = Annotated[str, Field(pattern=pictures.ID)]
RaterId = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_printable)]
Seconds = Annotated[float, Field(gt=0, le=100 * 366 * 86_400, allow_inf_nan=False)]


class Wire(BaseModel):
    """A body whose fields are all known, and of the types that they are described with."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _like(**example: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


# A study


class AnswerIn(Wire):
    """A button of the rating page, and the reward that it stands for."""

    label: str = Field(min_length=1, max_length=100)
    reward: Reward


_ABOUT: Final = {
    "question": "How funny is this caption?",
    "scale": [{"label": "unfunny", "reward": 0}, {"label": "funny", "reward": 1}],
    "sitting": 25,
}


class AboutIn(Wire):
    """What raters are shown; what is left out stays as it is, or is empty."""

    model_config = _like(**_ABOUT)
    question: str | None = Field(default=None, max_length=500)
    description: str | None = Field(default=None, max_length=3000)
    picture: PictureId | Literal[""] | None = Field(default=None, description="The id of an upload; empty for none.")
    scale: list[AnswerIn] | None = Field(
        default=None, max_length=11, description="2 to 11 answers, the lowest first, each with a reward of its own."
    )
    instructions: str | None = Field(default=None, max_length=3000)
    consent: str | None = Field(default=None, max_length=3000)
    thanks: str | None = Field(default=None, max_length=1000)
    completion: Annotated[str, Field(max_length=500, pattern=r"^(https://\S+)?$")] | None = Field(
        default=None, description="Where a rater goes in the end: an https link; empty for none."
    )
    sitting: Annotated[int, Field(ge=0, le=100_000)] | None = Field(
        default=None, description="Ratings of one rater at most; 0 for no limit."
    )
    repeats: bool | None = Field(default=None, description="Whether a rater may be given an arm more than once.")

    def over(self, before: About) -> About:
        """Return what raters are shown, with what is said here in the place of what was."""
        said = self.model_dump(exclude_none=True)
        if self.scale is not None:
            said["scale"] = tuple(Choice(answer.label, answer.reward) for answer in self.scale)
        for name in {"picture", "completion", "sitting"} & said.keys():
            said[name] = said[name] or None
        return replace(before, **said)


class ArmIn(Wire):
    """An arm: its label; and if need be what raters see instead of it, and anything to keep with it."""

    label: Label
    text: LabelText | None = None
    picture: PictureId | None = None
    payload: Any = None

    def pair(self) -> tuple[PlainLabel, Any]:
        """Return the label and what is kept with it; None for nothing."""
        if self.text is None and self.picture is None:
            return self.label, _kept(self.payload)
        more = {"payload": self.payload} if not isinstance(self.payload, dict | None) else self.payload or {}
        seen = {"text": self.text, "picture": self.picture}
        return self.label, _kept({**more, **{name: value for name, value in seen.items() if value is not None}})


class SheetIn(Wire):
    """A CSV file with a header, as text or as base64."""

    text: str | None = None
    base64: str | None = None
    label: str | None = Field(default=None, description="The column of labels; the others are kept as payload.")
    known: str | None = Field(default=None, description="The column of known results, which may have empty cells.")

    def arms(self) -> tuple[Any, list[KnownResult]]:
        """Return the arms, and their known results."""
        if (self.text is None) == (self.base64 is None):
            raise InvalidInput("a sheet has its text or its base64, and must have one of the two")
        return uploaded_arms.arms_of(uploaded_arms.read(self._data()), self.label, self.known)

    def _data(self) -> bytes:
        if self.text is not None:
            return self.text.encode()
        try:
            return base64.b64decode(self.base64 or "", validate=True)
        except (binascii.Error, ValueError) as error:
            raise UnreadableData(f"the sheet's base64 cannot be read: {error}") from None


class KnownIn(Wire):
    """A known result of an arm."""

    label: Label
    reward: Reward
    pull: Whole | None = None


ArmList = list[LabelText | ArmIn | LabelNumber]
Arms = ArmList | Annotated[int, Field(ge=1, le=100_000_000, description="A number of arms: their labels are 0, 1, …")]


class SettingsIn(Wire):
    """What a study is made with; its policy is chase and it maximizes, unless it is said."""

    arms: Arms | None = None
    policy: Policy | None = None
    seed: Whole | None = None
    direction: Literal["maximize", "minimize"] | None = None
    lease: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = Field(
        default=None, description="Seconds after which a ticket goes to the next holder; raters' do after 600 anyway."
    )
    patience: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    examples: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    known: list[KnownIn] = Field(default=[], max_length=100_000, description="Known results.")

    def settings(self) -> dict[str, Any]:
        """Return what is said, as the library takes it, but for the arms and the known results."""
        return self.model_dump(include={"policy", "seed", "direction", "lease", "patience", "examples"})


class StudyIn(SettingsIn):
    """A new study."""

    model_config = _like(name="captions", arms=["Wrong floor.", "Your table is ready."], about=_ABOUT)
    name: Name
    sheet: SheetIn | None = None
    about: AboutIn = AboutIn()

    def contents(self) -> tuple[Any, list[KnownResult]]:
        """Return the arms and the known results."""
        known: list[KnownResult] = []
        if self.arms is not None and self.sheet is None:
            arms = _arms(self.arms)
        elif self.arms is None and self.sheet is not None:
            arms, known = self.sheet.arms()
        else:
            raise InvalidInput("a study has arms or a sheet with arms, and must have one of the two")
        for row in self.known:
            if row.label not in arms:
                raise InvalidInput(f"a known result is of {row.label!r}, which is none of the arms")
        return arms, known + known_rows(self.known)


class OpenIn(SettingsIn):
    """What a study is made with, or if it is there must have been made with; what is left out is not compared.

    Known results that are there are not taken twice.
    """

    model_config = _like(arms=["Wrong floor.", "Your table is ready."], policy="chase")
    details: dict[str, Any] | None = Field(default=None, description="What must stay the same beside the arms.")
    force: bool = Field(default=False, description="Let other payloads and details be those of the study from now on.")

    def settings(self) -> dict[str, Any]:
        """Return all that is said, as the library takes it."""
        arms = None if self.arms is None else _arms(self.arms)
        return {**super().settings(), "arms": arms, "known": known_rows(self.known)}


class ArmsIn(Wire):
    """Arms to add, all or none of them."""

    model_config = _like(arms=["He is more of a cat person."])
    arms: ArmList = Field(min_length=1)

    def contents(self) -> Any:
        """Return the arms."""
        return _arms(self.arms)


class ExamplesIn(Wire):
    """What the examples of a study are, and in which order pulls see them."""

    model_config = _like(examples=[{"json": "What is 2 + 2?"}, {"digest": "5f2d9e0c1b7a4e36"}], order=[1, 0])
    examples: list[dict[str, Any]] = Field(
        max_length=1_000_000, description="Each under `json`, or under `digest` what stands for it where it is no JSON."
    )
    order: list[Whole] = Field(
        max_length=1_000_000, description="By pull, the place of the example that it sees; it holds the first time."
    )
    force: bool = Field(default=False, description="Let other examples be those of the study from now on.")

    def contents(self) -> list[dict[str, Any]]:
        """Return the examples, or refuse what is none."""
        for place, example in enumerate(self.examples):
            is_digest = example.keys() == {"digest"} and isinstance(example["digest"], str)
            if not is_digest and not (example.keys() == {"json"} and is_json(example["json"])):
                raise InvalidInput(f"example {place} must be an object with json or digest, and nothing else")
        return self.examples


class PolicyIn(Wire):
    """The policy to go on with."""

    model_config = _like(policy="b3:reuse=topup")
    policy: Policy


class PlanIn(Wire):
    """What is known before a study is made: how many arms there are, and two guesses or none."""

    model_config = _like(arms=300, noise=0.25, spread=0.1, budgets=[300, 1_000])
    arms: Annotated[int, Field(ge=1, le=1_000_000)]
    noise: Number | None = Field(
        default=None, description="The standard deviation of repeated ratings of one arm; with `spread`, or not at all."
    )
    spread: Number | None = Field(
        default=None, description="How far a good arm, one of the best in ten, is above an ordinary one."
    )
    budgets: list[Annotated[int, Field(ge=1, le=1_000_000)]] | None = Field(
        default=None,
        max_length=20,
        description="Ratings. If left out: from a tenth of the number of arms, or 10, to ten times it, or 1,000.",
    )
    want: str | None = Field(
        default=None,
        max_length=100,
        description='A wish, such as "top 1 % in 9 of 10 runs": the smallest budget for it is found.',
    )


# Tickets and results


class AskIn(Wire):
    """What is asked for."""

    model_config = _like(n=1, holder="machine-7")
    n: Annotated[int, Field(ge=1, le=10_000)] = 1
    holder: Holder | None = Field(default=None, description="Who asks; the key's own name if left out.")
    unseen: bool = False
    limit: Whole | None = None


class ResultIn(Wire):
    """The result of a ticket."""

    ticket: Whole
    reward: Reward
    holder: Holder | None = None
    details: dict[str, Any] | None = None


class OfTickets(Wire):
    """A body that names tickets."""

    origin: str | None = Field(
        default=None,
        max_length=100,
        description="As the tickets have it: those of a study that was deleted are refused.",
    )


class ResultsIn(OfTickets):
    """Results of tickets."""

    model_config = _like(results=[{"ticket": 0, "reward": 0.5}])
    results: list[ResultIn] = Field(min_length=1, max_length=10_000)
    together: bool = Field(default=False, description="All or none of them; without holders and details.")


class TicketIn(OfTickets):
    """A ticket."""

    model_config = _like(ticket=0)
    ticket: Whole


class ReleaseIn(OfTickets):
    """Tickets, or the holder of tickets."""

    model_config = _like(tickets=[0])
    tickets: list[Whole] = Field(default=[], max_length=10_000)
    holder: str | None = Field(default=None, max_length=200)


class WorkersIn(Wire):
    """Programs that work by themselves: those that live, and those that have ended."""

    model_config = _like(alive=["find_best-271828"])
    alive: list[WorkerName] = Field(default=[], max_length=1000)
    ended: list[WorkerName] = Field(default=[], max_length=1000)


class ObservationsIn(Wire):
    """Known results, all or none of them."""

    model_config = _like(results=[{"label": "Wrong floor.", "reward": 0.5}])
    results: list[KnownIn] = Field(min_length=1, max_length=100_000)
    only_new: bool = Field(
        default=False, description="Take of each arm what goes beyond the known results that it has."
    )


class CorrectionIn(OfTickets):
    """Another reward for a ticket that was told."""

    model_config = _like(ticket=0, reward=0.25)
    ticket: Whole
    reward: Reward


class HolderIn(Wire):
    """A holder."""

    model_config = _like(holder="rater-4f74-d45003")
    holder: Holder


# Access


class SessionIn(Wire):
    """A one-time code or a key, to be exchanged for a cookie."""

    model_config = _like(secret="code_of_the_link")  # noqa: S106  # an example
    secret: Holder


class KeyIn(Wire):
    """A new key."""

    model_config = _like(scope="worker", study="captions", name="the cluster")
    scope: Literal["reader", "worker", "operator"]
    study: Name | None = None
    name: str = Field(default="", max_length=200)
    seconds: Seconds | None = Field(default=None, description="How long it is valid; for ever if left out.")


class LinkIn(Wire):
    """A new rating link."""

    model_config = _like(name="mailing list", raters=200)
    name: str = Field(default="", max_length=200)
    seconds: Seconds | None = None
    raters: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        default=10_000, description="How many raters may start with it; 1 for a link that can be used once."
    )
    signed: bool = Field(default=False, description="Whether raters must come with an id that was signed here.")


class IdsIn(Wire):
    """Ids to be signed."""

    model_config = _like(ids=["ann", "bob"])
    ids: list[RaterId] = Field(min_length=1, max_length=10_000)


# Rating


class SittingIn(Wire):
    """A rater who comes by a link; the ids are what Prolific and the like put into its address."""

    model_config = _like()
    id: RaterId | None = Field(default=None, description="PROLIFIC_PID, or an id that was signed.")
    study_id: RaterId | None = None
    session_id: RaterId | None = None
    signature: str | None = Field(default=None, max_length=100)

    def claims(self) -> dict[str, str]:
        """Return what the rater says it is."""
        said = {"id": self.id, "study_id": self.study_id, "session_id": self.session_id}
        return {name: value for name, value in said.items() if value is not None}


class NextIn(Wire):
    """How many arms the page wants to have: the one whose rating it holds, the one that it shows, and the next."""

    model_config = _like(want=2)
    want: Annotated[int, Field(ge=0, le=3)] = 1


class RatingIn(Wire):
    """The rating of an arm."""

    ticket: Whole
    answer: str = Field(max_length=100)
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None = None


class RatingsIn(NextIn):
    """Ratings, those first that were given first; and how many arms the page wants to have then."""

    model_config = _like(ratings=[{"ticket": 0, "answer": "funny", "seconds": 2.5}], want=2)
    ratings: list[RatingIn] = Field(min_length=1, max_length=1000)


class SkipIn(NextIn):
    """An arm that is skipped."""

    model_config = _like(ticket=0, want=2)
    ticket: Whole


class RerateIn(Wire):
    """Another answer in the place of the last one."""

    model_config = _like(ticket=0, answer="unfunny")
    ticket: Whole
    answer: str = Field(max_length=100)


def known_rows(rows: Iterable[KnownIn]) -> list[KnownResult]:
    """Return known results as the library takes them."""
    return [KnownResult(row.label, row.reward, row.pull) for row in rows]


def _arms(arms: Arms) -> Any:
    """Return arms as the library takes them."""
    return (
        range(arms)
        if isinstance(arms, int)
        else arms_from(arm.pair() if isinstance(arm, ArmIn) else (arm, None) for arm in arms)
    )


def _kept(payload: Any) -> Any:
    if not is_json(payload):
        raise InvalidInput("a payload is nested more than 20 deep, but must be plain JSON")
    return payload
