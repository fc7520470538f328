// Where values and words are on a page. No elements, no requests.
// A word is [text, x0, y0, x1, y1, confidence], in pixels of the page.

/** The regions of a value: those of the answer while its words are those of the answer, else those of its words. */
export function polygonsOf(value, said, words) {
  if (said && said.page === value.page && String(said.words) === String(value.words)) return said.polygons;
  return lines(value.words.map((number) => words?.[number]).filter(Boolean)).map(corners);
}

/** The text of words, in the order of the page. */
export function textOf(numbers, words) {
  return numbers.map((number) => words[number]?.[0] ?? "").join(" ");
}

/** Numbers of the words that state a text; of several places, that nearest to the word `near`; none without a place. */
export function stating(text, words, near) {
  const wanted = plain(text);
  const runs = words.map((_, first) => {
    let [end, length] = [first, 0];
    while (length < wanted.length && end < words.length) length += plain(words[end++][0]).length;
    return Array.from({ length: end - first }, (_, index) => first + index);
  });
  const found = runs.filter((run) => wanted && plain(textOf(run, words)) === wanted);
  found.sort(([one], [other]) => Math.abs(one - near) - Math.abs(other - near));
  return found[0] ?? [];
}

function plain(text) {
  return text.replaceAll(/\s/g, "").toLowerCase();
}

/** Numbers of the words whose middle is in a rectangle [x0, y0, x1, y1]. */
export function inRectangle([x0, y0, x1, y1], words) {
  const [left, right] = [Math.min(x0, x1), Math.max(x0, x1)];
  const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)];
  return chosen(words, (x, y) => left <= x && x <= right && top <= y && y <= bottom);
}

/** Numbers of the words whose middle is inside a line that is drawn around them. */
export function inLasso(points, words) {
  return chosen(words, (x, y) => isInside(x, y, points));
}

/** The word at a point; -1 if there is none. */
export function wordAt(x, y, words) {
  return words.findIndex(([, x0, y0, x1, y1]) => x0 <= x && x <= x1 && y0 <= y && y <= y1);
}

/** The corners of a word, clockwise from the top left. */
export function corners([, x0, y0, x1, y1]) {
  return [x0, y0, x1, y0, x1, y1, x0, y1];
}

function chosen(words, contains) {
  return words.flatMap(([, x0, y0, x1, y1], number) => (contains((x0 + x1) / 2, (y0 + y1) / 2) ? [number] : []));
}

function isInside(x, y, points) {
  let inside = false;
  for (let index = 0, before = points.length - 1; index < points.length; before = index++) {
    const [x0, y0] = points[index];
    const [x1, y1] = points[before];
    if (y0 > y !== y1 > y && x < ((x1 - x0) * (y - y0)) / (y1 - y0) + x0) inside = !inside;
  }
  return inside;
}

/** One box around the words of each line. */
function lines(words) {
  const boxes = [];
  for (const [text, x0, y0, x1, y1] of words) {
    const last = boxes.at(-1);
    const middle = (y0 + y1) / 2;
    if (last && last[2] <= middle && middle <= last[4] && x0 >= last[1]) {
      boxes[boxes.length - 1] = ["", last[1], Math.min(last[2], y0), Math.max(last[3], x1), Math.max(last[4], y1)];
    } else {
      boxes.push([text, x0, y0, x1, y1]);
    }
  }
  return boxes;
}
