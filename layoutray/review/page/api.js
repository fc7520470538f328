// Requests to the server.

/** A request that the server has refused. */
export class RequestError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let token = "";

/** Send this token with every change from now on. */
export function useToken(text) {
  token = text;
}

export const get = (path) => call("GET", path);
export const put = (path, body, options = {}) => call("PUT", path, JSON.stringify(body), { ...JSON_BODY, ...options });
export const post = (path, body) => call("POST", path, JSON.stringify(body), JSON_BODY);
export const remove = (path) => call("DELETE", path);

/** Upload a file. */
export function upload(path, file) {
  const form = new FormData();
  form.append("file", file);
  return call("POST", path, form);
}

const JSON_BODY = { headers: { "Content-Type": "application/json" } };

async function call(method, path, body, options = {}) {
  const headers = { ...options.headers, "X-CSRF-Token": token };
  const response = await fetch(path, { ...options, method, body, headers, credentials: "same-origin" });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    const { code = "failed", message = `the server answered ${response.status}` } = answer.error ?? {};
    throw new RequestError(response.status, code, message);
  }
  return answer;
}
