import pytest

from ttc.benchmarks.mojibake import is_lossy, repaired


@pytest.mark.parametrize("text", ["it’s", "90°", "Δω ≤ ½µ × σ²", "Niño — É", "‘quoted’", "H₂O → ÷", "😀", "plain"])
def test_text_read_in_the_wrong_encoding_is_restored(text):
    damaged = "".join(bytes([byte]).decode("cp1251") if byte != 0x98 else "\x98" for byte in text.encode())
    assert repaired(damaged) == text
    assert not is_lossy(repaired(damaged))


@pytest.mark.parametrize("text", ["it’s 90° “hot”", "Привет, мир", "µ — ½", "ISBN № 5"])
def test_sound_text_is_left_as_it_is(text):
    assert repaired(text) == text
    assert not is_lossy(text)


@pytest.mark.parametrize("text", ["NaHCOв‚?, ", "liaвЂ?is", "at вЂ\ufffddor"])
def test_a_lost_byte_is_told(text):
    assert is_lossy(repaired(text))
