// Lets the rating page be reloaded without a connection: what was loaded before is shown then. Ratings are not its business.

const KEPT = "boxthirding-rate"; // as in rate-shell.js

addEventListener("fetch", (event) => {
  const { pathname } = new URL(event.request.url);
  const isOurs = pathname.startsWith("/rate/") || pathname.startsWith("/static/");
  if (event.request.method === "GET" && isOurs) event.respondWith(answer(event.request));
});

/** Return what the server says, and what it said before only while it is away. */
async function answer(request) {
  const kept = await caches.open(KEPT);
  const reply = await fetch(request).catch(() => null);
  if (reply?.ok) await kept.put(request, reply.clone()).catch(() => {}); // storage may be full
  if (reply !== null && reply.status < 500) return reply;
  return (await kept.match(request)) ?? reply ?? Response.error();
}
