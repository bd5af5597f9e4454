//! `servers`, `presets` and `sessions` against a gateway that answers by a
//! script: what is sent, what is told, and what is never told.

mod api;
mod gateways;
mod left_out;
mod presets;
mod running;
mod servers;
mod sessions;
mod troubles;
