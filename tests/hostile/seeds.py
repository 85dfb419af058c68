"""A valid file for every reader of the program, made here with numpy, h5py and the program itself, and the command that reads it."""
import dataclasses
import json
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import h5py
import numpy

import mutations

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
SLOW_FLOW = ["flow", "--tokens", "60", "--dim", "3", "--beta", "4", "--tolerance", "1e-11", "--time", "2000", "--checkpoint-seconds", "0"]
SLOW_SELECT = ["select", "example:selectable,inputs=6,tokens=6,dim=8", "--steps", "200000", "--checkpoint-seconds", "0"]
STUDY = ('command = "flow"\nmeasure = ["clusters", "series.time"]\nreplicates = 2\n[fixed]\ntokens = 8\nnoise = 0.1\ndim = 2\ntime = 1\noutputs = 3\n'
         '[grid]\nbeta = [1, 4]\nnoise-substeps = {from = 1, to = 3, count = 3}\n[stop]\nmeasure = "clusters"\nhalf_width = 0.1\nround = 2\n')
BERT = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12, "vocab_size": 12,
        "max_position_embeddings": 16, "hidden_act": "gelu"}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##b", "the", "cat", "##s", "."]


@dataclasses.dataclass
class Seed:
    name: str
    folder: pathlib.Path  # copied for each case
    file: str  # in it: the one that is changed
    words: list
    seal: object = None  # makes a checksum right again
    as_json: bool = True


def bert_tensors():
    draw = numpy.random.default_rng(5)
    shapes = {"embeddings.word_embeddings.weight": (12, 8), "embeddings.position_embeddings.weight": (16, 8),
              "embeddings.token_type_embeddings.weight": (2, 8)}

    def add(name, rows, columns=None):
        shapes.update({f"{name}.weight": (rows, columns) if columns else (rows,), f"{name}.bias": (rows,)})

    add("embeddings.LayerNorm", 8)
    for k in range(2):
        at = f"encoder.layer.{k}."
        for part in ("query", "key", "value"):
            add(f"{at}attention.self.{part}", 8, 8)
        add(f"{at}attention.output.dense", 8, 8)
        add(f"{at}attention.output.LayerNorm", 8)
        add(f"{at}intermediate.dense", 12, 8)
        add(f"{at}output.dense", 8, 12)
        add(f"{at}output.LayerNorm", 8)
    return {name: draw.normal(size=shape).astype("<f4") for name, shape in shapes.items()}


def safetensors(tensors):
    header, data = {}, b""
    for name, t in tensors.items():
        kind = {"f4": "F32", "f8": "F64"}[t.dtype.str[1:]]
        header[name] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [len(data), len(data) + t.nbytes]}
        data += t.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def varint(value):
    text = b""
    while value >= 0x80:
        text, value = text + bytes([value & 0x7F | 0x80]), value >> 7
    return text + bytes([value])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx(tensors):
    """Initializers of a graph, with their own names: ModelProto.graph = 7, GraphProto.initializer = 5."""
    graph = b"".join(field(5, b"".join(field(1, n) for n in t.shape) + field(2, 1) + field(8, name.encode()) + field(9, t.tobytes()))
                     for name, t in tensors.items())
    return field(1, 8) + field(7, graph)


def tokenizer_json():
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
             "vocab": {w: k for k, w in enumerate(WORDS)}}
    added = [{"id": k, "content": WORDS[k], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for k in range(5)]
    return json.dumps({"version": "1.0", "added_tokens": added, "normalizer": {"type": "BertNormalizer", "lowercase": True},
                       "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": model})


def stopped(program, words, out, sign):
    """What a run leaves that was killed when `sign` had appeared."""
    process = subprocess.Popen([program, *words, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end and not list(out.glob(sign)):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not list(out.glob(sign)):
        raise RuntimeError(f"{words[0]}: no {sign} appeared")


class Maker:
    def __init__(self, program, root):
        self.program, self.root, self.seeds = program, pathlib.Path(root), []

    def folder(self, name):
        place = self.root / name
        place.mkdir(parents=True)
        return place

    def call(self, *words, cwd):
        done = subprocess.run([self.program, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stderr}")

    def add(self, name, folder, file, *words, **more):
        self.seeds.append(Seed(name, folder, file, list(words) + (["--json"] if more.get("as_json", True) else []), **more))

    def arrays(self):
        rows = numpy.random.default_rng(3).normal(size=(12, 3))
        place = self.folder("arrays")
        numpy.save(place / "x.npy", rows)
        numpy.save(place / "half.npy", numpy.asfortranarray(rows.astype("f2")))
        numpy.savez_compressed(place / "x.npz", x=rows, y=rows[:2])
        (place / "x.safetensors").write_bytes(safetensors({"x": rows, "y": rows[:2]}))
        with h5py.File(place / "x.h5", "w") as file:
            file.create_dataset("x", data=rows, chunks=(4, 3), compression="gzip")
            file["group/y"] = rows
        self.add("npy", place, "x.npy", "measure", "x.npy")
        self.add("npy of halves", place, "half.npy", "flow", "--init", "file", "--tokens-file", "half.npy", "--time", "0.1")
        self.add("npz", place, "x.npz", "measure", "x.npz:/x")
        self.add("safetensors of tokens", place, "x.safetensors", "measure", "x.safetensors:/x")
        self.add("HDF5 tokens", place, "x.h5", "cluster", "x.h5:/x", "--no-figures")

    def models(self):
        tensors = bert_tensors()
        for kind in ("safetensors", "onnx"):
            place = self.folder(kind)
            (place / "config.json").write_text(json.dumps(BERT))
            (place / f"model.{kind}").write_bytes(safetensors(tensors) if kind == "safetensors" else onnx(tensors))
            (place / "tokenizer.json").write_text(tokenizer_json())
            (place / "texts.txt").write_text("the cats a bb.\n\ncat the.\n")
        vocabulary = self.root / "vocabulary"
        shutil.copytree(self.root / "safetensors", vocabulary)
        (vocabulary / "tokenizer.json").unlink()
        (vocabulary / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        words = ["inspect", ".", "--text", "texts.txt", "--nulls", "0", "--exponents", "0", "--no-figures"]
        self.add("safetensors", self.root / "safetensors", "model.safetensors", *words)
        self.add("ONNX", self.root / "onnx", "model.onnx", *words)
        self.add("tokenizer.json", self.root / "safetensors", "tokenizer.json", *words)
        self.add("vocab.txt", vocabulary, "vocab.txt", *words)
        self.add("config.json", self.root / "safetensors", "config.json", *words)
        self.add("texts", self.root / "safetensors", "texts.txt", *words)
        llama = self.folder("llama")
        for name in ("model.bin", "texts.txt", "config.json"):
            shutil.copy(DATA / name, llama / name)
        self.add("llama2.c", llama, "model.bin", "inspect", "model.bin", "--text", "texts.txt", "--nulls", "0", "--exponents", "0", "--no-figures")
        self.add("config.json of architect", llama, "config.json", "architect", "config.json", "--no-figures")

    def problems(self):
        place = self.folder("problems")
        for name in ("p.json", "p.h5", "p/"):
            self.call("problem", "selectable", "--inputs", 3, "--tokens", 4, "--dim", 4, "--out", name, cwd=place)
        first = sorted((place / "p").glob("*.npy"))[0].name
        for kind, file, given in (("JSON", "p.json", "p.json"), ("HDF5", "p.h5", "p.h5"), ("npy", f"p/{first}", "p")):
            self.add(f"problem {kind}", place, file, "select", given, "--steps", "5", "--no-figures")

    def runs(self):
        place = self.folder("runs")
        for seed, name in enumerate("ab"):
            self.call("flow", "--tokens", 6, "--time", 1, "--seed", seed, "--no-figures", "--out", name, cwd=place)
        self.call("meanfield", "--beta", 3, "--time", 0.2, "--no-figures", "--out", "m", cwd=place)
        (place / "c.toml").write_text('tokens = 6\ndim = 3\nbeta = 2.5\ninit = "cap"\ncap-angle = 0.5\ntime = 0.5\n')
        self.add("result of flow", place, "a/result.h5", "compare", "a", "b", "--no-figures")
        self.add("film of flow", place, "a/result.h5", "film", "a", "--out", "f.svg", "--seconds", "0.5", as_json=False)
        self.add("film of meanfield", place, "m/result.h5", "film", "m", "--out", "f.html", "--seconds", "0.5", as_json=False)
        self.add("TOML configuration", place, "c.toml", "flow", "--config", "c.toml")
        self.add("run.toml as configuration", place, "a/run.toml", "flow", "--config", "a/run.toml")

    def stopped_runs(self):
        place = self.folder("stopped")
        for words in (SLOW_FLOW, SLOW_SELECT):
            stopped(self.program, words, place / words[0], "checkpoint.bin")
            for file, seal in (("checkpoint.bin", mutations.sealed_checkpoint), ("run.toml", None)):
                self.add(f"{file} of {words[0]}", place / words[0], file, words[0], "--resume", ".", "--no-figures", seal=seal)

    def sweeps(self):
        place = self.folder("sweeps")
        (place / "study.toml").write_text(STUDY)
        self.add("study", place, "study.toml", "sweep", "study.toml", "--out", "o")
        self.call("sweep", "study.toml", "--out", "whole", cwd=place)
        for name in ("summary.json", "result.h5", "index.html"):
            (place / "whole" / name).unlink()
        for file, seal in (("units/process.jsonl", mutations.sealed_journal), ("run.toml", None), ("study.toml", None)):
            self.add(f"{file} of a sweep", place / "whole", file, "sweep", "--resume", ".", seal=seal)
        self.add("journal of a merge", place, "whole/units/process.jsonl", "merge", "whole", "--out", "o", seal=mutations.sealed_journal)
        self.add("run.toml of a merge", place, "whole/run.toml", "merge", "whole", "--out", "o")


def make(program, root):
    maker = Maker(program, root)
    for step in (maker.arrays, maker.models, maker.problems, maker.runs, maker.stopped_runs, maker.sweeps):
        step()
    return maker.seeds
