"""Changed files over every reader. Case k changes the file of reader k modulo their number, by the draws of (seed, k)."""
import pathlib
import random
import shutil

import mutations
import seeds
import verdict

LONG = 6.0  # seconds until Ctrl-C: a change may ask, validly, for a long computation


class Files:
    name, cases_in_soak = "files", 5000

    def __init__(self, program, root, seed):
        self.program, self.root, self.seed = program, pathlib.Path(root), seed
        self.seeds = [s for s in seeds.make(program, self.root / "seeds") if self.takes(s)]
        self.kept = self.root / "kept"  # cases that failed stay there

    def takes(self, seed):
        return True

    def most_kb(self, seed):
        """Memory that a run may take."""
        return verdict.MEMORY_KB

    def cases(self, count):
        return range(count)

    def case(self, number):
        seed = self.seeds[number % len(self.seeds)]
        draw = random.Random(f"{self.seed} files {number}")
        place = self.root / f"file{number}"
        shutil.copytree(seed.folder, place)
        changed = mutations.mutated((seed.folder / seed.file).read_bytes(), draw)
        if seed.seal and draw.random() < 0.7:
            changed = seed.seal(changed)
        (place / seed.file).write_bytes(changed)
        outcome = verdict.run([self.program, *seed.words], place, interrupt_after=LONG)
        found = verdict.finding(outcome, place, as_json=seed.as_json and outcome.status != 130, most_kb=self.most_kb(seed))
        if found.fault:
            found.fault = f"{seed.name}: {found.fault}"
            again = self.kept / place.name
            shutil.copytree(seed.folder, again)
            (again / seed.file).write_bytes(changed)
            found.line = found.line.replace(str(place), str(again))
        shutil.rmtree(place)
        return found


class Weights(Files):
    """The weights and words of models alone: nothing is allocated that the tensors asked for do not need."""
    name, cases_in_soak = "weights", 2000
    READERS = ("safetensors", "ONNX", "llama2.c", "tokenizer.json", "vocab.txt")

    def takes(self, seed):
        return seed.name in self.READERS

    def most_kb(self, seed):
        tensors = sum(p.stat().st_size for p in seed.folder.iterdir() if p.suffix in (".safetensors", ".onnx", ".bin"))
        return (64 << 10) + 4 * tensors // 1024
