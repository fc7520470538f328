// Moves the pages by dragging, and zooms by Ctrl and the wheel.

/** Switch it on for pages. It rests while words are chosen. */
export function letDrag(pages) {
  const { scroller } = pages;
  let last = null;
  scroller.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && event.pointerType === "mouse" && !scroller.classList.contains("choosing")) last = event;
  });
  addEventListener("pointermove", (event) => {
    if (!last || !scroller.isConnected) return;
    scroller.scrollBy(last.clientX - event.clientX, last.clientY - event.clientY);
    last = event;
  });
  addEventListener("pointerup", () => (last = null));
  scroller.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      if (event.deltaY < 0) pages.zoomIn();
      else pages.zoomOut();
    },
    { passive: false },
  );
}
