// The documents of a packet: values `part`, such as `4-6 invoice`. No elements, no requests.

const PART = /^(\d+)(?:-(\d+))? (.+)$/s;

/** The documents in page order: id, first, last, kind. */
export function partsOf(review) {
  return review.values
    .filter((value) => value.name === "part" && value.state !== "removed" && PART.test(value.text))
    .map((value) => {
      const [, first, last, kind] = PART.exec(value.text);
      return { id: value.id, first: Number(first), last: Number(last ?? first), kind };
    })
    .sort((one, other) => one.first - other.first);
}

/** Begin a document at a page; if one begins there, join it with the document before it. Returns the document's id. */
export function toggleBoundary(review, page) {
  const parts = partsOf(review);
  const found = parts.find((part) => part.first <= page && page <= part.last);
  const before = parts.findLast((part) => part.last < page);
  if (found?.first === page && before) {
    const removed = { ...review.value(found.id), state: "removed" };
    review.replace({ [before.id]: [changed(review, { ...before, last: found.last })], [found.id]: [removed] });
    return before.id;
  }
  const cut = found ?? before;
  if (!cut || found?.first === page) return "";
  const made = { ...review.value(cut.id), id: `added-${crypto.randomUUID()}`, words: [] };
  const rest = { ...made, ...stated({ ...cut, first: page, last: found?.last ?? page }) };
  review.replace({ [cut.id]: [changed(review, { ...cut, last: Math.min(cut.last, page - 1) }), rest] });
  return rest.id;
}

/** Give the document of a page the next one of the kinds in the packet. Returns the document's id. */
export function nextKind(review, page) {
  const said = Object.values(review.said).map((one) => PART.exec(one.text)?.[3]);
  const kinds = [...new Set([...said, ...partsOf(review).map((part) => part.kind)])].filter(Boolean).sort();
  const found = partsOf(review).find((part) => part.first <= page && page <= part.last);
  if (!found) return "";
  const kind = kinds[(kinds.indexOf(found.kind) + 1) % kinds.length];
  review.replace({ [found.id]: [changed(review, { ...found, kind })] });
  return found.id;
}

function changed(review, part) {
  return { ...review.value(part.id), ...stated(part) };
}

function stated({ first, last, kind }) {
  return { text: `${first === last ? first : `${first}-${last}`} ${kind}`, page: first, state: "confirmed" };
}
