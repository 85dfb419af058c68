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
