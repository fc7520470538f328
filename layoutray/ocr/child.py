"""The child process that runs recognition: `python -m layoutray.ocr.child FD`, started by `isolated`.

It answers requests from the socket FD and ends when the other end closes. It does not use its standard streams.
"""

import contextlib
import faulthandler
import resource
import signal
import socket
import sys
import traceback

from layoutray import config
from layoutray.errors import DocumentError, LayoutrayError, MissingDependencyError, Reason
from layoutray.ocr.frames import PAGE, Channel, Head
from layoutray.ocr.page import recognise_page
from layoutray.ocr.render import count_pages
from layoutray.ocr.settings import Recognition

try:
    import cv2
except ModuleNotFoundError:  # without the extra `ocr`, text layers and sizes of pictures can be read
    cv2 = None

_MEMORY = 6 << 30  # bytes of address space; a page of 120 million pixels needs about a third
_CV2_NO_MEMORY = -4  # cv2.Error.StsNoMem
_GRACE = 30.0  # seconds after the deadline; a living parent has ended this process by then


def main() -> None:
    """Answer requests until the channel closes."""
    faulthandler.enable()
    _limit_memory()
    if cv2:
        cv2.setNumThreads(1)
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    try:
        settings = config.build(Recognition, channel.receive()[0])
    except LayoutrayError as error:  # e.g. a file that the settings name is not on this machine
        channel.send({"refused": str(error)})
        return
    channel.send({"ready": True})
    data = b""
    while True:
        try:
            request, body = channel.receive()
        except (EOFError, OSError):
            return
        # A request without a file is about the file of the previous request.
        data = data if request["same_file"] else body
        # If the parent has died, the alarm ends this process, even inside native code.
        signal.setitimer(signal.ITIMER_REAL, settings.deadline + _GRACE)
        answer = _answer(request, data, settings)
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            channel.send(answer)
        except OSError:
            return


def _answer(request: Head, data: bytes, settings: Recognition) -> Head:
    try:
        if request["do"] == "count_pages":
            return {"num_pages": count_pages(data, settings)}
        return {"page": PAGE.dump_python(recognise_page(data, request["number"], settings))}
    except DocumentError as error:
        return _failed(error.reason, str(error), error.stage)
    except MissingDependencyError as error:
        return {"missing": str(error)}
    except ImportError as error:
        return {"missing": str(MissingDependencyError.of_extra(f"the OCR engine {settings.engine}", "ocr", error))}
    except LayoutrayError as error:
        return {"refused": str(error)}
    except Exception as error:  # any other error fails only this page
        if isinstance(error, MemoryError) or (
            cv2 and isinstance(error, cv2.error) and error.code == cv2.Error.StsNoMem
        ):
            message = f"the page needs more than the limit of {_MEMORY >> 30} GiB of memory; lower max_pixels or dpi"
            return _failed(Reason.OUT_OF_MEMORY, message, "ocr")
        return {**_failed(Reason.INTERNAL, f"{type(error).__name__}: {error}", "ocr"), "trace": traceback.format_exc()}


def _failed(reason: Reason, message: str, stage: str) -> Head:
    return {"reason": reason, "message": message, "stage": stage, "trace": ""}


def _limit_memory() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
    with contextlib.suppress(ValueError, OSError):  # systems without a limit on address space
        resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


if __name__ == "__main__":
    main()
