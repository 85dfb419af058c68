"""The kernel e^{beta <x,y>} on the sphere S^{dim-1}, mode by mode, from Bessel functions summed here; shared by tests of
tests/validation."""
import math


def bessel(order, x):
    """I_order(x) by its series of positive terms; order may be a half."""
    term = math.exp(order * math.log(x / 2) - math.lgamma(order + 1))
    total, m = term, 0
    while term > 1e-18 * total:
        m += 1
        term *= (x / 2) ** 2 / (m * (m + order))
        total += term
    return total


def eigenvalue(degree, dim, beta):
    """On harmonics of this degree (Funk and Hecke)."""
    return math.gamma(dim / 2) * (2 / beta) ** (dim / 2 - 1) * bessel(degree + dim / 2 - 1, beta)


def growth(degree, dim, beta, dynamics, noise=0):
    """The rate of a small perturbation of uniform tokens."""
    scale = eigenvalue(0, dim, beta) if dynamics == "sa" else 1
    return degree * (degree + dim - 2) * (eigenvalue(degree, dim, beta) / beta / scale - noise)
