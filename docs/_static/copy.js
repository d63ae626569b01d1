// A button on every code block that copies what a reader would type: of a console block its commands, without prompt and output.
document.addEventListener("DOMContentLoaded", () => {
  const commands = (text) => {
    const kept = [];
    let going = false;
    for (const line of text.split("\n")) {
      if (line.startsWith("$ ") || going) {
        kept.push(line.replace(/^\$ /, ""));
        going = line.endsWith("\\");
      }
    }
    return kept.join("\n");
  };
  for (const block of document.querySelectorAll("div.highlight")) {
    const box = block.parentElement;
    if (box.classList.contains("highlight-text")) continue; // what a program prints
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      const text = block.querySelector("pre").innerText.replace(/\n+$/, "");
      await navigator.clipboard.writeText(box.classList.contains("highlight-console") ? commands(text) : text);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    block.appendChild(button);
  }
});
