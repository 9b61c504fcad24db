import { type Browser, chromium, type Page } from "playwright-core";

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
];

/** The time limit for a change on the page in ms: long enough for a busy machine. */
const patience = 30_000;

/** A headless Chromium for one test. */
export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async open(executablePath: string): Promise<TestBrowser> {
    const browser = await chromium.launch({ executablePath, args: flags, timeout: patience });
    return new TestBrowser(browser);
  }

  /** Opens a page in a new profile and collects its console errors and policy violations. */
  async page(options: PageOptions = {}): Promise<WatchedPage> {
    const { colours = "light", width = 1280, height = 900 } = options;
    const context = await this.#browser.newContext({
      colorScheme: colours,
      viewport: { width, height },
      timezoneId: "UTC",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    context.setDefaultTimeout(patience);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", ({ message }) => complaints.push(message));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    return Object.assign(page, { complaints });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

export interface PageOptions {
  readonly colours?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
}

/** A page and its errors. */
export type WatchedPage = Page & { readonly complaints: string[] };
