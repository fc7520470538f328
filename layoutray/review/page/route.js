// What the address says: `#/?FILTERS` is the queue, `#/document/NUMBER` a document.

const QUERY = "layoutray-queue";

/** The view that the address names: `{ number }` of a document, or `{ filters }` of the queue. */
export function route() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const number = /^\/document\/(\d+)$/.exec(path)?.[1];
  if (number) return { number: Number(number) };
  sessionStorage.setItem(QUERY, query);
  return { filters: new URLSearchParams(query) };
}

/** The filters of the latest queue, as a query; "" without any. */
export function queueQuery() {
  const query = sessionStorage.getItem(QUERY);
  return query ? `?${query}` : "";
}
