"""Journals that were written once open for ever and give the same answers; no changed byte of one goes unnoticed."""

import importlib.util
import json
import random
from pathlib import Path

import pytest
from keeping import filled

from boxthirding.errors import JournalBroken, UnreadableData
from boxthirding.study import Damaged, Entry, Study, read_journal
from boxthirding.study.codec import START, check_of, decode, encode
from boxthirding.study.events import KINDS

HERE = Path(__file__).parent / "golden"
_spec = importlib.util.spec_from_file_location("write_golden", HERE / "write.py")
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)

FILES = sorted(path.stem for path in HERE.glob("*.jsonl"))
KNOWN = (JournalBroken, UnreadableData)


def texts_of(name):
    file = HERE / f"{name}.jsonl"
    assert file.exists(), f"{file.name} is missing: run python tests/study/golden/write.py"
    return file.read_text(encoding="utf-8").splitlines()


def answers(texts):
    return json.loads(json.dumps(golden.answers(golden.opened(filled(texts)))))


@pytest.mark.parametrize("name", FILES)
def test_a_journal_gives_the_answers_that_it_gave(name):
    assert answers(texts_of(name)) == json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FILES)
def test_an_event_is_written_as_it_was(name):
    before = START
    for seq, text in enumerate(texts_of(name), 1):
        again, before = encode(decode(text, seq, before), before)
        assert again == text


@pytest.mark.parametrize("name", golden.stories())
def test_the_same_calls_write_the_same_journal(name):
    assert golden.stories()[name]().read(0, 9_999) == texts_of(name)


def test_there_is_one_with_each_kind_of_event():
    kinds = {json.loads(text)["event"] for text in texts_of("every-kind")}
    assert kinds == set(KINDS)


def flipped(text, place, rng):
    return text[:place] + chr(ord(text[place]) ^ rng.randrange(1, 128)) + text[place + 1 :]


@pytest.mark.parametrize("name", ["every-kind", "examples", "iterator"])
def test_a_flipped_byte_is_noticed_wherever_it_is(name):
    rng, before = random.Random(1), START
    for seq, text in enumerate(texts_of(name), 1):
        for place in range(len(text)):
            with pytest.raises(KNOWN):
                decode(flipped(text, place, rng), seq, before)
        before = check_of(text)


@pytest.mark.parametrize("name", ["every-kind", "iterator"])
def test_a_study_with_a_flipped_byte_does_not_open_and_the_other_events_can_be_read(name):
    rng, texts = random.Random(2), texts_of(name)
    whole = [*read_journal(filled(texts))]
    for number, text in enumerate(texts):
        for place in [rng.randrange(len(text)), len(text) - rng.randrange(3, 18)]:
            journal = filled([*texts[:number], flipped(text, place, rng), *texts[number + 1 :]])
            with pytest.raises(KNOWN):
                Study("golden", journal).pulls  # noqa: B018  # reads everything
            with pytest.raises(KNOWN):
                list(read_journal(journal))
            read = [*read_journal(journal, damaged=True)]
            assert read[:number] + read[number + 1 :] == whole[:number] + whole[number + 1 :]
            assert isinstance(read[number], Damaged)
            assert read[number].seq == number + 1


def test_an_open_study_reads_events_around_a_damaged_one():
    texts = texts_of("every-kind")
    study = golden.opened(journal := filled(texts))
    journal._pages.texts[6] = texts[6].replace("0.5", "0.7")
    read = [*study.events(damaged=True)]
    assert [isinstance(entry, Entry) for entry in read] == [number != 6 for number in range(len(texts))]
    assert [*study.events(7)] == read[7:]
    with pytest.raises(JournalBroken, match="event 7 reads"):
        list(study.events())


def test_events_that_change_places_are_noticed():
    texts = texts_of("policy-us")
    texts[3], texts[4] = texts[4], texts[3]
    with pytest.raises(JournalBroken, match="event 4 reads"):
        golden.opened(filled(texts))


def test_a_journal_that_begins_otherwise_is_refused():
    text = texts_of("every-kind")[3]
    with pytest.raises(JournalBroken):
        golden.opened(filled([text]))
    with pytest.raises(JournalBroken, match="begins with"):
        golden.opened(filled([encode(decode(text, 4, check_of(texts_of("every-kind")[2])), START).text]))


def test_a_journal_of_a_newer_format_is_refused():
    first, *rest = texts_of("policy-b3")
    for attempt in (golden.opened, lambda journal: list(read_journal(journal))):
        with pytest.raises(UnreadableData, match="upgrade boxthirding to open it"):
            attempt(filled([first.replace('"format":1', '"format":2'), *rest]))
