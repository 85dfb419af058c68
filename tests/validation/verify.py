"""What --verify reports against the true error: that of a flow integrated here from the equations, with steps fine enough
that they count for nothing. Lengths, coarse velocities, single precision and coalescence included.
"""
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1])]
import h5py
import numpy as np

import program
from program import ProgramTest


def attention(x, beta):
    logits = beta * x @ x.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ x


def projected(x, a):
    return a - (x * a).sum(1, keepdims=True) * x


def post(beta):
    return lambda t, state: [projected(state[0], attention(state[0], beta)), 0 * state[1]]


def pre(beta):  # directions x and lengths r of x' = A(x / r): r theta' = P A, r' = <theta, A>
    def velocity(t, state):
        a = attention(state[0], beta)
        return [projected(state[0], a) / state[1][:, None], (state[0] * a).sum(1)]
    return velocity


def integrate(velocity, x, time, steps=4000):
    """Classical Runge-Kutta; the error is (time / steps)^4, below 1e-11 in all that follows."""
    state, h = [x, np.ones(len(x))], time / steps
    moved = lambda s, k, c: [a + c * b for a, b in zip(s, k)]
    for i in range(steps):
        t = i * h
        k1 = velocity(t, state)
        k2 = velocity(t + h / 2, moved(state, k1, h / 2))
        k3 = velocity(t + h / 2, moved(state, k2, h / 2))
        k4 = velocity(t + h, moved(state, k3, h))
        state = [s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4)]
        state[0] = state[0] / np.linalg.norm(state[0], axis=1, keepdims=True)
    return state


class Verify(ProgramTest):
    def errors(self, velocity, *arguments):
        """(answer, true error of a position, true relative error of a length)"""
        out = self.directory / str(len(list(self.directory.iterdir())))
        answer = self.answer(*arguments, "--out", out, "--verify")
        with h5py.File(out / "result.h5") as file:
            positions = file["snapshots/positions"][:].astype(float)
            lengths = file["snapshots/norms"][-1] if "snapshots/norms" in file else np.ones(positions.shape[1])
        x, r = integrate(velocity, positions[0], answer["time"])
        error = np.linalg.norm(positions[-1] - x, axis=1).max()
        return answer, error, (np.abs(lengths - r) / r).max()

    def agree(self, reported, true, low=0.8, high=1.25):
        self.assertGreater(true, 1e-10, "nothing to verify")
        self.assertGreater(reported, low * true)
        self.assertLess(reported, high * true)

    def test_adaptive_runs_with_coalescence(self):
        for task in ("--tokens 20 --dim 3 --beta 4 --time 9 --tolerance 1e-5",
                     "--tokens 8 --dim 2 --beta 1 --time 12 --tolerance 1e-4 --seed 3",
                     "--tokens 20 --dim 4 --beta 3 --time 8 --tolerance 1e-5 --merge-radius 1e-2"):
            with self.subTest(task):
                answer, error, _ = self.errors(post(answer_beta(task)), *task.split())
                self.assertLess(answer["distinct_tokens"], answer["tokens"])
                self.agree(answer["verified_error"], error)

    def test_lengths(self):
        # A method of first order with a quarter of the step sees 3/4 of its error.
        for stepper, step, tokens, seed in (("layers", 0.2, 12, 0), ("euler", 0.05, 30, 4), ("layers", 0.5, 7, 2)):
            with self.subTest(stepper, step=step):
                answer, error, length = self.errors(pre(3), "--norm", "pre", "--beta", 3, "--time", 6, "--stepper", stepper,
                                                    "--step", step, "--tokens", tokens, "--seed", seed)
                self.agree(answer["verified_length_error"], length, 0.6, 0.95)
                self.agree(answer["verified_error"], error, 0.6, 0.95)
                self.assertGreater(length, 1e-3)

    def test_coarse_velocities(self):
        for engine, dim, accuracy in (("circle", 2, 1e-5), ("sphere", 3, 1e-5), ("moments", 3, 1e-6)):
            with self.subTest(engine):
                answer, error, _ = self.errors(post(2), "--tokens", 60, "--dim", dim, "--beta", 2, "--time", 2, "--engine", engine,
                                               "--accuracy", accuracy, "--tolerance", 1e-8, "--merge-radius", "off")
                self.agree(answer["verified_error"], error)

    def test_single_precision(self):
        for beta, tokens in ((2, 50), (6, 30)):
            answer, error, _ = self.errors(post(beta), "--tokens", tokens, "--beta", beta, "--time", 2, "--precision", "single",
                                           "--tolerance", 1e-4)
            self.agree(answer["verified_error"], error)
            self.assertGreater(error, 1e-8)

    def test_what_has_no_finer_run_is_refused(self):
        for tolerance in (1e-14, 3e-13):
            run = program.flow("--verify", "--tolerance", tolerance)
            self.assertEqual((run.status, run.err.count("\n")), (2, 1))
            self.assertIn(f"{tolerance:g}", run.err)
        self.assertEqual(program.flow("--verify", "--tolerance", 1e-12, "--tokens", 4, "--time", 1).status, 0)

    def test_times_of_collapse(self):
        for seed in (1, 5):
            errors = [self.answer("--time", "inf", "--tokens", 10, "--dim", 2, "--beta", 3, "--seed", seed, "--tolerance", tolerance,
                                  "--verify")["verified_time_error"] for tolerance in (1e-4, 1e-8)]
            self.assertGreater(errors[0], 0)
            self.assertLess(errors[0], 0.05)
            self.assertLess(errors[1], 1e-3 * max(errors[0], 1e-4))


def answer_beta(task):
    words = task.split()
    return float(words[words.index("--beta") + 1])


if __name__ == "__main__":
    program.main()
