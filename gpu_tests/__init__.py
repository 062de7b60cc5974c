"""KV-transfer backends through real NIXL transfers: what a rule says is watched happening.

    python -m gpu_tests --release 0.5.15.post1 --fix A,B

A backend (a SGLang release as it is, rewritten by `kvlint fix`, or one of this folder) runs in two
processes, prefill and decode, with its own NIXL agents and its own ZMQ control plane. The parent
process drives both. See docs/real-transfers.md.
"""
