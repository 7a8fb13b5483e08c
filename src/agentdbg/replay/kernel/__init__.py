"""What the Linux kernel holds in a replay: namespaces, copy-on-write views, Landlock, seccomp; no privileges needed."""
