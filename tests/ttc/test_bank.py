import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pyarrow.parquet as pq
import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc.bank import Bank, DamagedPart
from ttc.bank.parts import new_part_name, seal_part
from ttc.bank.tables import SAMPLES, VERSION_KEY
from ttc.errors import UserError
from ttc.records import Sample, StepScores


def name_of(number):
    return f"{number:064x}"


KEY, OTHER = name_of(1), name_of(2)


def sample(index, key=KEY, **fields):
    return Sample(key, index, "q1", f"reply {index}", finish="stop", completion_tokens=3, engine="x 1", **fields)


def fill(bank, indices, key=KEY, **fields):
    """One part with these samples."""
    with bank.writer("test") as writer:
        for index in indices:
            writer.add(sample(index, key, **fields))


def parts(bank, table="samples"):
    return sorted((bank.folder / table).glob("*.parquet"))


def raw(bank):
    """How often each sample stands in the files, as a foreign reader sees them."""
    rows = (zip(part["key"].to_pylist(), part["index"].to_pylist(), strict=True) for part in map(pq.read_table, parts(bank)))
    return Counter(row for part in rows for row in part)


@pytest.fixture
def bank(tmp_path):
    return Bank(tmp_path / "bank")


def test_after_16_samples_64_need_48_more(bank):
    assert bank.missing(KEY, 16) == [range(16)]
    fill(bank, range(16))
    assert bank.missing(KEY, 64) == [range(16, 64)]
    assert bank.missing(KEY, 16) == []
    assert bank.missing(OTHER, 2) == [range(2)]


def test_gaps_are_contiguous_ranges(bank):
    fill(bank, [1, 2, 5])
    assert bank.missing(KEY, 8) == [range(1), range(3, 5), range(6, 8)]


def integers(bits=31):
    return st.integers(0, 2**bits - 1)


SAMPLE = st.builds(
    Sample,
    key=st.integers(0, 2**256 - 1).map(name_of),
    index=integers(9),
    question_id=st.text(),
    text=st.text(),
    status=st.sampled_from(["ok", "refused", "rejected", "media"]),
    reason=st.text(),
    finish=st.sampled_from(["stop", "length", ""]),
    prompt_tokens=integers(),
    image_tokens=integers(),
    completion_tokens=integers(),
    reasoning_tokens=integers(),
    cached_tokens=integers(),
    token_ids=st.lists(integers(), max_size=5).map(tuple),
    logprobs=st.lists(st.floats(max_value=0, allow_nan=False), max_size=5).map(tuple),
    engine=st.text(),
    seconds=st.floats(min_value=0, allow_nan=False),
    tail=st.text(),
    image_spans=st.lists(integers(), max_size=3).map(tuple),
    counted=st.booleans(),
)
SCORES = st.builds(
    StepScores,
    key=st.just(KEY),
    index=integers(9),
    verifier=st.sampled_from(["a", "b"]),
    steps=st.lists(st.floats(0, 1), max_size=4).map(tuple),
    score=st.none() | st.floats(0, 1),
    status=st.text(),
    tokens=integers(),
    image_spans=st.lists(integers(), max_size=3).map(tuple),
    flops=st.none() | st.floats(0, 1e18),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(SAMPLE, max_size=6, unique_by=lambda sample: (sample.key, sample.index)), st.booleans())
def test_every_field_of_a_sample_comes_back(samples, compacted):
    with tempfile.TemporaryDirectory() as folder:
        bank = Bank(folder)
        for half in (samples[::2], samples[1::2]):
            with bank.writer() as writer:
                for one in half:
                    writer.add(one)
        if compacted:
            bank.compact()
        found = bank.samples({one.key for one in samples})
    assert [found[one.key][one.index] for one in samples] == samples
    assert sum(map(len, found.values())) == len(samples)


@settings(max_examples=15, deadline=None)
@given(st.lists(SCORES, max_size=5, unique_by=lambda scores: (scores.index, scores.verifier)))
def test_every_field_of_a_score_comes_back_under_its_verifier(scores):
    with tempfile.TemporaryDirectory() as folder:
        bank = Bank(folder)
        with bank.writer() as writer:
            for one in scores:
                writer.add_score(one)
        found = {verifier: bank.scores([KEY], verifier).get(KEY, {}) for verifier in "ab"}
    assert [found[one.verifier][one.index] for one in scores] == scores
    assert sum(map(len, found.values())) == len(scores)


def test_half_a_surrogate_pair_in_a_reply_costs_one_character_and_not_the_part(bank):
    with bank.writer() as writer:
        writer.add(replace(sample(0), text="a\ud83d"))
        writer.add(replace(sample(1), text="fine"))
    assert [one.text for one in bank.samples([KEY])[KEY].values()] == ["a\ufffd", "fine"]


def test_without_tokens_everything_else_is_there(bank):
    full = sample(0, token_ids=(1, 2, 3), logprobs=(-0.5, -1.0, -2.0))
    with bank.writer() as writer:
        writer.add(full)
    assert bank.samples([KEY], tokens=False) == {KEY: {0: replace(full, token_ids=(), logprobs=())}}


def test_only_what_was_asked_for_is_returned(bank):
    fill(bank, range(3))
    fill(bank, range(2), OTHER)
    assert {key: list(found) for key, found in bank.samples([OTHER, name_of(9)]).items()} == {OTHER: [0, 1]}


def test_one_key_is_found_among_many_row_groups(bank):
    with bank.writer() as writer:
        for number in range(10_000):
            writer.add(sample(0, name_of(number)))
    assert [*bank.samples([name_of(5_000), name_of(9_999)])] == [name_of(5_000), name_of(9_999)]


def test_a_part_from_before_a_column_joined_reads_with_its_default(bank):
    with bank.writer() as writer:
        writer.add(sample(0))
    (old,) = parts(bank, "samples")
    pq.write_table(pq.read_table(old).drop_columns(["tail", "cached_tokens", "image_spans", "counted"]), old)
    again = Bank(bank.folder)
    assert again.samples([KEY]) == {KEY: {0: sample(0)}}
    assert again.stats().samples == again.compact().parts_after == 1
    assert again.samples([KEY]) == {KEY: {0: sample(0)}}


def test_descriptions_are_kept_once(bank):
    for _ in range(2):
        with bank.writer() as writer:
            writer.describe(KEY, "q1", '{"backend": {"model": "tiny"}}')
            writer.describe(KEY, "q1", '{"backend": {"model": "tiny"}}')
    assert bank.descriptions([KEY]) == {KEY: '{"backend": {"model": "tiny"}}'}
    assert len(parts(bank, "requests")) == 1


def test_samples_are_seen_when_sealed_and_not_before(bank):
    with bank.writer() as writer:
        writer.add(sample(0))
        assert bank.samples([KEY]) == {}
        writer.seal()
        assert [*bank.samples([KEY])[KEY]] == [0]


def test_an_idle_writer_seals_by_itself(bank):
    with bank.writer(seal_seconds=0.02) as writer:
        writer.add(sample(0))
        while bank.missing(KEY, 1):  # the suite's timeout is the failure
            time.sleep(0.01)


def test_the_first_part_by_name_wins_before_and_after_compaction(bank):
    for name in ("b", "a", "c"):
        seal_part(bank.folder, SAMPLES, name, SAMPLES.to_arrow([replace(sample(0), text=name), sample(ord(name))], "run", name))
    assert bank.samples([KEY])[KEY][0].text == "a"
    bank.compact()
    seal_part(bank.folder, SAMPLES, "0", SAMPLES.to_arrow([replace(sample(0), text="0")], "run", "0"))
    assert bank.samples([KEY])[KEY][0].text == "0"
    bank.compact()
    assert bank.samples([KEY])[KEY][0].text == "0"
    assert sorted(bank.samples([KEY])[KEY]) == [0, *map(ord, "abc")]
    assert bank.stats().samples == 4


# A process that forks others and tells what they have sealed; forked from one that has done nothing yet, they start at once.
FILL = """
import os, random, signal, sys, time
from pathlib import Path
from ttc.bank import Bank
from ttc.records import Sample

folder, kill, draw = Path(sys.argv[1]), sys.argv[2] == "kill", random.Random(0)

def fill(key, indices):
    log = open(folder / key, "w")
    with Bank(folder / "bank").writer("child", seal_seconds=0.02) as writer:
        for index in indices:
            writer.add(Sample(key, index, "q1", "reply " * 50))
            if index % 50 == 49:
                writer.seal()
                print(index, file=log, flush=True)

def start(key, indices):
    child = os.fork()
    if not child:
        fill(key, indices)
        os._exit(0)
    return child

if kill:
    for number in range(10):
        key = f"{number:064x}"
        child = start(key, range(10**9))
        while not (folder / key).exists() or not (folder / key).stat().st_size:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
else:
    children = [start(f"{1:064x}", range(first, first + 1000)) for first in (0, 1000)]
    sys.exit(sum(os.waitpid(child, 0)[1] for child in children))
"""


def run_writers(folder, kill):
    subprocess.run([sys.executable, "-c", FILL, str(folder), "kill" if kill else ""], check=True)


def test_two_processes_fill_one_bank_at_once(bank, tmp_path):
    run_writers(tmp_path, kill=False)
    assert bank.missing(KEY, 2001) == [range(2000, 2001)]
    assert set(raw(bank).values()) == {1}


def test_killed_writers_lose_only_what_was_not_sealed_and_double_nothing(bank, tmp_path):
    run_writers(tmp_path, kill=True)
    for key in map(name_of, range(10)):
        sealed = int((tmp_path / key).read_text().rsplit("\n", 2)[-2]) + 1
        stored = bank.samples([key])[key]
        assert len(stored) >= sealed
        assert sorted(stored) == list(range(len(stored)))
        for gap in bank.missing(key, len(stored) + 10):
            fill(bank, gap, key)
        assert bank.missing(key, len(stored) + 10) == []
    assert set(raw(bank).values()) == {1}


def test_leftovers_of_killed_writers_are_ignored_and_counted(bank):
    fill(bank, range(3))
    (bank.folder / "samples" / f".{new_part_name()}.parquet.tmp").write_bytes(b"PAR1 half a part")
    assert len(bank.samples([KEY])[KEY]) == 3
    assert bank.stats().leftovers == 1


def test_compaction_sweeps_old_leftovers_and_spares_those_of_writers_at_work(bank):
    fill(bank, range(3))
    old, young = (bank.folder / "samples" / f".{new_part_name()}.parquet.tmp" for _ in range(2))
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (0, 0))
    bank.compact()
    assert (old.exists(), young.exists()) == (False, True)


def test_compaction_merges_parts_up_to_the_target_and_keeps_every_row(bank):
    for first in range(0, 40, 4):
        fill(bank, range(first, first + 4))
    size = sum(pq.ParquetFile(part).metadata.row_group(0).total_byte_size for part in parts(bank))
    before = bank.samples([KEY])
    done = bank.compact(target_bytes=size // 2)
    assert done.parts_before == 10
    assert 2 <= len(parts(bank)) == done.parts_after <= 4
    assert bank.samples([KEY]) == Bank(bank.folder).samples([KEY]) == before
    bank.compact()
    assert len(parts(bank)) == 1
    assert bank.samples([KEY]) == before


def test_readers_beside_compaction_and_a_writer_see_each_sample_once_at_all_times(bank):
    over = Event()

    def compact():
        other = Bank(bank.folder)
        while not over.is_set():
            other.compact(target_bytes=50_000)

    fill(bank, range(1))
    compactor = Thread(target=compact)
    compactor.start()
    try:
        with bank.writer() as writer:
            for index in range(1, 40):
                writer.add(sample(index))
                writer.seal()
                for reader in (bank, Bank(bank.folder)):
                    assert reader.missing(KEY, index + 1) == []
                    assert sorted(reader.samples([KEY])[KEY]) == list(range(index + 1))
                assert bank.stats().samples == index + 1
    finally:
        over.set()
        compactor.join()


class Killed(BaseException):
    """Stands for `kill -9`: no clean-up of ours catches it."""


def kill_at(monkeypatch, step):
    """Let the process die at the given step of all that changes the disk."""
    steps = iter(range(10**6))

    def fragile(change):
        def call(*args, **options):
            if next(steps) == step:
                raise Killed
            return change(*args, **options)

        return call

    for owner, name in ((os, "replace"), (os, "fsync"), (Path, "unlink")):
        monkeypatch.setattr(owner, name, fragile(getattr(owner, name)))


def test_a_compaction_killed_at_any_step_leaves_a_valid_bank(tmp_path):
    survived = 0
    for step in range(1000):
        bank = Bank(tmp_path / str(step))
        for first in (0, 2, 4):
            fill(bank, range(first, first + 2))
        before = bank.samples([KEY])
        with pytest.MonkeyPatch.context() as patch:
            kill_at(patch, step)
            try:
                bank.compact()
                break
            except Killed:
                survived += 1
        assert bank.samples([KEY]) == Bank(bank.folder).samples([KEY]) == before
        bank.compact()
        assert bank.samples([KEY]) == before
        assert set(raw(bank).values()) == {1}
        assert len(parts(bank)) == 1
    assert survived >= 9  # three files, each synced, renamed and its folder synced, and three deletions


def test_two_compactions_at_once_are_refused(bank):
    fill(bank, range(2))
    with FileLock(bank.folder / "compact.lock"), pytest.raises(UserError, match="another process"):
        bank.compact()


def test_a_truncated_part_is_named_and_nothing_else_is_lost(bank):
    fill(bank, range(4))
    fill(bank, range(4, 8))
    broken = parts(bank)[0]
    os.truncate(broken, 1000)
    for read in (lambda: bank.samples([KEY]), lambda: Bank(bank.folder).missing(KEY, 8), bank.compact, bank.sql):
        with pytest.raises(UserError, match=rf"{broken} \(1000 bytes\) is damaged.*--drop-damaged") as caught:
            read()
        assert "\n" not in str(caught.value)
    assert bank.stats().damaged == (broken,)
    assert bank.stats().samples == 4
    (aside,) = bank.compact(drop_damaged=True).dropped
    assert aside.stat().st_size == 1000
    assert bank.missing(KEY, 8) == [range(4)]


def test_a_flipped_byte_is_damage_and_not_another_reply(bank):
    fill(bank, range(4))
    (part,) = parts(bank)
    content = bytearray(part.read_bytes())
    content[content.index(b"reply")] ^= 1
    part.write_bytes(content)
    with pytest.raises(DamagedPart, match="is damaged"):
        bank.samples([KEY])


def test_a_merged_part_that_is_gone_is_reported_and_can_be_forgotten(bank):
    fill(bank, range(2))
    fill(bank, range(2, 4))
    bank.compact()
    (merged,) = parts(bank)
    merged.unlink()
    fill(bank, [7])
    with pytest.raises(DamagedPart, match=f"{merged} is gone"):
        bank.samples([KEY])
    assert bank.stats().damaged == (merged,)
    assert bank.compact(drop_damaged=True).dropped == (merged,)
    assert [*bank.samples([KEY])[KEY]] == [7]


def test_a_part_of_a_newer_version_or_of_no_bank_is_refused(bank):
    fill(bank, range(2))
    (part,) = parts(bank)
    rows = pq.read_table(part)
    for metadata, message in (({VERSION_KEY: b"99"}, "version 99 is newer"), ({}, "not written by a bank")):
        pq.write_table(rows.replace_schema_metadata(metadata), part)
        with pytest.raises(UserError, match=message):
            Bank(bank.folder).samples([KEY])


@pytest.mark.parametrize(
    ("text", "message"), [('{"version": 99, "future": 1}', "version 99 is newer"), ("{", "not a manifest")]
)
def test_a_newer_or_broken_manifest_is_refused(bank, text, message):
    fill(bank, range(2))
    (bank.folder / "manifest.json").write_text(text)
    with pytest.raises(UserError, match=message):
        bank.samples([KEY])


def test_a_part_from_before_a_field_existed_is_read_with_its_default(bank):
    fill(bank, range(2), reasoning_tokens=5)
    (part,) = parts(bank)
    pq.write_table(pq.read_table(part).drop_columns(["reasoning_tokens"]), part)
    fill(bank, [2], reasoning_tokens=5)
    assert [one.reasoning_tokens for one in bank.samples([KEY])[KEY].values()] == [0, 0, 5]
    bank.compact()
    assert [one.reasoning_tokens for one in bank.samples([KEY])[KEY].values()] == [0, 0, 5]


def test_a_full_disk_keeps_the_rows_and_leaves_nothing_half_written(bank):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with bank.writer() as writer:
        writer.add(sample(0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
        try:
            with pytest.raises(UserError, match=r"1 rows of samples cannot be written.*free space"):
                writer.seal()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert os.listdir(bank.folder / "samples") == []
        writer.add(sample(1))
    assert sorted(bank.samples([KEY])[KEY]) == [0, 1]


def test_rows_that_could_not_be_sealed_in_the_background_are_reported_by_the_next_call(bank):
    bank.folder.mkdir()
    in_the_way = bank.folder / "samples"
    in_the_way.touch()
    with bank.writer(seal_seconds=0.01) as writer:
        writer.add(sample(0))
        time.sleep(0.05)
        with pytest.raises(UserError, match="cannot be written"):
            writer.add(sample(1))
        in_the_way.unlink()
    assert sorted(bank.samples([KEY])[KEY]) == [0, 1]


def test_duckdb_pandas_and_datasets_read_the_folder_as_it_is(bank, tmp_path):
    import datasets
    import duckdb
    import pandas

    fill(bank, range(3), token_ids=(1, 2, 3))
    fill(bank, range(3, 5))
    pattern = str(bank.folder / "samples" / "*.parquet")
    assert duckdb.sql(f"SELECT count(*), sum(len(token_ids)) FROM '{pattern}'").fetchall() == [(5, 9)]
    assert sorted(pandas.read_parquet(bank.folder / "samples")["index"]) == [0, 1, 2, 3, 4]
    loaded = datasets.load_dataset("parquet", data_files=pattern, split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded[0]["text"] == "reply 0"
    assert loaded[0]["token_ids"] == [1, 2, 3]


def test_sql_shows_each_row_once_and_empty_tables_too(bank):
    fill(bank, range(3))
    fill(bank, range(2, 5))
    with bank.sql() as connection:
        assert connection.execute('SELECT count(*), max("index") FROM samples').fetchone() == (5, 4)
        assert connection.execute("SELECT count(*) FROM scores").fetchone() == (0,)


def test_a_folder_named_like_a_pattern_is_only_itself(tmp_path):
    for name in ("n=[1]*?'", "n=1"):
        fill(Bank(tmp_path / name), range(3))
    with Bank(tmp_path / "n=[1]*?'").sql() as connection:
        assert connection.execute("SELECT count(*) FROM samples").fetchone() == (3,)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_an_export_holds_every_sample_once_in_order(bank, tmp_path, suffix):
    fill(bank, range(3), token_ids=(4, 5))
    fill(bank, range(2, 5), token_ids=(4, 5))
    target = tmp_path / f"it's all{suffix}"
    assert bank.export(target) == 5
    rows = pq.read_table(target).to_pylist() if suffix == ".parquet" else list(map(json.loads, target.read_text().splitlines()))
    assert [(row["index"], row["text"], row["token_ids"]) for row in rows] == [(i, f"reply {i}", [4, 5]) for i in range(5)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank", target.name]


def test_an_export_to_another_form_is_refused(bank, tmp_path):
    fill(bank, range(1))
    with pytest.raises(UserError, match=r"\.csv.*\.parquet or \.jsonl"):
        bank.export(tmp_path / "all.csv")


def test_stats_count_by_engine_and_model(bank):
    with bank.writer() as writer:
        writer.describe(KEY, "q1", '{"backend": {"model": "tiny"}}')
        for index in range(3):
            writer.add(sample(index))
        writer.add(replace(sample(0, OTHER), engine="y 2"))
        writer.add_score(StepScores(KEY, 0, "prm", (0.5,), 0.5))
    found = bank.stats()
    assert (found.samples, found.keys, found.requests, found.scores, found.parts) == (4, 2, 1, 1, 3)
    assert found.engines == {"x 1": 3, "y 2": 1}
    assert found.models == {"tiny": 3, "": 1}
    assert found.bytes == sum(path.stat().st_size for path in bank.folder.rglob("*.parquet"))


def test_a_bank_that_cannot_be_made_is_refused_before_anything_is_drawn_for_it(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file/bank cannot be made: Not a directory"):
        Bank(tmp_path / "file" / "bank").writer()


def test_a_misspelt_bank_is_not_an_empty_one(bank):
    assert bank.samples([KEY]) == {}
    for ask in (bank.stats, bank.compact, bank.sql):
        with pytest.raises(UserError, match="does not exist"):
            ask()


def test_a_bank_kept_open_sees_what_others_do_to_it(bank):
    fill(bank, range(2))
    assert bank.missing(KEY, 4) == [range(2, 4)]
    other = Bank(bank.folder)
    fill(other, range(2, 4))
    assert bank.missing(KEY, 4) == []
    other.compact()
    assert len(bank.samples([KEY])[KEY]) == 4
    parts(bank)[0].rename(bank.folder / "elsewhere")
    (bank.folder / "manifest.json").unlink()
    assert bank.missing(KEY, 4) == [range(4)]
