"""How the HTML tables look, in light and dark pages: colours are laid over theirs."""

from __future__ import annotations

_HEAT = "255,112,0"  # red, green, blue
_LEAST_SHARE = 0.01  # of the time; less leaves a line without heat
_FAINT, _FULL = 0.08, 0.55  # how much of the page's own colour the heat covers

# Twice the class: pages have styles of their own for tables.
STYLE = """
.lineprof.lineprof{font-size:13px;line-height:1.35}
.lineprof.lineprof details{margin:.3em 0 .9em}
.lineprof.lineprof summary{cursor:pointer;padding:.2em 0}
.lineprof.lineprof code{background:none;color:inherit;padding:0}
.lineprof.lineprof .lp-dim{opacity:.6}
.lineprof.lineprof .lp-wide{overflow-x:auto}
.lineprof.lineprof table{border-collapse:collapse;border:0;margin:0;
table-layout:auto;font:12px/1.4 ui-monospace,Menlo,Consolas,monospace}
.lineprof.lineprof th,.lineprof.lineprof td{padding:0 .55em;border:0;
text-align:right;white-space:nowrap;vertical-align:top;max-width:none;
background:none;color:inherit}
.lineprof.lineprof th{font-weight:600;border-bottom:1px solid currentColor}
.lineprof.lineprof tbody tr{background-color:transparent}
.lineprof.lineprof tbody tr:hover{outline:1px solid rgba(128,128,128,.5)}
.lineprof.lineprof .lp-no{opacity:.6;border-right:1px solid rgba(128,128,128,.4)}
.lineprof.lineprof .lp-src{text-align:left;width:100%}
.lineprof.lineprof pre{margin:0;padding:0;border:0;background:none;color:inherit;
font:inherit;white-space:pre;overflow:visible}
""".strip()


def heat(share: float) -> str:
    """Return the style of a line that took `share` (0 to 1) of the time, "" if little.

    It stands at the line itself: where a page takes our style sheet away, it
    mostly leaves this.
    """
    if share < _LEAST_SHARE:
        return ""
    cover = _FAINT + (_FULL - _FAINT) * min(1.0, share)
    return f"background-color:rgba({_HEAT},{cover:.2f})"
