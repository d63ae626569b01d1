// Calls of the rating endpoints, and what can become of them.

import { localized } from "./numbers.js";

const PATIENCE = 20_000; // milliseconds after which a call has failed

/** The server was not reached, or asked to wait: the same call may succeed later. */
export class Away extends Error {
  /** @param {?number} seconds how long the server asked to wait, if it did */
  constructor(seconds = null) {
    super("the server was not reached");
    this.seconds = seconds;
  }
}

/** The server refused a call, and will again. */
export class Refused extends Error {
  constructor(status, problem) {
    super(localized(problem.detail ?? `the server answered ${status}`));
    this.status = status;
    this.reason = problem.reason ?? null;
    this.advice = localized(problem.advice ?? "");
  }
}

/** Return a function that calls the endpoints of a rating link, for a rater, once that has a name. */
export function caller(link) {
  const base = `/api/v1/rating/${encodeURIComponent(link)}`;
  return async function call(what, body, rater = null) {
    const reply = await fetched(`${base}/${what}`, body, rater);
    if (reply.status === 429) throw new Away(Number(reply.headers.get("Retry-After")) || 1);
    if (reply.status >= 500) throw new Away();
    const said = await reply.json().catch(() => null);
    if (!reply.ok) throw new Refused(reply.status, said ?? {});
    if (said === null) throw new Away(); // cut off, or the answer of a proxy
    return said;
  };
}

/** Return the address of a picture. */
export function pictureAddress(link, id) {
  return id === null ? null : `/api/v1/rating/${encodeURIComponent(link)}/pictures/${id}`;
}

async function fetched(address, body, rater) {
  try {
    return await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(rater === null ? {} : { "Boxthirding-Rater": rater }) },
      body: JSON.stringify(body),
      keepalive: true, // a rating that is on its way arrives, though the page is left
      signal: AbortSignal.timeout(PATIENCE),
    });
  } catch {
    throw new Away();
  }
}
