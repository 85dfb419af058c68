"""Mean-field densities by other means than the program's, for tests/validation/density_errors.py. Both references know the kernel
e^{beta <x,y>} by its values only (no Bessel functions, no eigenvalues), step by the classical Runge-Kutta method with diffusion
taken exactly, and tell their own error by a second run with half the step.

circle: the density on equal angles, convolutions and derivatives by numpy's FFT.
zonal:  the density on a Gauss rule (Golub-Welsch), the kernel averaged over the azimuth by another one.
"""
import numpy as np


def runge_kutta(slope, decay, state, times, step):
    """States at the times of y' = slope(y) - decay y, with steps of about the given length."""
    states, now = [state], times[0]
    for time in times[1:]:
        count = max(1, int(np.ceil((time - now) / step)))
        h = (time - now) / count
        half, whole = np.exp(-decay * h / 2), np.exp(-decay * h)
        for _ in range(count):
            a = slope(state)
            b = slope(half * (state + h / 2 * a))
            c = slope(half * state + h / 2 * b)
            d = slope(whole * state + h * half * c)
            state = whole * state + h / 6 * (whole * a + 2 * half * (b + c) + d)
        states.append(state)
        now = time
    return np.array(states)


def extrapolated(run, step):
    """The fifth-order combination of two runs, and the better of them: their difference exceeds the error of the first."""
    coarse, fine = run(step), run(step / 2)
    return fine + (fine - coarse) / 15, fine


class Circle:
    """From samples of the density relative to uniform on `points` equal angles from -pi on."""

    def __init__(self, softmax, beta, noise, points):
        self.softmax, self.beta, self.points = softmax, beta, points
        angles = 2 * np.pi * np.arange(points) / points
        weight = np.exp(beta * (np.cos(angles) - 1))
        self.kernel = np.fft.rfft(weight) / points
        self.pull = np.fft.rfft(-np.sin(angles) * weight) / points  # of a token at 0 on one at the angle
        self.order = np.arange(points // 2 + 1)
        self.kept = self.order <= points // 3
        self.decay = noise * self.order ** 2
        self.angles = angles - np.pi

    def modes(self, density):
        return np.fft.rfft(density(self.angles)) / self.points

    def slope(self, modes):
        density = np.fft.irfft(modes * self.points)
        speed = np.fft.irfft(modes * self.pull * self.points)
        if self.softmax:
            speed = speed / np.maximum(np.fft.irfft(modes * self.kernel * self.points), 1e-300)
        else:
            speed = speed * np.exp(self.beta)
        # Where the partition function is lost to rounding no token is.
        speed = np.clip(speed, -1, 1) if self.softmax else speed
        return -1j * self.order * self.kept * np.fft.rfft(density * speed) / self.points

    def run(self, density, times, step):
        start = self.modes(density)
        return extrapolated(lambda h: runge_kutta(self.slope, self.decay, start, times, h), step)

    def values(self, modes):
        return np.fft.irfft(modes * self.points)

    def order_parameter(self, modes):
        return np.abs(modes[1])

    def energy(self, modes):
        """Over e^beta."""
        density = self.values(modes)
        potential = np.fft.irfft(modes * self.kernel * self.points)
        return np.mean(density * potential) / (2 * self.beta)

    def entropy(self, modes):
        density = np.maximum(self.values(modes), 1e-300)
        return np.mean(density * np.log(density))


def gauss(dim, nodes):
    """Nodes, weights and orthonormal polynomials (degree x node) for the height on S^{dim-1}."""
    l = np.arange(1, nodes)
    square = np.where(l == 1, 1 / dim, l * (l + dim - 3) / np.maximum((2 * l + dim - 2) * (2 * l + dim - 4), 1e-300))
    off = np.sqrt(square)
    heights, vectors = np.linalg.eigh(np.diag(off, 1) + np.diag(off, -1))
    return heights, vectors[0] ** 2, vectors / vectors[0], off


class Zonal:
    """From samples of the density relative to uniform at a height."""

    def __init__(self, softmax, dim, beta, noise, degrees):
        self.softmax, self.dim, self.beta = softmax, dim, beta
        t, self.weights, polynomials, off = gauss(dim, 2 * degrees)
        self.heights, self.values_of = t, polynomials[:degrees].T  # node x degree
        slopes = np.zeros((degrees, t.size))
        for l in range(1, degrees):  # the derivative of t p = a' p+ + a p-
            before = off[l - 2] * slopes[l - 2] if l > 1 else 0
            slopes[l] = (polynomials[l - 1] + t * slopes[l - 1] - before) / off[l - 1]
        self.slopes_of = slopes.T
        self.at_pole = self.polynomials(np.array([1.0]), degrees)[0]
        around = ((np.array([-1.0, 1.0]), np.array([0.5, 0.5])) if dim == 2 else gauss(dim - 1, 60)[:2])
        radius = np.sqrt((1 - t) * (1 + t))
        kernel, pull = np.zeros((t.size, t.size)), np.zeros((t.size, t.size))
        for height, weight in zip(*around):
            part = weight * np.exp(beta * (np.outer(t, t) + height * np.outer(radius, radius) - 1))
            kernel += part
            pull += part * (t[None, :] - height * np.outer(t / radius, radius))
        self.kernel, self.pull = kernel * self.weights, pull * self.weights
        l = np.arange(degrees)
        self.decay = noise * l * (l + dim - 2)

    def polynomials(self, heights, degrees):
        l = np.arange(1, degrees)
        off = np.sqrt(np.where(l == 1, 1 / self.dim, l * (l + self.dim - 3) /
                               np.maximum((2 * l + self.dim - 2) * (2 * l + self.dim - 4), 1e-300)))
        p = np.ones((degrees, heights.size))
        for l in range(1, degrees):
            p[l] = (heights * p[l - 1] - (off[l - 2] * p[l - 2] if l > 1 else 0)) / off[l - 1]
        return p.T

    def slope(self, c):
        f = self.values_of @ c
        speed = self.pull @ f
        speed = speed / np.maximum(self.kernel @ f, 1e-300) if self.softmax else speed * np.exp(self.beta)
        return self.slopes_of.T @ (self.weights * f * (1 - self.heights ** 2) * speed)

    def run(self, density, times, step):
        start = self.values_of.T @ (self.weights * density(self.heights))
        return extrapolated(lambda h: runge_kutta(self.slope, self.decay, start, times, h), step)

    def values(self, c, heights):
        return self.polynomials(heights, c.size) @ c

    def order_parameter(self, c):
        return np.abs(c[1] / np.sqrt(self.dim))

    def energy(self, c):
        """Over e^beta."""
        f = self.values_of @ c
        return (self.weights * f) @ (self.kernel @ f) / (2 * self.beta)

    def entropy(self, c):
        f = np.maximum(self.values_of @ c, 1e-300)
        return (self.weights * f) @ np.log(f)
