"""PP-OCRv6's networks: their files, and their sessions on onnxruntime.

The small ones are in the package `rapidocr`. Those in the folder `networks` are the tiny ones, which no small package
has, and the small network of recognition with a last layer of few characters.
"""

import functools
import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from pathlib import Path

import onnxruntime

from layoutray.errors import MissingDependencyError
from layoutray.ocr.ppocr.settings import alphabet_of

DETECTION = {"tiny": "detection-tiny.onnx", "small": "PP-OCRv6_det_small.onnx"}
RECOGNITION = {"tiny": "recognition-tiny.onnx", "small": "recognition-small.onnx", "all": "PP-OCRv6_rec_small.onnx"}
"""`tiny` and `small` know the characters of `settings.LATIN`, `all` 18,708."""
_OWN = Path(__file__).parent / "networks"
_PROVIDERS = ("CUDAExecutionProvider", "CPUExecutionProvider")
_REPAIR = "run `pip install --force-reinstall rapidocr`"


def session(model: str) -> onnxruntime.InferenceSession:
    """A session that uses one thread, on a GPU if onnxruntime was built for GPUs and sees one.

    Raises:
        MissingDependencyError: when the file of the model is missing or damaged.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Every line has another width. An arena would keep the memory of the widest ones, at no gain in speed.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    providers = [name for name in _PROVIDERS if name in onnxruntime.get_available_providers()]
    try:
        return onnxruntime.InferenceSession(str(path_of(model)), options, providers=providers)
    except Exception as error:  # onnxruntime's errors have no common class
        raise MissingDependencyError(f"onnxruntime cannot load the model {model}: {error}; {_REPAIR}") from error


def path_of(model: str) -> Path:
    """The file of a model. Raises MissingDependencyError when it is missing."""
    if (own := _OWN / model).is_file():
        return own
    package = importlib.util.find_spec("rapidocr")
    file = Path(package.origin).parent / "models" / model if package and package.origin else None
    if file is None or not file.is_file():
        raise MissingDependencyError(f"the model {model} of the package rapidocr is missing; {_REPAIR}")
    return file


def recognition(language: str) -> tuple[str, ...]:
    """The networks that read lines in `language`, the fastest first."""
    return tuple(RECOGNITION[size] for size in (("tiny", "small") if alphabet_of(language) else ("all",)))


def version(models: Iterable[str]) -> str:
    """Version of the package and hashes of the models, e.g. `3.10.0 detection-tiny:1a2b… recognition-tiny:3c4d…`."""
    hashes = (f"{Path(model).stem}:{_fingerprint(model)}" for model in models)
    return " ".join([importlib.metadata.version("rapidocr"), *hashes])


@functools.cache
def _fingerprint(model: str) -> str:
    with path_of(model).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]
