//! Tests of faults between servers, clients and the gateway, and of their limited effects.

mod clients;
mod links;
mod lists;
mod names;
mod notices;
mod questions;
mod servers;
mod starting;
mod subscriptions;
