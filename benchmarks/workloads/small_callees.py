"""A Mandelbrot set whose every inner line calls two tiny plain functions."""

from __future__ import annotations

PROFILED = ("mandelbrot",)
SIDE = 16
LIMIT = 40


def real_part(x: float, y: float, cx: float) -> float:
    """Return the real part of z² + c."""
    return x * x - y * y + cx


def imaginary_part(x: float, y: float, cy: float) -> float:
    """Return the imaginary part of z² + c."""
    return 2.0 * x * y + cy


def norm(x: float, y: float) -> float:
    """Return |z|²."""
    return x * x + y * y


def radius(step: int) -> float:
    """Return the square of the radius that ends an orbit."""
    return 4.0 if step else 5.0


def mandelbrot(side: int) -> int:
    """Add up the steps in which the points of a picture leave the circle."""
    steps = 0
    scale = 3.0 / side
    for point in range(side * side):
        zx, zy = 0.0, 0.0
        cx, cy = point % side * scale - 2.1, point // side * scale - 1.5
        for step in range(LIMIT):
            zx, zy = real_part(zx, zy, cx), imaginary_part(zx, zy, cy)
            if norm(zx, zy) > radius(step):
                break
        steps += step
    return steps


def run() -> int:
    """Do one round: a picture of 16 by 16 points."""
    return mandelbrot(SIDE)
