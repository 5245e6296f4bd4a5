"""Numbers of a step, their forms, and what follows from one through sums."""

import pytest

from training.perturb.numbers import form, numbers, results, with_changes


def found(step: str) -> list[str]:
    return [match[0] for match in numbers(step)]


@pytest.mark.parametrize(
    ("step", "values"),
    [
        ("1. In 1957 it had 2.24 liters, 1,000 balls.", ["1957", "2.24", "1,000"]),
        ("Type 2 diabetes, IL-4, CD47, H2O, 3D, Figure 3 and Office 365 are names.", []),
        ("From 500kHz to 230gm at 45° and 80%", ["500", "230", "45", "80"]),
        ("It is 1/2 of 3-4.", []),
        ("(1) One. 2) Two: 7.", ["7"]),
    ],
)
def test_only_numbers_that_state_a_quantity_are_found(step, values):
    assert found(step) == values


def test_numbers_of_one_form_look_alike():
    assert [form(number) for number in ("7", "26", "100", "1250", "2.24", "1,000", "1957", "0")] == [
        "d",
        "dd",
        "d00",
        "ddd0",
        "d.dd",
        "d,ddd",
        "year",
        "d",
    ]


@pytest.mark.parametrize(
    ("step", "values"),
    [
        ("so 5 + 4 + 3 = 12.", ["12"]),
        ("0.8 * 1,000 = 800", ["800"]),
        (r"$2 \times 3 = 6$ and 7 × 2 = 14", ["6", "14"]),
        ("2 ^ 3 = 8; 9 - (2 + 3) = 4", ["8", "4"]),
        ("5 + 4 = 10", []),
        ("x = 3, V = 5 V", []),
        ("2 ** 999 = 3; 1 / 0 = 1", []),
    ],
)
def test_results_are_the_right_sides_of_sums_that_hold(step, values):
    assert [match["right"] for match in results(step)] == values


def test_what_follows_from_a_changed_number_is_worked_out_again():
    changes = {"26": "30"}
    assert with_changes("So 26 * 2 = 52, and 52 / 4 = 13.", changes) == "So 30 * 2 = 60, and 60 / 4 = 15."
    assert changes == {"26": "30", "52": "60", "13": "15"}
    assert with_changes("Thus 13 of them, 2.60 each.", changes) == "Thus 15 of them, 2.60 each."


def test_a_long_row_of_digits_without_a_sum_takes_no_time():
    assert results("(1 " * 2_000) == []
