"""Images as arrays: filters, a transform, statistics and sorting."""

from __future__ import annotations

import numpy as np
import numpy.fft  # it would be imported at its first use


def image(side: int) -> np.ndarray:
    """Return a picture of waves."""
    line = np.linspace(0.0, 40.0, side)
    rows = np.sin(line)[:, None]
    columns = np.cos(line * 1.5)[None, :]
    return rows * columns + 1.0


def blurred(picture: np.ndarray) -> np.ndarray:
    """Return the mean of each pixel and its neighbours."""
    wide = np.pad(picture, 1, mode="edge")
    total = np.zeros_like(picture)
    for row in range(3):
        for column in range(3):
            part = wide[row : row + len(picture), column : column + len(picture)]
            total = total + part
    return total / 9.0


def spectrum(picture: np.ndarray) -> np.ndarray:
    """Return the power by frequency."""
    found = np.fft.rfft2(picture)
    power = np.abs(found) ** 2
    return np.log1p(power)


def statistics(picture: np.ndarray) -> float:
    """Return a number that depends on all pixels."""
    flat = picture.ravel().copy()
    flat.sort()
    counts, edges = np.histogram(flat, bins=200)
    middle = (edges[:-1] + edges[1:]) / 2
    mean = float((counts * middle).sum() / counts.sum())
    distances = np.abs(flat - mean)
    order = np.argsort(distances, kind="stable")
    return float(flat[order[:100]].sum())


def main() -> None:
    """Run it for some sizes."""
    kept = []
    for side in (200, 400, 800):
        picture = image(side)
        soft = blurred(picture)
        kept.append(spectrum(soft))
        print(f"{statistics(soft):.3f}")
    print(sum(one.size for one in kept))


main()
