"""The transport and the memory that a machine offers."""

from __future__ import annotations

import importlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from .errors import HarnessError

INFINIBAND = Path("/sys/class/infiniband")
NVIDIA = Path("/proc/driver/nvidia/gpus")
NEEDED = ("nixl", "numpy", "zmq", "requests", "aiohttp", "psutil", "msgspec")


@dataclass(frozen=True)
class Transport:
    """How bytes move here, printed with every result."""

    name: str  # "rdma" or "tcp"
    devices: tuple[str, ...]
    ucx_tls: str
    memory: str  # "VRAM" or "DRAM"
    tensors: bool = False  # the buffers are torch tensors, else numpy arrays

    def __str__(self) -> str:
        devices = f" on {', '.join(self.devices)}" if self.devices else ""
        buffers = "torch tensors" if self.tensors else "numpy arrays"
        return f"{buffers} in {self.memory} over {self.name}{devices} (UCX_TLS={self.ucx_tls})"


def choose(memory: str | None = None, buffers: str | None = None) -> Transport:
    """RDMA verbs where there is a device, else tcp; VRAM where there is a GPU, else DRAM.

    The buffers are tensors where torch is installed, unless `buffers` says "arrays".

    UCX left alone would copy between two processes of one machine inside the call that starts the
    transfer, and no window would be left to look into. So the transport is always named.
    """
    devices = tuple(sorted(entry.name for entry in _entries(INFINIBAND)))
    memory = memory or ("DRAM" if no_vram() else "VRAM")
    wanted = buffers or ("arrays" if no_torch() else "tensors")
    absent = (memory == "VRAM" and no_vram()) or (wanted == "tensors" and no_torch())
    if absent:
        raise HarnessError(absent)
    if memory == "VRAM" and wanted == "arrays":
        raise HarnessError("numpy arrays cannot lie in VRAM: --buffers tensors")
    lanes = ["rc", "tcp"] if devices else ["tcp"]
    if memory == "VRAM":
        lanes.append("cuda_copy")
    return Transport(
        name="rdma" if devices else "tcp",
        devices=devices,
        ucx_tls=os.environ.get("UCX_TLS") or ",".join(lanes),
        memory=memory,
        tensors=wanted == "tensors",
    )


def no_torch() -> str | None:
    """Why buffers cannot be tensors here, or None if they can."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: no tensors (docs/real-transfers.md has a light install)"
    return None


def no_vram() -> str | None:
    """Why buffers cannot lie in VRAM here, or None if they can."""
    if not any(_entries(NVIDIA)):
        return "no NVIDIA GPU on this machine: VRAM is not tried, and nothing stands in for it"
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed: it is what allocates VRAM here (pip install 'kvlint[gpu]')"
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return "this torch cannot use the GPU of this machine"
    return None


def missing() -> str | None:
    """What a transfer needs and is not installed, or None."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if not absent:
        return None
    return f"{', '.join(absent)} not installed (docs/real-transfers.md says how)"


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
