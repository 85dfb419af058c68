"""Bad input to the commands of theory: exit status 2, one sentence that names the value and what is
allowed, nothing on standard output, and no file or directory left behind."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program  # noqa: E402


import numpy as np


EQUIANGULAR, PAIR, CLUSTERS = ("reduce", "equiangular"), ("reduce", "pair"), ("reduce", "clusters")
SIMPLEX = (*CLUSTERS, "--shape", "simplex", "--count", "4")
SIMULATE = ("context", "--simulate", "--tokens", "100")
VMF, TOKENS = ("meanfield", "--start", "vmf"), ("meanfield", "--start", "tokens", "--tokens-file")
SCHEMES = "post, pre, mix, peri, sandwich, ngpt, ln-scaling, damped-post, deepnorm, branch"
ROWS = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])

# Files that `refused` finds in its directory.
FILES = {
    "rows.npy": ROWS,
    "nan.npy": np.where(ROWS == 1, np.nan, ROWS),
    "zero.npy": 0 * ROWS,
    "flat.npy": np.ones(3),
    "column.npy": np.ones((3, 1)),
    "none_at_all.npy": np.ones((0, 3)),
    "same.npy": np.ones((3, 3)),
    "huge.npy": 1e200 * ROWS,
    "empty.npy": b"",
    "words.csv": b"1,2,3\n4,5,6\n",
}

REFUSALS = {
    # name: (arguments, words the sentence must contain)
    # One number of tokens, one angle: reduce
    "reduce_alone": (("reduce",), ["reduce needs one of: equiangular, pair, clusters"]),
    "equiangular_n_1": ((*EQUIANGULAR, "--tokens", "1"), ["tokens", "'1'", "2 to 1e+30"]),
    "equiangular_n_1e31": ((*EQUIANGULAR, "--tokens", "1e31"), ["tokens", "1e31", "2 to 1e+30"]),
    "equiangular_beta_nan": ((*EQUIANGULAR, "--beta", "nan"), ["beta", "nan", "0 to 1000000"]),
    "equiangular_time_inf": ((*EQUIANGULAR, "--time", "inf"), ["time", "inf", "0 to 1e+308"]),
    "equiangular_time_negative": ((*EQUIANGULAR, "--time", "-1"), ["time", "-1", "0 to 1e+308"]),
    "equiangular_log10_time": ((*EQUIANGULAR, "--log10-time", "1e300"), ["log10-time", "1e300", " a number from -300"]),
    "equiangular_cosine0_1": ((*EQUIANGULAR, "--cosine0", "1"), ["cosine0", "1", "below 1"]),
    "equiangular_below_simplex": ((*EQUIANGULAR, "--tokens", "3", "--cosine0", "-0.6"), ["cosine0", "-0.6", "-0.5"]),
    "equiangular_level_2": ((*EQUIANGULAR, "--levels", "0.5,2"), ["levels", "'2'", "-1 to"]),
    "equiangular_level_missing": ((*EQUIANGULAR, "--levels", "0.5,,0.9"), ["levels", "''"]),
    "equiangular_unknown_norm": ((*EQUIANGULAR, "--norm", "rms"), ["norm", "rms", SCHEMES]),
    "equiangular_pre_usa": ((*EQUIANGULAR, "--norm", "pre", "--dynamics", "usa"), ["pre", "usa", "sa"]),
    "equiangular_layers_usa": ((*EQUIANGULAR, "--layers", "3", "--dynamics", "usa"), ["layers", "sa", "usa"]),
    "equiangular_layers_time": ((*EQUIANGULAR, "--layers", "3", "--log10-time", "5"), ["log10-time", "layers"]),
    "equiangular_layers_and_time": ((*EQUIANGULAR, "--layers", "3", "--time", "5"), ["time", "layers = 3"]),
    "equiangular_two_times": ((*EQUIANGULAR, "--log10-time", "3", "--time", "5"), ["time = 5", "log10-time = 3"]),
    "equiangular_step_alone": ((*EQUIANGULAR, "--step", "2"), ["step has no effect without layers"]),
    "equiangular_alpha": ((*EQUIANGULAR, "--alpha", "3"), ["alpha is used by norm ngpt only, not by norm post"]),
    "equiangular_switch": ((*EQUIANGULAR, "--norm", "pre", "--switch-time", "3"), ["norm mix only", "norm pre"]),
    "equiangular_deepnorm": ((*EQUIANGULAR, "--deepnorm-scale", "3"), ["norm deepnorm only"]),
    "equiangular_switch_in_step": ((*EQUIANGULAR, "--norm", "mix", "--layers", "10", "--switch-time", "3.5"),
                                   ["switch-time = 3.5", "steps of 1"]),
    "equiangular_step_0": ((*EQUIANGULAR, "--layers", "3", "--step", "0"), ["step", "'0'", "1e-09"]),
    "pair_angle_4": ((*PAIR, "--angle", "4"), ["angle", "'4'", "0 to pi"]),
    "pair_degrees_181": ((*PAIR, "--degrees", "181"), ["degrees", "181", "0 to 180"]),
    "pair_two_angles": ((*PAIR, "--angle", "1", "--degrees", "57"), ["angle = 1", "degrees = 57", "one of them"]),
    "pair_two_times": ((*PAIR, "--time", "1", "--log10-time", "0"), ["time = 1", "log10-time = 0", "one of them"]),
    "pair_mass_0": ((*PAIR, "--mass1", "0"), ["mass1", "'0'", "above 0 to 1"]),
    "pair_usa_mass_above_1": ((*PAIR, "--dynamics", "usa", "--mass1", "0.8", "--mass2", "0.8"), ["0.8", "1"]),
    "pair_merge_cosine_1": ((*PAIR, "--merge-cosine", "1"), ["merge-cosine", "'1'", "above -1"]),
    "pair_value_missing": ((*PAIR, "--angle"), ["--angle", "needs a value"]),
    "pair_beta_twice": ((*PAIR, "--beta", "1", "--beta", "2"), ["--beta"]),
    "pair_stray_word": ((*PAIR, "stray"), ["stray"]),
    "pair_unknown_flag": ((*PAIR, "--seed", "1"), ["--seed"]),
    "clusters_1": ((*CLUSTERS, "--count", "1"), ["count", "'1'", "2 to 4096"]),
    "clusters_unknown_shape": ((*CLUSTERS, "--shape", "cube"), ["shape", "cube", "polygon, simplex, ring"]),
    "polygon_with_cosine": ((*CLUSTERS, "--cosine", "0"), ["cosine", "simplex", "polygon"]),
    "polygon_with_polar": ((*CLUSTERS, "--polar", "1"), ["polar", "shape ring only", "shape polygon"]),
    "ring_polar_0": ((*CLUSTERS, "--shape", "ring", "--polar", "0"), ["polar", "'0'", "above 0"]),
    "simplex_in_the_plane": ((*SIMPLEX, "--dim", "2"), ["dim = 2", "4 clusters", "3"]),
    "simplex_cosine": ((*SIMPLEX, "--cosine", "-0.4"), ["cosine = -0.4", "-1/3 to 1"]),
    "simplex_cosine_dim": ((*SIMPLEX, "--cosine", "0", "--dim", "3"), ["dim = 3", "at least 4"]),
    # stability
    "stability_dim_1": (("stability", "--dim", "1"), ["dim", "'1'", "2 to 10000"]),
    "stability_dim_fractional": (("stability", "--dim", "2.5"), ["dim", "2.5", "whole number"]),
    "stability_beta_empty": (("stability", "--beta", ""), ["beta", "''", "0 to 1000000"]),
    "stability_noise_negative": (("stability", "--noise", "-1"), ["noise", "-1", "0 to 1e+300"]),
    "stability_relu": (("stability", "--dynamics", "relu"), ["dynamics", "relu", "sa, usa"]),
    "stability_time_alone": (("stability", "--time", "3"), ["time has no effect without observe"]),
    "stability_horizon_0": (("stability", "--horizon", "0"), ["horizon", "'0'", "above 0"]),
    "stability_observe_noise": (("stability", "--observe", "9", "--noise", "1"), ["observe", "noise = 0", "1"]),
    "stability_observe_sphere": (("stability", "--observe", "9", "--dim", "3"), ["observe", "dim = 2", "3"]),
    "stability_seed_large": (("stability", "--seed", "1e30"), ["seed", "1e30", "2^64 - 1"]),
    # context
    "context_n_1": (("context", "--tokens", "1"), ["tokens", "'1'", "2 to 1e+300"]),
    "context_rho_1": (("context", "--rho", "1"), ["rho = 1", "below 1"]),
    "context_below_simplex": (("context", "--tokens", "3", "--rho", "-0.6"), ["rho = -0.6", "-0.5"]),
    "context_gamma_text": (("context", "--gamma", "hot"), ["gamma", "hot", "0 to 1000000"]),
    "context_layers_0": (("context", "--layers", "0"), ["layers", "'0'", "1 to 100000"]),
    "context_advise_simulate": (("context", "--advise", "--simulate"), ["advise answers alone", "simulate"]),
    "context_advise_rho": (("context", "--advise", "--rho", "-0.5"), ["rho = -0.5", "0 to below 1"]),
    "context_advise_gamma": (("context", "--advise", "--gamma", "9"), ["gamma has no effect", "advise"]),
    "context_advise_rows": (("context", "--advise", "--rows", "3"), ["rows has no effect without simulate"]),
    "context_rows_alone": (("context", "--rows", "3"), ["rows has no effect without simulate"]),
    "context_trained_alone": (("context", "--trained-tokens", "100"), ["trained-tokens has no effect without advise"]),
    "context_dim_half": (("context", "--dim", "0.5"), ["dim = 0.5", "whole numbers from 2"]),
    "context_exact_alone": (("context", "--exact"), ["exact has no effect without simulate"]),
    "simulate_1e6": (("context", "--simulate"), ["tokens = 1000000", "2 to 1e5"]),
    "simulate_fraction": (("context", "--simulate", "--tokens", "2.5"), ["tokens = 2.5", "whole"]),
    "simulate_rho_negative": ((*SIMULATE, "--rho", "-0.01"), ["rho = -0.01", "0 to below 1"]),
    "simulate_in_the_plane": ((*SIMULATE, "--dim", "2"), ["dim = 2", "3 to 65536"]),
    "simulate_replicates_1": ((*SIMULATE, "--replicates", "1"), ["replicates", "'1'", "2 to 10000"]),
    # forecast
    "phase_beta_nan": (("phase", "--beta", "nan"), ["beta holds 'nan'", "from 0 to 10000"]),
    "phase_beta_falls": (("phase", "--beta", "3,1"), ["'3,1'", "must ascend"]),
    "phase_many_tokens": (("phase", "--tokens", "100000"), ["tokens", "100000", "2 to 512"]),
    "reproduce_nothing": (("reproduce",), ["name an experiment", "--list"]),
    "reproduce_unknown": (("reproduce", "nonsense"), ["'nonsense'", "not in the catalogue", "phase-circle"]),
    "forecast_depth_0": (("forecast", "--depth", "0"), ["depth", "'0'", "1 to 100000"]),
    "forecast_rho0_1": (("forecast", "--rho0", "1"), ["rho0 = 1", "below 1"]),
    "forecast_level_text": (("forecast", "--levels", "high"), ["levels", "high", "-1 to"]),
    "forecast_alpha_0": (("forecast", "--alpha", "0"), ["alpha", "'0'", "above 0"]),
    "forecast_deepnorm": (("forecast", "--deepnorm-scale", "1e-9"), ["deepnorm-scale", "1e-09", "0, or 1e-6 to 1e6"]),
    # meanfield
    "density_beta_1e5": (("meanfield", "--beta", "1e5"), ["beta", "1e5", "0 to 10000"]),
    "density_amplitude_2": (("meanfield", "--amplitude", "2"), ["amplitude", "'2'", "-1 to 1"]),
    "density_mode_0": (("meanfield", "--mode", "0"), ["mode", "'0'", "1 to 1000"]),
    "density_order_1": (("meanfield", "--order", "1"), ["order", "'1'", "0 to 0.999"]),
    "density_modes_1": (("meanfield", "--modes", "1"), ["modes = 1", "2 to"]),
    "density_unknown_start": (("meanfield", "--start", "x"), ["start", "x", "perturbed, vmf"]),
    "density_labels_noise": (("meanfield", "--form", "labels", "--noise", "0.1"), ["noise = 0.1", "spectral"]),
    "density_map_on_sphere": (("meanfield", "--start", "map", "--dim", "3"), ["map", "dim = 2"]),
    "density_no_grid": (("meanfield", "--dim", "4", "--symmetry", "none"), ["dim = 4", "zonal"]),
    "density_concentrations": ((*VMF, "--centres", "0,1", "--concentration", "1,2,3"), ["concentration", "3", "2"]),
    "density_concentration": ((*VMF, "--concentration", "-1"), ["concentration = -1", "0 to 1e6"]),
    "density_weight_0": ((*VMF, "--centres", "0,1", "--weights", "0,0"), ["weight = 0", "positive"]),
    "density_centre_text": ((*VMF, "--centres", "east"), ["centres", "east", "numbers"]),
    "density_centre_of_two": ((*VMF, "--dim", "3", "--centres", "0,1"), ["centres", "2 numbers", "three"]),
    "density_centre_zero": ((*VMF, "--dim", "3", "--centres", "0,0,0"), ["centre", "0,0,0", "direction"]),
    "density_compare_1": (("meanfield", "--compare-particles", "1"), ["compare-particles", "'1'", "2 to 1000000"]),
    "density_compare_fraction": (("meanfield", "--compare-particles", "2.5"), ["2.5", "whole number"]),
    "density_compare_noise": (("meanfield", "--compare-particles", "64", "--noise", "1"), ["noise = 0", "1"]),
    "density_tokens_unnamed": (("meanfield", "--start", "tokens"), ["start tokens needs a tokens-file"]),
    "density_tokens_missing": ((*TOKENS, "none.npy"), ["none.npy", "no such file"]),
    "density_tokens_dim": ((*TOKENS, "rows.npy"), ["rows.npy", "dimension 3", "dim = 2"]),
    "density_tokens_nan": ((*TOKENS, "nan.npy", "--dim", "3"), ["nan.npy", "row 0", "finite"]),
    "density_tokens_zero": ((*TOKENS, "zero.npy", "--dim", "3"), ["zero.npy", "row 0", "zero"]),
    # stationary
    "stationary_dim_1001": (("stationary", "--dim", "1001"), ["dim", "1001", "2 to 200"]),
    "stationary_noise_0": (("stationary", "--noise", "0"), ["noise", "'0'", "allowed"]),
    "stationary_noise_inf": (("stationary", "--noise", "inf"), ["noise", "inf", "allowed"]),
    "stationary_two_noises": (("stationary", "--noise", "1", "--noise-ratio", "1"), ["noise", "noise-ratio", "one"]),
    "stationary_beta_1e6": (("stationary", "--beta", "1e6"), ["beta", "1e6", "0 to 100"]),
    "stationary_sweep_1": (("stationary", "--sweep-steps", "1"), ["sweep-steps", "'1'", "2 to 200"]),
    "stationary_average_0": (("stationary", "--average", "0"), ["average", "'0'", "above 0"]),
    "stationary_sphere": (("stationary", "--particles", "9", "--dim", "3"), ["particles", "dim = 3", "2"]),
    "stationary_1_particle": (("stationary", "--particles", "1"), ["tokens = 1", "at least 2"]),
    "stationary_beta_dim_4": (("stationary", "--beta", "60", "--dim", "4"), ["beta = 60", "dimension 4", "0 to 50"]),
    "stationary_settle_alone": (("stationary", "--settle", "3"), ["settle has no effect without particles"]),
    # without effect, or out of reach
    "stability_replicates_alone": (("stability", "--replicates", "3"), ["replicates has no effect without observe"]),
    "stability_time_1e300": (("stability", "--observe", "99", "--beta", "9", "--time", "1e300"), ["time", "1.42e+04"]),
    "density_order_alone": (("meanfield", "--order", "0.5"), ["order", "start wrapped-cauchy only"]),
    "density_file_alone": (("meanfield", "--tokens-file", "rows.npy"), ["tokens-file", "start tokens only"]),
    "density_replicates_alone": (("meanfield", "--replicates", "7"), ["replicates has no effect without compare-particles"]),
    "density_labels_2": (("meanfield", "--form", "labels", "--modes", "2"), ["modes = 2", "16 to 100000"]),
    "density_compare_sphere": (("meanfield", "--dim", "3", "--compare-particles", "1e6"), ["1000000", "31622"]),
    # cluster
    "cluster_alone": (("cluster",), ["points", ".npy"]),
    "cluster_missing": (("cluster", "none.npy"), ["none.npy", "no such file"]),
    "cluster_directory": (("cluster", "."), ["not a file"]),
    "cluster_empty_file": (("cluster", "empty.npy"), ["empty.npy", "neither"]),
    "cluster_words": (("cluster", "words.csv"), ["words.csv", "neither", ".npy"]),
    "cluster_nan": (("cluster", "nan.npy"), ["nan.npy", "row 0, column 0", "finite"]),
    "cluster_flat": (("cluster", "flat.npy"), ["(3)", "(n, d)"]),
    "cluster_column": (("cluster", "column.npy"), ["(3, 1)", "d >= 2"]),
    "cluster_no_points": (("cluster", "none_at_all.npy"), ["(0, 3)", "n >= 1"]),
    "cluster_one_place": (("cluster", "same.npy"), ["same.npy", "coincide", "give a bandwidth"]),
    "cluster_huge": (("cluster", "huge.npy", "--bandwidth", "1"), ["1e+200", "1e150"]),
    "cluster_zero_on_sphere": (("cluster", "zero.npy", "--space", "sphere"), ["row 0", "zero"]),
    "cluster_bandwidth_0": (("cluster", "rows.npy", "--bandwidth", "0"), ["bandwidth", "'0'", "auto"]),
    "cluster_beta_0": (("cluster", "rows.npy", "--beta", "0"), ["beta", "'0'", "1e-200"]),
    "cluster_two_scales": (("cluster", "rows.npy", "--beta", "1", "--bandwidth", "1"), ["beta", "bandwidth", "one"]),
    "cluster_seeds_0": (("cluster", "rows.npy", "--seeds", "0"), ["seeds", "'0'", "all"]),
    "cluster_seeds_fraction": (("cluster", "rows.npy", "--seeds", "2.5"), ["seeds", "2.5", "whole number"]),
    "cluster_merge_0": (("cluster", "rows.npy", "--merge", "0"), ["merge", "'0'", "1e-06 to 10"]),
    "cluster_unknown_space": (("cluster", "rows.npy", "--space", "torus"), ["space", "torus", "euclidean, sphere"]),
    "cluster_labels_nowhere": (("cluster", "rows.npy", "--labels-out", "no/l.npy"), ["no/l.npy", "replaced"]),
    "cluster_labels_over_points": (("cluster", "rows.npy", "--labels-out", "rows.npy"), ["labels-out", "rows.npy"]),
    "cluster_two_files": (("cluster", "rows.npy", "same.npy"), ["same.npy"]),
}


class Refusal(program.ProgramTest):
    """`refused` runs in a directory of its own that holds FILES and must not change."""

    def setUp(self):
        super().setUp()
        for name, content in FILES.items():
            if isinstance(content, bytes):
                (self.directory / name).write_bytes(content)
            else:
                np.save(self.directory / name, content)

    def tree(self):
        return {str(p.relative_to(self.directory)): p.is_file() and p.read_bytes() for p in self.directory.rglob("*")}

    def refused(self, *arguments, says, out="run"):
        before = self.tree()
        run = program.attractor(*arguments, "--out", out, "--json", cwd=self.directory, timeout=20)
        self.assertEqual(run.status, 2, run.err)
        self.assertEqual(run.out, "")
        self.assertTrue(run.err.startswith("attractor: ") and run.err.endswith("\n"), run.err)
        self.assertEqual(run.err.count("\n"), 1, run.err)
        for words in says:
            self.assertIn(words, run.err)
        self.assertEqual(self.tree(), before, "a file appeared, vanished or was changed")


class Flags(Refusal):
    """One test method per refusal, so that a failure has a name."""


for name, (arguments, says) in REFUSALS.items():

    def test(self, arguments=arguments, says=says):
        self.refused(*arguments, says=says)

    setattr(Flags, f"test_refuses_{name}", test)


class RunDirectory(Refusal):
    """--out of the commands of theory: never over what is there."""

    def test_refuses_a_finished_run(self):
        done = program.attractor(*PAIR, "--out", "run", cwd=self.directory)
        self.assertEqual(done.status, 0, done.err)
        self.refused(*PAIR, says=["run", "finished"])

    def test_refuses_other_content(self):
        (self.directory / "run").mkdir()
        (self.directory / "run" / "thesis.tex").write_text("my life's work")
        self.refused("stability", says=["run", "is not empty"])

    def test_refuses_a_file(self):
        self.refused("context", out="rows.npy", says=["rows.npy", "not a directory"])

    def test_refuses_a_path_below_a_file(self):
        self.refused("forecast", out="rows.npy/run", says=["rows.npy/run"])

    def test_refuses_a_gallery_below_a_file(self):
        self.refused("reproduce", "all", out="rows.npy/gallery", says=["cannot make the directory rows.npy/gallery"])

    def test_refuses_an_empty_name(self):
        self.refused("stationary", out="", says=["out is empty; it needs a name"])

    def test_keeps_an_empty_directory_that_was_there(self):
        (self.directory / "run").mkdir()
        self.refused("stability", "--time", "3", says=["time"])


if __name__ == "__main__":
    program.main()
