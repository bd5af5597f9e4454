//! Tests of `servers`, `presets` and `sessions` with a scripted gateway: the requests sent, the
//! output, and secrets that must not be printed.

mod api;
mod errors;
mod gateways;
mod left_out;
mod presets;
mod running;
mod servers;
mod sessions;
