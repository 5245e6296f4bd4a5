"""Whether W&B can be reached without asking anybody for a key."""

import netrc
import os
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit


def wandb_mode() -> Literal["online", "offline"] | None:
    """Online only where W&B would find a key by itself; None where the variable WANDB_MODE decides."""
    if os.environ.get("WANDB_MODE"):
        return None
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return "online"
    host = urlsplit(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname or ""
    try:
        known = netrc.netrc(Path(os.environ.get("NETRC") or "~/.netrc").expanduser()).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return "offline"
    return "online" if known else "offline"
