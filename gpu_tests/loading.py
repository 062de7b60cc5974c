"""Import the transfer backend of a SGLang release without the rest of SGLang.

The backend, its base classes and the few modules that it really works with are the release's own.
Everything else of `sglang` is a shell: a module in which every name is a placeholder that says so
when it is used. So are `torch` and `triton`, unless the buffers are tensors and they are installed.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from .errors import NotLoadable

BACKENDS = "sglang.srt.disaggregation"
REAL = (
    BACKENDS,
    "sglang.srt.environ",
    "sglang.srt.utils.network",
    "sglang.srt.observability.trace",
)
# Taken from the release's own source, one function at a time: their module needs all of torch.
BORROWED = ("ceil_align", "get_int_env_var", "run_with_deadline")
ONE_RANK = {
    "get_attention_tp_size": 1,
    "get_attention_tp_rank": 0,
    "get_attention_cp_size": 1,
    "get_attention_cp_rank": 0,
    "get_attention_dp_size": 1,
    "get_attention_dp_rank": 0,
    "get_pp_group": None,
    "get_world_group": None,
    "linear_attn_tp_size": 1,
    "max_prefill_buffer_tokens": 8192,
}
CONTEXTS = (
    "get_device",
    "get_disagg",
    "get_observability",
    "get_parallel",
    "get_schedule",
    "get_serving",
)
# What is called of a package that is not installed, while the backend is imported and started.
SHELLED_CALLS: dict[str, dict[str, Any]] = {
    "triton": {"jit": lambda kernel: kernel},
    "torch": {"get_device_module": lambda device: SimpleNamespace(set_device=lambda number: None)},
}


def settings(port: int, device: str) -> SimpleNamespace:
    """What the backend reads of the server's arguments and of its surroundings: one rank, one node.

    Releases read the same names from different objects, so all these objects are this one.
    """
    return SimpleNamespace(
        host="127.0.0.1",
        port=port,
        disaggregation_bootstrap_port=port,
        disaggregation_transfer_backend="nixl",
        dist_init_addr=None,
        nnodes=1,
        dp_size=1,
        num_dp_ranks=1,
        pp_size=1,
        tp_size=1,
        dcp_size=1,
        attn_tp_size=1,
        attn_tp_rank=0,
        attn_cp_size=1,
        attn_cp_rank=0,
        attn_dp_size=1,
        attn_dp_rank=0,
        dcp_rank=0,
        attn_dcp_size=1,
        attn_dcp_rank=0,
        pp_rank=0,
        pp_group=None,
        world_group=None,
        device=device,
        load_balance_method="follow_bootstrap_room",
        kv_cache_dtype="auto",
        chunked_prefill_size=8192,
        max_prefill_tokens=16384,
        enable_cp_tp_group_sharing=False,
        enable_dp_attention=False,
        enable_dsa_cache_layer_split=False,
        enable_hisparse=False,
        enable_kv_cache_sharding=False,
        enable_pd_role_switch=False,
        enable_trace=False,
        disaggregation_decode_allocation_policy="early",
    )


class _Placeholder(type):
    """A class that stands for a part that is not loaded; good for annotations, not for use."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        raise NotLoadable(f"{cls.__qualname__} is used, but only its name is loaded here")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder(f"{cls.__qualname__}.{name}")


def _placeholder(name: str) -> Any:
    return _Placeholder(name.rpartition(".")[2], (), {"__qualname__": name})


class _Shell(ModuleType):
    """A module without code."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _placeholder(f"{self.__name__}.{name}")


class ReleaseFinder(MetaPathFinder, Loader):
    """Finds the real modules of a release, and shells for the others."""

    def __init__(
        self, release: Path, overlay: Path, supplied: dict[str, Any], tensors: bool
    ) -> None:
        self._release = release
        self._overlay = overlay
        self._supplied = supplied
        shelled = [
            name
            for name in ("torch", "triton")
            if not tensors or importlib.util.find_spec(name) is None
        ]
        self._shelled = ("sglang", *shelled)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for each module of the shelled packages."""
        if fullname.partition(".")[0] not in self._shelled:
            return None
        if any(fullname == real or fullname.startswith(real + ".") for real in REAL):
            return self._real(fullname)
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def _real(self, fullname: str) -> ModuleSpec | None:
        root = self._overlay if fullname.startswith(BACKENDS) else self._release
        place = root.joinpath(*fullname.split("."))
        init, file = place / "__init__.py", place.with_suffix(".py")
        if init.is_file():
            return importlib.util.spec_from_file_location(
                fullname, init, submodule_search_locations=[str(place)]
            )
        if file.is_file():
            return importlib.util.spec_from_file_location(fullname, file)
        # A folder without code of its own, as `sglang.srt.disaggregation` is.
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module with the names that the backend really calls."""
        shell = _Shell(spec.name)
        for name, value in self._supplied.items():
            setattr(shell, name, value)
        for name, value in SHELLED_CALLS.get(spec.name, {}).items():
            setattr(shell, name, value)
        return shell

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


def load(release: Path, overlay: Path, port: int, device: str, tensors: bool) -> SimpleNamespace:
    """Make the backend of `overlay` importable, with the other modules of `release`.

    `tensors` says whether it gets the real torch. Returns the settings that the backend reads.
    """
    # NIXL looks at whether torch is there, so it comes before a shell of torch.
    importlib.import_module("nixl._api")
    shared = settings(port, device)
    supplied: dict[str, Any] = dict.fromkeys(CONTEXTS, _always(shared))
    supplied.update({name: _always(value) for name, value in ONE_RANK.items()})
    supplied.update(_borrowed(release))
    supplied.update({name: _always(False) for name in _platform_tests(release)})
    sys.meta_path.insert(0, ReleaseFinder(release, overlay, supplied, tensors))
    _add_logger_methods()
    return shared


def _always(value: Any) -> Callable[..., Any]:
    return lambda *args, **options: value


def _utilities(release: Path) -> list[ast.FunctionDef]:
    """The functions of the module where the release keeps its helpers."""
    file = release / "sglang" / "srt" / "utils" / "common.py"
    if not file.is_file():
        return []
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _platform_tests(release: Path) -> list[str]:
    return [node.name for node in _utilities(release) if node.name.startswith("is_")]


def _borrowed(release: Path) -> dict[str, Any]:
    functions = [node for node in _utilities(release) if node.name in BORROWED]
    future = ast.parse("from __future__ import annotations").body
    module = ast.Module(body=[*future, *functions], type_ignores=[])
    names: dict[str, Any] = {
        "os": os,
        "socket": socket,
        "threading": threading,
        "logger": logging.getLogger("sglang"),
    }
    exec(compile(module, "utils/common.py", "exec"), names)
    return {node.name: names[node.name] for node in functions}


def _add_logger_methods() -> None:
    """The two methods that SGLang adds to loggers when the whole of it is imported."""

    def warning_once(self: logging.Logger, message: str, *args: Any) -> None:
        self.warning(message, *args)

    def info_once(self: logging.Logger, message: str, *args: Any) -> None:
        self.info(message, *args)

    for method in (warning_once, info_once):
        setattr(logging.Logger, method.__name__, method)
