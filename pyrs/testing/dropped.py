"""What a verification dropped: a look into the two hooks while it ran."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyrs._core import hooks
from pyrs._core.display import short

__all__ = ["DroppedAssertions", "watched"]


class DroppedAssertions:
    """What reached the hooks for dropped elements and dropped errors while a verification ran.

    Elements are counted, as the hook counts them; they are not kept. The hooks belong to the process: what other
    threads dropped meanwhile is here too.

    Attributes:
        counts: the numbers of elements that were dropped together, in order.
        errors: the errors that were dropped, in order.
    """

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.errors: list[BaseException] = []

    @property
    def elements(self) -> int:
        """How many elements were dropped."""
        return sum(self.counts)

    def __repr__(self) -> str:
        return f"<DroppedAssertions: {self.elements} elements, {len(self.errors)} errors>"

    def has_dropped(self, count: int | None = None) -> DroppedAssertions:
        """So many elements were dropped; at least one if no count is given."""
        holds = self.elements > 0 if count is None else self.elements == count
        return self._assert(holds, f"{'some' if count is None else count} dropped elements")

    def has_not_dropped(self) -> DroppedAssertions:
        """No element was dropped."""
        return self._assert(self.elements == 0, "no dropped element")

    def has_dropped_errors(self, *kinds: type[BaseException]) -> DroppedAssertions:
        """Errors of these kinds were dropped, one of each in this order; at least one if no kind is given."""
        holds = (
            len(kinds) == len(self.errors) and all(map(isinstance, self.errors, kinds)) if kinds else bool(self.errors)
        )
        return self._assert(holds, f"dropped errors {', '.join(kind.__name__ for kind in kinds)}".strip())

    def has_dropped_error_matching(self, matching: str) -> DroppedAssertions:
        """The text of one of the dropped errors matches this regular expression."""
        return self._assert(
            any(re.search(matching, str(error)) for error in self.errors), f"a dropped error matching {matching!r}"
        )

    def has_not_dropped_errors(self) -> DroppedAssertions:
        """No error was dropped."""
        return self._assert(not self.errors, "no dropped error")

    def _assert(self, holds: bool, expected: str) -> DroppedAssertions:
        if not holds:
            cause = self.errors[0] if self.errors else None
            raise AssertionError(
                f"expected {expected}: {self.elements} elements, errors {short(self.errors)}"
            ) from cause
        return self


@contextmanager
def watched() -> Iterator[DroppedAssertions]:
    """Have the hooks tell what is dropped inside the block, and nobody else."""
    dropped = DroppedAssertions()
    error_hook = hooks.set_error_hook(lambda error, where: dropped.errors.append(error))
    element_hook = hooks.set_element_hook(lambda count, where: dropped.counts.append(count))
    try:
        yield dropped
    finally:
        hooks.set_error_hook(error_hook)
        hooks.set_element_hook(element_hook)
