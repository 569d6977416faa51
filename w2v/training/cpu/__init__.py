"""Training on the processor: the kernels, their arguments and memory."""
