"""Names across files, the ancestors of classes, and the tables of a module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kvlint.discover.project import (
    ClassInfo,
    ConstantRef,
    FunctionRef,
    Module,
    load_project,
)
from tests.discover.trees import backend, cls, linted, write

RUNS = "import threading\nFAILED = 'failed'\n\nclass Runs:\n    x = {}\n    x['a'] = 'failed'\n"


def test_one_file_finds_its_bases_by_itself(tmp_path: Path) -> None:
    backend(tmp_path)
    project = load_project(["pkg/heir.py"], cwd=str(tmp_path))
    assert linted(project) == ["pkg/heir.py"]
    heir = cls(project, "Heir")
    assert [c.name for c in heir.mro] == ["Heir", "Base"]
    assert heir.missing == ()
    assert not project.modules["pkg.base"].linted
    found = heir.find("work")
    assert found is not None
    assert found[0].module.display == "pkg/base.py"


@pytest.mark.parametrize(
    "line",
    [
        "from top.in_.base import Base",
        "from .base import Base",
        "from . import Base",
        "from . import base\nBase = base.Base",
        "from ..in_.base import Base as Base",
        "from .stars import *",
        "import top.in_.base as b\nBase = b.Base",
        "import top.in_.base\nBase = top.in_.base.Base",
        "try:\n    from top.in_.base import Base\nexcept ImportError:\n    Base = object",
        "if True:\n    from top.in_ import Base",
    ],
)
def test_ways_to_import_a_base(tmp_path: Path, line: str) -> None:
    write(
        tmp_path,
        {
            "top/__init__.py": "",
            "top/in_/__init__.py": "from .base import Base",
            "top/in_/base.py": "class Base:\n    def go(self): self.s[1] = P.Failed\n",
            "top/in_/stars.py": "from .base import *",
            "top/in_/use.py": f"{line}\n\nclass Heir(Base):\n    pass\n",
        },
    )
    project = load_project(["top/in_/use.py"], cwd=str(tmp_path))
    assert [c.name for c in cls(project, "Heir").mro] == ["Heir", "Base"]


@pytest.mark.parametrize("gone", ["", "big", "big/srt"], ids=["whole", "no-init", "inner-copy"])
def test_absolute_imports_without_a_known_root(tmp_path: Path, gone: str) -> None:
    """A checkout, a tree without __init__.py at the top, and a copy of an inner folder."""
    base = "import threading\n\nclass Base:\n    def go(self): self.s[1] = Poll.Failed\n"
    heir = "from big.srt.kv.common.conn import Base\n\nclass Heir(Base):\n    pass\n"
    root = tmp_path / "some.where"
    inside = "kv" if gone == "big/srt" else "big/srt/kv"
    files = {f"{inside}/common/conn.py": base, f"{inside}/nixl/conn.py": heir}
    files |= {f"{inside}/nixl/__init__.py": "", f"{inside}/common/__init__.py": ""}
    if not gone:
        files["big/__init__.py"] = ""
    write(root, files)
    project = load_project([f"{inside}/nixl/conn.py"], cwd=str(root))
    assert [c.name for c in cls(project, "Heir").mro] == ["Heir", "Base"]
    if not gone:
        assert sorted(project.modules) == ["big.srt.kv.common.conn", "big.srt.kv.nixl.conn"]


def test_the_standard_library_is_not_taken_from_a_neighbour(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"queue.py": "class Queue: pass", "a.py": f"from queue import Queue\n{RUNS}"},
    )
    project = load_project(["a.py"], cwd=str(tmp_path))
    assert project.resolve(project.modules["a"], "Queue") is None


def test_what_a_name_can_be(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/lib.py": """
                LIMIT = 3
                OPEN, SHUT = range(2)
                A, B = "a", "b"
                class Outer:
                    FIELD = 1
                    class Inner:
                        def method(self): pass
                def helper(): pass
                """,
            "pkg/use.py": f"from . import lib\nfrom .lib import LIMIT, helper, Outer as O\n{RUNS}",
        },
    )
    project = load_project(["pkg/use.py"], cwd=str(tmp_path))
    module = project.modules["pkg.use"]

    def resolve(name: str) -> object:
        return project.resolve(module, name)

    limit = resolve("LIMIT")
    assert isinstance(limit, ConstantRef)
    assert ast.unparse(limit.node) == "3"
    assert limit.module.name == "pkg.lib"
    assert not limit.module.linted
    shut, b = resolve("lib.SHUT"), resolve("lib.B")
    assert isinstance(shut, ConstantRef)
    assert isinstance(b, ConstantRef)
    assert (ast.unparse(shut.node), ast.unparse(b.node)) == ("1", "'b'")
    assert isinstance(resolve("lib"), Module)
    assert isinstance(resolve("helper"), FunctionRef)
    inner = resolve("O.Inner")
    assert isinstance(inner, ClassInfo)
    assert inner.name == "Outer.Inner"
    method = resolve("lib.Outer.Inner.method")
    assert isinstance(method, FunctionRef)
    assert method.owner is inner
    field = resolve("O.FIELD")
    assert isinstance(field, ConstantRef)
    assert field.owner is not None
    for unknown in (
        "nothing",
        "lib.nothing",
        "O.nothing",
        "helper.x",
        "threading.Thread",
        "lib.LIMIT.x",
    ):
        assert resolve(unknown) is None


def test_tables_of_a_module(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": """
                import threading, os.path
                from typing import TYPE_CHECKING
                if TYPE_CHECKING:
                    from x import T
                class C(threading.Thread, Generic[T], metaclass=M):
                    state: dict = {}
                    if TYPE_CHECKING:
                        def hinted(self): pass
                    else:
                        def real(self): pass
                    @property
                    def p(self): return 1
                    @p.setter
                    def p(self, value): self.rooms[1] = Poll.FAILED
                    async def go(self):
                        from late import thing
                        class Local: pass
                def f():
                    def g():
                        class Deep: pass
                """
        },
    )
    module = load_project(["a.py"], cwd=str(tmp_path)).modules["a"]
    assert module.imports == {
        "threading": "threading",
        "os": "os",
        "TYPE_CHECKING": "typing.TYPE_CHECKING",
        "T": "x.T",
        "thing": "late.thing",
    }
    assert list(module.classes) == ["C", "C.go.<locals>.Local", "f.<locals>.g.<locals>.Deep"]
    c = module.classes["C"]
    assert list(c.methods) == ["hinted", "real", "p", "go"]

    assert isinstance(c.methods["p"].body[0], ast.Return)
    assert list(c.attributes) == ["state"]
    assert c.bases == ("threading.Thread", "Generic")
    assert c.missing == ("threading.Thread", "Generic")


def test_super_follows_the_order(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": f"""
{RUNS}
class Root:
    def m(self): pass
class Left(Root):
    def m(self): pass
class Right(Root):
    def m(self): pass
class Both(Left, Right):
    pass
"""
        },
    )
    project = load_project(["a.py"], cwd=str(tmp_path))
    both, left = cls(project, "Both"), cls(project, "Left")
    assert [c.name for c in both.mro] == ["Both", "Left", "Right", "Root"]
    after = both.find_after(left, "m")
    assert after is not None
    assert after[0].name == "Right"
    assert both.is_subclass_of(left)
    assert not left.is_subclass_of(both)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class A(B): pass\nclass B(A): pass\n", "is its own ancestor"),
        ("class A(A): pass\n", "is its own ancestor"),
        ("class A: pass\nclass B(A): pass\nclass C(A, B): pass\n", "no consistent order"),
    ],
)
def test_impossible_hierarchies(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, {"a.py": f"{RUNS}\n{text}"})
    project = load_project(["a.py"], cwd=str(tmp_path))
    assert any(message in gap.message for gap in project.gaps)
    for known in project.classes():
        assert known.mro[0] is known
        assert len(set(known.mro)) == len(known.mro)


def test_a_cycle_over_files_and_of_imports(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "p/__init__.py": "",
            "p/a.py": f"from .b import B, loop\n{RUNS}\nclass A(B): pass\n",
            "p/b.py": "from .a import A, loop\nfrom .b import *\nclass B(A): pass\n",
        },
    )
    project = load_project(["p/a.py"], cwd=str(tmp_path))
    assert any("own ancestor" in gap.message for gap in project.gaps)
    assert project.resolve(project.modules["p.a"], "loop") is None


def test_two_modules_of_one_name_both_stay(tmp_path: Path) -> None:
    write(tmp_path, {"x/conn.py": RUNS, "y/conn.py": RUNS})
    project = load_project(["."], cwd=str(tmp_path))
    assert linted(project) == ["x/conn.py", "y/conn.py"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_heir_is_found_whatever_ends_the_lines_of_its_base(tmp_path: Path, end: str) -> None:
    base = backend(tmp_path) / "pkg" / "base.py"
    base.write_bytes(base.read_text().replace("\n", end).encode())
    project = load_project(["."], cwd=str(tmp_path))
    assert linted(project) == ["pkg/base.py", "pkg/heir.py"]
    text = cls(project, "Base").module.text_of(cls(project, "Base").node)
    assert text.startswith("class Base:\n")
    assert text.endswith("= Poll.Failed")


def test_display_paths(tmp_path: Path) -> None:
    write(tmp_path, {"in/here.py": RUNS, "out.py": RUNS})
    project = load_project([str(tmp_path / "in"), "../out.py"], cwd=str(tmp_path / "in"))
    assert linted(project) == [f"{tmp_path.as_posix()}/out.py", "here.py"]
