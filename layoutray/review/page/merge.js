// Merges the changes of two people to one document. No elements, no requests.

/** Whether two values (or none) are the same. */
export function same(one, other) {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/**
 * The values of `theirs` with what changed from `base` to `mine`.
 *
 * Returns the merged values, and the ids of those that both have changed, differently; these are as in `theirs`.
 */
export function merge(base, mine, theirs) {
  const [before, own, other] = [base, mine, theirs].map((values) => new Map(values.map((value) => [value.id, value])));
  const merged = new Map(other);
  const conflicts = [];
  for (const [id, value] of own) {
    if (same(value, before.get(id)) || same(value, other.get(id))) continue;
    if (same(before.get(id), other.get(id))) merged.set(id, value);
    else conflicts.push(id);
  }
  return { values: [...merged.values()], conflicts };
}
