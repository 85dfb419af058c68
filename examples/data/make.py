"""Made the data beside it: small, seeded, and only there so that every command in the documents can be run as it stands.

usage: python3 make.py      (needs numpy and h5py)
"""
import h5py
import numpy as np

rng = np.random.default_rng(7)


def clouds(centres, spread, count):
    """`count` points around each centre."""
    return np.concatenate([centre + spread * rng.normal(size=(count, len(centre))) for centre in np.asarray(centres, float)])


# Three clouds in the plane: attractor cluster points.npy --bandwidth 0.5
np.save("points.npy", clouds([(0, 0), (4, 0), (2, 3)], 0.5, 100))

# 96 vectors of 16 numbers around three directions, like embeddings: attractor measure tokens.npy, flow --tokens-file tokens.npy
directions = rng.normal(size=(3, 16))
tokens = clouds(directions, 0.5, 32).astype(np.float32)
np.save("tokens.npy", tokens)

# The same in a file with more than one array: vectors.h5:/x, vectors.h5:/layer_3
with h5py.File("vectors.h5", "w", libver="latest") as file:
    file["x"] = clouds(rng.normal(size=(4, 8)), 0.2, 40).astype(np.float32)
    file["layer_3"] = tokens


# Six layers of pre-norm attention with two heads, as somebody would save them: attractor inspect --states states.npy --attention logits.npy
def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


betas, x = (1.5, 4.0), 4 * unit(rng.normal(size=(16, 12)) + 0.6)
states, logits = [x], []
for _ in range(6):
    scores = [beta * unit(x) @ unit(x).T + 0.2 * rng.normal(size=(16, 16)) for beta in betas]
    weights = [np.exp(s) / np.exp(s).sum(1, keepdims=True) for s in scores]
    x = x + np.mean(weights, axis=0) @ unit(x) + 0.05 * rng.normal(size=x.shape)
    states.append(x)
    logits.append(scores)
np.save("states.npy", np.array(states, np.float32))
np.save("logits.npy", np.array(logits, np.float32))

# A decoder nobody has trained, in the format of llama2.c with its tokenizer behind it: attractor inspect model.bin --text texts.txt
pieces = ["<unk>", "<s>", "</s>", *" abcdefghijklmnopqrstuvwxyz,.", "th", "he", "the", " the", "in", "er", "an", " a"]
width, hidden, layers, heads, positions = 16, 20, 3, 2, 64
shapes = [(len(pieces), width), (layers, width), *4 * [(layers, width, width)], (layers, width), (layers, hidden, width),
          (layers, width, hidden), (layers, hidden, width), (width,), (positions, width // heads)]
gains = {1, 6, 10}
with open("model.bin", "wb") as file:
    file.write(np.array([width, hidden, layers, heads, heads, len(pieces), positions], np.int32).tobytes())
    for k, shape in enumerate(shapes):
        file.write((np.ones(shape) if k in gains else rng.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32).tobytes())
    file.write(np.int32(max(map(len, pieces))).tobytes())
    for k, piece in enumerate(pieces):
        file.write(np.float32(-k).tobytes() + np.int32(len(piece)).tobytes() + piece.encode())
with open("texts.txt", "w", encoding="utf-8") as file:
    file.write("the cat sat in the old tree, and the dog ran after a bird.\nrain fell on the garden all night.\n"
               "a boat came in with the tide, and nobody was on it.\nthe children ate an apple each.\n")
# config.json beside it is written by hand: a decoder in the shape of many with eight billion weights.
