"""The ways to look at a profile, by name."""

from __future__ import annotations

from lineprof.views import json_, text
from lineprof.views.calls import CALL_VIEWS
from lineprof.views.gpu import GPU_VIEWS
from lineprof.views.view import Option, Options, View

__all__ = ["VIEWS", "Option", "Options", "View"]

VIEWS = {view.name: view for view in (text.VIEW, json_.VIEW, *CALL_VIEWS, *GPU_VIEWS)}
