import h5py

with h5py.File("result.h5", "r") as f:
    cosine = f["states/mean_cosine"][:]        # texts x (layers + 1); every column of /states is like this
    histogram = f["states/histogram"][:]       # texts x (layers + 1) x 100 bins from -1 to 1
    beta = f["heads/beta"][:]                  # texts x layers x heads; every column of /heads is like this
    time = f["layers/time"][:]                 # texts x layers: effective time
    labels = f["clusters/labels"][:]           # (layers + 1) x tokens of the first text
    within, across = f["baseline/within"][:], f["baseline/across"][:]   # (layers + 1) x (mean, low, high)
    nulls = {kind: f["nulls"][kind]["cosine"][:] for kind in f.get("nulls", {})}   # draws x (layers + 1)
