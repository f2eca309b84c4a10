"""How fast the page of play_in_browser.py is, in the system's Chromium: python tests/page_speed.py."""

import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from play_in_browser import make_server

TRAINING = """async (heaps) => {
  const { Learner } = await import("/learner.js"), rules = { heaps, max: null, misere: true };
  let longest = 0, last = performance.now(), isOn = true;
  const frame = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    if (isOn) requestAnimationFrame(frame);
  };
  await new Promise(requestAnimationFrame);
  last = performance.now();
  requestAnimationFrame(frame);
  const start = performance.now();
  await new Learner(rules).train();
  const time = performance.now() - start;
  await new Promise(requestAnimationFrame);
  isOn = false;
  return [time, longest];
}"""
NETWORK = """async () => {
  const { loadNetwork, networkMove } = await import("/network.js"), network = await loadNetwork(true);
  const start = performance.now();
  networkMove(network, Array(12).fill(31), { heaps: Array(12).fill(31), max: null, misere: true });
  return performance.now() - start;
}"""
CLICK = """() => new Promise((done) => {
  const block = document.querySelector('[data-heap="3"] .block:last-child'), box = block.getBoundingClientRect();
  const where = { bubbles: true, pointerType: "mouse", button: 0, clientX: box.left + 9, clientY: box.top + 9 };
  const start = performance.now();
  block.dispatchEvent(new PointerEvent("pointerdown", where));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
})"""


def main():
    with make_server([], 0) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        runs = {}
        for _ in range(5):
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.add_init_script(
                "window.long = []; new PerformanceObserver((list) => long.push(...list.getEntries().map("
                "(each) => each.duration))).observe({ type: 'longtask', buffered: true })"
            )
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            page.wait_for_timeout(1500)
            paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            runs.setdefault("first paint", []).append(page.evaluate(paint))
            runs.setdefault("a click, to the next frame", []).append(page.evaluate(CLICK))
            runs.setdefault("the longest task while the page loads", []).append(
                max(page.evaluate("long"), default=0)
            )
            for heaps in ([1, 3, 5, 7], [1, 3, 5, 7, 9]):
                time, frame = page.evaluate(TRAINING, heaps)
                runs.setdefault(f"10,000 games on {heaps}", []).append(time)
                runs.setdefault(f"the longest frame of them on {heaps}", []).append(frame)
            runs.setdefault("the network's move on 12 heaps of 31", []).append(page.evaluate(NETWORK))
            page.close()
        browser.close()
        server.shutdown()
    for name, times in runs.items():
        print(f"{name}: {min(times):.0f} ms at best, {sorted(times)[len(times) // 2]:.0f} in the median")


if __name__ == "__main__":
    main()
