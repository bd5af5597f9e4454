//! What goes wrong between servers, clients and the gateway, and what must
//! not go wrong because of it.

mod clients;
mod lists;
mod names;
mod notices;
mod questions;
mod servers;
mod starting;
mod subscriptions;
