"""Data made to hurt: every row stays in the exam, every fault is a record, and nothing outside the data is touched."""

import json

import pytest

from ttc.benchmarks import MMMU, MMVU
from ttc.errors import MediaError
from ttc.media import load_images
from ttc.records import Clip, FrameRule, Picture


def test_an_exam_of_hostile_rows_loads_whole_and_each_fault_is_a_record(write_mmmu, row, png, bomb, cut_jpeg):
    html = "<script>alert(document.cookie)</script><image 1>"
    rows = [
        row(id="validation_Art_Theory_1", image_1=bomb),
        row(id="validation_Art_Theory_2", image_1=cut_jpeg),
        row(id="validation_Art_Theory_3", image_1=png(1), options="[__import__('os').abort()]"),
        row(id="validation_Art_Theory_4", image_1=png(2), question=html),
        row(id="validation_Art_Theory_5"),
        row(id="../../validation_Art_Theory_6", image_1=png(3)),
    ]
    exam = MMMU(path=write_mmmu(rows), subjects=("Art_Theory",)).load()
    assert len(exam.questions) == len(rows)
    assert exam.questions[3].text == html

    def fate(question) -> str:
        try:
            return load_images(Picture(question.media[0]))[0].mode
        except MediaError as error:
            return str(error)

    fates = [fate(question) for question in exam.questions]
    assert "900000000 pixels" in fates[0]
    assert "truncated" in fates[1]
    assert "does not hold <image 1>" in fates[4]
    assert [fates[index] for index in (2, 3, 5)] == ["RGB"] * 3
    assert {line.partition(":")[0] for line in exam.problems[1:]} == {"validation_Art_Theory_3", "validation_Art_Theory_5"}


def test_hostile_videos_load_as_media_that_cannot_be_used(write_video, tmp_path):
    write_video("empty.mp4", frames=0, flags="empty_moov+frag_keyframe")
    (tmp_path / "page.mp4").write_text("<html>404</html>")
    videos = ["empty.mp4", "page.mp4", "../outside.mp4", "/etc/hostname", "file:///etc/hostname", "https://evil.test/a.mp4"]
    metadata = {"subject": "Art", "rationale": "", "knowledge": []}
    rows = [
        {"id": f"validation_{number}", "video": video, "question_type": "open-ended", "metadata": metadata}
        | {"question": "What?", "choices": {}, "answer": "x"}
        for number, video in enumerate(videos)
    ]
    (tmp_path / "validation.json").write_text(json.dumps(rows))
    exam = MMVU(path=tmp_path, videos=tmp_path / "cache", fetch=True).load()
    assert len(exam.questions) == len(videos)
    for question in exam.questions:
        with pytest.raises(MediaError):
            load_images(Clip(question.media[0], FrameRule()))
    assert {line.partition(":")[0] for line in exam.problems} == {f"validation_{number}" for number in range(2, 6)}
