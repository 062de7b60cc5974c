"""Where the bytes of a room lie, and which bytes they must be."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import HarnessError

# numpy is imported where it is used, so that without it the tests can say what is missing.
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Words = npt.NDArray[np.uint64]

WORD = 8
# An odd constant with well spread bits: neighbouring pages share no word.
SPREAD = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Layout:
    """Room for a number of requests, each with the same number of pages in every buffer."""

    room_bytes: int
    slots: int  # rooms that have their own pages at the same time
    buffers: int = 4  # keys and values of two layers
    pages: int = 8  # of one room
    aux_buffers: int = 2
    aux_bytes: int = 256

    @property
    def page_bytes(self) -> int:
        """The size of one page in one buffer."""
        return self.room_bytes // (self.buffers * self.pages)

    def source(self, slot: int) -> list[int]:
        """The pages of a room on the prefill side."""
        return list(range(slot * self.pages, (slot + 1) * self.pages))

    def target(self, slot: int) -> list[int]:
        """The pages of a room on the decode side: in another order, and not all contiguous."""
        pages = self.source(slot)
        return pages[::2] + pages[1::2]


@dataclass(frozen=True)
class Content:
    """The bytes of one request; another request with the same room id has others."""

    room: int
    generation: int

    def page(self, layout: Layout, buffer: int, number: int) -> Words:
        """The words of a page, counted within the room."""
        return _words(layout.page_bytes, self.room, self.generation, buffer, number)

    def aux(self, layout: Layout, buffer: int) -> Words:
        """The words of an auxiliary buffer."""
        return _words(layout.aux_bytes, self.room, self.generation, buffer, layout.pages)


def _words(size: int, *names: int) -> Words:
    import numpy as np

    seed = 0
    for name in names:
        seed = ((seed ^ (name + 1)) * SPREAD) % 2**64
    return np.arange(size // WORD, dtype=np.uint64) + np.uint64(seed)


def indices(pages: list[int]) -> npt.NDArray[np.int32]:
    """Numbers of pages as a backend takes them."""
    import numpy as np

    return np.array(pages, dtype=np.int32)


class Memory:
    """The buffers of one side, in host memory or in the memory of a GPU."""

    def __init__(self, layout: Layout, kind: str, tensors: bool) -> None:
        self.layout = layout
        self.kind = kind
        make = _tensor if tensors else _array
        count = layout.slots * layout.pages
        self.kv = [make(count, layout.page_bytes, kind) for _ in range(layout.buffers)]
        self.aux = [make(layout.slots, layout.aux_bytes, "DRAM") for _ in range(layout.aux_buffers)]
        self._settle()

    def fill(self, slot: int, content: Content) -> None:
        """Write what a request is to transfer."""
        for buffer, rows in enumerate(self.kv):
            for number, page in enumerate(self.layout.source(slot)):
                rows.write(page, content.page(self.layout, buffer, number))
        for buffer, rows in enumerate(self.aux):
            rows.write(slot, content.aux(self.layout, buffer))
        self._settle()

    def _settle(self) -> None:
        """Wait for what a GPU was told to write: a transfer does not wait for it."""
        if self.kind == "VRAM":
            importlib.import_module("torch").cuda.synchronize()

    def wrong(self, slot: int, content: Content) -> int:
        """How many pages and auxiliary buffers do not hold what they must after a transfer."""
        wrong = 0
        for buffer, rows in enumerate(self.kv):
            for number, page in enumerate(self.layout.target(slot)):
                wrong += not rows.holds(page, content.page(self.layout, buffer, number))
        for buffer, rows in enumerate(self.aux):
            wrong += not rows.holds(slot, content.aux(self.layout, buffer))
        return wrong


class _Rows:
    """Equal rows of words in host memory: a numpy array, or its view of a torch tensor."""

    def __init__(self, rows: Words, tensor: Any = None) -> None:
        self._rows = rows
        # Touched now: else the first transfer into each page would wait for the system to map it.
        self._rows.fill(0)
        self.tensor = tensor
        self.address = rows.ctypes.data
        self.size = rows.nbytes
        self.row_size = rows.nbytes // len(rows)

    def write(self, row: int, words: Words) -> None:
        self._rows[row] = words

    def holds(self, row: int, words: Words) -> bool:
        import numpy as np

        return bool(np.array_equal(self._rows[row], words))


class _DeviceRows:
    """The same in the memory of a GPU."""

    def __init__(self, tensor: Any) -> None:
        self._rows = tensor
        self.tensor = tensor
        self.address = int(tensor.data_ptr())
        self.size = tensor.numel() * tensor.element_size()
        self.row_size = self.size // len(tensor)

    def write(self, row: int, words: Words) -> None:
        import numpy as np

        torch = importlib.import_module("torch")
        self._rows[row] = torch.from_numpy(words.view(np.int64)).to(self._rows.device)

    def holds(self, row: int, words: Words) -> bool:
        import numpy as np

        return bool(np.array_equal(self._rows[row].cpu().numpy(), words.view(np.int64)))


def _array(count: int, size: int, kind: str) -> _Rows | _DeviceRows:
    import numpy as np

    if kind != "DRAM":
        raise HarnessError(f"an array cannot lie in {kind}")
    return _Rows(np.empty((count, size // WORD), dtype=np.uint64))


def _tensor(count: int, size: int, kind: str) -> _Rows | _DeviceRows:
    import numpy as np

    torch = importlib.import_module("torch")
    shape = (count, size // WORD)
    if kind == "VRAM":
        return _DeviceRows(torch.zeros(shape, dtype=torch.int64, device="cuda"))
    tensor = torch.empty(shape, dtype=torch.int64)
    return _Rows(tensor.numpy().view(np.uint64), tensor)
