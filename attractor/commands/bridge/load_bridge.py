import h5py

with h5py.File("result.h5", "r") as f:
    training = {k: f["training"][k][:] for k in ("log_time", "norm", "softmax_min", "bound")}
    checkpoints = {k: c[:] for k, c in f["checkpoints"].items()}   # one entry for each checkpoint
    start = f["tokens/start"][:]            # tokens x dim
    end = f["tokens/end"][:]                # checkpoints x tokens x dim
    slope, theory = f.attrs["slope"], f.attrs["svm_norm"]
