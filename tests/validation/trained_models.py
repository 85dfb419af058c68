"""Trained models against PyTorch, layer by layer, on texts of our own. Weights and tokenizers are read here by other code.

usage: trained_models.py PROGRAM      the models: tools/models; what is not there is skipped, and named.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unicodedata
import unittest

import numpy as np
import torch

from model_references import bert, llama

PROGRAM = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = (ROOT / "papers/models/texts.txt").read_text(encoding="utf-8").splitlines()
PHONEMES = (ROOT / "papers/models/phonemes.txt").read_text(encoding="utf-8").splitlines()
MODELS = pathlib.Path(os.environ.get("ATTRACTOR_MODELS") or
                      pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "attractor" / "models")
STATE, COSINE = 1e-3, 1e-4  # relative error of a state; error of its mean cosine


# ---- Other readers.

def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header, base = json.loads(data[8:8 + length]), 8 + length
    kinds = {"F16": np.float16, "F32": np.float32}
    return {name: torch.from_numpy(np.frombuffer(data[base + t["data_offsets"][0]:base + t["data_offsets"][1]], kinds[t["dtype"]])
                                   .reshape(t["shape"]).astype(np.float64))
            for name, t in header.items() if name != "__metadata__" and t["dtype"] in kinds}


def read_onnx(path, strip=""):
    data = memoryview(path.read_bytes())

    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value, at

    def fields(at, end):
        while at < end:
            key, at = varint(at)
            if key & 7 == 0:
                value, at = varint(at)
            else:
                size, at = varint(at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
                value, at = (at, at + size), at + size
            yield key >> 3, value

    text = lambda span: bytes(data[span[0]:span[1]]).decode()
    tensors, nodes = {}, []
    for field, graph in fields(0, len(data)):
        if field != 7:
            continue
        for kind, span in fields(*graph):
            if kind == 1:
                node = {}
                for f, v in fields(*span):
                    node.setdefault(f, []).append(v)
                if text(node.get(4, [(0, 0)])[0]) == "MatMul":
                    nodes.append((text(node[3][0]), text(node[1][1])))
            if kind == 5:
                tensor = {}
                for f, v in fields(*span):
                    tensor.setdefault(f, []).append(v)
                dtype = {1: np.float32, 10: np.float16}.get(tensor[2][0])
                if dtype and 9 in tensor:
                    raw = tensor[9][0]
                    tensors[text(tensor[8][0])] = np.frombuffer(data[raw[0]:raw[1]], dtype).reshape(tensor.get(1, [])).astype(np.float64)
    for node, weight in nodes:
        if weight in tensors and weight.startswith("onnx::"):
            tensors.setdefault(node.removesuffix("/MatMul").lstrip("/").replace("/", ".") + ".weight", tensors[weight].T)
    return {name.removeprefix(strip): torch.from_numpy(np.ascontiguousarray(t)) for name, t in tensors.items() if name.startswith(strip)}


def read_llama2c(path):
    data = path.read_bytes()
    d, f, layers, heads, groups, vocabulary, positions = struct.unpack("<7i", data[:28])
    at, size = 28, d // heads
    w = {}

    def take(name, *shape):
        nonlocal at
        count = int(np.prod(shape))
        w[name] = torch.from_numpy(np.frombuffer(data, np.float32, count, at).reshape(shape).astype(np.float64))
        at += 4 * count

    take("model.embed_tokens.weight", vocabulary, d)
    for name, shape in (("input_layernorm", (d,)), ("self_attn.q_proj", (d, d)), ("self_attn.k_proj", (groups * size, d)),
                        ("self_attn.v_proj", (groups * size, d)), ("self_attn.o_proj", (d, d)), ("post_attention_layernorm", (d,)),
                        ("mlp.gate_proj", (f, d)), ("mlp.down_proj", (d, f)), ("mlp.up_proj", (f, d))):
        for layer in range(layers):
            take(f"model.layers.{layer}.{name}.weight", *shape)
    take("model.norm.weight", d)
    config = {"model_type": "llama", "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": groups,
              "max_position_embeddings": positions, "rms_norm_eps": 1e-5}
    at += 4 * positions * size
    pieces, at = [], at + 4
    for _ in range(vocabulary):
        score, length = struct.unpack("<fi", data[at:at + 8])
        pieces.append((data[at + 8:at + 8 + length], score))
        at += 8 + length
    return w, config, pieces


# ---- Other tokenizers.

def word_pieces(text, vocabulary):
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn").lower()
    words = []
    for c in text:
        if c.isspace():
            words.append("")
        elif unicodedata.category(c).startswith("P") or c in "$+<=>^`|~":
            words += [c, ""]
        elif words:
            words[-1] += c
        else:
            words.append(c)
    ids = [vocabulary["[CLS]"]]
    for word in filter(None, words):
        begin, found = 0, []
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in vocabulary:
                    found.append(vocabulary[piece])
                    begin = end
                    break
            else:
                found = [vocabulary["[UNK]"]]
                break
        ids += found
    return ids + [vocabulary["[SEP]"]]


def by_scores(text, pieces):
    ids = {piece: k for k, (piece, _) in enumerate(pieces)}
    tokens = [ids[c.encode()] for c in " " + text]
    while True:
        joins = [(pieces[ids[pieces[a][0] + pieces[b][0]]][1], -k) for k, (a, b) in enumerate(zip(tokens, tokens[1:])) if pieces[a][0] + pieces[b][0] in ids]
        if not joins:
            return [1] + tokens
        k = -max(joins)[1]
        tokens[k:k + 2] = [ids[pieces[tokens[k]][0] + pieces[tokens[k + 1]][0]]]


class Trained(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def need(self, name):
        if not (MODELS / name / "source.txt").exists():
            self.skipTest(f"{name} is not in {MODELS}: fetch it with tools/models {name}")
        return MODELS / name

    def inspect(self, model, text, *more):
        (self.path / "text.txt").write_text(text + "\n", encoding="utf-8")
        run = subprocess.run([PROGRAM, "inspect", str(model), "--text", str(self.path / "text.txt"), "--nulls", "0", "--exponents", "0", "--special",
                              "--states-out", str(self.path / "states.npy"), "--json", "--quiet", *more], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return np.load(self.path / "states.npy"), json.loads(run.stdout)

    def check(self, model, text, reference):
        states, answer = self.inspect(model, text)
        reference = reference.numpy()
        self.assertEqual(states.shape, reference.shape)
        worst = [0.0, 0.0]
        for layer, (ours, exact) in enumerate(zip(states, reference)):
            error = np.linalg.norm(ours - exact) / np.linalg.norm(exact)
            unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
            n = len(unit)
            cosine = (np.sum(unit.sum(0) ** 2) - n) / (n * (n - 1))
            worst = [max(worst[0], error), max(worst[1], abs(answer["state_means"][layer]["mean_cosine"] - cosine))]
        self.assertLess(worst[0], STATE)
        self.assertLess(worst[1], COSINE)
        return worst

    def test_minilm(self):
        folder = self.need("minilm")
        w, config = read_safetensors(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
        vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        self.assertEqual(word_pieces("Hello world!", vocabulary), [101, 7592, 2088, 999, 102])
        for text in TEXTS[:4]:
            print("minilm", self.check(folder, text, bert(w, config, word_pieces(text, vocabulary))))

    def test_gte_small(self):
        folder = self.need("gte-small")
        w, config = read_onnx(folder / "model.onnx"), json.loads((folder / "config.json").read_text())
        vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        for text in TEXTS[:3]:
            print("gte-small", self.check(folder, text, bert(w, config, word_pieces(text, vocabulary))))

    def test_stories(self):
        folder = self.need("stories15M")
        w, config, pieces = read_llama2c(folder / "model.bin")
        for text in [*TEXTS[:3], "Naïve café talk: 3.14159 quarks; really?"]:  # ï is there twice: learned, and as a byte
            print("stories15M", self.check(folder / "model.bin", text, llama(w, config, by_scores(text, pieces), pairs=True)))

    def test_albert(self):
        folder = self.need("albert-phonemes")
        w, config = read_onnx(folder / "model.onnx", "encoder.bert."), json.loads((folder / "config.json").read_text())
        config.setdefault("num_hidden_groups", 1)
        vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
        for text in PHONEMES[:2]:
            ids = [0] + [vocabulary[c] for c in text] + [0]
            print("albert", self.check(folder, text, bert(w, config, ids)))

    def test_albert_without_feed_forward_collapses(self):
        folder = self.need("albert-phonemes")
        for text in PHONEMES[:3]:
            cosine = [row["mean_cosine"] for row in self.inspect(folder, text, "--no-feed-forward")[1]["state_means"]]
            print("albert without feed-forward", cosine[2], cosine[4])
            self.assertGreater(cosine[2], 0.9)
            self.assertGreater(cosine[4], 0.999)

    def test_published_similarities(self):
        """all-MiniLM-L6-v2, mean of the tokens: the numbers of its page."""
        folder = self.need("minilm-f32")
        sentences = ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]
        vectors = []
        for sentence in sentences:
            mean = self.inspect(folder, sentence)[0][-1].mean(0)
            vectors.append(mean / np.linalg.norm(mean))
        for k, published in ((2, 0.94291), (1, 0.69458), (3, 0.25688)):
            self.assertAlmostEqual(vectors[0] @ vectors[k], published, delta=2e-5)

    def test_stories_are_told(self):
        folder = self.need("stories15M")
        written = self.inspect(folder / "model.bin", "Once upon a time", "--write", "12")[1]["written"]
        self.assertTrue(written.strip().startswith("Once upon a time, there was a little girl named Lily"), written)


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    for test, why in result.skipped:
        print(f"SKIPPED {test}: {why}", file=sys.stderr)
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
