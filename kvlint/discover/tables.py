"""The tables of one parsed file: its imports, classes, functions and constants."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from kvlint.discover.names import Layout
from kvlint.discover.project import ClassInfo, FunctionNode, Module

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
_BLOCKS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Match, *_TRIES,
)  # fmt: skip


def fill(module: Module, layout: Layout) -> None:
    """Fill the tables of a module from its tree."""
    builder = _Builder(module, layout)
    builder.module_level(module.tree.body)
    for local, target in builder.late_imports:
        # An import inside a function is visible there only, but no file gives two meanings to
        # one imported name; the module level wins where it does.
        module.imports.setdefault(local, target)


def dotted(node: ast.expr) -> str:
    """`a.b.C` for such an expression, without subscripts and calls; empty for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        value = dotted(node.value)
        return f"{value}.{node.attr}" if value else ""
    if isinstance(node, ast.Subscript):  # Generic[T]
        return dotted(node.value)
    if isinstance(node, ast.Call):  # with_metaclass(Meta, Base) and its like
        return dotted(node.args[-1]) if node.args else ""
    return ""


class _Builder:
    def __init__(self, module: Module, layout: Layout) -> None:
        self.module = module
        self.layout = layout
        self.late_imports: list[tuple[str, str]] = []

    def module_level(self, body: Iterable[ast.stmt]) -> None:
        module = self.module
        for node, fallback in statements(body):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for local, target in self._imports(node):
                    module.imports.setdefault(local, target)
            elif isinstance(node, ast.ClassDef):
                if not (fallback and node.name in module.classes):
                    self._class(node, node.name)
            elif isinstance(node, _FUNCTIONS):
                if not (fallback and node.name in module.functions):
                    module.functions[node.name] = node
                self._function(node, node.name)
            else:
                for name, value in assigned(node):
                    if not (fallback and name in module.constants):
                        module.constants[name] = value

    def _class(self, node: ast.ClassDef, qualname: str) -> None:
        bases = tuple(name for name in map(dotted, node.bases) if name)
        cls = ClassInfo(qualname, self.module, node, bases)
        self.module.classes[qualname] = cls
        for child, fallback in statements(node.body):
            if isinstance(child, _FUNCTIONS):
                if not (fallback and child.name in cls.methods):
                    _add_method(cls, child)
                self._function(child, f"{qualname}.{child.name}")
            elif isinstance(child, ast.ClassDef):
                self._class(child, f"{qualname}.{child.name}")
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                self.late_imports.extend(self._imports(child))
            else:
                cls.attributes.update(assigned(child))

    def _function(self, node: FunctionNode, qualname: str) -> None:
        for child, _ in statements(node.body):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                self.late_imports.extend(self._imports(child))
            elif isinstance(child, ast.ClassDef):
                self._class(child, f"{qualname}.<locals>.{child.name}")
            elif isinstance(child, _FUNCTIONS):
                self._function(child, f"{qualname}.<locals>.{child.name}")

    def _imports(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    yield alias.asname, alias.name
                else:
                    top = alias.name.partition(".")[0]
                    yield top, top
            return
        base = node.module or ""
        if node.level:
            above = self.layout.relative_base(str(self.module.path), node.level)
            base = f"{above}.{base}" if base else above
        for alias in node.names:
            if alias.name == "*":
                self.module.stars.append(base)
            else:
                yield alias.asname or alias.name, f"{base}.{alias.name}"


def _add_method(cls: ClassInfo, node: FunctionNode) -> None:
    # `@x.setter` and `@x.deleter` share the name of the property, which is the one to keep.
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter"):
            cls.methods.setdefault(node.name, node)
            return
    cls.methods[node.name] = node


def statements(body: Iterable[ast.stmt], fallback: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements of a body and of the blocks in it, not of the functions and classes.

    The flag marks the branches for the case that something is missing (`except ImportError:`).
    """
    for node in body:
        yield node, fallback
        if not isinstance(node, _BLOCKS):
            continue
        if isinstance(node, ast.Match):
            for case in node.cases:
                yield from statements(case.body, fallback)
            continue
        yield from statements(node.body, fallback)
        if not isinstance(node, (ast.With, ast.AsyncWith)):
            yield from statements(node.orelse, fallback)
        if isinstance(node, _TRIES):
            for handler in node.handlers:
                yield from statements(handler.body, True)
            yield from statements(node.finalbody, fallback)


def assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names that a plain assignment binds, each with its value."""
    if isinstance(node, ast.AnnAssign):
        if node.value is not None and isinstance(node.target, ast.Name):
            yield node.target.id, node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            elif isinstance(target, (ast.Tuple, ast.List)):
                yield from _unpacked(target.elts, node.value)


def _unpacked(targets: list[ast.expr], value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """`A, B = 0, 1` and `A, B = range(2)`, the two ways to number names."""
    if isinstance(value, (ast.Tuple, ast.List)):
        values = value.elts
    else:
        values = _range_values(value, len(targets))
    if len(values) == len(targets):
        for target, one in zip(targets, values, strict=True):
            if isinstance(target, ast.Name):
                yield target.id, one


def _range_values(value: ast.expr, count: int) -> list[ast.expr]:
    if not (isinstance(value, ast.Call) and dotted(value.func) == "range"):
        return []
    bounds = [arg.value for arg in value.args if isinstance(arg, ast.Constant)]
    numbers = [bound for bound in bounds if isinstance(bound, int)]
    if not numbers or len(numbers) != len(value.args):
        return []
    if len(numbers) > 2 and numbers[2] == 0:
        return []
    span = range(*numbers)
    if len(span) != count:
        return []
    return [ast.copy_location(ast.Constant(number), value) for number in span]
