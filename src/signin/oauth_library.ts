// Loaded on the first sign-in only: most commands need none.
export * as oauth from "oauth4webapi";
