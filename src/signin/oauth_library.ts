// Loaded only for a sign-in, because most commands need none.
export * as oauth from "oauth4webapi";
