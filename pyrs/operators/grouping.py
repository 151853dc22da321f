"""group_by: one inner stream per key."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from pyrs._core.display import name_of, short
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable, checked_element, checked_natural
from pyrs.api import Publisher, Subscriber
from pyrs.errors import BufferOverflow
from pyrs.operators.splitting import Dispatcher, Part, PartHandle, PrefetchingDispatcher


class Group(Part):
    """The elements of one key."""

    def __init__(self, dispatcher: Dispatcher, key: Any) -> None:
        super().__init__(dispatcher, f"group({short(key)})")
        self.key = key


class _GroupDispatcher(PrefetchingDispatcher):
    """Dispatches each element to the group of its key.

    A group whose handle was garbage-collected without a Subscriber stays the group of its key, and further elements of
    the key are dropped. If the key began a second group, the elements that a Subscriber receives would depend on the
    time of the collection.
    """

    operator: GroupBy

    def __init__(self, subscriber: Subscriber[Any], operator: GroupBy) -> None:
        super().__init__(subscriber, operator)
        # Accessed only by upstream's signals and without the lock, since comparing keys runs user code.
        self._groups: dict[Any, Group] = {}
        self._cancelled_groups: deque[Group] = deque()  # removed from _groups by the next element
        self._live: dict[int, Group] = {}  # the groups that were not cancelled, by id; changed under the lock

    def _open_parts(self) -> Iterable[Part]:
        return self._live.values()

    def _on_detached(self, part: Part) -> None:
        assert isinstance(part, Group)
        if part.subscribed:  # otherwise its key begins no new group
            del self._live[id(part)]
            self._cancelled_groups.append(part)

    def _dispatch(self, element: Any) -> Iterable[Part]:
        operator = self.operator
        key = operator.key(element)
        value = element if operator.value is None else checked_element(operator.value(element), "value")
        while self._cancelled_groups:
            cancelled = self._cancelled_groups.popleft()
            if self._groups.get(cancelled.key) is cancelled:
                del self._groups[cancelled.key]
        group = self._groups.get(key)
        opens = False
        if group is None or id(group) not in self._live:
            if len(self._live) == operator.max_groups and not self.gone:
                raise BufferOverflow(f"more than {operator.max_groups} groups: increase max_groups, or cancel groups")
            opens, group = True, Group(self, key)  # not under the lock, because it calls repr() of the key
        with self.lock:
            self._outstanding -= 1
            if opens and not self.gone:
                self._live[id(group)] = group
                self._open(group)
            if (opens and self.gone) or not group.dispatch(value):
                self._prefetch.consumed += 1
                group = None
        if group is None:
            self.discard(value)
            return ()
        if opens:
            self._groups[key] = group
        return (group,)


class GroupBy(Operator[Any]):
    """``group_by(key, value)``: one inner stream per key."""

    run_type = _GroupDispatcher

    def __init__(
        self,
        source: Publisher[Any],
        key: Callable[[Any], Any],
        value: Callable[[Any], Any] | None,
        prefetch: int,
        max_groups: int,
        wrap: Callable[[PartHandle], Publisher[Any]],
    ) -> None:
        self.key = checked_callable(key, "key")
        self.value = value if value is None else checked_callable(value, "value")
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self.max_groups = checked_natural(max_groups, "max_groups", 1)
        self.wrap = wrap
        super().__init__(source, f"group_by({name_of(key)}{'' if value is None else f', {name_of(value)}'})")
