"""A script executed as ``__main__`` without what stands under its ``if __name__ == "__main__"``.

The recorded classes and functions belonged to ``__main__``, and their names come up in texts: tracebacks, ``repr``. So
the script gets that name again, and the comparisons of its name that are made while it is loaded are answered with no.
"""

from __future__ import annotations

import ast
from types import CodeType

MAIN, WORKER = "__main__", "__mp_main__"


def compiled(source: bytes, file: str) -> tuple[CodeType, str]:
    """Compile a script; returns the name to execute it under as well.

    Where it uses its name in another way that might decide what it does, that is the name that spawned workers have.

    Raises:
        SyntaxError: It is no Python.
    """
    tree = ast.parse(source, file)
    answered = _Answered()
    made = ast.fix_missing_locations(answered.visit(tree))
    if answered.unsure:
        return compile(source, file, "exec", dont_inherit=True), WORKER
    return compile(made, file, "exec", dont_inherit=True), MAIN


class _Answered(ast.NodeTransformer):
    """Answers comparisons in code that runs while the module is loaded; functions run later and are left alone."""

    unsure = False

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        sides = [node.left, *node.comparators]
        asks = any(_is_name(side) for side in sides) and any(_is_main(side) for side in sides)
        if len(sides) == 2 and asks and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return ast.copy_location(ast.Constant(isinstance(node.ops[0], ast.NotEq)), node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``getLogger(__name__)`` decides nothing."""
        node.func = self.visit(node.func)
        node.args = [each if _is_name(each) else self.visit(each) for each in node.args]
        node.keywords = [each if _is_name(each.value) else self.visit(each) for each in node.keywords]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.unsure = self.unsure or _is_name(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__name__"


def _is_main(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == MAIN
