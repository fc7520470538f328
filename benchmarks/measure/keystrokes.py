"""Keys and the mouse of a browser, with the time that a person would need for them.

The time is that of the keystroke-level model, which adds up operators: S. K. Card, T. P. Moran and A. Newell, "The
keystroke-level model for user performance time with interactive systems", Communications of the ACM 23(7), 1980. The
seconds are those of an average typist who is no secretary. The time to press or release a mouse button is that of
D. Kieras, "Using the keystroke-level model to estimate execution times", 2001.
"""

from typing import Literal

from playwright.sync_api import Page

KEY = 0.28
POINT = 1.1
BUTTON = 0.1
HOME = 0.4
MENTAL = 1.35
_NOTCH = 100
"""Pixels that one notch of the wheel scrolls. It takes as long as a key."""


class Hands:
    """Presses keys and moves the mouse.

    Attributes:
        page: the tab.
        seconds: that a person would have needed so far, by the model.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.seconds = 0.0
        self._device: Literal["keys", "mouse"] = "keys"

    def think(self) -> None:
        """The person looks at a value and decides what to do."""
        self.seconds += MENTAL

    def press(self, *keys: str) -> None:
        """Press keys, one after the other; `Control+Enter` are two at once."""
        for key in keys:
            self._take("keys", KEY * len(key.split("+")))
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self._take("keys", KEY * len(text))
        self.page.keyboard.type(text)

    def click(self, x: float, y: float) -> None:
        self._take("mouse", POINT + 2 * BUTTON)
        self.page.mouse.click(x, y)

    def drag(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Drag from one point to another."""
        self._take("mouse", 2 * (POINT + BUTTON))
        self.page.mouse.move(x0, y0)
        self.page.mouse.down()
        self.page.mouse.move(x1, y1, steps=4)
        self.page.mouse.up()

    def scroll(self, x: float, y: float, by: float) -> None:
        """Turn the wheel over a point, by pixels."""
        self._take("mouse", POINT + KEY * abs(by) / _NOTCH)
        self.page.mouse.move(x, y)
        self.page.mouse.wheel(0, by)

    def _take(self, device: Literal["keys", "mouse"], seconds: float) -> None:
        self.seconds += seconds + (HOME if device != self._device else 0.0)
        self._device = device
