"""Trained policies as files for other programs: ONNX, TorchScript and safetensors. Imports ``runs``."""
