"""What has nothing to do with vectors: the version, how kernels are compiled, how processes are started."""
