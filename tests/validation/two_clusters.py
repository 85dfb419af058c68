"""Exact dynamics of two clusters of masses m1, m2 at angle delta under softmax attention (theory A5):

    delta' = -sin(delta) [ m2 / (m1 e^{b} + m2 e^{bc}) + m1 / (m2 e^{b} + m1 e^{bc}) ] e^{bc},   c = cos(delta).

Independent of the program: a quadrature in delta, in log form where times leave the range of doubles.
"""
import numpy as np


def _rates(delta, beta, m1, m2):
    """Speeds of both clusters towards each other."""
    fall = np.exp(-2 * beta * np.sin(delta / 2) ** 2)  # e^{beta (c - 1)}
    speed = np.sin(delta) * fall
    return speed * m2 / (m1 + m2 * fall), speed * m1 / (m2 + m1 * fall)


def _grid(start, end, beta, points=400_001):
    """Angles from start down to end, dense where the integrand 1/speed changes fast (near the start)."""
    reach = np.linspace(0, 1, points)
    width = min(1.0, 8 / (beta * np.sin(start) * (start - end) + 1e-300))
    return start - (start - end) * (width * reach + (1 - width) * reach**3)


def _integral(y, x):
    return np.sum((y[1:] + y[:-1]) * np.diff(x)) / 2


def _extrapolated(function, points=100_001):
    """Richardson: the trapezoidal rule at two resolutions."""
    coarse, fine = function(points), function(2 * points - 1)
    return fine + (fine - coarse) / 3


def merge_time(delta0, delta1, beta, m1=1.0, m2=1.0):
    """Time from angle delta0 to delta1."""

    def integral(points):
        delta = _grid(delta0, delta1, beta, points)
        a, b = _rates(delta, beta, m1, m2)
        return -_integral(1 / (a + b), delta)

    return _extrapolated(integral)


def meeting_point(delta0, beta, m1=1.0, m2=1.0):
    """How far cluster 1 moves towards cluster 2 until they meet."""

    def integral(points):
        delta = _grid(delta0, 1e-9, beta, points)
        a, b = _rates(delta, beta, m1, m2)
        return -_integral(a / (a + b), delta)

    return _extrapolated(integral)
