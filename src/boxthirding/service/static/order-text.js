// Why arms stand in the order that they do.

/** Say why arms, best first, are not in the order of their means; empty, where they are. */
export function orderText(arms, direction) {
  const sign = direction === "minimize" ? -1 : 1;
  const means = arms.filter((arm) => !arm.withdrawn && arm.mean !== null).map((arm) => sign * arm.mean);
  const isByMean = means.every((mean, place) => place === 0 || mean <= means[place - 1]);
  if (isByMean) return "";
  const why = arms.some((arm) => (arm.level ?? null) !== null) ? "arms of a higher level come first" : "a mean of few ratings is trusted less";
  return `Best first, and not simply by mean: ${why}.`;
}
