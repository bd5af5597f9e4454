//! The real program, run as its users run it.

mod commands;
mod configuration;
mod fidelity;
mod gateway;
mod help;
mod program;
mod secrets;
mod serving;
