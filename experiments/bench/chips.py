"""What the makers promise: peak FLOP rates of known GPUs."""

from types import MappingProxyType

PEAKS = MappingProxyType(
    {
        "B200": (2250e12, 75e12),
        "H200 NVL": (835e12, 60e12),
        "H200": (989e12, 67e12),
        "H100 NVL": (835e12, 60e12),
        "H100 PCIe": (756e12, 51e12),
        "H100": (989e12, 67e12),
        "A100": (312e12, 19.5e12),
        "L40S": (362e12, 91.6e12),
        "L4": (121e12, 30.3e12),
        "A10": (125e12, 31.2e12),
        "RTX 4090": (165e12, 82.6e12),
        "RTX 3090": (71e12, 35.6e12),
    }
)
"""Dense bfloat16 and plain float32 FLOP/s by the data sheets; of two names that fit a device the first counts."""


def peaks(device_name: str) -> dict[str, float]:
    """FLOP/s by dtype; empty for a device that is not in the table."""
    words = set(device_name.replace("-", " ").split())
    for name, (bfloat16, float32) in PEAKS.items():
        if words.issuperset(name.split()):
            return {"bfloat16": bfloat16, "float32": float32}
    return {}
