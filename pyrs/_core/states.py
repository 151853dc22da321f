"""The life cycle of a Subscription as a transition table.

The hot path (``downstream``) uses flags instead of this table. A test compares the two for calls of ``request`` and
``cancel`` after the end. The guard and the test kit use the table.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class State(Enum):
    """The state of a Subscription, as seen between the Publisher and its Subscriber."""

    WAITING = "waiting for on_subscribe"
    ACTIVE = "active"
    CANCELLED = "cancelled"
    ENDED = "ended"


class Signal(Enum):
    """The six signals of the specification."""

    ON_SUBSCRIBE = "on_subscribe"
    ON_NEXT = "on_next"
    ON_ERROR = "on_error"
    ON_COMPLETE = "on_complete"
    REQUEST = "request"
    CANCEL = "cancel"


class Transition(NamedTuple):
    """The effect of a signal in a state.

    Attributes:
        state: the state after the signal.
        passes: whether the signal is forwarded to the other side.
        rule: the rule by which the signal is forwarded, ignored or a violation.
        violation: whether the sender broke that rule.
    """

    state: State
    passes: bool
    rule: str
    violation: bool = False


TRANSITIONS: dict[tuple[State, Signal], Transition] = {
    (State.WAITING, Signal.ON_SUBSCRIBE): Transition(State.ACTIVE, True, "1.9"),
    (State.WAITING, Signal.ON_NEXT): Transition(State.ENDED, False, "1.9", violation=True),
    (State.WAITING, Signal.ON_ERROR): Transition(State.ENDED, False, "1.9", violation=True),
    (State.WAITING, Signal.ON_COMPLETE): Transition(State.ENDED, False, "1.9", violation=True),
    (State.WAITING, Signal.REQUEST): Transition(State.WAITING, False, "3.1", violation=True),
    (State.WAITING, Signal.CANCEL): Transition(State.CANCELLED, False, "3.1", violation=True),
    (State.ACTIVE, Signal.ON_SUBSCRIBE): Transition(State.ACTIVE, False, "2.12", violation=True),
    (State.ACTIVE, Signal.ON_NEXT): Transition(State.ACTIVE, True, "1.1"),
    (State.ACTIVE, Signal.ON_ERROR): Transition(State.ENDED, True, "1.4"),
    (State.ACTIVE, Signal.ON_COMPLETE): Transition(State.ENDED, True, "1.5"),
    (State.ACTIVE, Signal.REQUEST): Transition(State.ACTIVE, True, "3.8"),
    (State.ACTIVE, Signal.CANCEL): Transition(State.CANCELLED, True, "3.12"),
    (State.CANCELLED, Signal.ON_SUBSCRIBE): Transition(State.CANCELLED, False, "2.12", violation=True),
    (State.CANCELLED, Signal.ON_NEXT): Transition(State.CANCELLED, False, "2.8"),
    (State.CANCELLED, Signal.ON_ERROR): Transition(State.CANCELLED, False, "1.8"),
    (State.CANCELLED, Signal.ON_COMPLETE): Transition(State.CANCELLED, False, "1.8"),
    (State.CANCELLED, Signal.REQUEST): Transition(State.CANCELLED, False, "3.6"),
    (State.CANCELLED, Signal.CANCEL): Transition(State.CANCELLED, False, "3.7"),
    (State.ENDED, Signal.ON_SUBSCRIBE): Transition(State.ENDED, False, "2.12", violation=True),
    (State.ENDED, Signal.ON_NEXT): Transition(State.ENDED, False, "1.7", violation=True),
    (State.ENDED, Signal.ON_ERROR): Transition(State.ENDED, False, "1.7", violation=True),
    (State.ENDED, Signal.ON_COMPLETE): Transition(State.ENDED, False, "1.7", violation=True),
    (State.ENDED, Signal.REQUEST): Transition(State.ENDED, False, "1.6"),
    (State.ENDED, Signal.CANCEL): Transition(State.ENDED, False, "1.6"),
}
