"""A profile as a DataFrame of pandas, which may not be installed."""

from __future__ import annotations

from lineprof.errors import LineprofError
from lineprof.exports.rows import columns_of, rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-not-found,import-untyped,unused-ignore]

    from lineprof.stats import Profile


def data_frame(stats: Profile) -> DataFrame:
    """Return one row for each line: see `rows_of`; LineprofError without pandas."""
    try:
        import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise LineprofError(
            f"to_pandas() needs pandas, which cannot be imported ({error})",
            hint="install it: pip install pandas",
        ) from error
    rows = rows_of(stats)
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else columns_of({}))
