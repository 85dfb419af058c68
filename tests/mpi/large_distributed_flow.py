"""50,000 tokens in dimension 16 on 2 and 4 ranks: within 1e-12 of the serial run."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ranked  # noqa: E402
from ranked import program


class Large(ranked.RanksTest):
    def test_50000_tokens(self):
        arguments = (*self.start_file(50_000, 16), "--beta", 9, "--stepper", "rk4", "--step", 0.5, "--time", 0.5,
                     "--outputs", 1)
        serial = self.ends(None, "serial", *arguments, timeout=1800)
        self.assertGreater(self.moved(serial), 1e-3)
        for ranks in (2, 4):
            shared = self.ends(ranks, f"on-{ranks}", *arguments, timeout=1800)
            difference = self.difference(shared, serial)
            print(f"{ranks} ranks: largest difference {difference:.2g}, {self.summary['wall_seconds']:.0f} s")
            self.assertLess(difference, 1e-12)


if __name__ == "__main__":
    program.main()
