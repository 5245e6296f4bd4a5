"""Group names that a row does not spell out but its id or subject implies."""

from collections.abc import Mapping
from dataclasses import replace

from ttc.benchmarks.rows import subject_of
from ttc.benchmarks.tables import MMMU_DISCIPLINES, MMVU_DISCIPLINES, discipline_of
from ttc.records import Question

_DISCIPLINES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "mmmu": MMMU_DISCIPLINES,
    "mmmu_pro": MMMU_DISCIPLINES,
    "mmvu": MMVU_DISCIPLINES,
}


def grouped(question: Question) -> Question:
    """The question with its subject, discipline and split filled in as far as its benchmark defines them."""
    disciplines = _DISCIPLINES.get(question.benchmark)
    implied: dict[str, str | tuple[str, ...]] = {}
    if disciplines:
        implied["subject"] = str(question.fields.get("subject") or subject_of(question.id))
        implied["discipline"] = discipline_of(str(implied["subject"]), disciplines)
    # ids of MMMU-Pro's one test split begin with the name of the MMMU split that they were taken from
    if question.benchmark == "mmmu" and subject_of(question.id):
        implied["split"] = question.id.partition("_")[0]
    return replace(question, fields={name: value for name, value in implied.items() if value} | dict(question.fields))
