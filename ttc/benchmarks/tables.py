"""Subjects and disciplines of the three benchmarks, as their papers list them."""

from collections.abc import Mapping

MMMU_DISCIPLINES: Mapping[str, tuple[str, ...]] = {
    "Art and Design": ("Art", "Art_Theory", "Design", "Music"),
    "Business": ("Accounting", "Economics", "Finance", "Manage", "Marketing"),
    "Science": ("Biology", "Chemistry", "Geography", "Math", "Physics"),
    "Health and Medicine": (
        "Basic_Medical_Science",
        "Clinical_Medicine",
        "Diagnostics_and_Laboratory_Medicine",
        "Pharmacy",
        "Public_Health",
    ),
    "Humanities and Social Science": ("History", "Literature", "Psychology", "Sociology"),
    "Tech and Engineering": (
        "Agriculture",
        "Architecture_and_Engineering",
        "Computer_Science",
        "Electronics",
        "Energy_and_Power",
        "Materials",
        "Mechanical_Engineering",
    ),
}
"""Yue et al. 2023, arXiv:2311.16502. MMMU-Pro has the same."""

MMMU_SUBJECTS = tuple(sorted(subject for subjects in MMMU_DISCIPLINES.values() for subject in subjects))
"""The 30 subjects in alphabetical order, which is the order of the official evaluation."""

MMMU_ROWS: Mapping[str, int] = {"dev": 5, "validation": 30}
"""Questions per subject; the test split has other numbers in every subject."""

MMVU_DISCIPLINES: Mapping[str, tuple[str, ...]] = {
    "Science": (
        "Astronomy",
        "Biology",
        "Chemistry",
        "Electromagnetism",
        "Geography",
        "Mechanics",
        "Modern Physics",
        "Neurobiology",
        "Thermodynamics",
    ),
    "Healthcare": ("Basic Medicine", "Clinical Medicine", "Dentistry", "Pharmacy", "Preventive Medicine"),
    "Humanities and Social Science": ("Art", "Economics", "History", "Law", "Literature", "Management"),
    "Engineering": (
        "Biomedical Engineering",
        "Civil Engineering",
        "Computer Science",
        "Electrical Engineering",
        "Electronics and Communication",
        "Materials Science",
        "Mechanical Engineering",
    ),
}
"""Zhao et al. 2025, arXiv:2501.12380, tables 6 to 9."""


def discipline_of(subject: str, disciplines: Mapping[str, tuple[str, ...]]) -> str:
    """The subject's discipline, or empty for a subject of no benchmark; blanks and underscores are the same."""
    folded = subject.replace("_", " ")
    return next((name for name, members in disciplines.items() if folded in {m.replace("_", " ") for m in members}), "")
