import h5py
import numpy as np

with h5py.File("result.h5", "r") as f:
    log10_t = f["series/log10_time"][:]         # -inf at t = 0; one entry for each output
    clusters = f["series/clusters"][:]          # every observable has its column in /series
    x = f["snapshots/positions"][:]             # snapshots x tokens x dim
    x_log10_t = f["snapshots/log10_time"][:]    # when they were taken
    labels = f["snapshots/clusters"][:]         # cluster of every token: snapshots x tokens
    owner = f["final/owner"][:]                 # final group of every token
    tree = {k: v[:] for k, v in f["merge_tree"].items()}

# Rows as in scipy.cluster.hierarchy.linkage (height: log10 of the time of the merge).
linkage = np.column_stack([tree["left"], tree["right"], tree["log10_time"], tree["size"]])
