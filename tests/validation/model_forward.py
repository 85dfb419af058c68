"""Every architecture against a PyTorch forward pass (model_references.py), on small random checkpoints that this test writes.

usage: model_forward.py PROGRAM
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import torch

from model_references import bert, gpt2, llama

PROGRAM = sys.argv.pop(1)
TOLERANCE = 1e-5  # of the largest entry of a state


# ---- Files.

def write_safetensors(path, tensors, dtype="F32"):
    kinds = {"F64": np.float64, "F32": np.float32, "F16": np.float16}
    header, data = {}, b""
    for name, tensor in tensors.items():
        array = tensor.numpy()
        if dtype == "BF16":
            raw = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        else:
            raw = np.ascontiguousarray(array, kinds[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def rounded(tensors, dtype):
    """What a file of this dtype keeps."""
    if dtype == "F16":
        return {k: t.half().float() for k, t in tensors.items()}
    if dtype == "BF16":
        return {k: torch.from_numpy((t.float().numpy().view(np.uint32) & np.uint32(0xffff0000)).view(np.float32).copy()) for k, t in tensors.items()}
    return {k: t.float() for k, t in tensors.items()}


# ---- Random checkpoints.

class Maker:
    def __init__(self, seed):
        self.generator, self.tensors = torch.Generator().manual_seed(seed), {}

    def add(self, name, *shape, scale=None, mean=0.0):
        scale = scale if scale is not None else (0.6 / shape[-1] ** 0.5 if len(shape) > 1 else 0.1)
        self.tensors[name] = mean + scale * torch.randn(*shape, generator=self.generator, dtype=torch.float32)

    def linear(self, name, out, into, bias=True):
        self.add(name + ".weight", out, into, scale=1.5 / into ** 0.5)
        if bias:
            self.add(name + ".bias", out)

    def norm(self, name, width, bias=True):
        self.add(name + ".weight", width, mean=1.0)
        if bias:
            self.add(name + ".bias", width)


def make_bert(c, seed, prefix=""):
    m, d, f = Maker(seed), c["hidden_size"], c["intermediate_size"]
    shared = c["model_type"] == "albert"
    e = c["embedding_size"] if shared else d
    for name, size in (("word", c["vocab_size"]), ("position", c["max_position_embeddings"]), ("token_type", 2)):
        m.add(f"{prefix}embeddings.{name}_embeddings.weight", size, e, scale=0.5)
    m.norm(prefix + "embeddings.LayerNorm", e)
    if shared:
        m.linear(prefix + "encoder.embedding_hidden_mapping_in", d, e)
        for group in range(c["num_hidden_groups"]):
            at = f"{prefix}encoder.albert_layer_groups.{group}.albert_layers.0."
            for name in ("attention.query", "attention.key", "attention.value", "attention.dense"):
                m.linear(at + name, d, d)
            m.norm(at + "attention.LayerNorm", d), m.linear(at + "ffn", f, d), m.linear(at + "ffn_output", d, f), m.norm(at + "full_layer_layer_norm", d)
    else:
        for layer in range(c["num_hidden_layers"]):
            at = f"{prefix}encoder.layer.{layer}."
            for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
                m.linear(at + name, d, d)
            m.norm(at + "attention.output.LayerNorm", d), m.linear(at + "intermediate.dense", f, d), m.linear(at + "output.dense", d, f), m.norm(at + "output.LayerNorm", d)
    m.linear(prefix + "pooler.dense", d, d)
    return m.tensors


def make_gpt2(c, seed):
    m, d = Maker(seed), c["n_embd"]
    m.add("transformer.wte.weight", c["vocab_size"], d, scale=0.5), m.add("transformer.wpe.weight", c["n_positions"], d, scale=0.3)
    for layer in range(c["n_layer"]):
        at = f"transformer.h.{layer}."
        for name, into, out in (("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)):
            m.add(at + name + ".weight", into, out, scale=1.2 / into ** 0.5), m.add(at + name + ".bias", out)
        m.norm(at + "ln_1", d), m.norm(at + "ln_2", d)
    m.norm("transformer.ln_f", d)
    return m.tensors


def make_llama(c, seed):
    m, d, f = Maker(seed), c["hidden_size"], c["intermediate_size"]
    size = c.get("head_dim", d // c["num_attention_heads"])
    q, kv = size * c["num_attention_heads"], size * c["num_key_value_heads"]
    bias = c["model_type"] == "qwen2" or c.get("attention_bias", False)
    m.add("model.embed_tokens.weight", c["vocab_size"], d, scale=0.7)
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        m.linear(at + "self_attn.q_proj", q, d, bias), m.linear(at + "self_attn.k_proj", kv, d, bias), m.linear(at + "self_attn.v_proj", kv, d, bias)
        m.linear(at + "self_attn.o_proj", d, q, c.get("attention_bias", False))
        if c["model_type"] == "qwen3":
            m.norm(at + "self_attn.q_norm", size, False), m.norm(at + "self_attn.k_norm", size, False)
        for name, out, into in (("gate", f, d), ("up", f, d), ("down", d, f)):
            m.linear(f"{at}mlp.{name}_proj", out, into, c.get("mlp_bias", False))
        m.norm(at + "input_layernorm", d, False), m.norm(at + "post_attention_layernorm", d, False)
    m.norm("model.norm", d, False)
    if not c.get("tie_word_embeddings"):
        m.add("lm_head.weight", c["vocab_size"], d)
    return m.tensors


BERT = {"model_type": "bert", "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 40, "vocab_size": 50,
        "max_position_embeddings": 40, "layer_norm_eps": 1e-12, "hidden_act": "gelu"}
ALBERT = dict(BERT, model_type="albert", embedding_size=10, num_hidden_layers=6, num_hidden_groups=2, hidden_act="gelu_new")
GPT2 = {"model_type": "gpt2", "n_embd": 24, "n_layer": 3, "n_head": 3, "vocab_size": 50, "n_positions": 40}
LLAMA = {"model_type": "llama", "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 36,
         "vocab_size": 50, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "head_dim": 6}


class Forward(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def inspect(self, model, ids, *more):
        (self.path / "ids.txt").write_text(" ".join(map(str, ids)) + "\n")
        out = self.path / "states.npy"
        run = subprocess.run([PROGRAM, "inspect", str(model), "--text", str(self.path / "ids.txt"), "--ids", "--nulls", "0", "--exponents", "0",
                              "--states-out", str(out), "--json", "--quiet", *more], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return np.load(out)

    def ids(self, count=17, vocabulary=50):
        return [(7 * k * k + 3 * k + 5) % vocabulary for k in range(count)]

    def check(self, ours, reference):
        reference = reference.numpy()
        self.assertEqual(ours.shape, reference.shape)
        for layer in range(len(reference)):
            error = np.abs(ours[layer] - reference[layer]).max() / np.abs(reference[layer]).max()
            self.assertLess(error, TOLERANCE, f"state {layer}")

    def folder_check(self, config, tensors, reference, dtype="F32", shards=1, ids=None, *more):
        ids = ids or self.ids()
        (self.path / "config.json").write_text(json.dumps(config))
        if shards == 1:
            write_safetensors(self.path / "model.safetensors", tensors, dtype)
        else:
            names, index = list(tensors), {}
            for k in range(shards):
                part, file = names[k::shards], f"model-{k + 1:05}-of-{shards:05}.safetensors"
                write_safetensors(self.path / file, {n: tensors[n] for n in part}, dtype)
                index.update({n: file for n in part})
            (self.path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
        exact = {k: t.double() for k, t in rounded(tensors, dtype).items()}
        self.check(self.inspect(self.path, ids, *more), reference(exact, config, ids))

    def test_bert(self):
        self.folder_check(BERT, make_bert(BERT, 1), bert)

    def test_bert_behind_a_prefix_in_each_dtype(self):
        for dtype in ("F64", "F16", "BF16"):
            self.folder_check(BERT, make_bert(BERT, 2, "bert."), lambda w, c, i: bert(w, c, i, "bert."), dtype)

    def test_albert_uses_groups_of_layers_again(self):
        self.folder_check(ALBERT, make_bert(ALBERT, 3), bert)

    def test_gpt2(self):
        self.folder_check(GPT2, make_gpt2(GPT2, 4), gpt2)
        scaled = dict(GPT2, scale_attn_by_inverse_layer_idx=True)
        self.folder_check(scaled, make_gpt2(scaled, 5), gpt2)

    def test_llama_in_shards(self):
        self.folder_check(LLAMA, make_llama(LLAMA, 6), llama, "F32", 3)

    def test_llama_with_biases_and_tied_head(self):
        config = dict(LLAMA, attention_bias=True, mlp_bias=True, tie_word_embeddings=True, rope_theta=500.0)
        self.folder_check(config, make_llama(config, 7), llama)

    def test_rotary_scaling(self):
        for scaling in ({"type": "linear", "factor": 4.0}, {"rope_type": "dynamic", "factor": 2.0},
                        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32},
                        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}):
            config = dict(LLAMA, rope_scaling=scaling, head_dim=16, max_position_embeddings=20 if scaling.get("rope_type") == "dynamic" else 64,
                          rope_theta=10000.0)
            self.folder_check(config, make_llama(config, 8), llama, "F32", 1, self.ids(45))

    def test_mistral_window(self):
        config = dict(LLAMA, model_type="mistral", sliding_window=5)
        self.folder_check(config, make_llama(config, 9), llama)

    def test_qwen2(self):
        config = dict(LLAMA, model_type="qwen2")
        self.folder_check(config, make_llama(config, 10), llama)

    def test_qwen3(self):
        config = dict(LLAMA, model_type="qwen3", head_dim=8)
        self.folder_check(config, make_llama(config, 11), llama)

    def test_llama2c(self):
        config = dict(LLAMA, head_dim=6)
        w = make_llama(dict(config, tie_word_embeddings=True), 12)
        order = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"]
        layer = lambda name: [w[f"model.layers.{k}.{name}.weight"] for k in range(3)]
        parts = [w["model.embed_tokens.weight"], *layer("input_layernorm"), *(t for name in order for t in layer(name)),
                 *layer("post_attention_layernorm"), *layer("mlp.gate_proj"), *layer("mlp.down_proj"), *layer("mlp.up_proj"),
                 w["model.norm.weight"], torch.zeros(64 * 3), torch.zeros(64 * 3)]
        data = struct.pack("<7i", 24, 36, 3, 4, 2, 50, 64) + b"".join(t.numpy().tobytes() for t in parts)
        (self.path / "model.bin").write_bytes(data)
        exact = {k: t.double() for k, t in w.items()}
        self.check(self.inspect(self.path / "model.bin", self.ids()), llama(exact, config, self.ids(), pairs=True))

    def test_switches(self):
        tensors = make_bert(BERT, 13)
        exact = {k: t.double() for k, t in tensors.items()}
        (self.path / "config.json").write_text(json.dumps(BERT))
        write_safetensors(self.path / "model.safetensors", tensors)
        # Logits three times as large: queries three times as large.
        scaled = {k: 3 * t if ".query." in k else t for k, t in exact.items()}
        self.check(self.inspect(self.path, self.ids(), "--beta-scale", "3"), bert(scaled, BERT, self.ids()))
        # Attention that writes nothing: outputs zero.
        silent = {k: 0 * t if "attention.output.dense" in k else t for k, t in exact.items()}
        self.check(self.inspect(self.path, self.ids(), "--no-attention"), bert(silent, BERT, self.ids()))
        # One layer again and again: a model that has it in every place.
        again = dict(exact)
        for name, tensor in exact.items():
            if "encoder.layer.1." in name:
                for layer in range(5):
                    again[name.replace("layer.1.", f"layer.{layer}.")] = tensor
        self.check(self.inspect(self.path, self.ids(), "--iterate", "1", "--depth", "5"),
                   bert(again, dict(BERT, num_hidden_layers=5), self.ids()))

    def test_growth_of_perturbations_is_the_jacobian(self):
        """All perturbations followed through one layer: their growths add up to ln of the volume of PyTorch's Jacobian of directions."""
        config = dict(LLAMA, model_type="qwen3", num_hidden_layers=1, hidden_size=6, num_attention_heads=2, num_key_value_heads=1, head_dim=4)
        tensors, ids, d = make_llama(config, 14), [3, 17, 30], 6
        exact = {k: t.double() for k, t in tensors.items()}
        (self.path / "config.json").write_text(json.dumps(config))
        write_safetensors(self.path / "model.safetensors", tensors)
        (self.path / "ids.txt").write_text("3 17 30\n")

        def layer(x):  # as a map of the stream: embeddings that give it
            table = exact["model.embed_tokens.weight"].clone()
            table[ids] = x
            return llama(dict(exact, **{"model.embed_tokens.weight": table}), config, ids)[1]

        before, after = llama(exact, config, ids)
        with torch.enable_grad():
            jacobian = torch.autograd.functional.jacobian(layer, before).reshape(3 * d, 3 * d)
        project = lambda x: torch.block_diag(*[torch.eye(d, dtype=x.dtype) - torch.outer(r, r) / (r @ r) for r in x])
        lengths = lambda x: torch.diag(x.norm(dim=1).repeat_interleave(d))
        tangent = project(after) @ torch.linalg.inv(lengths(after)) @ jacobian @ lengths(before) @ project(before)
        volume = torch.linalg.svd(tangent)[1][:3 * (d - 1)].log().sum().item()
        run = subprocess.run([PROGRAM, "inspect", str(self.path), "--text", str(self.path / "ids.txt"), "--ids", "--nulls", "0",
                              "--exponents", str(3 * (d - 1)), "--json", "--quiet"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        row = json.loads(run.stdout)["layer_means"][0]
        self.assertAlmostEqual(sum(row[f"growth_{k + 1}"] for k in range(3 * (d - 1))), volume, delta=1e-3)


if __name__ == "__main__":
    unittest.main()
