"""65,536 tokens in dimension 64 in less than 500 MB; and no n^2 memory at half the size."""
import pathlib
import resource
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import program
from program import ProgramTest


class Memory(ProgramTest):
    def test_adaptive_run_stays_below_500_megabytes(self):
        answer = self.answer("--tokens", 65536, "--dim", 64, "--beta", 4, "--time", 0.005, "--tolerance", 1e-3, "--outputs", 2,
                             "--out", self.directory / "large", timeout=3600)
        self.assertEqual(answer["status"], "complete")
        self.assertTrue(answer["sampled"])  # exact sums would take memory for another such state
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        print(f"peak memory {peak / 1e6:.0f} MB, wall {answer['wall_seconds']:.0f} s, steps {answer['steps']}")
        self.assertLess(peak, 500e6)


if __name__ == "__main__":
    program.main()
