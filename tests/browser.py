"""A browser without a window, for the tests of pages."""

import shutil
from pathlib import Path

import pytest

selenium = pytest.importorskip("selenium", reason="selenium is not installed: no page is opened.")
from selenium import webdriver  # noqa: E402
from selenium.webdriver import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

# Tests take these from here, so that they are skipped where selenium is not installed.
__all__ = [
    "CONTRAST",
    "ActionChains",
    "By",
    "Keys",
    "Select",
    "needs_browser",
    "outside_requests",
    "show",
    "started",
]

FETCHED = Path(__file__).parents[1] / "build" / "browser"
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

# The ratio of luminance that the guidelines ask for, for each piece of text that shows.
CONTRAST = """
const luminance = (c) => {
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = c.map((n) => linear(n / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const parse = (s) => s.match(/[\\d.]+/g).map(Number);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || ["SCRIPT", "STYLE", "title"].includes(e.tagName)) continue;
  if (!e.checkVisibility()) continue;
  const style = getComputedStyle(e), svg = e.closest("svg");
  const ink = luminance(parse(svg ? style.fill : style.color).slice(0, 3));
  const page = luminance(behind(e).slice(0, 3));
  const ratio = (Math.max(ink, page) + 0.05) / (Math.min(ink, page) + 0.05);
  found.push([ratio, walker.currentNode.textContent.slice(0, 40), e.tagName]);
}
return found;
"""


def program(*names):
    """Return the first program of these names on the path or among what `make browser` fetched, or None."""
    found = (shutil.which(name) for name in names)
    fetched = (str(path) for name in names for path in sorted(FETCHED.glob(f"*/*/*/{name}")))
    return next((path for path in (*found, *fetched) if path), None)


BROWSER = program("chromium", "chromium-browser", "google-chrome", "chrome")
DRIVER = program("chromedriver")
needs_browser = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="no chromium and chromedriver: `make browser` installs them, and no page is opened until then.",
)


def started(profile):
    """Return a driver that keeps what pages log and request; the caller quits it."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def show(browser, address, scheme="light", width=1200):
    """Open a page in a window of a width, light or dark."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(address)
    WebDriverWait(browser, 300).until(
        lambda _: browser.execute_script("return document.readyState") == "complete"
    )


def outside_requests(browser):
    """Return the requests since the log was last read that went to any server."""
    sent = [entry["message"] for entry in browser.get_log("performance")]
    return [
        one for one in sent if "requestWillBeSent" in one and ('"url":"http' in one or '"url":"ws' in one)
    ]
