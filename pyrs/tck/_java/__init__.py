"""The official TCK, which runs in a JVM and tests Python objects."""

from __future__ import annotations

from pyrs.tck._java.referee import Family, JavaFailure, JavaReferee

__all__ = ["Family", "JavaFailure", "JavaReferee"]
