"""DroppedAssertions: assertions on dropped elements and errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyrs._core import hooks
from pyrs._core.display import short


class DroppedAssertions:
    """The elements and errors that were dropped during a verification.

    Dropped elements are losses, and only their number is recorded. Discarded elements are all elements that an operator
    received and neither emitted nor used, also by design, as in ``filter`` (see ``do_on_discard``); the elements are
    recorded. The hooks are global, so elements and errors that other threads drop during the verification are included.

    Attributes:
        counts: the number of elements of each report, in order.
        discarded: the discarded elements, in order.
        errors: the dropped errors, in order.
    """

    def __init__(self) -> None:
        self.discarded: list[Any] = []
        self.counts: list[int] = []
        self.errors: list[BaseException] = []

    @property
    def elements(self) -> int:
        """Return the number of dropped elements."""
        return sum(self.counts)

    def __repr__(self) -> str:
        return f"<DroppedAssertions: {self.elements} elements, {len(self.errors)} errors>"

    def has_dropped(self, count: int | None = None) -> DroppedAssertions:
        """Assert that ``count`` elements were dropped, or at least one if it is None."""
        holds = self.elements > 0 if count is None else self.elements == count
        return self._assert(holds, f"{'some' if count is None else count} dropped elements")

    def has_not_dropped(self) -> DroppedAssertions:
        """Assert that no element was dropped."""
        return self._assert(self.elements == 0, "no dropped element")

    def has_discarded(self, *elements: Any) -> DroppedAssertions:
        """Assert that exactly these elements were discarded, in any order.

        Elements are compared by their repr. Without arguments, at least one element must have been discarded.
        """
        holds = sorted(map(repr, self.discarded)) == sorted(map(repr, elements)) if elements else bool(self.discarded)
        return self._assert(holds, f"discarded elements {short(elements)}" if elements else "some discarded elements")

    def has_not_discarded(self) -> DroppedAssertions:
        """Assert that no element was discarded."""
        return self._assert(not self.discarded, "no discarded element")

    def has_dropped_errors(self, *kinds: type[BaseException]) -> DroppedAssertions:
        """Assert that exactly errors of these types were dropped, in order.

        Without types, assert that at least one error was dropped.
        """
        holds = (
            len(kinds) == len(self.errors) and all(map(isinstance, self.errors, kinds)) if kinds else bool(self.errors)
        )
        return self._assert(holds, f"dropped errors {', '.join(kind.__name__ for kind in kinds)}".strip())

    def has_dropped_error_matching(self, matching: str) -> DroppedAssertions:
        """Assert that this regular expression matches a dropped error's message.

        A match of a part of the message is sufficient.
        """
        return self._assert(
            any(re.search(matching, str(error)) for error in self.errors), f"a dropped error matching {matching!r}"
        )

    def has_not_dropped_errors(self) -> DroppedAssertions:
        """Assert that no error was dropped."""
        return self._assert(not self.errors, "no dropped error")

    def _assert(self, holds: bool, expected: str) -> DroppedAssertions:
        if not holds:
            cause = self.errors[0] if self.errors else None
            raise AssertionError(
                f"expected {expected}: {self.elements} elements, errors {short(self.errors)}, "
                f"discarded {short(self.discarded)}"
            ) from cause
        return self


@contextmanager
def watched() -> Iterator[DroppedAssertions]:
    """Record dropped elements and errors in the block by replacing the global hooks."""
    dropped = DroppedAssertions()
    error_hook = hooks.set_error_hook(lambda error, where: dropped.errors.append(error))
    element_hook = hooks.set_element_hook(lambda count, where: dropped.counts.append(count))
    discard_hook = hooks.set_discard_hook(dropped.discarded.append)
    try:
        yield dropped
    finally:
        hooks.set_error_hook(error_hook)
        hooks.set_element_hook(element_hook)
        hooks.set_discard_hook(discard_hook)
