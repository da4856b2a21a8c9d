"use strict";
// Starts a page: its scripts are compressed, as its numbers are. The security policy of the
// page names the hash of their text, so that no other text can run.

/** Return the bytes of a data block of this page; the block is then dropped. */
function takeBytes(id) {
  const element = document.getElementById(id);
  const text = element.textContent;
  element.remove();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
}

/** Return the content of bytes that zlib has compressed. */
async function inflated(bytes) {
  const stream = new Blob([bytes])
    .stream()
    .pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Return the text of a compressed block of this page. */
async function takeText(id) {
  return new TextDecoder().decode(await inflated(takeBytes(id)));
}

/** Show why there is no report. */
function showFailure(error) {
  const words = document.createElement("p");
  words.className = "failure";
  words.textContent = `This report cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
  document.getElementById("app").replaceChildren(words);
}

takeText("scripts").then((text) => {
  const script = document.createElement("script");
  script.textContent = text;
  document.head.append(script);
}, showFailure);
