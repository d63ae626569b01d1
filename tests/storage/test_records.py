"""What a server keeps beside the journals, on memory, SQLite and PostgreSQL; and studies that are deleted."""

import threading

import pytest

from boxthirding import open_study
from boxthirding.errors import UnknownStudy
from boxthirding.storage import list_studies
from boxthirding.storage.memory import SHELVES
from boxthirding.storage.opening import delete_study, shelf
from boxthirding.storage.server_records import StoredRecord


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def place(request, tmp_path):
    if request.param == "memory":
        yield "memory:records"
        SHELVES.pop("records", None)
    else:
        yield str(tmp_path / "studies.db") if request.param == "sqlite" else request.getfixturevalue("database")


def test_a_record_is_written_replaced_and_deleted_once(place):
    records = shelf(place).records()
    assert records.get("key", "a") is None
    assert records.put_new("key", StoredRecord("a", 1.0, b"first"))
    assert not records.put_new("key", StoredRecord("a", 2.0, b"second"))
    assert records.get("key", "a") == StoredRecord("a", 1.0, b"first")
    records.put("key", StoredRecord("a", 3.0, b"\x00\xff"))
    records.put("link", StoredRecord("a", 4.0, b""))
    assert records.get("key", "a") == StoredRecord("a", 3.0, b"\x00\xff")
    assert (records.delete("key", "a"), records.delete("key", "a")) == (True, False)
    assert records.get("link", "a") == StoredRecord("a", 4.0, b"")
    records.close()


def test_records_are_listed_by_time_counted_and_expire(place):
    records = shelf(place).records()
    for at, key in [(3.0, "c"), (1.0, "b"), (2.0, "a")]:
        records.put("key", StoredRecord(key, at, b""))
    assert [record.id for record in records.all("key")] == ["b", "a", "c"]
    assert (records.count("key"), records.ids("key"), records.ids("link")) == (3, {"a", "b", "c"}, set())
    records.expire("key", 2.0)
    assert [record.id for record in records.all("key")] == ["a", "c"]
    records.close()


def test_of_many_threads_one_writes_a_new_record(place):
    records = shelf(place).records()
    won = []
    threads = [
        threading.Thread(target=lambda mark=mark: won.append(records.put_new("code", StoredRecord("x", mark, b""))))
        for mark in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    records.close()


def test_a_deleted_study_is_gone_and_its_name_is_free(place):
    for name in ("first", "second"):
        with open_study(place, name, arms=["a", "b"]) as study:
            study.tell(study.ask()[0], 1.0)
    delete_study(place, "first")
    assert list_studies(place) == ["second"]
    with pytest.raises(UnknownStudy, match="nothing to delete"):
        delete_study(place, "first")
    with open_study(place, "first", arms=["c"]) as study:
        assert (study.pulls, study.ask()[0].label) == (0, "c")
    with open_study(place, "second") as study:
        assert study.pulls == 1
