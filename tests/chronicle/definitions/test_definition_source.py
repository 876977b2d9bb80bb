"""Environment variables in `source`, secrets that are never shown, and several files as one definition."""

from __future__ import annotations

from pathlib import Path

import pytest
from definition_texts import SMALL

from calendars import parse_duration
from chronicle.definitions import JournalSource, KafkaSource, load, load_text

KAFKA = """\
source:
  kafka:
    servers: ${SERVERS:localhost:9092}
    topics: [calls]
    options: {sasl.password: "${PASSWORD}", retries: 5}
"""


def test_a_variable_is_put_in_and_a_default_stands_in_for_one_that_is_not_set() -> None:
    loaded = load_text(SMALL + KAFKA, environment={"PASSWORD": "hunter2"})
    assert loaded.definition is not None, loaded.all_faults
    source = loaded.definition.source
    assert isinstance(source, KafkaSource)
    assert source.servers == "localhost:9092"
    assert source.options == {"sasl.password": "hunter2", "retries": "5"}


def test_a_variable_that_is_not_set_is_a_fault_at_its_place() -> None:
    (fault,) = load_text(SMALL + KAFKA, environment={}).faults
    assert fault.code == "CH008"
    assert "PASSWORD is not set" in fault.what
    assert fault.place is not None
    assert fault.place.line == 23


@pytest.mark.parametrize("typo", ["options: [", "servers: {a: ", "topics: ${PASSWORD}\n    tpics: ["])
def test_a_secret_is_in_no_fault_and_in_no_text_of_the_definition(typo: str) -> None:
    text = SMALL + KAFKA.replace("topics: [calls]", "topics: '${PASSWORD}'\n    tpics: 1")
    loaded = load_text(text, environment={"PASSWORD": "hunter2"})
    assert loaded.faults
    assert "hunter2" not in repr(loaded)
    assert "hunter2" not in repr(load_text(SMALL + KAFKA, environment={"PASSWORD": "hunter2"}).definition)
    broken = SMALL + KAFKA.replace("${PASSWORD}", "hunter2").replace("retries: 5}", typo)
    assert "hunter2" not in repr(load_text(broken).faults)


def test_a_variable_outside_source_stays_as_it_is_written() -> None:
    loaded = load_text(SMALL.replace("sum(seconds)", "'sum(${X})'"), environment={"X": "seconds"})
    assert loaded.definition is not None
    assert loaded.definition.views["usage"].select == {"seconds": "sum(${X})"}


def test_the_journal_is_the_default_source_and_the_state_lies_beside_the_file() -> None:
    definition = load_text(SMALL).definition
    assert definition is not None
    assert isinstance(definition.source, JournalSource)
    assert (definition.source.path, definition.state) == ("data/journal", ".chronicle")


@pytest.mark.parametrize("where", ["retain: P30D\n", "source: {journal: j, retain: P30D}\n"])
def test_what_the_journal_retains_stands_in_its_source_or_at_the_top(where: str) -> None:
    definition = load_text(SMALL + where).definition
    assert definition is not None
    assert definition.retain == parse_duration("P30D")


def test_retain_given_twice_is_a_fault() -> None:
    (fault,) = load_text(SMALL + "retain: P1D\nsource: {journal: j, retain: P30D}\n").faults
    assert "'retain' is given twice" in fault.what


def files_of(directory: Path, *texts: str) -> list[Path]:
    paths = [directory / f"{number}.yaml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return paths


def test_several_files_are_merged_by_name(tmp_path: Path) -> None:
    more = "name: small\nviews:\n  talkers: {from: calls, group_by: caller, select: {n: count(*)}}\n"
    loaded = load(files_of(tmp_path, SMALL, more))
    assert loaded.definition is not None, loaded.all_faults
    assert list(loaded.definition.views) == ["usage", "talkers"]
    assert loaded.place(("views", "talkers")).file.endswith("1.yaml")


def test_a_name_given_twice_in_two_files_is_a_fault_that_says_both_places(tmp_path: Path) -> None:
    again = "views:\n  usage: {from: calls, group_by: caller}\n"
    (fault,) = load(files_of(tmp_path, SMALL, again)).faults
    assert fault.code == "CH007"
    assert "0.yaml:14:3" in fault.what
    assert str(fault.place).endswith("1.yaml:2:3")


def test_files_that_disagree_on_the_group_are_refused(tmp_path: Path) -> None:
    (fault,) = load(files_of(tmp_path, SMALL, "name: other\n")).faults
    assert "'small' there, 'other' here" in fault.what
