"""Every forward dynamics of `attractor flow` that has a closed form, a limit or a conserved quantity: causal masks, leaders,
hardmax and Frank-Wolfe, linear, ReLU and Sinkhorn rules, heads, position bias, noise. Positions are read from result.h5.
"""
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program

import h5py


PLANE = ("--dim", 2, "--init", "angles")


def wrapped(angle):
    return (angle + math.pi) % (2 * math.pi) - math.pi


def at(angles):
    return (*PLANE, "--angles=" + ",".join(map(repr, angles)))


def angles_of(tokens):
    return [math.atan2(y, x) for x, y in tokens]


def moved(before, after):
    return [math.dist(a, b) for a, b in zip(before, after)]


def diameter(tokens):
    return max(math.dist(a, b) for a in tokens for b in tokens)


def slope(xs, ys):
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)


class Dynamics(program.ProgramTest):
    def positions(self, *arguments, name="run"):
        """Positions of all tokens at each snapshot."""
        self.answer(*arguments, "--out", self.directory / name)
        with h5py.File(self.directory / name / "result.h5") as f:
            return f["snapshots/positions"][:].tolist()

    def end(self, *arguments, name=None):
        self.count = getattr(self, "count", 0) + 1
        return self.positions(*arguments, "--snapshots", 2, "--outputs", 1, name=name or f"run{self.count}")[-1]

    def file(self, name, rows):
        with h5py.File(self.directory / f"{name}.h5", "w") as f:
            f["x"] = rows
        return f"{self.directory / name}.h5:/x"


class Causal(Dynamics):
    def test_first_token_never_moves(self):
        for rule in ("sa", "usa", "linear", "relu", "hardmax", "radial"):
            stepper = ("--stepper", "rk4", "--step", 0.05) if rule == "hardmax" else ()
            tokens = self.positions("--dynamics", rule, "--mask", "causal", "--tokens", 12, "--dim", 4, "--beta", 1.5,
                                    "--time", 2, *stepper, "--seed", 3, name=rule)
            self.assertLessEqual(max(moved([tokens[0][0]] * len(tokens), [x[0] for x in tokens])), 2e-15, rule)
            self.assertGreater(max(moved(tokens[0], tokens[-1])), 1e-3 if rule != "hardmax" else -1, rule)

    def test_two_tokens_are_a_pair_at_half_speed(self):
        time = 21.66241401999
        for mask, end in (("causal", time), ("full", time / 2)):
            answer = self.answer("--mask", mask, *at([0, math.pi / 2]), "--beta", 4, "--time", end, "--tolerance", 1e-12)
            self.assertAlmostEqual(answer["one_minus_mean_cosine"], 1e-3, delta=1e-12)

    def test_distances_finally_fall_like_half_the_time(self):
        early, late = (self.end("--mask", "causal", "--init", "cap", "--cap-angle", 0.4, "--tokens", 6, "--beta", 1,
                                "--time", t, "--tolerance", 1e-13, "--seed", 2) for t in (40, 50))
        for k in range(1, 6):
            rate = math.log(math.dist(early[k], early[0]) / math.dist(late[k], late[0])) / 10
            self.assertAlmostEqual(rate, 0.5, delta=2e-3, msg=f"token {k + 1}")
        # Full attention is twice as fast.
        early, late = (self.end("--init", "cap", "--cap-angle", 0.4, "--tokens", 6, "--beta", 1, "--time", t,
                                "--tolerance", 1e-13, "--seed", 2, "--merge-radius", "off") for t in (10, 15))
        self.assertAlmostEqual(math.log(diameter(early) / diameter(late)) / 5, 1, delta=2e-3)

    def test_all_reach_the_first_token_whatever_query_and_key(self):
        for seed in (1, 2, 3):
            tokens = self.positions("--mask", "causal", "--query", "gaussian", "--key", "gaussian", "--tokens", 8,
                                    "--dim", 4, "--time", 400, "--seed", seed, name=f"qk{seed}")
            self.assertLess(max(math.dist(x, tokens[0][0]) for x in tokens[-1]), 1e-6)

    def test_first_token_is_a_linear_flow(self):
        rates = (1.0, 0.4, -0.2, 0.1)
        value = self.file("V", [[rate if i == j else 0.0 for j in range(4)] for i, rate in enumerate(rates)])
        tokens = self.positions("--mask", "causal", "--value", value, "--tokens", 8, "--dim", 4, "--time", 2,
                                "--tolerance", 1e-12)
        grown = [x * math.exp(2 * rate) for x, rate in zip(tokens[0][0], rates)]
        length = math.hypot(*grown)
        self.assertLess(math.dist(tokens[-1][0], [x / length for x in grown]), 1e-11)

    def test_leaders(self):
        # arXiv 2411.04990: n = 200 on the circle, beta = 64, radius 4/sqrt(beta).
        n, beta, radius = 200, 64, 0.5
        for seed in (1, 2, 3, 4):
            tokens = self.positions("--mask", "causal", "--tokens", n, "--dim", 2, "--beta", beta, "--time", 150,
                                    "--outputs", 2, "--output-spacing", "linear", "--snapshots", 3, "--seed", seed,
                                    name=f"leaders{seed}")
            start = angles_of(tokens[0])
            centres, strong = [], []
            for k, angle in enumerate(start):
                if all(abs(wrapped(angle - start[j])) > radius for j in centres):
                    centres.append(k)
                if all(abs(wrapped(angle - other)) > radius for other in start[:k]):
                    strong.append(k)
            self.assertGreaterEqual(len(strong), 4)
            for now in map(angles_of, tokens[1:]):  # t = 75, 150
                way = [abs(wrapped(b - a)) for a, b in zip(start, now)]
                others = [way[i] for i in range(n) if i not in centres]
                mean = sum(others) / len(others)
                self.assertGreater(mean, 0.2)
                self.assertLess(max(way[i] for i in strong), 0.1 * mean)
                gathered = sum(min(abs(wrapped(a - now[j])) for j in centres) < 0.05 for a in now)
                self.assertGreaterEqual(gathered, 0.99 * n)

    def test_lost_in_the_middle(self):
        # Near consensus x_n(T) = sum_j p_j x_j(0), p the last row of e^{T(A - I)}: a walk that leaves i at rate 1 for
        # j <= i with odds e^{-slope (i-j)}. slope = 1/n: the bias is 1 over the whole sequence.
        n, time, shift = 64, 2.0, 1e-6
        weights = [[math.exp(-(i - j) / n) for j in range(i + 1)] for i in range(n)]
        odds = [[w / sum(row) for w in row] for row in weights]
        walk, term, profile = [0.0] * (n - 1) + [1.0], math.exp(-time), [0.0] * n
        for k in range(40):
            profile = [p + term * w for p, w in zip(profile, walk)]
            walk = [sum(walk[i] * odds[i][j] for i in range(j, n)) for j in range(n)]
            term *= time / (k + 1)
        falls = [profile[j + 1] < profile[j] for j in range(n - 1)]
        self.assertEqual(falls, sorted(falls, reverse=True))  # down, then up
        bottom = min(profile)
        self.assertGreater(profile[0], 10 * bottom)
        self.assertGreater(profile[-1], 10 * bottom)
        self.assertLess(profile[n // 2], 3 * bottom)
        for j in (0, 1, 2, 5, 10, 20, 32, 45, 58, 61, 62, 63):
            angles = [0.0] * n
            angles[j] = shift
            last = self.end("--mask", "causal", "--distance-bias", 1 / n, *at(angles), "--beta", 1, "--time", time,
                            "--stepper", "rk4", "--step", 0.0025)[-1]
            self.assertAlmostEqual(last[1] / shift / profile[j], 1, delta=1e-6, msg=j)


class Hardmax(Dynamics):
    SIX = ((2.0, 0.0), (-1.5, 1.2), (-0.5, -1.8), (0.3, 0.2), (0.5, -0.4), (-0.2, 0.6))
    FRANK_WOLFE = ("--dynamics", "hardmax", "--space", "attracted", "--init", "file", "--stepper", "euler")

    def polygon(self, vertices, inside, seed, stretch=1.0):
        """Vertices of equal length under diag(stretch^2, 1), then points inside their hull."""
        draw = random.Random(seed)
        corners = [(2 * math.cos(a) / stretch, 2 * math.sin(a)) for a in
                   (2 * math.pi * (k + 0.1) / vertices for k in range(vertices))]
        points = list(corners)
        while len(points) < vertices + inside:
            weights = [draw.expovariate(1) for _ in corners]
            points.append(tuple(sum(w * c[a] for w, c in zip(weights, corners)) / sum(weights) for a in (0, 1)))
        return points

    def test_limit_of_softmax(self):
        # No argmax changes before t = 1: tokens run straight to a vertex of their cell.
        points = self.polygon(5, 15, 5)
        flow = ("--space", "attracted", "--init", "file", "--tokens-file", self.file("x", points), "--stepper", "rk4",
                "--step", 0.02, "--time", 1)
        hard = self.end("--dynamics", "hardmax", *flow)
        inner = lambda p, q: p[0] * q[0] + p[1] * q[1]
        gap = min(best - second for best, second in (sorted((inner(p, q) for q in points), reverse=True)[:2]
                                                     for p in points))
        errors = {}
        for beta in (20, 40, 80, 160):
            soft = self.end("--dynamics", "sa", "--beta", beta, *flow)
            errors[beta] = max(moved(hard, soft))
            self.assertLess(errors[beta], 4 * math.exp(-beta * gap) + 1e-14, beta)
        for beta in (20, 40):
            self.assertLess(errors[2 * beta], 2 * errors[beta] * math.exp(-beta * gap) + 1e-14)
        self.assertGreater(errors[20], 1e-4)

    def test_tokens_select_themselves_on_the_sphere(self):
        tokens = self.positions("--dynamics", "hardmax", "--tokens", 20, "--dim", 4, "--time", 5)
        self.assertLess(max(moved(tokens[0], tokens[-1])), 1e-14)

    def test_frank_wolfe_of_a_positive_form(self):
        # alpha = 0.5, 30 steps: x = v + (1 - alpha)^30 (x_0 - v), v the vertex of the cell of x_0.
        for vertices in (3, 8, 25):
            for stretch in (1.0, 1.7):
                points = self.polygon(vertices, 40, vertices, stretch)
                form = self.file("B", ((stretch ** 2, 0.0), (0.0, 1.0)))
                end = self.end(*self.FRANK_WOLFE, "--tokens-file", self.file("x", points), "--query", form, "--step",
                               0.5, "--time", 15)
                for i, (x, y) in enumerate(zip(points, end)):
                    cell = max(points[:vertices], key=lambda v: stretch ** 2 * x[0] * v[0] + x[1] * v[1])
                    vertex = x if i < vertices else cell
                    truth = [v + 0.5 ** 30 * (a - v) for v, a in zip(vertex, x)]
                    self.assertLess(math.dist(y, truth), 1e-13)

    def test_a_short_vertex_is_no_leader(self):
        # A hull vertex stays only if it is the largest in its own direction: <v, v> >= <v, x_j>.
        points = ((10.0, 0.0), (0.0, 1.0), (1.0, 0.95), (-5.0, -5.0))
        end = self.end(*self.FRANK_WOLFE, "--tokens-file", self.file("x", points), "--step", 0.1, "--time", 10)
        for point, way, stays in zip(points, moved(points, end), (True, True, False, True)):
            self.assertEqual(way < 1e-11, stays, point)

    def test_collapse_of_a_negative_form(self):
        negative = self.file("B", ((-1.0, 0.0), (0.0, -1.0)))
        for step, offset in ((0.3, 0.0302892), (0.1, 0.000764035), (0.03, 4.86635e-5)):
            states = self.positions(*self.FRANK_WOLFE, "--tokens-file", self.file("x", self.SIX), "--key", negative,
                                    "--step", step, "--time", 60, "--outputs", 10, "--output-spacing", "linear",
                                    "--snapshots", 11, name=f"negative{step}")
            centre = [sum(column) / len(self.SIX) for column in zip(*states[-1])]
            self.assertAlmostEqual(math.hypot(*centre) / offset, 1, delta=2e-6)
            # 6 units of time shrink the diameter by the same factor again and again, down to rounding.
            sizes = [diameter(state) for state in states]
            self.assertLess(sizes[-1], 1e-15)
            falls = [math.log(a / b) for a, b in zip(sizes[1:], sizes[2:]) if b > 1e-12]
            self.assertGreaterEqual(len(falls), 2)
            self.assertLess(max(falls) - min(falls), 1e-3)
            self.assertGreater(min(falls), 6)


class Rules(Dynamics):
    def wrapped_cauchy(self, order, n):
        """n tokens on the invariant manifold of Ott and Antonsen: a Moebius image of a regular polygon."""
        ratio = (1 - order) / (1 + order)
        return [2 * math.atan(ratio * math.tan(math.pi * ((i + 0.5) / n - 0.5))) for i in range(n)]

    def test_kuramoto(self):
        # beta = 0 is the Kuramoto model; the linear rule is that of doubled angles, beta times as fast:
        # theta' = (beta/2) R_2 sin(psi - 2 theta), R_2 e^{i psi} = mean e^{2 i theta}.
        start, beta, n = self.wrapped_cauchy(0.3, 120), 2.5, 120
        for time, order in ((1, 0.4603034049690), (3, 0.8155720884373)):
            for rule in ("sa", "usa"):
                answer = self.answer("--dynamics", rule, "--beta", 0, *at(start), "--time", time, "--tolerance", 1e-11)
                self.assertAlmostEqual(answer["order_parameter"], order, delta=1e-10)
            end = self.end("--dynamics", "linear", "--beta", beta, *at([a / 2 for a in start]), "--time", time / beta,
                           "--tolerance", 1e-11)
            self.assertAlmostEqual(abs(sum(complex(*x) ** 2 for x in end)) / n, order, delta=1e-10)

    def test_two_tokens_of_the_linear_rules(self):
        # c' = beta c (1 - c^2): tan(angle) falls like e^{-beta t} in every dimension; relu stops beyond 90 degrees.
        beta, time = 3, 0.7
        for angle in (0.4, 1.2, 2.0):
            for dim in (2, 5):
                pair = self.file("pair", [[1.0] + [0.0] * (dim - 1),
                                          [math.cos(angle), math.sin(angle)] + [0.0] * (dim - 2)])
                ask = ("--beta", beta, "--init", "file", "--tokens-file", pair, "--time", time, "--tolerance", 1e-12)
                end = math.atan(math.tan(angle) * math.exp(-beta * time))
                linear = math.cos(end) * (1 if angle < math.pi / 2 else -1)
                relu = linear if angle < math.pi / 2 else math.cos(angle)
                for rule, truth in (("linear", linear), ("relu", relu)):
                    self.assertAlmostEqual(self.answer("--dynamics", rule, *ask)["mean_cosine"], truth, delta=1e-11)

    def test_sinkhorn_keeps_the_mean(self):
        # Columns sum to 1, so sum_i sum_j P_ij (x_j - x_i) = 0; softmax has no such law.
        for weights in ((), ("--query", "gaussian", "--key", "gaussian")):
            for rule in ("sinkhorn", "sa"):
                states = self.positions("--dynamics", rule, *weights, "--space", "attracted", "--tokens", 30, "--dim", 4,
                                        "--beta", 1, "--time", 5, "--seed", 3, name=f"{rule}{len(weights)}")
                means = [[sum(column) / 30 for column in zip(*state)] for state in (states[0], states[-1])]
                if rule == "sinkhorn":
                    self.assertLess(math.dist(*means), 1e-12)
                else:
                    self.assertGreater(math.dist(*means), 0.01)
                self.assertGreater(max(moved(states[0], states[-1])), 1)

    def test_sinkhorn_of_equal_rows_is_softmax(self):
        cosines = [self.answer("--dynamics", rule, "--init", "equiangular", "--tokens", 6, "--dim", 9, "--rho", 0.3,
                               "--beta", 2, "--time", 2, "--tolerance", 1e-11)["mean_cosine"]
                   for rule in ("sa", "sinkhorn")]
        self.assertAlmostEqual(*cosines, delta=1e-10)

    def test_equal_heads_add_up(self):
        two = self.end("--heads", 2, "--tokens", 20, "--beta", 3, "--time", 2, "--tolerance", 1e-11)
        one = self.end("--tokens", 20, "--beta", 3, "--time", 4, "--tolerance", 1e-11)
        self.assertLess(max(moved(one, two)), 1e-10)

    def test_masks_that_hide_nothing_or_everything(self):
        ask = ("--tokens", 10, "--time", 1, "--tolerance", 1e-11)
        free, wide = self.end(*ask), self.end(*ask, "--window", 9)
        self.assertLess(max(moved(free, wide)), 1e-10)
        states = self.positions(*ask, "--distance-bias", 1e4, name="alone")
        self.assertLess(max(moved(states[0], states[-1])), 1e-14)

    def test_random_weights_depend_on_the_seed_alone(self):
        ask = ("--heads", 3, "--rank", 2, "--query", "gaussian", "--key", "gaussian", "--value", "gaussian", "--output",
               "orthogonal", "--tokens", 300, "--dim", 5, "--time", 1.5, "--outputs", 5)
        runs = {name: self.positions(*ask, *more, name=name) for name, more in
                (("a", ("--seed", 7, "--redraw", 0.5, "--threads", 1)),
                 ("b", ("--seed", 7, "--redraw", 0.5, "--threads", 2)), ("c", ("--seed", 8, "--redraw", 0.5)),
                 ("once", ("--seed", 7)))}
        whole = {name: (self.directory / name / "result.h5").read_bytes() for name in runs}
        self.assertEqual(whole["a"], whole["b"])
        self.assertNotEqual(runs["a"], runs["c"])
        # The first period has the same weights, later ones have not.
        self.assertLess(max(moved(runs["a"][1], runs["once"][1])), 1e-7)
        self.assertGreater(max(moved(runs["a"][-1], runs["once"][-1])), 1e-2)

    def test_full_rank_is_the_default(self):
        ask = ("--query", "gaussian", "--key", "gaussian", "--tokens", 20, "--dim", 4, "--time", 1)
        default = self.end(*ask)
        self.assertLess(max(moved(default, self.end(*ask, "--rank", 4))), 1e-12)
        self.assertGreater(max(moved(default, self.end(*ask, "--rank", 2))), 1e-2)


def stationary_order(kappa, step, grid=64, beta=1.0):
    """Order of the stationary density of Euler-Maruyama itself, for infinitely many tokens of usa on the circle: a step
    atan(h v) of drift, then a kick atan(sqrt(2 kappa h) xi). Integrals by the trapezoid rule, exact to many digits."""
    turn = [2 * math.pi * k / grid for k in range(grid)]
    pull = [math.exp(beta * math.cos(a)) * math.sin(a) for a in turn]
    spread, last = math.sqrt(2 * kappa * step), 0.0

    def kick(angle):
        angle = wrapped(angle)
        if abs(angle) >= math.pi / 2:
            return 0.0
        return math.exp(-(math.tan(angle) / spread) ** 2 / 2) / math.cos(angle) ** 2

    density = [math.exp(3 * math.cos(a)) for a in turn]
    while True:
        total = sum(density)
        density = [f / total for f in density]
        order = sum(f * math.cos(a) for f, a in zip(density, turn))
        if abs(order - last) < 1e-8 * step:
            return order
        last = order
        drift = [sum(f * pull[(j - i) % grid] for j, f in enumerate(density)) for i in range(grid)]
        landing = [a + math.atan(step * v) for a, v in zip(turn, drift)]
        density = [sum(f * kick(b - a) for f, a in zip(density, landing)) for b in turn]


class Noise(Dynamics):
    KAPPA, ORDER = 0.5 * 0.5651591039925, 0.90497698810  # usa, beta = 1, half the critical noise

    def test_bias_of_steps_is_of_first_order(self):
        per_step = [(stationary_order(self.KAPPA, h) - self.ORDER) / h for h in (0.1, 0.05, 0.025)]
        first = [2 * fine - coarse for coarse, fine in zip(per_step, per_step[1:])]  # as h -> 0, to order h^2
        self.assertAlmostEqual(first[0] / first[1], 1, delta=0.05)
        self.assertAlmostEqual(first[1], 0.091, delta=0.002)

    def test_stationary_order(self):
        n, step, time, batches = 2000, 0.05, 12, 10
        truth = program.attractor("stationary", "--beta", 1, "--noise-ratio", 0.5, "--json").json["states"][-1]
        self.assertAlmostEqual(truth["order_parameter"], self.ORDER, delta=1e-10)
        self.positions("--dynamics", "usa", "--beta", 1, "--noise", self.KAPPA, "--tokens", n, "--dim", 2, "--init",
                       "cap", "--cap-angle", 0.75, "--time", time, "--step", step, "--outputs", 60, "--output-spacing",
                       "linear", "--exact-limit", 1, "--seed", 4)
        with h5py.File(self.directory / "run" / "result.h5") as f:
            orders = f["series/order_parameter"][:].tolist()
            lengths = [math.hypot(*x) for x in f["snapshots/positions"][-1].tolist()]
        self.assertLess(max(abs(r - 1) for r in lengths), 1e-14)
        orders = orders[len(orders) // 6:]
        size = len(orders) // batches
        means = [sum(orders[k * size:(k + 1) * size]) / size for k in range(batches)]
        mean = sum(means) / batches
        error = math.sqrt(sum((m - mean) ** 2 for m in means) / (batches - 1) / batches)
        self.assertLess(error, 0.004)
        bias = stationary_order(self.KAPPA, step) - self.ORDER
        self.assertLess(abs(mean - self.ORDER - bias), 4 * error + 1 / n)

    def strong_errors(self, space, dim, draws=200, finest=256):
        """Distance of tokens at t = 1 from those of the finest steps, along the same Brownian paths."""
        ask = ("--space", space, "--beta", 0.3, "--noise", 0.2, "--tokens", draws, "--dim", dim, "--time", 1, "--seed", 5)
        fine = self.end(*ask, "--step", 1 / finest)
        errors = {}
        for steps in (4, 8, 16, 32):
            coarse = self.end(*ask, "--step", 1 / steps, "--noise-substeps", finest // steps)
            errors[1 / steps] = math.sqrt(sum(d * d for d in moved(fine, coarse)) / draws)
        return errors

    def test_strong_order(self):
        # Noise is additive in R^d: order 1. On a sphere, even the circle, the tangent parts of a Brownian motion of the
        # space around do not commute: order 1/2.
        for space, dim, order in (("attracted", 3, 1.0), ("sphere", 2, 0.5), ("sphere", 4, 0.5)):
            errors = self.strong_errors(space, dim)
            found = slope([math.log(h) for h in errors], [math.log(e) for e in errors.values()])
            self.assertAlmostEqual(found, order, delta=0.12, msg=f"{space} {dim} {errors}")

    def test_paths_do_not_depend_on_threads(self):
        ask = ("--noise", 0.3, "--common-noise", 0.1, "--tokens", 600, "--time", 0.5, "--step", 0.05)
        for threads in (1, 2):
            self.positions(*ask, "--threads", threads, name=f"threads{threads}")
        one, two = ((self.directory / f"threads{k}" / "result.h5").read_bytes() for k in (1, 2))
        self.assertEqual(one, two)


if __name__ == "__main__":
    program.main()
