// Keeps the page and its files in the browser, so that a reload without a connection shows them: rate-worker.js.

const KEPT = "boxthirding-rate";

/** Keep what this page is made of; a browser that cannot, or a page without https, does without. */
export async function keepPage() {
  if (!navigator.serviceWorker || !self.caches) return;
  try {
    await navigator.serviceWorker.register("/static/rate-worker.js", { scope: "/rate/" });
    const kept = await caches.open(KEPT);
    if (await kept.match(location.href)) return; // the worker keeps it up to date
    const files = [...document.querySelectorAll("head link[href], head script[src]")].map((one) => one.href || one.src);
    await kept.addAll([location.href, ...files]);
  } catch {
    // storage that is full or not allowed
  }
}
