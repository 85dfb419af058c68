"""Forward passes of trained transformers in PyTorch, plainly, in double precision: what ours are compared with."""
import numpy as np
import torch

torch.set_grad_enabled(False)
torch.set_num_threads(1)


def norm_layer(x, w, name, eps):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)


def norm_rms(x, gain, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * gain


def linear(x, w, name):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


def attention(q, k, v, mask, scale):
    """q: heads x n x d; k, v: groups x n x d."""
    groups = q.shape[0] // k.shape[0]
    k, v = k.repeat_interleave(groups, 0), v.repeat_interleave(groups, 0)
    logits = q @ k.transpose(1, 2) * scale
    return torch.softmax(logits.masked_fill(~mask, -torch.inf), -1) @ v, logits


def heads(x, count):
    n = x.shape[0]
    return x.view(n, count, -1).transpose(0, 1)


def joined(x):
    return x.transpose(0, 1).reshape(x.shape[1], -1)


def gelu(x):
    return torch.nn.functional.gelu(x)


def gelu_new(x):
    return 0.5 * x * (1 + torch.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def bert(w, c, ids, prefix=""):
    n, h = len(ids), c["num_attention_heads"]
    w = {k[len(prefix):]: t for k, t in w.items() if k.startswith(prefix)}
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm_layer(x, w, "embeddings.LayerNorm", c["layer_norm_eps"])
    shared = c["model_type"] == "albert"
    if shared:
        x = linear(x, w, "encoder.embedding_hidden_mapping_in")
    states, mask = [x], torch.ones(n, n, dtype=torch.bool)
    for layer in range(c["num_hidden_layers"]):
        group = layer * c.get("num_hidden_groups", 1) // c["num_hidden_layers"]
        at = f"encoder.albert_layer_groups.{group}.albert_layers.0." if shared else f"encoder.layer.{layer}."
        names = dict(q="attention.query", k="attention.key", v="attention.value", o="attention.dense", n1="attention.LayerNorm", up="ffn",
                     down="ffn_output", n2="full_layer_layer_norm") if shared else dict(
            q="attention.self.query", k="attention.self.key", v="attention.self.value", o="attention.output.dense",
            n1="attention.output.LayerNorm", up="intermediate.dense", down="output.dense", n2="output.LayerNorm")
        q, k, v = (heads(linear(x, w, at + names[part]), h) for part in "qkv")
        y, _ = attention(q, k, v, mask, q.shape[-1] ** -0.5)
        x = norm_layer(x + linear(joined(y), w, at + names["o"]), w, at + names["n1"], c["layer_norm_eps"])
        act = gelu_new if c["hidden_act"] == "gelu_new" else gelu
        y = linear(act(linear(x, w, at + names["up"])), w, at + names["down"])
        x = norm_layer(x + y, w, at + names["n2"], c["layer_norm_eps"])
        states.append(x)
    return torch.stack(states)


def gpt2(w, c, ids):
    n = len(ids)
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:n]
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    states = [x]
    for layer in range(c["n_layer"]):
        at = f"transformer.h.{layer}."
        conv = lambda y, name: y @ w[at + name + ".weight"] + w[at + name + ".bias"]
        q, k, v = (heads(part, c["n_head"]) for part in conv(norm_layer(x, w, at + "ln_1", 1e-5), "attn.c_attn").split(c["n_embd"], 1))
        scale = q.shape[-1] ** -0.5 / (layer + 1 if c.get("scale_attn_by_inverse_layer_idx") else 1)
        x = x + conv(joined(attention(q, k, v, mask, scale)[0]), "attn.c_proj")
        x = x + conv(gelu_new(conv(norm_layer(x, w, at + "ln_2", 1e-5), "mlp.c_fc")), "mlp.c_proj")
        states.append(x)
    return torch.stack(states)


def rope_table(c, head_dim, n):
    """cos, sin of n x head_dim/2, by the published recipes."""
    base, scaling = c.get("rope_theta", 10000.0), c.get("rope_scaling") or {}
    kind, factor = scaling.get("rope_type", scaling.get("type", "default")), scaling.get("factor", 1.0)
    trained = scaling.get("original_max_position_embeddings", c["max_position_embeddings"])
    if kind == "dynamic" and n > c["max_position_embeddings"]:
        base = base * (factor * n / c["max_position_embeddings"] - (factor - 1)) ** (head_dim / (head_dim - 2))
    freq = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    size = 1.0
    if kind == "linear":
        freq = freq / factor
    if kind == "llama3":
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        wavelength = 2 * np.pi / freq
        smooth = (trained / wavelength - low) / (high - low)
        middle = (1 - smooth) * freq / factor + smooth * freq
        freq = torch.where(wavelength > trained / low, freq / factor, torch.where(wavelength < trained / high, freq, middle))
    if kind == "yarn":
        place = lambda turns: head_dim * np.log(trained / (turns * 2 * np.pi)) / (2 * np.log(base))
        low, high = max(np.floor(place(32.0)), 0), min(np.ceil(place(1.0)), head_dim - 1)
        ramp = ((torch.arange(head_dim // 2, dtype=torch.float64) - low) / max(high - low, 0.001)).clamp(0, 1)
        freq = freq / factor * ramp + freq * (1 - ramp)
        size = 0.1 * np.log(factor) + 1
    angle = torch.arange(n, dtype=torch.float64)[:, None] * freq[None]
    return size * angle.cos(), size * angle.sin()


def rotate(x, table, pairs):
    cos, sin = table
    a, b = (x[..., 0::2], x[..., 1::2]) if pairs else x.chunk(2, -1)
    turned = a * cos - b * sin, a * sin + b * cos
    return torch.stack(turned, -1).flatten(-2) if pairs else torch.cat(turned, -1)


def llama(w, c, ids, pairs=False):
    n, h, g, eps = len(ids), c["num_attention_heads"], c["num_key_value_heads"], c["rms_norm_eps"]
    x = w["model.embed_tokens.weight"][ids]
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    if c.get("sliding_window"):
        mask &= torch.ones(n, n, dtype=torch.bool).triu(1 - c["sliding_window"])
    states = [x]
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        y = norm_rms(x, w[at + "input_layernorm.weight"], eps)
        q, k, v = heads(linear(y, w, at + "self_attn.q_proj"), h), heads(linear(y, w, at + "self_attn.k_proj"), g), heads(linear(y, w, at + "self_attn.v_proj"), g)
        if c["model_type"] == "qwen3":
            q, k = norm_rms(q, w[at + "self_attn.q_norm.weight"], eps), norm_rms(k, w[at + "self_attn.k_norm.weight"], eps)
        table = rope_table(c, q.shape[-1], n)
        y, _ = attention(rotate(q, table, pairs), rotate(k, table, pairs), v, mask, q.shape[-1] ** -0.5)
        x = x + linear(joined(y), w, at + "self_attn.o_proj")
        y = norm_rms(x, w[at + "post_attention_layernorm.weight"], eps)
        y = torch.nn.functional.silu(linear(y, w, at + "mlp.gate_proj")) * linear(y, w, at + "mlp.up_proj")
        x = x + linear(y, w, at + "mlp.down_proj")
        states.append(x)
    return torch.stack(states)
